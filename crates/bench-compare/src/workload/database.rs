//! Reading a database of 50 files in 3 levels, which RocksDB has made. Each side opens the directory.
//!
//! ```text
//! level 4    1 file     every thousandth entry
//! level 5    9 files    every tenth entry; those above are there, too, with another value
//! level 6   40 files    all entries; those above are there, too, with another value
//! ```

use anyhow::Result;

use super::read::{LocalReaders, Readers, Work, name, names, warm_up};
use crate::comparison::{Comparison, Family, timed};
use crate::data::{Answer, Entries, Queries};
use crate::reader::TableReader;
use crate::rocks::Entry;
use crate::session::Session;
use crate::settings::{CacheSize, Codec, PREFIX};
use crate::{ours, rocks};

/// Each level, the last one first: `(1000, 1)` has every thousandth entry, in one file.
const LEVELS: [(usize, usize); 3] = [(1, 40), (10, 9), (1000, 1)];
/// What names begin with.
const OF: &str = "database ";
/// Databases opened in each turn.
const TIMES: usize = 5;

pub(crate) fn run(session: &mut Session, entries: &Entries) -> Result<()> {
    let (codec, cache) = (Codec::None.to_string(), CacheSize::All);
    let prefixes = name(&format!("{OF}prefix scan"), &codec, cache, 1);
    let opens = format!("{OF}open and get one/{codec}");
    let mut all = names(&codec, cache);
    all.iter_mut().for_each(|name| name.insert_str(0, OF));
    all.extend([prefixes.clone(), opens.clone()]);
    if !all.iter().any(|name| session.plan.wants(name)) {
        return Ok(());
    }
    let folder = session.subfolder()?;
    let folder = &folder.path().join("db");
    rocks::Database::create(folder, &levels(entries))?;
    let bytes = cache.bytes(entries.raw_bytes());
    let readers: Readers = vec![
        Box::new(ours::Database::open(folder, bytes)?),
        Box::new(rocks::Database::open(folder, bytes)?),
    ];
    let locals = LocalReaders::new();
    warm_up(&readers, &locals, entries)?;
    for threads in [1, 2] {
        let (readers, locals) = (&readers, &locals);
        Work { of: OF, codec: &codec, cache, threads, entries, readers, locals }.run(session)?;
    }
    drop(readers);
    if session.plan.wants(&prefixes) {
        let ours = ours::Database::open(folder, bytes)?;
        let theirs = rocks::Database::open(folder, bytes)?;
        let queries = Queries::new(entries, session.plan.queries.div_ceil(20), true);
        let expected = queries.with_prefix(entries, PREFIX);
        let mut comparison = Comparison::new(prefixes, queries.keys.len() as u64, expected);
        let (keys, named) = (&queries.keys, [ours.name(), theirs.name()]);
        let [our_name, their_name] = named;
        comparison.subject(our_name, Family::SstkitDatabase, || timed(|| ours.scan_prefixes(keys)));
        comparison
            .subject(their_name, Family::RocksDbDatabase, || timed(|| theirs.scan_prefixes(keys)));
        session.run(comparison)?;
    }
    let queries = Queries::new(entries, TIMES as u64, true);
    let expected = Answer::sum(queries.split(TIMES).iter().map(|part| part.got(entries)));
    let mut comparison = Comparison::new(opens, TIMES as u64, expected);
    comparison.subject("sstkit, as a database", Family::SstkitDatabase, || {
        timed(|| open_and_get(&queries, || ours::Database::open(folder, bytes)))
    });
    comparison.subject("RocksDB, as a database", Family::RocksDbDatabase, || {
        timed(|| open_and_get(&queries, || rocks::Database::open(folder, bytes)))
    });
    session.run(comparison)
}

/// Opens the database for each key.
fn open_and_get<R: TableReader>(queries: &Queries, open: impl Fn() -> Result<R>) -> Result<Answer> {
    let answers: Result<Vec<Answer>> =
        queries.keys.chunks(1).map(|key| open()?.get(key)).collect();
    Ok(Answer::sum(answers?))
}

/// The entries of each file of each level.
fn levels(entries: &Entries) -> Vec<Vec<Vec<Entry<'_>>>> {
    let above = |level: usize| LEVELS.get(level + 1).map(|&(share, _)| share);
    let levels = LEVELS.iter().enumerate().map(|(level, &(share, files))| {
        let numbers: Vec<usize> = (0..entries.keys.len()).step_by(share).collect();
        let per_file = numbers.len().div_ceil(files).max(1);
        let entry = |&number: &usize| {
            let is_old = above(level).is_some_and(|share| number.is_multiple_of(share));
            (&entries.keys[number], entries.value(number + usize::from(is_old)))
        };
        numbers.chunks(per_file).map(|numbers| numbers.iter().map(entry).collect()).collect()
    });
    levels.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_levels_have_the_right_values() {
        let entries = Entries::new(100_000);
        let levels = levels(&entries);
        let files: Vec<usize> = levels.iter().map(Vec::len).collect();
        assert_eq!(files, [40, 9, 1]);
        let mut newest = std::collections::BTreeMap::new();
        for (key, value) in levels.iter().flatten().flatten() {
            newest.insert(**key, *value);
        }
        let mut answer = Answer::default();
        newest.iter().for_each(|(key, value)| answer.entry(key, value));
        assert_eq!(answer, entries.scanned(false));
        assert_ne!(levels[0][0][0].1, levels[2][0][0].1);
    }
}
