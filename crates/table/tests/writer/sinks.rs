//! Sinks that fail, files that must not be left behind.

use std::fs;
use std::io::{self, Write};

use sstkit_table::raw::{Codec, TableView};
use sstkit_table::{ErrorKind, TableOptions, TableWriter};

/// Takes a number of bytes, and no more.
struct Limited<'a> {
    room: usize,
    taken: &'a mut Vec<u8>,
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.taken.len() >= self.room {
            return Err(io::Error::other("no room left"));
        }
        let length = bytes.len().min(self.room - self.taken.len());
        self.taken.extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn options() -> TableOptions {
    TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap()).block_size(300)
}

fn fill<W>(writer: &mut TableWriter<'_, W>, count: u32) -> sstkit_table::Result<()> {
    for i in 0..count {
        let square = u64::from(i).pow(2);
        let (key, value) = (format!("key{i:06}"), format!("value {square} of {count}"));
        writer.put(key.as_bytes(), value.as_bytes())?;
    }
    Ok(())
}

fn write_all(
    sink: impl Write + Send,
    options: &TableOptions,
    count: u32,
) -> sstkit_table::Result<()> {
    let mut writer = TableWriter::to_sink(sink, options)?;
    fill(&mut writer, count)?;
    writer.finish().map(drop)
}

/// Stopped at any byte, what is there does not pass for a table.
#[test]
fn no_part_of_a_table_is_a_table() {
    for options in [options(), options().threads(2), TableOptions::leveldb().block_size(300)] {
        let mut whole = Vec::new();
        write_all(&mut whole, &options, 100).unwrap();
        for room in 0..whole.len() {
            let mut part = Vec::new();
            let error = write_all(Limited { room, taken: &mut part }, &options, 100).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{room}: {error}");
            assert!(whole.starts_with(&part));
            assert!(TableView::open(&part).is_err(), "{room} bytes read as a table");
        }
    }
}

/// More than the buffer: the failure comes while entries are added, and stays.
#[test]
fn after_a_failure_nothing_more_is_taken() {
    for threads in [1, 4] {
        let options = options().compression(Codec::Lz4).threads(threads);
        let mut part = Vec::new();
        let limited = Limited { room: 100_000, taken: &mut part };
        let mut writer = TableWriter::to_sink(limited, &options).unwrap();
        let error = fill(&mut writer, 1_000_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        let error = writer.put(b"zzz", b"").unwrap_err();
        assert!(error.to_string().contains("earlier write failed"), "{error}");
        assert!(writer.finish().unwrap_err().to_string().contains("earlier write failed"));
    }
}

#[test]
fn a_file_appears_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.sst");
    let mut writer = TableWriter::create(&path, &options()).unwrap();
    fill(&mut writer, 1000).unwrap();
    assert!(!path.exists(), "before it is complete");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the temporary file");
    let summary = writer.finish().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len() as u64, summary.file_size);
    assert_eq!(
        (&summary.first_key[..], &summary.last_key[..]),
        (&b"key000000"[..], &b"key000999"[..])
    );
    assert_eq!(TableView::open(&bytes).unwrap().properties().num_entries(), 1000);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the table");
}

#[test]
fn dropped_and_failed_writers_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.sst");
    let mut writer = TableWriter::create(&path, &options()).unwrap();
    fill(&mut writer, 1000).unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "after a drop");

    let writer = TableWriter::create(&path, &options()).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(error.to_string().contains("an empty table"), "{error}");
    assert!(error.to_string().contains("users.sst"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "after a refusal");

    // A folder in the way is refused at once, and one that appears later by finish.
    let mut writer = TableWriter::create(&path, &options()).unwrap();
    fill(&mut writer, 10).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("inside"), b"").unwrap();
    let refused = [TableWriter::create(&path, &options()).err(), writer.finish().err()];
    for error in refused.map(|error| error.expect("a folder is not replaced").to_string()) {
        assert!(error.contains("users.sst") && error.contains("a directory"), "{error}");
    }
    assert!(path.join("inside").exists());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "after refusals");
}

#[test]
fn an_existing_file_stays_until_the_new_one_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.sst");
    fs::write(&path, b"old").unwrap();
    let mut writer = TableWriter::create(&path, &options()).unwrap();
    fill(&mut writer, 10).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    writer.finish().unwrap();
    assert!(TableView::open(&fs::read(&path).unwrap()).is_ok());
}

#[test]
fn contradictions_create_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let options = options().block_align(true);
    let error = TableWriter::create(folder.path().join("x.sst"), &options).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// An owned sink comes back with the whole table; counts and properties are known before the end.
#[test]
fn a_sink_is_returned() {
    for (options, is_threaded) in [
        (options(), false),
        (options().threads(2), true),
        (TableOptions::leveldb().block_size(300), false),
    ] {
        let mut expected = Vec::new();
        let mut writer = TableWriter::to_sink(&mut expected, &options).unwrap();
        fill(&mut writer, 1000).unwrap();
        writer.finish().unwrap();

        let mut writer = TableWriter::to_sink(Vec::new(), &options).unwrap();
        fill(&mut writer, 1000).unwrap();
        assert_eq!(writer.num_entries(), 1000);
        let (so_far, received) = (writer.file_size(), writer.bytes_written());
        assert!(received <= so_far && so_far < expected.len() as u64);
        // With several threads, all blocks may still be compressed.
        assert!(so_far > 0 || is_threaded);
        let (summary, bytes) = writer.finish_sink().unwrap();
        assert_eq!((summary.num_entries, summary.file_size), (1000, expected.len() as u64));
        assert!(bytes == expected);
    }
}

#[test]
fn properties_until_the_end() {
    let options = options().user_property("mine", "before");
    let mut writer = TableWriter::to_sink(Vec::new(), &options).unwrap();
    fill(&mut writer, 10).unwrap();
    let error = writer.set_property("rocksdb.num.entries", "1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    writer.set_property("mine", "after").unwrap();
    writer.set_property("other", [0xff]).unwrap();
    let (_, bytes) = writer.finish_sink().unwrap();
    let table = TableView::open(&bytes).unwrap();
    let user: Vec<_> = table.properties().user().collect();
    assert_eq!(user, [(&b"mine"[..], &b"after"[..]), (b"other", &[0xff])]);

    let mut leveldb = TableWriter::to_sink(Vec::new(), &TableOptions::leveldb()).unwrap();
    assert!(leveldb.set_property("mine", "1").is_err());
}
