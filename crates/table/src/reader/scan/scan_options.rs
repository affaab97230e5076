//! Options of a scan.

use std::ops::{Bound, RangeBounds};

use sstkit_coding::{setters, with_defaults};

use crate::comparator::Comparator;
use crate::filter::PrefixMode;
use crate::visibility::{RangeTombstone, ReadView, UserKeys};

with_defaults! {
    /// The range of a [`Cursor`](crate::reader::Cursor), and how its seeks use the filter.
    ///
    /// ```
    /// use sstkit_table::{PrefixMode, ScanOptions};
    ///
    /// let options = ScanOptions::default()
    ///     .range(b"user7/".as_slice()..b"user8/".as_slice())
    ///     .prefix_mode(PrefixMode::Auto);
    /// ```
    #[derive(Clone, Debug)]
    pub struct ScanOptions {
        pub(crate) lower: Bound<Vec<u8>> = Bound::Unbounded,
        pub(crate) upper: Bound<Vec<u8>> = Bound::Unbounded,
        pub(crate) prefix_mode: PrefixMode,
        /// The prefix of all keys; their common filter prefix may be probed.
        pub(crate) starts_with: Option<Vec<u8>>,
        /// The bounds are those of [`starts_with`](Self::starts_with), in the order given.
        bounds_are_of_start: bool,
        /// Not all keys of the range have the prefix.
        pub(crate) checks_start: bool,
        pub(crate) fill_cache: bool = true,
        pub(crate) view: ReadView,
    }
}

impl ScanOptions {
    /// The range of keys, in comparator order; default: all.
    #[must_use]
    pub fn range<K: AsRef<[u8]>>(mut self, range: impl RangeBounds<K>) -> Self {
        self.lower = range.start_bound().map(|key| key.as_ref().to_vec());
        self.upper = range.end_bound().map(|key| key.as_ref().to_vec());
        (self.bounds_are_of_start, self.checks_start) = (false, self.starts_with.is_some());
        self
    }

    /// The start of the range.
    pub fn lower_bound(&self) -> Bound<&[u8]> {
        self.lower.as_ref().map(Vec::as_slice)
    }

    /// The end of the range.
    pub fn upper_bound(&self) -> Bound<&[u8]> {
        self.upper.as_ref().map(Vec::as_slice)
    }

    /// The state to read.
    pub fn view(&self) -> &ReadView {
        &self.view
    }

    /// Whether a key has the prefix of the scan, if there is one.
    pub(crate) fn has_start(&self, key: &[u8]) -> bool {
        !self.checks_start || self.starts_with.as_deref().is_none_or(|it| key.starts_with(it))
    }

    /// Whether a range tombstone deletes keys within the bounds of the scan. If the order is not known,
    /// it may.
    pub fn overlaps(&self, tombstone: &RangeTombstone, order: Option<&Comparator>) -> bool {
        let Some(order) = order else { return true };
        let compare = |a: &[u8], b: &[u8]| order.compare_without_timestamp(a, b);
        let ends_after = match self.lower_bound() {
            Bound::Included(key) | Bound::Excluded(key) => compare(&tombstone.end, key).is_gt(),
            Bound::Unbounded => true,
        };
        let starts_before = match self.upper_bound() {
            Bound::Included(key) => compare(&tombstone.start, key).is_le(),
            Bound::Excluded(key) => compare(&tombstone.start, key).is_lt(),
            Bound::Unbounded => true,
        };
        // A log may have empty ranges.
        ends_after && starts_before && compare(&tombstone.start, &tombstone.end).is_lt()
    }

    /// Whether a range tombstone [overlaps](Self::overlaps) the scan, and its view sees it.
    pub fn selects(&self, tombstone: &RangeTombstone, order: Option<&Comparator>) -> bool {
        let keys = UserKeys::new(order.cloned().unwrap_or_default());
        self.view.sees(tombstone.sequence, &tombstone.timestamp, &keys)
            && self.overlaps(tombstone, order)
    }

