//! Options of a read.

use std::ops::Bound;

use sstkit_coding::{debug_struct, setters, with_defaults};
use sstkit_filter::PrefixExtractor;

use crate::comparator::Comparator;
use crate::error::{Error, Result};
use crate::filter::PrefixMode;
use crate::reader::block::access::BlockAccess;
use crate::reader::key_bounds::{KeyBounds, KeyRange};
use crate::visibility::{RangeTombstone, ReadView, UserKeys};

with_defaults! {
    /// Options of one read of a table or database, under RocksDB's names where it has them. The defaults
    /// are those of the methods without options: `get` is `get_with` with `ReadOptions::default()`.
    ///
    /// | option | lookups | scans |
    /// |---|---|---|
    /// | [`sequence`](Self::sequence), [`timestamp`](Self::timestamp) | yes | yes |
    /// | [`range`](Self::range), [`prefix`](Self::prefix), [`prefix_mode`](Self::prefix_mode) | | yes |
    /// | [`use_filters`](Self::use_filters) | yes | yes |
    /// | [`fill_cache`](Self::fill_cache), [`verify_checksums`](Self::verify_checksums) | yes | yes |
    /// | [`readahead_size`](Self::readahead_size) | | yes |
    /// | [`pin_data`](Self::pin_data) | yes | always |
    ///
    /// ```
    /// use sstkit_table::{PrefixMode, ReadOptions};
    ///
    /// let options = ReadOptions::default()
    ///     .range(b"user7/"..b"user8/")
    ///     .prefix_mode(PrefixMode::Auto)
    ///     .fill_cache(false)
    ///     .readahead_size(2 << 20);
    /// ```
    #[derive(Clone)]
    pub struct ReadOptions {
        pub(crate) lower: Bound<Vec<u8>> = Bound::Unbounded,
        pub(crate) upper: Bound<Vec<u8>> = Bound::Unbounded,
        pub(crate) prefix_mode: PrefixMode,
        /// The prefix of all keys; their common filter prefix may be probed.
        pub(crate) starts_with: Option<Vec<u8>>,
        /// The bounds are those of [`starts_with`](Self::starts_with), once the order is known.
        bounds_are_of_start: bool,
        /// Not all keys of the range have the prefix.
        pub(crate) checks_start: bool,
        pub(crate) use_filters: bool = true,
        pub(crate) fill_cache: bool = true,
        pub(crate) verify_checksums: bool = true,
        pub(crate) readahead_size: u64,
        pub(crate) pin_data: bool,
        pub(crate) view: ReadView,
    }
}

debug_struct!(ReadOptions {
    lower: bytes,
    upper: bytes,
    prefix_mode,
    starts_with: bytes,
    bounds_are_of_start,
    checks_start,
    use_filters,
    fill_cache,
    verify_checksums,
    readahead_size,
    pin_data,
    view
});

