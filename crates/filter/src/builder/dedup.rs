//! Removing duplicates.
//!
//! The keys of a table are sorted, so versions of a key are adjacent, and so are keys with the same
//! prefix. Comparing each hash with the previous ones removes nearly all duplicates. Remaining ones
//! cost a little space but are harmless. The rules are part of the format, because sizes depend on
//! the number of entries.

/// The previous hashes.
#[derive(Debug, Default)]
pub(super) struct Dedup {
    /// The last entry.
    last: u64,
    /// Whether there is a last entry.
    any: bool,
    /// The prefix passed with the last key, even if it was not added.
    last_prefix: Option<u64>,
}

impl Dedup {
    /// Whether to add a key without a prefix.
    #[inline]
    pub(super) fn admits(&mut self, key: u64) -> bool {
        let admit = self.differs_from_last(key);
        self.remember(key);
        admit
    }

    /// Whether to add a key, and whether to add its prefix before it.
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
        // In this order the first comparison nearly always decides.
        hash != self.last || !self.any
    }

    #[inline]
    fn remember(&mut self, hash: u64) {
        self.last = hash;
        self.any = true;
    }
}
