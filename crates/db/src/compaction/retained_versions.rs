//! The versions of one user key, newest first: which of them a compaction keeps.
//!
//! ```text
//! newest ... oldest              bottommost      otherwise
//! put    …                       put             put             (… is shadowed)
//! delete …                                       delete
//! single delete, put                                             (they cancel out; below them only
//!                                                                 deletions count)
//! single delete, delete …                        delete
//! single delete                                  single delete
//! merge, merge, put …            merged put      merged put      (without operator: all three)
//! merge, merge, delete …         merged put      merged put
//! merge, merge                   merged put      merge, merge
//! … under a range tombstone      dropped         dropped
//! ```

use sstkit_table::Value;
use sstkit_table::raw::EntryKind;

use super::summary::CompactionCounts;

#[derive(Clone, Debug)]
pub(super) struct RetainedVersion {
    pub(super) sequence: u64,
    pub(super) kind: EntryKind,
    /// As stored, or with resolved references.
    pub(super) value: Value,
}

/// The relevant versions of a key, newest first.
#[derive(Debug, Default)]
pub(super) struct RetainedVersions {
    pub(super) kept: Vec<RetainedVersion>,
    /// No older version is relevant.
    decided: bool,
    /// A single deletion was dropped together with its value: of the older versions, only deletions
    /// are relevant.
    annihilated: bool,
    /// The last version is above a range deletion.
    pub(super) covered: bool,
}

impl RetainedVersions {
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        (self.decided, self.annihilated, self.covered) = (false, false, false);
    }

    /// Whether the value of the next version may be needed.
    pub(super) fn wants_value(&self) -> bool {
        !self.decided
    }

    /// Drops the next older version, which is covered by a range deletion, as are all after it.
    pub(super) fn add_covered(&mut self, counts: &mut CompactionCounts) {
        match self.decided && !self.covered {
            true => counts.shadowed += 1,
            false => {
                (self.decided, self.covered) = (true, true);
                counts.covered += 1;
            }
        }
    }

    /// Drops the next older version, which is shadowed.
    pub(super) fn add_shadowed(&mut self, counts: &mut CompactionCounts) {
        counts.shadowed += 1;
    }

    pub(super) fn add(&mut self, version: RetainedVersion, counts: &mut CompactionCounts) {
        let is_single =
            matches!(&self.kept[..], [RetainedVersion { kind: EntryKind::SingleDeletion, .. }]);
        if is_single {
            self.add_below_single(version, counts);
            return;
        }
        if self.annihilated && !version.kind.is_point_deletion() {
            counts.shadowed += 1;
            self.decided = true;
            return;
        }
        // The version below a single deletion decides whether that is kept, unless there are
        // operands above it.
        self.decided = match version.kind {
            EntryKind::Merge => false,
            EntryKind::SingleDeletion => !self.kept.is_empty(),
            _ => true,
        };
        self.kept.push(version);
    }

    /// Adds the next older version below a single deletion, which is the newest.
    fn add_below_single(&mut self, version: RetainedVersion, counts: &mut CompactionCounts) {
        match version.kind {
            // Both have the same effect.
            EntryKind::SingleDeletion | EntryKind::Deletion | EntryKind::DeletionWithTimestamp => {
                counts.tombstones += 1;
                self.decided = version.kind != EntryKind::SingleDeletion;
                self.kept = vec![version];
            }
            // Single deletions are not meant for operands: it is kept, and hides them.
            EntryKind::Merge => {
                counts.shadowed += 1;
                self.decided = true;
            }
            _ => {
                counts.tombstones += 1;
                counts.shadowed += 1;
                self.kept.clear();
                self.annihilated = true;
            }
        }
    }

    /// The number of operands on top.
    pub(super) fn operands(&self) -> usize {
        self.kept.iter().take_while(|version| version.kind == EntryKind::Merge).count()
    }
}
