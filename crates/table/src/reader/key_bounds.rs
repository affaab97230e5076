//! Ranges of keys as callers write them.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of keys, without timestamps, in comparator order.
pub type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A range of keys: all of Rust's ranges, and pairs of [`Bound`]s, whose ends are bytes or text.
///
/// ```
/// use sstkit_table::ReadOptions;
///
/// let options = ReadOptions::default();
/// options.clone().range(b"a"..b"b");
/// options.clone().range("user7/"..);
/// options.clone().range(..=vec![0xff, 0xff]);
/// options.clone().range(..);
/// options.range(b"a".as_slice()..b"bcd".as_slice()); // array references have their length in their type
/// ```
pub trait KeyBounds {
    /// The two ends.
    fn into_key_range(self) -> KeyRange;
}

impl KeyBounds for RangeFull {
    fn into_key_range(self) -> KeyRange {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> KeyBounds for (Bound<K>, Bound<K>) {
    fn into_key_range(self) -> KeyRange {
        let (lower, upper) = self;
        (lower.map(|key| key.as_ref().to_vec()), upper.map(|key| key.as_ref().to_vec()))
    }
}

impl<K: AsRef<[u8]>> KeyBounds for Range<K> {
    fn into_key_range(self) -> KeyRange {
        (Bound::Included(self.start), Bound::Excluded(self.end)).into_key_range()
    }
}

impl<K: AsRef<[u8]>> KeyBounds for RangeFrom<K> {
    fn into_key_range(self) -> KeyRange {
        (Bound::Included(self.start), Bound::Unbounded).into_key_range()
    }
}

impl<K: AsRef<[u8]>> KeyBounds for RangeInclusive<K> {
    fn into_key_range(self) -> KeyRange {
        let (start, end) = self.into_inner();
        (Bound::Included(start), Bound::Included(end)).into_key_range()
    }
}

impl<K: AsRef<[u8]>> KeyBounds for RangeTo<K> {
    fn into_key_range(self) -> KeyRange {
        (Bound::Unbounded, Bound::Excluded(self.end)).into_key_range()
    }
}

impl<K: AsRef<[u8]>> KeyBounds for RangeToInclusive<K> {
    fn into_key_range(self) -> KeyRange {
        (Bound::Unbounded, Bound::Included(self.end)).into_key_range()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(range: impl KeyBounds) -> String {
        let end = |bound: Bound<Vec<u8>>| match bound {
            Bound::Included(key) => format!("={}", key.escape_ascii()),
            Bound::Excluded(key) => key.escape_ascii().to_string(),
            Bound::Unbounded => "-".to_owned(),
        };
        let (lower, upper) = range.into_key_range();
        format!("{} {}", end(lower), end(upper))
    }

    #[test]
    fn ranges_as_they_are_written() {
        assert_eq!(ends(..), "- -");
        assert_eq!(ends(b"a"..b"b"), "=a b");
        assert_eq!(ends(b"a".as_slice()..b"bc"), "=a bc");
        assert_eq!(ends("a".."bc"), "=a bc");
        assert_eq!(ends(vec![b'a']..=vec![b'b']), "=a =b");
        assert_eq!(ends(String::from("a")..), "=a -");
        assert_eq!(ends(..b"b"), "- b");
        assert_eq!(ends(..=b"b"), "- =b");
        assert_eq!(ends((Bound::Excluded(b"a"), Bound::Unbounded)), "a -");
    }
}
