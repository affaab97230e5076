//! What to do about an error is decided by its kind; where it happened is in its fields.
//!
//! ```text
//! cargo run --release --example error_kinds
//! ```

use std::error::Error;
use std::io;
use std::path::Path;

use bytes::Bytes;
use sstkit::{
    BlockKind, Database, ErrorKind, ReadOptions, Source, Table, TableOptions, TableReadOptions,
    TableWriter,
};

/// A program's reaction to an error.
#[derive(Debug, PartialEq)]
enum Reaction {
    Retry,
    CheckTheName,
    RestoreFromCopy,
    UpgradeOrReconfigure,
    FixTheCall,
    Reopen,
}

fn reaction(error: &sstkit::Error) -> Reaction {
    match error.kind() {
        ErrorKind::Io => Reaction::Retry,
        ErrorKind::NotFound => Reaction::CheckTheName,
        ErrorKind::Corrupt => Reaction::RestoreFromCopy,
        ErrorKind::Unsupported => Reaction::UpgradeOrReconfigure,
        ErrorKind::InvalidInput => Reaction::FixTheCall,
        ErrorKind::Changed => Reaction::Reopen,
        // Kinds may be added.
        _ => Reaction::Retry,
    }
}

/// A remote object that does not answer in time.
struct Slow;

impl Source for Slow {
    fn size(&self) -> io::Result<u64> {
        Err(io::ErrorKind::TimedOut.into())
    }

    fn read_at(&self, _: u64, _: usize) -> io::Result<Bytes> {
        Err(io::ErrorKind::TimedOut.into())
    }
}

fn table() -> sstkit::Result<Vec<u8>> {
    let mut writer = TableWriter::to_sink(Vec::new(), &TableOptions::rocksdb())?;
    writer.put(b"alice", b"1")?;
    Ok(writer.finish_sink()?.1)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let check = |error: sstkit::Error, expected: Reaction| {
        println!("{:?}: {error}", error.kind());
        assert_eq!(reaction(&error), expected, "{error}");
        error
    };

    let error = Table::from_source(Slow, &TableReadOptions::default()).expect_err("no answer");
    let error = check(error, Reaction::Retry);
    // The error of the system is still there.
    let system = error.get_ref().and_then(|error| error.downcast_ref::<io::Error>());
    assert_eq!(system.map(io::Error::kind), Some(io::ErrorKind::TimedOut));

    let error = Table::open("no/such/file.sst").expect_err("no such file");
    let error = check(error, Reaction::CheckTheName);
    assert_eq!(error.file(), Some(Path::new("no/such/file.sst")));

    // One flipped bit: the error names the block, its offset, and both checksums.
    let mut bytes = table()?;
    bytes[0] ^= 1;
    let error = Table::from_bytes(bytes)?.get(b"alice").expect_err("the checksum is wrong");
    let error = check(error, Reaction::RestoreFromCopy);
    assert_eq!((error.block(), error.offset()), (Some(BlockKind::Data), Some(0)));
    assert!(error.expected().is_some() && error.expected() != error.found());

    let policy = || -> sstkit::Result<sstkit::FilterPolicy> { Ok("nosuchfilter:10".parse()?) };
    check(policy().expect_err("an unknown policy"), Reaction::UpgradeOrReconfigure);

    let table = Table::from_bytes(table()?)?;
    let timestamp = ReadOptions::default().timestamp(b"12345678");
    let error = table.get_with(b"alice", &timestamp).expect_err("keys have no timestamps");
    check(error, Reaction::FixTheCall);

    // A writer refuses what no engine would read, and can go on.
    let mut writer = TableWriter::to_sink(Vec::new(), &TableOptions::rocksdb())?;
    writer.put(b"b", b"")?;
    check(writer.put(b"a", b"").expect_err("not in order"), Reaction::FixTheCall);
    writer.put(b"c", b"")?;
    writer.finish()?;

    let missing = Database::open("no/such/database").expect_err("no such directory");
    check(missing, Reaction::CheckTheName);
    Ok(())
}
