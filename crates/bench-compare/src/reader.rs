//! The operations of every table reader.

use std::thread;

use anyhow::{Result, anyhow};

use crate::comparison::Family;
use crate::data::{Answer, Key, Queries};

/// How a table is scanned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan {
    pub(crate) backward: bool,
    /// Bytes to read ahead, for readers with such an option; 0 is their default.
    pub(crate) read_ahead: u64,
    /// Whether blocks that are read go into the cache.
    pub(crate) fill_cache: bool,
}

impl Scan {
    /// From the first key on.
    pub(crate) fn forward() -> Self {
        Self { backward: false, read_ahead: 0, fill_cache: true }
    }
}

/// A table, or a database of one table, that is open for reading.
pub(crate) trait TableReader {
    fn name(&self) -> String;

    fn family(&self) -> Family;

    /// What is worth trying with scans: sizes of read-ahead.
    fn read_aheads(&self) -> &[u64] {
        &[0]
    }

    /// Whether it can scan in this direction.
    fn can_scan(&self, _backward: bool) -> bool {
        true
    }

    /// Whether a scan can leave the cache alone.
    fn can_bypass_cache(&self) -> bool {
        true
    }

    /// Whether it can look keys up.
    fn can_get(&self) -> bool {
        true
    }

    /// All entries.
    fn scan(&self, scan: Scan) -> Result<Answer>;

    /// Each key and the `next` entries after it.
    fn seek(&self, keys: &[Key], next: usize) -> Result<Answer>;

    /// The value of each key.
    fn get(&self, keys: &[Key]) -> Result<Answer>;

    /// The same in batches.
    fn get_many(&self, keys: &[Key], batch: usize) -> Result<Answer>;
}

/// The same work in several threads, each with its own part of the keys.
pub(crate) fn in_threads(
    parts: &[Queries],
    work: impl Fn(&[Key]) -> Result<Answer> + Sync,
) -> Result<Answer> {
    if let [part] = parts {
        return work(&part.keys);
    }
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            parts.iter().map(|part| scope.spawn(move || work(&part.keys))).collect();
        let answers: Result<Vec<Answer>> = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
            .collect();
        Ok(Answer::sum(answers?))
    })
}
