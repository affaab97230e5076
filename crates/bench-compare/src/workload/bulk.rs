//! A table of entries in any order. sstkit's `BulkBuilder` sorts within a budget of memory; for
//! RocksDB the entries are sorted in memory and given to an `SstFileWriter`, which is the fastest way
//! it has.

use anyhow::Result;
use sstkit::{BulkBuilder, BulkOptions};

use super::write::threads_name;
use crate::comparison::{Comparison, Family, Run, timed};
use crate::data::{Answer, Entries};
use crate::reader::{Scan, TableReader};
use crate::session::Session;
use crate::settings::{Codec, Settings};
use crate::{ours, rocks};

/// Enough for a scan.
const CACHE: u64 = 32 << 20;

pub(crate) fn run(session: &mut Session, entries: &Entries) -> Result<()> {
    let path = session.path("bulk.sst");
    for codec in [Codec::None, Codec::Lz4] {
        for threads in [1, 2] {
            let name = format!("bulk build/{codec}/{}", threads_name(threads));
            if !session.plan.wants(&name) {
                continue;
            }
            let settings = Settings { threads, ..Settings::new(codec) };
            let order = entries.shuffled();
            let (path, order) = (&path, &order);
            let mut comparison = Comparison::new(name, entries.len(), entries.scanned(false));
            let all = 4 * entries.raw_bytes() + (64 << 20);
            comparison.subject("sstkit, all in memory", Family::Sstkit, move || {
                let run = timed(|| build(path, settings, entries, order, all as usize))?;
                let answer = rocks::Reader::open(path, settings, CACHE)?.scan(Scan::forward())?;
                std::fs::remove_file(path)?;
                Ok(Run { answer, ..run })
            });
            let some = entries.raw_bytes() / 4 + (32 << 20);
            comparison.subject("sstkit, in a quarter of it", Family::Sstkit, move || {
                let run = timed(|| build(path, settings, entries, order, some as usize))?;
                let answer = rocks::Reader::open(path, settings, CACHE)?.scan(Scan::forward())?;
                std::fs::remove_file(path)?;
                Ok(Run { answer, ..run })
            });
            comparison.subject("RocksDB, sorted in memory", Family::RocksDb, move || {
                let run = timed(|| {
                    rocks::sort_and_write(path, settings, entries, order)?;
                    Ok(Answer::default())
                })?;
                let answer = ours::Reader::open(path, CACHE)?.scan(Scan::forward())?;
                std::fs::remove_file(path)?;
                Ok(Run { answer, ..run })
            });
            session.run(comparison)?;
        }
    }
    Ok(())
}

fn build(
    path: &std::path::Path,
    settings: Settings,
    entries: &Entries,
    order: &[u32],
    memory: usize,
) -> Result<Answer> {
    let options =
        BulkOptions::new(settings.table_options()).memory(memory).threads(settings.threads);
    let mut builder = BulkBuilder::create(path, &options)?;
    for &entry in order {
        builder.put(&entries.keys[entry as usize], entries.value(entry as usize))?;
    }
    builder.finish()?;
    Ok(Answer::default())
}
