//! Range deletions of all inputs: which points they cover, and what is left of them.
//!
//! ```text
//! inputs        a ======== e @3, older table          fragments   [a, c) @3
//!                   c ======== g @7, newer table                  [c, g) @7
//!
//! a point is covered if its fragment is newer: by the sequence number, or if that is the same, by
//! the table
//! ```
//!
//! Where keys have timestamps nothing is covered for good: as of an earlier time a deleted point is
//! still there. Everything is then kept as it is.

use sstkit_table::Comparator;

use super::input::Input;
use crate::keys::Keys;
use crate::output::PendingRange;
use crate::range_deletions::Fragments;

/// When something was written: the sequence number, and the newness of the input.
pub(super) type Age = (u64, usize);

/// The range deletions of all inputs.
#[derive(Debug)]
pub(super) struct Coverage {
    keys: Keys,
    fragments: Fragments<Age>,
}

impl Coverage {
    /// For keys without timestamps. The oldest input comes first.
    pub(super) fn new(inputs: &[Input], comparator: &Comparator) -> Self {
        let ranges = inputs.iter().enumerate().flat_map(|(rank, input)| {
            let ranges = input.ranges.iter();
            ranges.map(move |it| (&it.start[..], &it.end[..], (it.sequence, rank)))
        });
        let keys = Keys::new(comparator.clone());
        Self { fragments: Fragments::new(ranges, &keys), keys }
    }

    /// Covers nothing.
    pub(super) fn nothing(comparator: &Comparator) -> Self {
        Self { keys: Keys::new(comparator.clone()), fragments: Fragments::nothing() }
    }

    /// When the newest deletion over `key` was written.
    pub(super) fn newest_over(&self, key: &[u8]) -> Option<Age> {
        self.fragments.over(key, &self.keys).map(|fragment| fragment.age)
    }

    /// The fragments, to be written.
    pub(super) fn ranges(&self) -> Vec<PendingRange> {
        let fragments = self.fragments.iter().map(|it| PendingRange {
            start: it.start.clone(),
            end: it.end.clone(),
            sequence: it.age.0,
            timestamp: Vec::new(),
        });
        fragments.collect()
    }
}
