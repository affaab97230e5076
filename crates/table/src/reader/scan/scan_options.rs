//! Which keys a scan is about.

use std::ops::{Bound, RangeBounds};

use crate::comparator::Comparator;
use crate::filter::PrefixMode;
use crate::visibility::ReadView;

/// Which part of a table a [`Cursor`](crate::reader::Cursor) moves in, and how its seeks use the filter.
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
    pub(crate) lower: Bound<Vec<u8>>,
    pub(crate) upper: Bound<Vec<u8>>,
    pub(crate) prefix_mode: PrefixMode,
    /// Only keys that start with this, whose common prefix may be asked for.
    pub(crate) starts_with: Option<Vec<u8>>,
    /// The bounds are those of [`starts_with`](Self::starts_with), in an order that somebody gave.
    bounds_are_of_start: bool,
    /// Not all keys of the range start with that.
    pub(crate) checks_start: bool,
    pub(crate) fill_cache: bool,
    pub(crate) view: ReadView,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            prefix_mode: PrefixMode::default(),
            starts_with: None,
            bounds_are_of_start: false,
            checks_start: false,
            fill_cache: true,
            view: ReadView::default(),
        }
    }
}

impl ScanOptions {
    /// Only keys in this range, in the table's order; all by default.
    #[must_use]
    pub fn range<K: AsRef<[u8]>>(mut self, range: impl RangeBounds<K>) -> Self {
        self.lower = range.start_bound().map(|key| key.as_ref().to_vec());
        self.upper = range.end_bound().map(|key| key.as_ref().to_vec());
        (self.bounds_are_of_start, self.checks_start) = (false, self.starts_with.is_some());
        self
    }

    /// Where the range starts.
    pub fn lower_bound(&self) -> Bound<&[u8]> {
        self.lower.as_ref().map(Vec::as_slice)
    }

    /// Where the range ends.
    pub fn upper_bound(&self) -> Bound<&[u8]> {
        self.upper.as_ref().map(Vec::as_slice)
    }

    /// How seeks use prefixes in the filter; [`PrefixMode::Auto`] by default.
    #[must_use]
    pub fn prefix_mode(mut self, mode: PrefixMode) -> Self {
        self.prefix_mode = mode;
        self
    }

    /// Whether data blocks that are read go into the block cache; on by default. A long scan adds only
    /// blocks for which there is room, and those that are read again soon. Off suits a scan that is
    /// not repeated: blocks that are not compressed are then not even copied.
    #[must_use]
    pub fn fill_cache(mut self, on: bool) -> Self {
        self.fill_cache = on;
        self
    }

    /// Reads the state as of a sequence number: what was written later is not visible. Everything is
    /// by default.
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
    #[must_use]
    pub fn sequence(mut self, sequence: u64) -> Self {
        self.view.sequence = sequence;
        self
    }

    /// Reads the state as of a timestamp, where keys have timestamps: versions with later ones are
    /// not visible. Everything is by default.
    #[must_use]
    pub fn timestamp(mut self, timestamp: &[u8]) -> Self {
        self.view.timestamp = Some(timestamp.to_vec());
        self
    }

    /// Reads the state that `view` sees: [`sequence`](Self::sequence) and
    /// [`timestamp`](Self::timestamp) in one.
    #[must_use]
    pub fn at(mut self, view: &ReadView) -> Self {
        self.view = view.clone();
        self
    }

    /// The state that is read.
    pub fn view(&self) -> &ReadView {
        &self.view
    }

    /// The keys that start with `start`, as a range where the order (that of the table, if it is
    /// known) allows that; in another order all keys are looked at, and those that start so are shown.
    /// Their common prefix may be asked for.
    pub fn starting_with(start: &[u8], order: Option<&Comparator>) -> Self {
        let starts_with = Some(start.to_vec());
        let options = Self { starts_with, bounds_are_of_start: true, ..Self::default() };
        options.in_order(order)
    }

    /// The same in the order of a table, whatever order the bounds were made for.
    pub(crate) fn in_order(mut self, order: Option<&Comparator>) -> Self {
        let Some(start) = self.starts_with.as_deref().filter(|_| self.bounds_are_of_start) else {
            return self;
        };
        let first = || Bound::Included(start.to_vec());
        let after = || successor(start).map_or(Bound::Unbounded, Bound::Excluded);
        let (lower, upper) = match order {
            Some(Comparator::Bytewise | Comparator::BytewiseWithTimestamp) => (first(), after()),
            Some(Comparator::ReverseBytewise | Comparator::ReverseBytewiseWithTimestamp) => {
                (after(), first())
            }
            // Who knows where such keys are: all are looked at.
            Some(Comparator::User(_)) | None => (Bound::Unbounded, Bound::Unbounded),
        };
        self.checks_start = matches!(order, Some(Comparator::User(_)) | None);
        (self.lower, self.upper) = (lower, upper);
        self
    }
}

/// The first bytes after all that start with `start`; `None` if there are none.
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