setters! {
    impl ReadOptions:

    /// The range of keys of a scan, in comparator order; default: all. RocksDB's
    /// `iterate_lower_bound` and `iterate_upper_bound`.
    pub fn range(mut self, range: impl KeyBounds) {
        (self.lower, self.upper) = range.into_key_range();
        self.limit_to_start();
    }

    /// The keys that start with `start`, as a range if the comparator of what is read allows that; otherwise all
    /// keys are read, and those with the prefix are shown. Their common filter prefix may be probed, except with
    /// [`PrefixMode::TotalOrder`]. With a [`range`](Self::range): the keys in both.
    ///
    /// ```
    /// use sstkit_table::{ReadOptions, Table, TableOptions, TableWriter};
    ///
    /// let mut bytes = Vec::new();
    /// let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb())?;
    /// for key in ["user7/a", "user7/b", "user8/a"] {
    ///     writer.put(key.as_bytes(), b"")?;
    /// }
    /// writer.finish()?;
    ///
    /// let options = ReadOptions::default().prefix("user7/").fill_cache(false);
    /// assert_eq!(Table::from_bytes(bytes)?.iter_with(&options).count(), 2);
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn prefix(mut self, start: impl AsRef<[u8]>) {
        if self.bounds_are_of_start {
            (self.lower, self.upper) = (Bound::Unbounded, Bound::Unbounded);
        }
        self.starts_with = Some(start.as_ref().to_vec());
        self.limit_to_start();
    }

    /// How the seeks of a scan use prefixes in the filter; default [`PrefixMode::Auto`]. RocksDB's
    /// `total_order_seek`, `auto_prefix_mode` and `prefix_same_as_start`.
    pub fn prefix_mode(mut self, mode: PrefixMode) { self.prefix_mode = mode; }

    /// Whether filters are probed; default on. Switch it off for keys that are known to exist.
    pub fn use_filters(mut self, on: bool) { self.use_filters = on; }

    /// Whether data blocks that are read are added to the block cache; default on. A long scan adds
    /// only blocks that fit without eviction, and those that are read again soon. Switch it off for
    /// a scan that is not repeated: uncompressed blocks are then not copied.
    pub fn fill_cache(mut self, on: bool) { self.fill_cache = on; }

    /// Whether the checksums of data blocks that this read loads are verified; default on, unless
    /// the table was opened [without](crate::TableReadOptions::verify_checksums). Blocks in the cache
    /// were verified, or not, when they were loaded.
    pub fn verify_checksums(mut self, on: bool) { self.verify_checksums = on; }

    /// The number of bytes that each read of a scan takes from the file, from the first block on;
    /// default 0: reads grow from one block to 256 KiB as the scan continues. For files on a network
    /// or a hard disk. The memory of two reads is kept.
    pub fn readahead_size(mut self, bytes: u64) { self.readahead_size = bytes; }

    /// Whether lookups return handles into blocks, which keep them in memory, also of short values;
    /// default off: those are copied if their block is in the cache, which is faster. Values of
    /// scans are always handles.
    pub fn pin_data(mut self, on: bool) { self.pin_data = on; }

    /// Reads the state at a sequence number: later writes are not visible. Default: everything that
    /// the table or the handle of a column family shows. RocksDB's `snapshot`.
    ///
    /// ```
    /// use sstkit_table::raw::{EntryKind, InternalKey};
    /// use sstkit_table::{ReadOptions, Table, TableOptions, TableWriter};
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
    /// let at = |sequence| table.get_with(b"alice", &ReadOptions::default().sequence(sequence));
    /// assert!(at(7)?.is_none());
    /// assert!(at(6)?.is_some());
    /// assert!(at(2)?.is_none());
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn sequence(mut self, sequence: u64) { self.view.sequence = sequence; }

    /// Reads the state at a timestamp: later versions are not visible. Default: all versions are.
    /// Reads of keys without timestamps, or with timestamps of another size, fail.
    pub fn timestamp(mut self, timestamp: &[u8]) { self.view.timestamp = Some(timestamp.to_vec()); }

    /// Reads the state of `view`: [`sequence`](Self::sequence) and [`timestamp`](Self::timestamp)
    /// together.
    pub fn at(mut self, view: &ReadView) { self.view = view.clone(); }
}

impl ReadOptions {
    /// The start of the range. That of a prefix is known [in an order](Self::in_order).
    pub fn lower_bound(&self) -> Bound<&[u8]> {
        self.lower.as_ref().map(Vec::as_slice)
    }

    /// The end of the range. That of a prefix is known [in an order](Self::in_order).
    pub fn upper_bound(&self) -> Bound<&[u8]> {
        self.upper.as_ref().map(Vec::as_slice)
    }

    /// The state to read.
    pub fn view(&self) -> &ReadView {
        &self.view
    }
}

/// What readers of several tables need beside the options of each: those of databases, and others that implement
/// [`VisibleSource`](crate::visibility::VisibleSource).
impl ReadOptions {
    /// The prefix that a seek to `key` limits a scan to, with [`PrefixMode::SamePrefix`].
    pub fn prefix_of_seek(
        &self,
        key: Option<&[u8]>,
        extractor: Option<&PrefixExtractor>,
    ) -> Option<Vec<u8>> {
        let key = key.filter(|_| self.prefix_mode == PrefixMode::SamePrefix)?;
        extractor?.prefix(key).map(<[u8]>::to_vec)
    }