    /// The keys that start with `start`, as a range if the comparator allows that; otherwise all
    /// keys are read, and those with the prefix are shown. Their common filter prefix may be
    /// probed.
    pub fn starting_with(start: &[u8], order: Option<&Comparator>) -> Self {
        let starts_with = Some(start.to_vec());
        let options = Self { starts_with, bounds_are_of_start: true, ..Self::default() };
        options.in_order(order)
    }

    /// The same in the order of a table, regardless of the order that the bounds were created for.
    pub(crate) fn in_order(mut self, order: Option<&Comparator>) -> Self {
        let Some(start) = self.starts_with.as_deref().filter(|_| self.bounds_are_of_start) else {
            return self;
        };
        let order = order.map(Comparator::order);
        let first = || Bound::Included(start.to_vec());
        let after = || successor(start).map_or(Bound::Unbounded, Bound::Excluded);
        let (lower, upper) = match order {
            Some(Comparator::Bytewise | Comparator::BytewiseWithTimestamp) => (first(), after()),
            Some(Comparator::ReverseBytewise | Comparator::ReverseBytewiseWithTimestamp) => {
                (after(), first())
            }
            // In a custom order such keys may be anywhere: all are read.
            Some(Comparator::User(_)) | None => (Bound::Unbounded, Bound::Unbounded),
        };
        self.checks_start = matches!(order, Some(Comparator::User(_)) | None);
        (self.lower, self.upper) = (lower, upper);
        self
    }
}

setters! {
    impl ScanOptions:

    /// How seeks use prefixes in the filter; default [`PrefixMode::Auto`].
    pub fn prefix_mode(mut self, mode: PrefixMode) { self.prefix_mode = mode; }

    /// Whether data blocks that are read are added to the block cache; default on. A long scan adds
    /// only blocks that fit without eviction, and those that are read again soon. Switch it off for
    /// a scan that is not repeated: uncompressed blocks are then not copied.
    pub fn fill_cache(mut self, on: bool) { self.fill_cache = on; }

    /// Reads the state at a sequence number: later writes are not visible. Default: everything is
    /// visible.
    ///
    /// ```
    /// use sstkit_table::raw::{EntryKind, InternalKey};
    /// use sstkit_table::{ScanOptions, Table, TableOptions, TableWriter};
    ///
    /// let options = TableOptions::rocksdb().external_file(false);
    /// let mut bytes = Vec::new();
    /// let mut writer = TableWriter::to_sink(&mut bytes, &options)?;
    /// for (sequence, kind) in [(7, EntryKind::Deletion), (3, EntryKind::Value)] {
    ///     writer.add(&InternalKey { user_key: b"alice", sequence, kind }, b"")?;
    /// }
    /// writer.finish()?;
    ///
    /// let table = Table::from_bytes(bytes)?;
    /// assert!(!table.cursor().seek_to_first()?);
    /// assert!(table.cursor_with(&ScanOptions::default().sequence(6)).seek_to_first()?);
    /// assert!(!table.cursor_with(&ScanOptions::default().sequence(2)).seek_to_first()?);
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn sequence(mut self, sequence: u64) { self.view.sequence = sequence; }

    /// Reads the state at a timestamp, if keys have timestamps: later versions are not visible.
    /// Default: everything is visible.
    pub fn timestamp(mut self, timestamp: &[u8]) { self.view.timestamp = Some(timestamp.to_vec()); }

    /// Reads the state of `view`: [`sequence`](Self::sequence) and [`timestamp`](Self::timestamp)
    /// together.
    pub fn at(mut self, view: &ReadView) { self.view = view.clone(); }
}

/// The smallest key after all keys that start with `start`; `None` if there is none.
fn successor(start: &[u8]) -> Option<Vec<u8>> {
    let last = start.iter().rposition(|&byte| byte != 0xff)?;
    let mut next = start[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_all_that_start_alike() {
        for (start, next) in [
            (&b"a"[..], Some(&b"b"[..])),
            (b"ab\xff\xff", Some(b"ac")),
            (b"\xff", None),
            (b"", None),
        ] {
            assert_eq!(successor(start).as_deref(), next);
        }
    }
}
