//! The keys that an operation is limited to.

use std::ops::Bound;

use sstkit_coding::with_defaults;
use sstkit_table::{Comparator, KeyBounds, KeyRange, ReadOptions};

with_defaults! {
    /// A range of keys, or the keys with a prefix; all by default.
    #[derive(Clone, Debug)]
    pub(crate) struct KeySelection {
        range: KeyRange = (Bound::Unbounded, Bound::Unbounded),
        pub(crate) prefix: Option<Vec<u8>>,
    }
}

impl KeySelection {
    pub(crate) fn set_range(&mut self, range: impl KeyBounds) {
        self.range = range.into_key_range();
    }

    /// Whether there is a range, in an order that has to be known.
    pub(crate) fn has_range(&self) -> bool {
        self.range != (Bound::Unbounded, Bound::Unbounded)
    }

    /// A scan of these keys in this order.
    pub(crate) fn scan(&self, order: Option<&Comparator>) -> ReadOptions {
        match &self.prefix {
            Some(prefix) => ReadOptions::default().prefix(prefix).in_order(order),
            None => ReadOptions::default().range(self.range.clone()),
        }
    }
}
