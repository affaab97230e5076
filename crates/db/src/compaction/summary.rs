//! The result of a compaction.

use std::ops::AddAssign;

use crate::bulk_manifest::BulkManifest;

/// The result of a compaction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompactionSummary {
    /// Files, keys and sizes: the contents of `manifest.json`, if one is written.
    pub manifest: BulkManifest,
    /// The size of the input tables in bytes.
    pub bytes_in: u64,
    /// Range deletions in all inputs.
    pub range_deletions_in: u64,
    /// Counts of point entries.
    pub counts: CompactionCounts,
    /// Blob files that were taken over.
    pub blob_files: u64,
    /// Parts of the key range that were merged in parallel.
    pub parts: usize,
}

/// Counts of point entries: every input entry is either written or dropped for one of these
/// reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionCounts {
    /// Point entries read.
    pub entries_in: u64,
    /// Point entries written.
    pub entries_out: u64,
    /// Dropped because of a newer entry for the key.
    pub shadowed: u64,
    /// Deletions dropped: in the bottommost level, or a single deletion with its value.
    pub tombstones: u64,
    /// Dropped because a range deletion covers them.
    pub covered: u64,
    /// Merged into another entry.
    pub merged: u64,
    /// Dropped, replaced by a deletion, or changed by the [filter](crate::CompactionFilter).
    pub filtered: u64,
}

impl AddAssign for CompactionCounts {
    fn add_assign(&mut self, other: Self) {
        self.entries_in += other.entries_in;
        self.entries_out += other.entries_out;
        self.shadowed += other.shadowed;
        self.tombstones += other.tombstones;
        self.covered += other.covered;
        self.merged += other.merged;
        self.filtered += other.filtered;
    }
}
