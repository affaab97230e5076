//! What a compaction has done.

use std::ops::AddAssign;

use crate::output::BulkManifest;

/// What a compaction has done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompactionSummary {
    /// Files, keys and sizes: what is in `manifest.json`, where one is written.
    pub manifest: BulkManifest,
    /// Bytes of the tables that were read.
    pub bytes_in: u64,
    /// Range deletions of all inputs.
    pub range_deletions_in: u64,
    /// What became of the points.
    pub counts: CompactionCounts,
    /// Parts of the key range that were merged at once.
    pub parts: usize,
}

/// What became of the points: those that came in are those that went out and those that were
/// dropped, for one reason or another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionCounts {
    /// Points read.
    pub entries_in: u64,
    /// Points written.
    pub entries_out: u64,
    /// Dropped because a newer entry of the key decides.
    pub shadowed: u64,
    /// Deletions dropped: at the bottom, or a single one together with what it deletes.
    pub tombstones: u64,
    /// Dropped because a range deletion covers them.
    pub covered: u64,
    /// Merged into another entry.
    pub merged: u64,
}

impl AddAssign for CompactionCounts {
    fn add_assign(&mut self, other: Self) {
        self.entries_in += other.entries_in;
        self.entries_out += other.entries_out;
        self.shadowed += other.shadowed;
        self.tombstones += other.tombstones;
        self.covered += other.covered;
        self.merged += other.merged;
    }
}
