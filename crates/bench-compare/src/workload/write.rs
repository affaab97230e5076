//! Writing a table of sorted entries: sstkit's `TableWriter` and RocksDB's `SstFileWriter`.
//! What one has written, the other reads and checks, which is not measured.

use std::path::Path;

use anyhow::Result;

use crate::comparison::{Comparison, Family, Run, timed};
use crate::data::{Answer, Entries};
use crate::reader::{Scan, TableReader};
use crate::session::Session;
use crate::settings::{Checksum, Codec, Settings};
use crate::{ours, rocks};

/// Enough for a scan.
const CACHE: u64 = 32 << 20;

pub(crate) fn run(session: &mut Session, entries: &Entries) -> Result<()> {
    for codec in Codec::ALL {
        for threads in [1, 2] {
            let settings = Settings { threads, ..Settings::new(codec) };
            let name = format!("write/{codec}/{}", threads_name(threads));
            hold(session, entries, name, settings)?;
        }
    }
    let settings = Settings { checksum: Checksum::Crc32c, ..Settings::new(Codec::None) };
    hold(session, entries, "write/none with crc32c/1 thread".into(), settings)
}

fn hold(session: &mut Session, entries: &Entries, name: String, settings: Settings) -> Result<()> {
    let (our_path, rocks_path) = (session.path("ours.sst"), session.path("rocks.sst"));
    let expected = entries.scanned(false);
    let mut comparison = Comparison::new(name, entries.len(), expected);
    comparison.subject("sstkit", Family::Sstkit, || ours(&our_path, settings, entries));
    comparison.subject("RocksDB", Family::RocksDb, || rocks(&rocks_path, settings, entries));
    if settings.threads > 1 {
        // More threads are not always faster, and RocksDB may choose.
        let alone = Settings { threads: 1, ..settings };
        let path = &rocks_path;
        comparison
            .subject("RocksDB, 1 thread", Family::RocksDb, move || rocks(path, alone, entries));
    }
    session.run(comparison)
}

/// One turn of sstkit, read back by RocksDB.
pub(super) fn ours(path: &Path, settings: Settings, entries: &Entries) -> Result<Run> {
    let run = timed(|| written(ours::write(path, settings, entries)?, entries))?;
    let answer = rocks::Reader::open(path, settings, CACHE)?.scan(Scan::forward())?;
    std::fs::remove_file(path)?;
    Ok(Run { answer, ..run })
}

/// One turn of RocksDB, read back by sstkit.
pub(super) fn rocks(path: &Path, settings: Settings, entries: &Entries) -> Result<Run> {
    let run = timed(|| written(rocks::write(path, settings, entries)?, entries))?;
    let answer = ours::Reader::open(path, CACHE)?.scan(Scan::forward())?;
    std::fs::remove_file(path)?;
    Ok(Run { answer, ..run })
}

/// So far only that there is a file.
fn written(file_size: u64, entries: &Entries) -> Result<Answer> {
    anyhow::ensure!(file_size > 0, "an empty file");
    Ok(Answer { count: entries.len(), ..Answer::default() })
}

pub(super) fn threads_name(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}
