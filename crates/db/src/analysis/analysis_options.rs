//! Options of an analysis.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::thread;

use sstkit_coding::{setters, with_defaults};
use sstkit_table::{Comparator, KeyBounds, KeyRange};

use crate::key_selection::KeySelection;

/// How many items lists have by default.
const DEFAULT_TOP: usize = 10;

/// Each part starts with a seek in every run: much smaller ones cost time, much larger ones leave
/// threads without work.
const DEFAULT_PART_SIZE: u64 = 8 << 20;

/// How keys are grouped.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupBy {
    /// By their first bytes, this number of them. A shorter key is a group of its own.
    Length(usize),
    /// By their beginnings up to a delimiter, as a tree like that of directories.
    Delimiter {
        /// What ends each component.
        delimiter: Vec<u8>,
        /// Levels of the tree.
        depth: usize,
    },
}

sstkit_coding::debug_enum!(GroupBy {
    Length(length), Delimiter { delimiter: bytes, depth },
});

/// Told the bytes of data blocks that were read so far, and all of them.
pub(super) type ProgressCallback = Arc<dyn Fn(u64, u64) + Send + Sync>;

with_defaults! {
    /// What is analyzed, and how. Everything by default, in one pass.
    #[derive(Clone)]
    pub struct AnalysisOptions {
        keys: KeySelection,
        pub(super) estimate: bool,
        pub(super) group_by: Option<GroupBy>,
        pub(super) top: usize = DEFAULT_TOP,
        pub(super) threads: usize = thread::available_parallelism().map_or(1, usize::from),
        pub(super) part_size: u64 = DEFAULT_PART_SIZE,
        pub(super) progress: Option<ProgressCallback>,
    }
}

impl AnalysisOptions {
    /// Analyzes only keys in this range, in comparator order.
    #[must_use]
    pub fn range(mut self, range: impl KeyBounds) -> Self {
        self.keys.set_range(range);
        self
    }

    /// The range in this order. If it is unknown, all keys.
    pub(super) fn key_range(&self, order: Option<&Comparator>) -> KeyRange {
        let scan = self.keys.scan(order);
        let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
        (owned(scan.lower_bound()), owned(scan.upper_bound()))
    }

    /// What keys have to start with, where the range does not ensure that.
    pub(super) fn checked_prefix(&self, order: Option<&Comparator>) -> Option<&[u8]> {
        let is_range = order.is_some_and(|order| !matches!(order, Comparator::User(_)));
        self.keys.prefix.as_deref().filter(|_| !is_range)
    }

    /// Whether not all keys are analyzed.
    pub(super) fn is_limited(&self) -> bool {
        self.has_range() || self.keys.prefix.is_some()
    }

    /// Whether there is a range in an order that has to be known.
    pub(super) fn has_range(&self) -> bool {
        self.keys.has_range()
    }
}

setters! {
    impl AnalysisOptions:

    /// Analyzes only keys that start with this, instead of a range.
    pub fn prefix(mut self, prefix: impl Into<Vec<u8>>) { self.keys.prefix = Some(prefix.into()); }

    /// Estimates from the indexes and properties of the tables alone; default off.
    pub fn estimate(mut self, on: bool) { self.estimate = on; }

    /// Groups keys by prefix; not by default.
    pub fn group_by(mut self, group_by: GroupBy) { self.group_by = Some(group_by); }

    /// How many items each list has at most; default 10.
    pub fn top(mut self, items: usize) { self.top = items; }

    /// Uses this number of threads; by default one per core.
    pub fn threads(mut self, threads: usize) { self.threads = threads.max(1); }

    /// A thread reads about this number of bytes of data blocks at a time, as stored; default 8 MiB.
    /// A database of many gigabytes has larger parts.
    pub fn part_size(mut self, bytes: u64) { self.part_size = bytes.max(1); }

    /// Calls this again and again, from any thread: with the approximate number of bytes that were
    /// read, and that of all bytes to read.
    pub fn on_progress(mut self, callback: impl Fn(u64, u64) + Send + Sync + 'static) {
        self.progress = Some(Arc::new(callback));
    }
}

impl fmt::Debug for AnalysisOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnalysisOptions")
            .field("keys", &self.keys)
            .field("estimate", &self.estimate)
            .field("group_by", &self.group_by)
            .field("top", &self.top)
            .field("threads", &self.threads)
            .field("part_size", &self.part_size)
            .finish_non_exhaustive()
    }
}
