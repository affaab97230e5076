//! The user keys of a table or column family: their order and timestamps.
//!
//! ```text
//! stored user key   | key          | timestamp |
//!                     what callers   of the size that the comparator names, usually 0
//!                     give and see
//! ```

use std::cmp::Ordering;

use crate::comparator::Comparator;

/// The order and the timestamp size of user keys.
#[derive(Clone, Debug)]
pub struct UserKeys {
    comparator: Comparator,
    /// Its order: the built-in comparator with the same order, if there is one.
    order: Comparator,
    timestamp_size: usize,
}

impl UserKeys {
    /// Keys in the order of `comparator`, with its timestamps.
    pub fn new(comparator: Comparator) -> Self {
        let (order, timestamp_size) = (comparator.order().clone(), comparator.timestamp_size());
        Self { comparator, order, timestamp_size }
    }

    /// Keys that are stored without the timestamps of `comparator`.
    pub(crate) fn without_timestamps(comparator: Comparator) -> Self {
        Self { timestamp_size: 0, ..Self::new(comparator) }
    }

    /// The comparator, by the name that the tables have for it.
    #[inline]
    pub fn comparator(&self) -> &Comparator {
        &self.comparator
    }

    /// The size of the timestamp at the end of each stored user key.
    #[inline]
    pub fn timestamp_size(&self) -> usize {
        self.timestamp_size
    }

    /// Whether the comparator is custom: keys with different bytes may be equal.
    #[inline]
    pub fn is_user_made(&self) -> bool {
        matches!(self.order, Comparator::User(_))
    }

    /// Whether keys without timestamps are ordered by their bytes.
    #[inline]
    pub fn is_bytewise(&self) -> bool {
        matches!(self.order, Comparator::Bytewise | Comparator::BytewiseWithTimestamp)
    }

    /// The built-in comparator that has their order, if there is one; otherwise the comparator.
    #[inline]
    pub(crate) fn order(&self) -> &Comparator {
        &self.order
    }

    /// Compares keys without timestamps.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.compare_without_timestamp(a, b)
    }

    /// Compares stored user keys, timestamps included.
    #[inline]
    pub fn compare_stored(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self.timestamp_size {
            0 => self.order.compare_without_timestamp(a, b),
            _ => self.order.compare(a, b),
        }
    }

    /// Whether two keys without timestamps are the same key.
    #[inline(always)] // once for each key of a scan backward
    pub fn is_same(&self, a: &[u8], b: &[u8]) -> bool {
        match &self.order {
            Comparator::User(order) => order.compare_without_timestamp(a, b).is_eq(),
            _ => a == b,
        }
    }

    /// A stored user key without its timestamp; empty if it is too short, which is corruption.
    #[inline]
    pub fn bare<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        &user_key[..user_key.len().saturating_sub(self.timestamp_size)]
    }

    /// The timestamp of a stored user key; empty if keys have none.
    #[inline]
    pub fn timestamp<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        &user_key[user_key.len().saturating_sub(self.timestamp_size)..]
    }

    /// Whether timestamp `a` is later than `b`. Later timestamps sort first; a timestamp alone is
    /// an empty key with a timestamp.
    pub fn is_later(&self, a: &[u8], b: &[u8]) -> bool {
        self.order.compare(a, b).is_lt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_ends_with_its_timestamp() {
        let keys = UserKeys::new(Comparator::BytewiseWithTimestamp);
        let (early, late) = (1u64.to_le_bytes(), 256u64.to_le_bytes());
        let stored = [b"key".as_slice(), &late].concat();
        assert_eq!((keys.bare(&stored), keys.timestamp(&stored)), (&b"key"[..], &late[..]));
        assert!(keys.is_later(&late, &early) && !keys.is_later(&early, &late));
        assert!(!keys.is_later(&late, &late));
        assert_eq!(keys.bare(b"short"), b"");
    }
}
