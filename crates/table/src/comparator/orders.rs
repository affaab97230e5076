//! Common orders of databases that use a comparator of their own, to be chosen by the user.
//!
//! | short name | order |
//! |---|---|
//! | `bytewise`, `reverse` | as the comparators of the same name; with the suffix `.u64ts` as those with timestamps |
//! | `shortlex` | shorter keys first, then by bytes |
//! | `little-endian` | as little-endian numbers without sign, then shorter keys first |
//! | `ignore-case` | by bytes, without regard to the case of ASCII letters |
//! | `idb_cmp1` | Chromium's IndexedDB |

use std::cmp::Ordering;
use std::sync::Arc;

use super::indexed_db::{self, IndexedDbOrder};
use super::{Comparator, KeyOrder};

/// An order that no engine has a name for.
#[derive(Clone, Copy, Debug)]
enum CommonOrder {
    Shortlex,
    LittleEndian,
    IgnoreCase,
}

/// The short names, in the order in which help lists them.
const SHORT_NAMES: [&str; 8] = [
    "bytewise",
    "reverse",
    "bytewise.u64ts",
    "reverse.u64ts",
    "shortlex",
    "little-endian",
    "ignore-case",
    indexed_db::NAME,
];

impl Comparator {
    /// The short names that [`from_short_name`](Self::from_short_name) knows.
    pub const SHORT_NAMES: &'static [&'static str] = &SHORT_NAMES;

    /// The order with a short name, such as `reverse`. Use [`named`](Self::named) to read tables that
    /// have another name for it.
    ///
    /// ```
    /// use sstkit_table::Comparator;
    ///
    /// let order = Comparator::from_short_name("shortlex").unwrap();
    /// assert!(order.compare(b"9", b"10").is_lt());
    /// ```
    pub fn from_short_name(name: &str) -> Option<Self> {
        let common = |order: CommonOrder| Self::User(Arc::new(order));
        Some(match name {
            "bytewise" => Self::Bytewise,
            "reverse" => Self::ReverseBytewise,
            "bytewise.u64ts" => Self::BytewiseWithTimestamp,
            "reverse.u64ts" => Self::ReverseBytewiseWithTimestamp,
            "shortlex" => common(CommonOrder::Shortlex),
            "little-endian" => common(CommonOrder::LittleEndian),
            "ignore-case" => common(CommonOrder::IgnoreCase),
            indexed_db::NAME => Self::User(Arc::new(IndexedDbOrder)),
            _ => return None,
        })
    }
}

impl KeyOrder for CommonOrder {
    fn name(&self) -> &str {
        match self {
            Self::Shortlex => "shortlex",
            Self::LittleEndian => "little-endian",
            Self::IgnoreCase => "ignore-case",
        }
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let by_length = a.len().cmp(&b.len());
        match self {
            Self::Shortlex => by_length.then_with(|| a.cmp(b)),
            Self::LittleEndian => {
                let digits =
                    |key: &[u8]| key.iter().rposition(|&byte| byte != 0).map_or(0, |it| it + 1);
                let (a, b) = (&a[..digits(a)], &b[..digits(b)]);
                let by_value =
                    a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev()));
                by_value.then(by_length)
            }
            Self::IgnoreCase => {
                let lower = |key: &'_ [u8]| key.to_ascii_lowercase();
                lower(a).cmp(&lower(b))
            }
        }
    }

    fn equal_means_same_bytes(&self) -> bool {
        !matches!(self, Self::IgnoreCase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_known() {
        for name in Comparator::SHORT_NAMES {
            assert!(Comparator::from_short_name(name).is_some(), "{name}");
        }
        assert!(Comparator::from_short_name("sideways").is_none());
    }

    #[test]
    fn common_orders() {
        for (name, ascending) in [
            ("shortlex", [&b""[..], b"z", b"aa", b"ab", b"aaa"]),
            ("little-endian", [b"", b"\0", b"\x02", b"\x02\0\0", b"\x01\x01"]),
            ("ignore-case", [b"A", b"b", b"Ba", b"c", b"\xff"]),
        ] {
            let order = Comparator::from_short_name(name).unwrap();
            for (i, a) in ascending.iter().enumerate() {
                for (j, b) in ascending.iter().enumerate() {
                    assert_eq!(order.compare(a, b), i.cmp(&j), "{name} {a:?} {b:?}");
                }
            }
        }
        let order = Comparator::from_short_name("ignore-case").unwrap();
        assert!(order.compare(b"Key", b"kEY").is_eq() && !order.equal_means_same_bytes());
    }
}
