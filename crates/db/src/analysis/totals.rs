//! What is counted whatever the order of the parts: counters, and lists of the largest.

use std::cmp::{Ordering, Reverse};
use std::ops::AddAssign;

use super::counts::{EntryCounts, EntryUse};
use super::histogram::SizeHistogram;
use super::largest::Largest;

/// A large value.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LargeValue {
    /// Bytes of the value; of one in a blob file, as stored there.
    pub size: u64,
    /// The key, without timestamp.
    pub key: Vec<u8>,
    /// The sequence number of the entry.
    pub sequence: u64,
    /// What the entry is good for.
    pub entry_use: EntryUse,
    /// The number of the file in [`Analysis::files`](super::Analysis::files).
    pub file: usize,
}

sstkit_coding::debug_struct!(LargeValue { size, key: bytes, sequence, entry_use, file });

impl Ord for LargeValue {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |it: &Self| (it.sequence, it.file);
        let order = self.size.cmp(&other.size);
        let order = order.then_with(|| Reverse(&self.key).cmp(&Reverse(&other.key)));
        order.then_with(|| rank(self).cmp(&rank(other)))
    }
}

impl PartialOrd for LargeValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A key with several entries.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VersionedKey {
    /// Entries of the key, in all files.
    pub versions: u64,
    /// The key, without timestamp.
    pub key: Vec<u8>,
}

sstkit_coding::debug_struct!(VersionedKey { versions, key: bytes });

impl Ord for VersionedKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.versions.cmp(&other.versions);
        order.then_with(|| Reverse(&self.key).cmp(&Reverse(&other.key)))
    }
}

impl PartialOrd for VersionedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What does not depend on the order of the parts.
pub(super) struct Totals {
    pub(super) files: Vec<EntryCounts>,
    pub(super) keys: u64,
    pub(super) visible_keys: u64,
    pub(super) key_sizes: SizeHistogram,
    pub(super) value_sizes: SizeHistogram,
    pub(super) largest_values: Largest<LargeValue>,
    pub(super) most_versions: Largest<VersionedKey>,
}

impl Totals {
    pub(super) fn new(files: usize, top: usize) -> Self {
        Self {
            files: vec![EntryCounts::default(); files],
            keys: 0,
            visible_keys: 0,
            key_sizes: SizeHistogram::default(),
            value_sizes: SizeHistogram::default(),
            largest_values: Largest::new(top),
            most_versions: Largest::new(top),
        }
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.files.iter_mut().zip(&other.files).for_each(|(sum, more)| *sum += more);
        self.keys += other.keys;
        self.visible_keys += other.visible_keys;
        self.key_sizes += &other.key_sizes;
        self.value_sizes += &other.value_sizes;
        self.largest_values.merge(other.largest_values);
        self.most_versions.merge(other.most_versions);
    }
}
