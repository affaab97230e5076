//! Leaving out repetitions.
//!
//! Keys of a table come sorted, several versions of a key side by side, and all keys of a prefix
//! after one another. Comparing each hash with the ones just before leaves out nearly every
//! repetition; what slips through costs a little space and no correctness. The rules are part of
//! the format, since sizes follow from the count.

/// The hashes just before.
#[derive(Debug, Default)]
pub(super) struct Dedup {
    /// The last entry.
    last: u64,
    /// Whether there is one.
    any: bool,
    /// The prefix that came with the last key, whether it became an entry or not.
    last_prefix: Option<u64>,
}

impl Dedup {
    /// Whether a key on its own becomes an entry.
    #[inline]
    pub(super) fn admits(&mut self, key: u64) -> bool {
        let admit = self.differs_from_last(key);
        self.remember(key);
        admit
    }

    /// Whether a key, and its prefix before it, become entries.
    #[inline]
    pub(super) fn admits_with_prefix(&mut self, key: u64, prefix: u64) -> (bool, bool) {
        let last_prefix = self.last_prefix;
        let admit_prefix =
            last_prefix != Some(prefix) && prefix != key && self.differs_from_last(prefix);
        let admit_key = self.differs_from_last(key) && last_prefix != Some(key);
        if admit_key {
            self.remember(key);
        } else if admit_prefix {
            self.remember(prefix);
        }
        self.last_prefix = Some(prefix);
        (admit_key, admit_prefix)
    }

    #[inline]
    fn differs_from_last(&self, hash: u64) -> bool {
        // In this order one comparison decides, all but always.
        hash != self.last || !self.any
    }

    #[inline]
    fn remember(&mut self, hash: u64) {
        self.last = hash;
        self.any = true;
    }
}