    /// The same, but without a prefix extractor [`PrefixMode::SamePrefix`] is [`PrefixMode::Auto`]:
    /// for readers of several tables, each of which may have an extractor of its own.
    #[must_use]
    pub fn for_extractor(mut self, extractor: Option<&PrefixExtractor>) -> Self {
        if extractor.is_none() && self.prefix_mode == PrefixMode::SamePrefix {
            self.prefix_mode = PrefixMode::Auto;
        }
        self
    }

    /// Limits the state to that of `view`, too: what both see.
    #[must_use]
    pub fn within(mut self, view: &ReadView) -> Self {
        self.view.sequence = self.view.sequence.min(view.sequence);
        self.view.timestamp = self.view.timestamp.or_else(|| view.timestamp.clone());
        self
    }

    /// How data blocks are loaded.
    pub(crate) fn block_access(&self) -> BlockAccess {
        let &Self { fill_cache, verify_checksums, .. } = self;
        BlockAccess { fill_cache, verify_checksums }
    }

    /// Fails with [`InvalidInput`](crate::ErrorKind::InvalidInput) if there is a timestamp that keys
    /// of this comparator cannot have.
    pub fn check_timestamp(&self, order: &Comparator) -> Result<()> {
        let Some(timestamp) = &self.view.timestamp else { return Ok(()) };
        match order.timestamp_size() {
            0 => Err(Error::invalid_input("a timestamp is given, but the keys have none")),
            size if size != timestamp.len() => Err(Error::invalid_input(format!(
                "the timestamp has {} bytes, but those of the keys have {size}",
                timestamp.len()
            ))),
            _ => Ok(()),
        }
    }

    /// Until the order is known, each key is compared with the prefix.
    fn limit_to_start(&mut self) {
        let is_everything = (&self.lower, &self.upper) == (&Bound::Unbounded, &Bound::Unbounded);
        self.checks_start = self.starts_with.is_some();
        self.bounds_are_of_start = self.checks_start && is_everything;
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
        let of_start = self.range_of_start(Some(order));
        let (lower, upper) = match &of_start {
            Some((lower, upper)) => (lower, upper),
            None => (&self.lower, &self.upper),
        };
        let ends_after = match lower {
            Bound::Included(key) | Bound::Excluded(key) => compare(&tombstone.end, key).is_gt(),
            Bound::Unbounded => true,
        };
        let starts_before = match upper {
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

    /// The same keys, with the range of the [prefix](Self::prefix) in this order. Reads do this themselves, in the
    /// order of what is read.
    #[must_use]
    pub fn in_order(mut self, order: Option<&Comparator>) -> Self {
        if let Some(range) = self.range_of_start(order) {
            // In other orders such keys may be anywhere.
            self.checks_start = !order.is_some_and(has_prefix_ranges);
            (self.lower, self.upper) = range;
        }
        self
    }

    /// The range of the prefix, if it determines the bounds.
    fn range_of_start(&self, order: Option<&Comparator>) -> Option<KeyRange> {
        let start = self.starts_with.as_deref().filter(|_| self.bounds_are_of_start)?;
        let first = || Bound::Included(start.to_vec());
        let after = || successor(start).map_or(Bound::Unbounded, Bound::Excluded);
        Some(match order.map(Comparator::order) {
            Some(Comparator::Bytewise | Comparator::BytewiseWithTimestamp) => (first(), after()),
            Some(Comparator::ReverseBytewise | Comparator::ReverseBytewiseWithTimestamp) => {
                (after(), first())
            }
            Some(Comparator::User(_)) | None => (Bound::Unbounded, Bound::Unbounded),
        })
    }
}

/// Whether the keys with a prefix are next to each other.
fn has_prefix_ranges(order: &Comparator) -> bool {
    !matches!(order.order(), Comparator::User(_))
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
