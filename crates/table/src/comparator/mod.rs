//! The order of the user keys in a table.
//!
//! | name in the file | order |
//! |---|---|
//! | `leveldb.BytewiseComparator` | by bytes, as unsigned numbers; a prefix first |
//! | `rocksdb.ReverseBytewiseComparator` | the opposite |
//! | `leveldb.BytewiseComparator.u64ts` | by bytes, then the newest timestamp first |
//! | `rocksdb.ReverseBytewiseComparator.u64ts` | the opposite by bytes, then the newest timestamp first |
//! | `RocksDB_SE_v3.10`, `rev:RocksDB_SE_v3.10` | the first two, under MyRocks' names: see `named` |
//! | `idb_cmp1` | Chromium's IndexedDB: see `indexed_db` |
//!
//! A timestamp is the last eight bytes of the user key, a little-endian number.

mod indexed_db;
mod named;
mod orders;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, Result};

/// A user-made order of keys.
///
/// ```
/// use std::cmp::Ordering;
/// use std::sync::Arc;
/// use sstkit_table::{Comparator, KeyOrder};
///
/// /// ASCII letters without regard to case.
/// #[derive(Debug)]
/// struct IgnoreCase;
///
/// impl KeyOrder for IgnoreCase {
///     fn name(&self) -> &str {
///         "example.IgnoreCase"
///     }
///
///     fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
///         a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
///     }
///
///     fn equal_means_same_bytes(&self) -> bool {
///         false
///     }
/// }
///
/// let comparator = Comparator::User(Arc::new(IgnoreCase));
/// assert_eq!(comparator.compare(b"Key", b"key"), Ordering::Equal);
/// ```
pub trait KeyOrder: fmt::Debug + Send + Sync {
    /// A stable name: it is stored in every table, and reading finds the order again by it.
    fn name(&self) -> &str;

    /// Compares `a` and `b`: a total order over all byte strings.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// Compares two keys that are given **without** timestamps.
    ///
    /// Must be implemented where [`timestamp_size`](Self::timestamp_size) is not 0: ends of ranges
    /// are compared so, and keys that are looked up. The default is `compare`, which is right
    /// only for keys that have no timestamps, and would take their last bytes for one.
    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare(a, b)
    }

    /// Bytes of timestamp at the end of every key. If it is not 0,
    /// [`compare_without_timestamp`](Self::compare_without_timestamp) must be implemented, too.
    fn timestamp_size(&self) -> usize {
        0
    }

    /// Whether keys that compare equal have the same bytes. If not, no hash of a key can be relied on.
    fn equal_means_same_bytes(&self) -> bool {
        true
    }

    /// The comparator that has the same order under another name, if there is one. A built-in one is
    /// compared without a call.
    fn same_order_as(&self) -> Option<&Comparator> {
        None
    }

    /// What a key means, for people; `None` if its bytes say it, or if it is not a valid key.
    fn describe_key(&self, _key: &[u8]) -> Option<String> {
        None
    }

    /// Whether a key is one of those that the order is meant for. Others are ordered, too, but not where
    /// one who knows the keys would expect them.
    fn is_valid_key(&self, _key: &[u8]) -> bool {
        true
    }
}

/// The order of the user keys in a table.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Comparator {
    /// By bytes: the default of both engines.
    #[default]
    Bytewise,
    /// By bytes, backwards.
    ReverseBytewise,
    /// By bytes, then the newest timestamp of eight bytes first.
    BytewiseWithTimestamp,
    /// By bytes backwards, then the newest timestamp of eight bytes first.
    ReverseBytewiseWithTimestamp,
    /// User-made.
    User(Arc<dyn KeyOrder>),
}

const BYTEWISE: &str = "leveldb.BytewiseComparator";
const REVERSE_BYTEWISE: &str = "rocksdb.ReverseBytewiseComparator";
const BYTEWISE_U64TS: &str = "leveldb.BytewiseComparator.u64ts";
const REVERSE_BYTEWISE_U64TS: &str = "rocksdb.ReverseBytewiseComparator.u64ts";

const U64_TIMESTAMP_SIZE: usize = 8;

