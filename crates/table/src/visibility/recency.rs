//! Defines which of two entries of a key is newer, for all readers.
//!
//! ```text
//! source 0   memtable    k@3 value          newer source, so newer, whatever the numbers are
//! source 1   level 0     k@9 value
//!                        k@7 value          within one source: the larger number
//! ```
//!
//! In every directory that an engine wrote, the newer source also has the larger sequence numbers.
//! If files were mixed up (an old log was restored), the engines stop at the first source that has
//! the key, and so do all readers here. Whether an entry is visible at a sequence number depends
//! only on its own.
//!
//! An entry with the same sequence number as one in a newer source is the same write, and is
//! ignored.

use std::cmp::Ordering;

/// Decides which of two entries of a key is newer. Sources are numbered from the newest: the
/// memtable, the files of level 0, level 1 and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recency {
    /// By source, then by sequence number.
    #[default]
    BySource,
    /// By sequence number, then by source: for tables whose order is unknown.
    BySequence,
}

impl Recency {
    /// The age of a source. Entries of sources of the same age are ordered by sequence number.
    pub fn age(self, source: usize) -> usize {
        match self {
            Self::BySource => source,
            Self::BySequence => 0,
        }
    }

    /// Whether a range tombstone (sequence number and source) over the key of an entry covers the
    /// entry.
    pub fn covers(self, tombstone: (u64, usize), entry: (u64, usize)) -> bool {
        let ((number, by), (sequence, source)) = (tombstone, entry);
        match self.age(by).cmp(&self.age(source)) {
            Ordering::Less => true,
            Ordering::Equal => number > sequence || number == sequence && by < source,
            Ordering::Greater => false,
        }
    }
}
