//! The user keys of one column family: their order, and the timestamps at their ends.
//!
//! ```text
//! | user key | timestamp |
//!   bare       its size is the comparator's, mostly 0
//! ```

use std::cmp::Ordering;

use sstkit_table::Comparator;

/// Order of keys, and their parts.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    comparator: Comparator,
    timestamp_size: usize,
}

impl Keys {
    pub(crate) fn new(comparator: Comparator) -> Self {
        let timestamp_size = comparator.timestamp_size();
        Self { comparator, timestamp_size }
    }

    pub(crate) fn comparator(&self) -> &Comparator {
        &self.comparator
    }

    pub(crate) fn timestamp_size(&self) -> usize {
        self.timestamp_size
    }

    /// Whether keys may be the same without having the same bytes.
    pub(crate) fn is_user_made(&self) -> bool {
        matches!(self.comparator, Comparator::User(_))
    }

    /// Compares keys without timestamps.
    #[inline]
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.comparator.compare_without_timestamp(a, b)
    }

    /// Compares keys with timestamps.
    pub(crate) fn compare_stored(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.comparator.compare(a, b)
    }

    /// The key without its timestamp. One that is too short for a timestamp is damage, not a panic.
    #[inline]
    pub(crate) fn bare<'a>(&self, user_key: &'a [u8]) -> &'a [u8] {
        &user_key[..user_key.len().saturating_sub(self.timestamp_size)]
    }

    /// The timestamp; empty where keys have none.
    pub(crate) fn timestamp<'a>(&self, user_key: &'a [u8]) -> &'a [u8] {
        &user_key[user_key.len().saturating_sub(self.timestamp_size)..]
    }

    /// Whether timestamp `a` is later than `b`. In the order of the keys the later ones come
    /// first, and a timestamp alone is a key, if an empty one.
    pub(crate) fn is_later(&self, a: &[u8], b: &[u8]) -> bool {
        self.comparator.compare(a, b).is_lt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_key_is_its_timestamp() {
        let keys = Keys::new(Comparator::BytewiseWithTimestamp);
        let (early, late) = (1u64.to_le_bytes(), 256u64.to_le_bytes());
        let stored = [b"key".as_slice(), &late].concat();
        assert_eq!((keys.bare(&stored), keys.timestamp(&stored)), (&b"key"[..], &late[..]));
        assert!(keys.is_later(&late, &early) && !keys.is_later(&early, &late));
        assert!(!keys.is_later(&late, &late));
        assert_eq!(keys.bare(b"short"), b"");
    }
}
