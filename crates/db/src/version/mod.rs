//! The tables of a column family, arranged for reading.
//!
//! ```text
//! level 0    [ a ......... m ]         run      newest first, ranges may overlap:
//!               [ c ..... k ]          run      each file is a run of its own
//! level 1    [ a . f ][ g . p ]        run      one file after the other
//! level 2    [ b .. e ][ e ... z ]     run      (neighbours may share a user key)
//! ```
//!
//! Of a key, everything in one run is newer than all of it in the runs that follow; see
//! [`Recency`] for directories whose sequence numbers say otherwise.

mod order;
mod table_file;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sstkit_table::visibility::{Recency, UserKeys};

pub(crate) use self::order::{Arrangement, arrange};
pub(crate) use self::table_file::TableFile;

/// All tables of a column family.
#[derive(Debug, Default)]
pub(crate) struct Version {
    /// The newest first.
    pub(crate) runs: Vec<Arc<Run>>,
    /// Whether the order of the runs says which entry is newer.
    pub(crate) recency: Recency,
}

impl Version {
    /// All files, the newest run first.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<TableFile>> {
        self.runs.iter().flat_map(|run| &run.files)
    }

    /// Whether everything that a file has is older than all else: it is in the last level that has
    /// files, or the oldest file if all are in level 0.
    pub(crate) fn is_oldest(&self, file: &TableFile) -> bool {
        self.runs.last().is_some_and(|run| {
            run.level == file.level
                && (run.level > 0 || run.files.iter().any(|it| it.meta.number == file.meta.number))
        })
    }
}

/// Tables whose ranges follow one another.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) level: u32,
    /// In the order of their keys.
    pub(crate) files: Vec<Arc<TableFile>>,
    /// Lookups that came to this run.
    pub(crate) lookups: AtomicU64,
    /// Files of it that lookups left out because of their key ranges.
    pub(crate) out_of_range: AtomicU64,
}

impl Run {
    pub(crate) fn new(level: u32, files: Vec<Arc<TableFile>>) -> Arc<Self> {
        Arc::new(Self { level, files, ..Self::default() })
    }

    /// Number of the first file that does not end before `key`.
    pub(crate) fn first_at(&self, key: &[u8], keys: &UserKeys) -> usize {
        self.files.partition_point(|file| file.is_before(key, keys))
    }

    /// Number of the first file that begins after `key`.
    pub(crate) fn first_after(&self, key: &[u8], keys: &UserKeys) -> usize {
        self.files.partition_point(|file| !file.is_after(key, keys))
    }

    /// The files whose ranges contain `key`: mostly one at most.
    pub(crate) fn files_with(&self, key: &[u8], keys: &UserKeys) -> &[Arc<TableFile>] {
        let first = self.first_at(key, keys);
        let rest = &self.files[first..];
        let count = rest.iter().take_while(|file| !file.is_after(key, keys)).count();
        &rest[..count]
    }

    /// Counts a lookup that `candidates` files have to answer.
    pub(crate) fn count_lookup(&self, candidates: usize) {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let others = self.files.len() - candidates;
        self.out_of_range.fetch_add(others as u64, Ordering::Relaxed);
    }
}