impl Comparator {
    /// The name that is stored in tables.
    pub fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Bytewise => BYTEWISE,
            Self::ReverseBytewise => REVERSE_BYTEWISE,
            Self::BytewiseWithTimestamp => BYTEWISE_U64TS,
            Self::ReverseBytewiseWithTimestamp => REVERSE_BYTEWISE_U64TS,
            Self::User(order) => order.name(),
        })
    }

    /// Compares user keys, including timestamps.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytewise => by_bytes(a, b),
            Self::ReverseBytewise => by_bytes(b, a),
            Self::BytewiseWithTimestamp => compare_with_timestamp(a, b, by_bytes),
            Self::ReverseBytewiseWithTimestamp => {
                compare_with_timestamp(a, b, |a, b| by_bytes(b, a))
            }
            Self::User(order) => order.compare(a, b),
        }
    }

    /// Compares two keys that are given without timestamps.
    #[inline]
    pub fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytewise | Self::BytewiseWithTimestamp => by_bytes(a, b),
            Self::ReverseBytewise | Self::ReverseBytewiseWithTimestamp => by_bytes(b, a),
            Self::User(order) => order.compare_without_timestamp(a, b),
        }
    }

    /// Bytes of timestamp at the end of every user key.
    #[inline]
    pub fn timestamp_size(&self) -> usize {
        match self {
            Self::Bytewise | Self::ReverseBytewise => 0,
            Self::BytewiseWithTimestamp | Self::ReverseBytewiseWithTimestamp => U64_TIMESTAMP_SIZE,
            Self::User(order) => order.timestamp_size(),
        }
    }

    /// Whether keys that compare equal have the same bytes.
    pub fn equal_means_same_bytes(&self) -> bool {
        match self {
            Self::User(order) => order.equal_means_same_bytes(),
            _ => true,
        }
    }

    /// The comparator whose order this is: itself, unless it is the order of another one under a
    /// [name](Self::named) of its own.
    #[inline]
    pub fn order(&self) -> &Self {
        match self {
            Self::User(order) => order.same_order_as().unwrap_or(self),
            _ => self,
        }
    }

    /// What a key means, for people; `None` if its bytes say it, or if it is not a valid key.
    pub fn describe_key(&self, key: &[u8]) -> Option<String> {
        match self {
            Self::User(order) => order.describe_key(key),
            _ => None,
        }
    }

    /// Whether a key is one of those that the order is [meant for](KeyOrder::is_valid_key).
    pub fn is_valid_key(&self, key: &[u8]) -> bool {
        match self {
            Self::User(order) => order.is_valid_key(key),
            _ => true,
        }
    }
}

/// The order of slices, eight bytes at a time: keys are short, and comparing them by a call of
/// `memcmp` takes longer than the comparison.
#[inline]
fn by_bytes(mut a: &[u8], mut b: &[u8]) -> Ordering {
    while let (Some((word_a, rest_a)), Some((word_b, rest_b))) =
        (a.split_first_chunk(), b.split_first_chunk())
    {
        if word_a != word_b {
            return u64::from_be_bytes(*word_a).cmp(&u64::from_be_bytes(*word_b));
        }
        (a, b) = (rest_a, rest_b);
    }
    match (a, b) {
        ([], []) => Ordering::Equal,
        _ => a.cmp(b),
    }
}

/// Keys that are too short for a timestamp are compared as they are: damage, but not a panic.
fn compare_with_timestamp(
    a: &[u8],
    b: &[u8],
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
) -> Ordering {
    match (a.split_last_chunk(), b.split_last_chunk()) {
        (Some((key_a, time_a)), Some((key_b, time_b))) => compare(key_a, key_b)
            .then_with(|| u64::from_le_bytes(*time_b).cmp(&u64::from_le_bytes(*time_a))),
        _ => compare(a, b),
    }
}

