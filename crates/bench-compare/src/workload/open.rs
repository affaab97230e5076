//! Opening a table. RocksDB reads index and filter when it opens, sstkit the filter when it is
//! first asked, so both are measured: opening alone, and opening with a first lookup.

use anyhow::Result;

use crate::comparison::{Comparison, Family, timed};
use crate::data::{Answer, Entries, Queries};
use crate::reader::TableReader;
use crate::session::Session;
use crate::settings::{Codec, Settings};
use crate::{ours, rocks};

/// In each turn.
const TIMES: usize = 20;
const CACHE: u64 = 32 << 20;

pub(crate) fn run(session: &mut Session, entries: &Entries) -> Result<()> {
    let names = ["open/none", "open and get one/none"];
    if !names.iter().any(|name| session.plan.wants(name)) {
        return Ok(());
    }
    let path = session.path("table.sst");
    let settings = Settings::new(Codec::None);
    rocks::write(&path, settings, entries)?;
    let queries = Queries::new(entries, TIMES as u64, true);
    for (name, gets) in names.into_iter().zip([0, 1]) {
        // Each lookup is in a table that was opened for it.
        let alone = queries.split(TIMES);
        let expected = Answer::sum(alone.iter().take(gets * TIMES).map(|part| part.got(entries)));
        let mut comparison = Comparison::new(name, TIMES as u64, expected);
        comparison.subject("sstkit", Family::Sstkit, || {
            timed(|| open_and_get(&queries, gets, || ours::Reader::open(&path, CACHE)))
        });
        comparison.subject("RocksDB", Family::RocksDb, || {
            timed(|| open_and_get(&queries, gets, || rocks::Reader::open(&path, settings, CACHE)))
        });
        session.run(comparison)?;
    }
    std::fs::remove_file(&path)?;
    Ok(())
}

/// Opens the table as often as there are keys, and looks up one key each time, or none.
fn open_and_get<R: TableReader>(
    queries: &Queries,
    gets: usize,
    open: impl Fn() -> Result<R>,
) -> Result<Answer> {
    let answers: Result<Vec<Answer>> =
        queries.keys.chunks(1).map(|key| open()?.get(&key[..gets])).collect();
    Ok(Answer::sum(answers?))
}
