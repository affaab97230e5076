//! The tables of a column family, arranged for reading.
//!
//! ```text
//! level 0    [ a ......... m ]         run      newest first, ranges may overlap:
//!               [ c ..... k ]          run      each file is a run of its own
//! level 1    [ a . f ][ g . p ]        run      sorted, no overlaps
//! level 2    [ b .. e ][ e ... z ]     run      (neighbours may share a user key)
//! ```
//!
//! All entries of a key in one run are newer than those in the following runs. [`Recency`]
//! describes directories whose sequence numbers contradict this.

mod key_bounds;
mod order;
mod run_bounds;
mod table_file;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sstkit_coding::striped::StripedCounters;

use sstkit_table::visibility::{Recency, UserKeys};

pub(crate) use self::key_bounds::{EndDeletion, TableKeyBounds};
pub(crate) use self::order::{Arrangement, arrange};
use self::run_bounds::RunBounds;
pub(crate) use self::table_file::TableFile;

/// All tables of a column family.
#[derive(Debug, Default)]
pub(crate) struct Version {
    /// Newest first.
    pub(crate) runs: Vec<Arc<Run>>,
    /// Whether the order of the runs tells which entry is newer.
    pub(crate) recency: Recency,
}

impl Version {
    /// All files, newest run first.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<TableFile>> {
        self.runs.iter().flat_map(|run| &run.files)
    }

    /// Whether all entries of a file are older than those of all other files: it is in the last
    /// level that has files, or it is the oldest file if all are in level 0.
    pub(crate) fn is_oldest(&self, file: &TableFile) -> bool {
        self.runs.last().is_some_and(|run| {
            run.level == file.level
                && (run.level > 0 || run.files.iter().any(|it| it.meta.number == file.meta.number))
        })
    }
}

/// Tables with consecutive key ranges.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) level: u32,
    /// Sorted by key.
    pub(crate) files: Vec<Arc<TableFile>>,
    /// The last keys of the files, if there are several and keys are in bytewise order.
    bounds: Option<RunBounds>,
    /// The number of files, from the first one on, that are known to have no range tombstones.
    free_of_tombstones: AtomicUsize,
    counters: StripedCounters<2>,
}

/// The indices of the counters of a run.
const LOOKUPS: usize = 0;
const OUT_OF_RANGE: usize = 1;

impl Run {
    pub(crate) fn new(level: u32, files: Vec<Arc<TableFile>>, keys: &UserKeys) -> Arc<Self> {
        let largest = files.iter().map(|file| file.largest());
        let is_bytewise = files.len() > 1 && keys.is_bytewise() && largest.clone().is_sorted();
        let bounds = is_bytewise.then(|| RunBounds::new(largest));
        Arc::new(Self { level, files, bounds, ..Self::default() })
    }

    /// The index of the first file that does not end before `key`.
    #[inline]
    pub(crate) fn first_at(&self, key: &[u8], keys: &UserKeys) -> usize {
        let candidates = match &self.bounds {
            Some(bounds) => bounds.candidates(key),
            None => 0..self.files.len(),
        };
        let files = &self.files[candidates.clone()];
        candidates.start + files.partition_point(|file| file.is_before(key, keys))
    }

    /// The index of the first file that starts after `key`.
    pub(crate) fn first_after(&self, key: &[u8], keys: &UserKeys) -> usize {
        self.files.partition_point(|file| !file.is_after(key, keys))
    }

    /// The files whose ranges contain `key`: usually one at most.
    pub(crate) fn files_with(&self, key: &[u8], keys: &UserKeys) -> &[Arc<TableFile>] {
        // Most runs are single files of level 0, which need no search.
        let first = match &self.files[..] {
            [file] => usize::from(file.is_before(key, keys)),
            _ => self.first_at(key, keys),
        };
        let rest = &self.files[first..];
        let count = rest.iter().take_while(|file| !file.is_after(key, keys)).count();
        &rest[..count]
    }

    /// The first file that may have range tombstones: all files before it have been opened, and have
    /// none.
    pub(crate) fn first_with_tombstones(&self) -> Option<&TableFile> {
        let known = self.free_of_tombstones.load(Ordering::Relaxed);
        let is_free = |file: &&Arc<TableFile>| file.has_tombstones.get() == Some(&false);
        let more = self.files[known..].iter().take_while(is_free).count();
        if more > 0 {
            self.free_of_tombstones.fetch_max(known + more, Ordering::Relaxed);
        }
        self.files.get(known + more).map(|file| &**file)
    }

    /// Counts a lookup for which `candidates` files have the key within their bounds.
    #[inline]
    pub(crate) fn count_lookup(&self, candidates: usize) {
        let out_of_range = self.files.len().saturating_sub(candidates) as u64;
        self.counters.add_all([(LOOKUPS, 1), (OUT_OF_RANGE, out_of_range)]);
    }

    /// The number of lookups that reached this run.
    pub(crate) fn lookups(&self) -> u64 {
        self.counters.get(LOOKUPS)
    }

    /// The number of files that lookups skipped by key range, in total.
    pub(crate) fn out_of_range(&self) -> u64 {
        self.counters.get(OUT_OF_RANGE)
    }
}