/// Comparators are equal if their names are.
impl PartialEq for Comparator {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Comparator {}

/// The name.
impl fmt::Display for Comparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// Finds a built-in comparator by its name.
impl FromStr for Comparator {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            BYTEWISE => Ok(Self::Bytewise),
            REVERSE_BYTEWISE => Ok(Self::ReverseBytewise),
            BYTEWISE_U64TS => Ok(Self::BytewiseWithTimestamp),
            REVERSE_BYTEWISE_U64TS => Ok(Self::ReverseBytewiseWithTimestamp),
            indexed_db::NAME => Ok(Self::User(Arc::new(indexed_db::IndexedDbOrder))),
            _ => match named::MYROCKS.iter().find(|(known, _)| *known == name) {
                Some((name, order)) => Ok(Self::named(*name, order)),
                None => Err(Error::unsupported(format!("unknown comparator {name:?}"))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BUILT_IN: [Comparator; 4] = [
        Comparator::Bytewise,
        Comparator::ReverseBytewise,
        Comparator::BytewiseWithTimestamp,
        Comparator::ReverseBytewiseWithTimestamp,
    ];

    fn stamped(key: &[u8], time: u64) -> Vec<u8> {
        [key, &time.to_le_bytes()].concat()
    }

    #[test]
    fn names_come_back() {
        for comparator in BUILT_IN {
            assert_eq!(comparator.name().parse::<Comparator>().unwrap(), comparator);
        }
        assert!("example.Mine".parse::<Comparator>().is_err());
        for name in ["RocksDB_SE_v3.10", "rev:RocksDB_SE_v3.10", "idb_cmp1"] {
            assert_eq!(name.parse::<Comparator>().unwrap().name(), name);
        }
    }

    #[test]
    fn other_names_have_the_same_order() {
        let reverse: Comparator = "rev:RocksDB_SE_v3.10".parse().unwrap();
        assert!(matches!(reverse.order(), Comparator::ReverseBytewise));
        assert!(reverse.compare(b"b", b"a").is_lt());
        let twice = Comparator::named("example.Twice", &reverse);
        assert!(matches!(twice.order(), Comparator::ReverseBytewise));
        assert_eq!(twice.name(), "example.Twice");
        assert_ne!(twice, Comparator::ReverseBytewise);
    }

    #[test]
    fn orders() {
        assert_eq!(Comparator::Bytewise.compare(b"a", b"\x80"), Ordering::Less);
        assert_eq!(Comparator::Bytewise.compare(b"a", b"aa"), Ordering::Less);
        assert_eq!(Comparator::ReverseBytewise.compare(b"a", b"aa"), Ordering::Greater);

        let forward = Comparator::BytewiseWithTimestamp;
        assert_eq!(forward.compare(&stamped(b"a", 1), &stamped(b"b", 9)), Ordering::Less);
        assert_eq!(forward.compare(&stamped(b"a", 1), &stamped(b"a", 256)), Ordering::Greater);
        let backward = Comparator::ReverseBytewiseWithTimestamp;
        assert_eq!(backward.compare(&stamped(b"a", 1), &stamped(b"b", 9)), Ordering::Greater);
        assert_eq!(backward.compare(&stamped(b"a", 1), &stamped(b"a", 256)), Ordering::Greater);
    }

    proptest! {
        #[test]
        fn words_are_in_the_order_of_bytes(
            common in prop::collection::vec(any::<u8>(), 0..20),
            a in prop::collection::vec(any::<u8>(), 0..20),
            b in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let (a, b) = ([&common[..], &a].concat(), [&common[..], &b].concat());
            prop_assert_eq!(by_bytes(&a, &b), a.cmp(&b));
            prop_assert_eq!(by_bytes(&a, &a), Ordering::Equal);
            prop_assert_eq!(by_bytes(&common, &a), common.cmp(&a));
        }
    }

    /// By bytes, then the newest timestamp of one byte first.
    #[derive(Debug)]
    struct ByteTimestamp;

    impl KeyOrder for ByteTimestamp {
        fn name(&self) -> &str {
            "test.ByteTimestamp"
        }

        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            let ((time_a, a), (time_b, b)) = (a.split_last().unwrap(), b.split_last().unwrap());
            a.cmp(b).then_with(|| time_b.cmp(time_a))
        }

        fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
            a.cmp(b)
        }

        fn timestamp_size(&self) -> usize {
            1
        }
    }

    #[test]
    fn user_made_orders_compare_bare_keys() {
        let order = Comparator::User(Arc::new(ByteTimestamp));
        assert_eq!(order.compare(b"a\x01", b"a\x02"), Ordering::Greater);
        assert_eq!(order.compare_without_timestamp(b"a1", b"a2"), Ordering::Less);
        assert_eq!(order.compare_without_timestamp(b"", b"a"), Ordering::Less);
    }

    #[test]
    fn keys_without_room_for_a_timestamp_do_not_panic() {
        for comparator in BUILT_IN {
            assert_eq!(comparator.compare(b"", b""), Ordering::Equal);
            assert_ne!(comparator.compare(b"x", &stamped(b"a", 1)), Ordering::Equal);
        }
    }
}
