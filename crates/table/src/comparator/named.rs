//! An order under a name of its own.
//!
//! | name | order |
//! |---|---|
//! | `RocksDB_SE_v3.10` | by bytes: MyRocks |
//! | `rev:RocksDB_SE_v3.10` | by bytes, backwards: column families of MyRocks whose name starts with `rev:` |

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Comparator, KeyOrder};

/// MyRocks' names for the two built-in orders.
pub(super) const MYROCKS: [(&str, Comparator); 2] = [
    ("RocksDB_SE_v3.10", Comparator::Bytewise),
    ("rev:RocksDB_SE_v3.10", Comparator::ReverseBytewise),
];

#[derive(Debug)]
struct NamedOrder {
    name: String,
    order: Comparator,
}

impl Comparator {
    /// The order of `order` under another name, for tables and databases that use that name.
    ///
    /// ```
    /// use sstkit_table::Comparator;
    ///
    /// let mine = Comparator::named("example.Backwards", &Comparator::ReverseBytewise);
    /// assert_eq!(mine.name(), "example.Backwards");
    /// assert!(mine.compare(b"b", b"a").is_lt());
    /// ```
    pub fn named(name: impl Into<String>, order: &Self) -> Self {
        let (name, order) = (name.into(), order.order().clone());
        Self::User(Arc::new(NamedOrder { name, order }))
    }
}

impl KeyOrder for NamedOrder {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.compare(a, b)
    }

    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.compare_without_timestamp(a, b)
    }

    fn timestamp_size(&self) -> usize {
        self.order.timestamp_size()
    }

    fn equal_means_same_bytes(&self) -> bool {
        self.order.equal_means_same_bytes()
    }

    fn same_order_as(&self) -> Option<&Comparator> {
        Some(&self.order)
    }

    fn describe_key(&self, key: &[u8]) -> Option<String> {
        self.order.describe_key(key)
    }

    fn is_valid_key(&self, key: &[u8]) -> bool {
        self.order.is_valid_key(key)
    }
}
