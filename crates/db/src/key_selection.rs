//! The keys that an operation is limited to.

use std::ops::{Bound, RangeBounds};

use sstkit_coding::with_defaults;
use sstkit_table::{Comparator, KeyRange, ScanOptions};

with_defaults! {
    /// A range of keys, or the keys with a prefix; all by default.
    #[derive(Clone, Debug)]
    pub(crate) struct KeySelection {
        range: KeyRange = (Bound::Unbounded, Bound::Unbounded),
        pub(crate) prefix: Option<Vec<u8>>,
    }
}

impl KeySelection {
    pub(crate) fn set_range<K: AsRef<[u8]>>(&mut self, range: impl RangeBounds<K>) {
        let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        self.range = (owned(range.start_bound()), owned(range.end_bound()));
    }

    /// Whether there is a range, in an order that has to be known.
    pub(crate) fn has_range(&self) -> bool {
        self.range != (Bound::Unbounded, Bound::Unbounded)
    }

    /// A scan of these keys in this order.
    pub(crate) fn scan(&self, order: Option<&Comparator>) -> ScanOptions {
        match &self.prefix {
            Some(prefix) => ScanOptions::starting_with(prefix, order),
            None => ScanOptions::default().range(self.range.clone()),
        }
    }
}
