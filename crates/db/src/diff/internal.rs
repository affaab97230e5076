//! What differs in the stored entries of two sides.

use std::cmp::Ordering;
use std::fmt;
use std::iter::FusedIterator;
use std::ops::Bound;
use std::vec;

use sstkit_table::RangeTombstone;
use sstkit_table::visibility::UserKeys;

use super::entries::EntrySide;
use super::keep_going::KeepGoing;
use super::{DiffOptions, DiffSide, Difference, Ranges, common_order, is_within, tombstones};
use crate::error::Result;
use crate::read::DatabaseEntry;

/// A difference between what two sides have stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InternalDifference {
    /// Of an entry. Both sides of a changed one have the same key and sequence number.
    Entry(Difference<DatabaseEntry>),
    /// Of a range tombstone, which is never [changed](Difference::Changed).
    RangeTombstone(Difference<RangeTombstone>),
}

/// Iterates over the entries that only one of two sides has, and those whose types or values differ:
/// by key and then newest first. Range tombstones follow. An error ends it.
///
/// Entries of all levels and of the write-ahead log are compared by key, timestamp and sequence
/// number, regardless of the sequence number at which a column family is read. A write that is in the
/// log and in a table counts once. Where values are, in
/// which file and level, does not matter: blobs and columns are compared by their contents. (A table
/// on its own does not have the blobs of other files; their references are compared.) Tombstones with
/// the same sequence number that meet or overlap count as one: files cut them.
pub struct InternalDiff {
    a: EntrySide,
    b: EntrySide,
    keys: UserKeys,
    ranges: Ranges,
    /// Where the current range ends.
    upper: Option<Bound<Vec<u8>>>,
    prefix: Option<Vec<u8>>,
    tombstones: vec::IntoIter<Difference<RangeTombstone>>,
    keep_going: KeepGoing,
    has_ended: bool,
}

impl InternalDiff {
    /// Compares `a` with `b`.
    ///
    /// # Errors
    ///
    /// Fails if their comparators are not the same, or not known.
    pub fn new(a: &DiffSide, b: &DiffSide, options: &DiffOptions) -> Result<Self> {
        let order = common_order(a, b)?;
        let scan = options.scan(&order);
        let unequal = |a: &sstkit_table::Table, b: &_, range| a.unequal_ranges(b, range);
        let tombstones = tombstones::differences((a, b), &scan, &order)?;
        Ok(Self {
            ranges: Ranges::new((a, b), options, &scan, unequal)?,
            a: EntrySide::new(a, &order),
            b: EntrySide::new(b, &order),
            keys: UserKeys::new(order),
            upper: None,
            prefix: options.keys.prefix.clone(),
            tombstones: tombstones.into_iter(),
            keep_going: options.keep_going.clone(),
            has_ended: false,
        })
    }

    /// Pairs of data blocks that were skipped so far, because they are stored with the same bytes.
    pub fn skipped_blocks(&self) -> u64 {
        self.ranges.skipped_blocks()
    }

    /// The next difference between entries.
    fn next_entry(&mut self) -> Result<Option<Difference<DatabaseEntry>>> {
        loop {
            self.keep_going.check()?;
            let order = self.keys.comparator();
            let Some(upper) = &self.upper else {
                let Some((lower, upper)) = self.ranges.next(&self.keep_going)? else {
                    return Ok(None);
                };
                self.a.seek(&lower, order)?;
                self.b.seek(&lower, order)?;
                self.upper = Some(upper);
                continue;
            };
            let is_in = |side: &EntrySide| side.is_valid() && is_within(side.key(), upper, order);
            let next = match (is_in(&self.a), is_in(&self.b)) {
                (false, false) => {
                    self.upper = None;
                    continue;
                }
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (true, true) => self
                    .keys
                    .compare_stored(self.a.user_key(), self.b.user_key())
                    .then_with(|| self.b.sequence().cmp(&self.a.sequence())),
            };
            let found = self.difference(next)?;
            if next.is_le() {
                self.a.next()?;
            }
            if next.is_ge() {
                self.b.next()?;
            }
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// What differs about the current entries, if `next` comes next.
    fn difference(&self, next: Ordering) -> Result<Option<Difference<DatabaseEntry>>> {
        let Self { a, b, prefix, .. } = self;
        let key = if next.is_le() { a.key() } else { b.key() };
        // In a user-made order, keys with a prefix may be anywhere.
        if prefix.as_deref().is_some_and(|prefix| !key.starts_with(prefix)) {
            return Ok(None);
        }
        Ok(match next {
            Ordering::Less => Some(Difference::Removed(a.entry())),
            Ordering::Greater => Some(Difference::Added(b.entry())),
            Ordering::Equal if a.is_same(b)? => None,
            Ordering::Equal => Some(Difference::Changed(a.entry(), b.entry())),
        })
    }

    fn advance(&mut self) -> Result<Option<InternalDifference>> {
        match self.next_entry()? {
            Some(difference) => Ok(Some(InternalDifference::Entry(difference))),
            None => Ok(self.tombstones.next().map(InternalDifference::RangeTombstone)),
        }
    }
}

impl Iterator for InternalDiff {
    type Item = Result<InternalDifference>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let found = self.advance().transpose();
        self.has_ended = !matches!(found, Some(Ok(_)));
        found
    }
}

impl FusedIterator for InternalDiff {}

impl fmt::Debug for InternalDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InternalDiff")
            .field("skipped_blocks", &self.skipped_blocks())
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}
