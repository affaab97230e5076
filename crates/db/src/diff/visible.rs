//! What differs in the visible state of two sides.

use std::cmp::Ordering;
use std::fmt;
use std::iter::FusedIterator;
use std::ops::Bound;

use sstkit_table::{Comparator, ReadOptions, Record, RecordValue};

use super::keep_going::KeepGoing;
use super::{
    DiffOptions, DiffSide, Difference, Ranges, common_order, is_within, missing_timestamp,
};
use crate::error::Result;
use crate::read::DatabaseCursor;

/// Iterates over the keys that only one of two sides has, and those whose values differ, in the order
/// of the keys. An error ends it.
///
/// Values are compared as they are read: blobs and columns by their contents, merge operands combined
/// if the operator is known, otherwise one by one. Timestamps are compared, too.
///
/// ```no_run
/// use sstkit_db::{Database, Diff, DiffOptions, Difference};
///
/// let before = Database::open("backup/1")?.default_column_family();
/// let after = Database::open("backup/2")?.default_column_family();
/// for difference in Diff::new(&before.into(), &after.into(), &DiffOptions::default())? {
///     match difference? {
///         Difference::Removed(record) => println!("- {}", record.key.escape_ascii()),
///         Difference::Added(record) => println!("+ {}", record.key.escape_ascii()),
///         Difference::Changed(record, _) => println!("~ {}", record.key.escape_ascii()),
///     }
/// }
/// # Ok::<(), sstkit_db::Error>(())
/// ```
pub struct Diff {
    a: Side,
    b: Side,
    order: Comparator,
    ranges: Ranges,
    /// Where the current range ends.
    upper: Option<Bound<Vec<u8>>>,
    keep_going: KeepGoing,
    has_ended: bool,
}

impl Diff {
    /// Compares `a` with `b`.
    ///
    /// # Errors
    ///
    /// Fails if their comparators are not the same, or not known.
    pub fn new(a: &DiffSide, b: &DiffSide, options: &DiffOptions) -> Result<Self> {
        let order = common_order(a, b)?;
        let scan = options.scan(&order);
        let unequal = |a: &sstkit_table::Table, b: &_, range| a.unequal_visible_ranges(b, range);
        Ok(Self {
            ranges: Ranges::new((a, b), options, &scan, unequal)?,
            a: Side::new(a, &scan, &order)?,
            b: Side::new(b, &scan, &order)?,
            order,
            upper: None,
            keep_going: options.keep_going.clone(),
            has_ended: false,
        })
    }

    /// Pairs of data blocks that were skipped so far, because they are stored with the same bytes.
    pub fn skipped_blocks(&self) -> u64 {
        self.ranges.skipped_blocks()
    }

    fn advance(&mut self) -> Result<Option<Difference<Record>>> {
        loop {
            self.keep_going.check()?;
            let Some(upper) = &self.upper else {
                let Some((lower, upper)) = self.ranges.next(&self.keep_going)? else {
                    return Ok(None);
                };
                self.a.seek(&lower, &self.order)?;
                self.b.seek(&lower, &self.order)?;
                self.upper = Some(upper);
                continue;
            };
            let is_in = |side: &Side| side.is_valid() && is_within(side.key(), upper, &self.order);
            let next = match (is_in(&self.a), is_in(&self.b)) {
                (false, false) => {
                    self.upper = None;
                    continue;
                }
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (true, true) => self.order.compare_without_timestamp(self.a.key(), self.b.key()),
            };
            let Self { a, b, .. } = self;
            let found = match next {
                Ordering::Less => a.take()?.map(Difference::Removed),
                Ordering::Greater => b.take()?.map(Difference::Added),
                Ordering::Equal if a.is_same_plain(b) => {
                    a.next()?;
                    b.next()?;
                    None
                }
                Ordering::Equal => match (a.take()?, b.take()?) {
                    (Some(a), Some(b)) if !is_same(&a, &b) => Some(Difference::Changed(a, b)),
                    _ => None,
                },
            };
            if found.is_some() {
                return Ok(found);
            }
        }
    }
}

/// Whether two records of a key have the same contents.
fn is_same(a: &Record, b: &Record) -> bool {
    a.timestamp == b.timestamp
        && match (&a.value, &b.value) {
            // The names of operators that are not known do not matter.
            (
                RecordValue::Unresolved { base: a, operands: of_a, .. },
                RecordValue::Unresolved { base: b, operands: of_b, .. },
            ) => a == b && of_a == of_b,
            (a, b) => a == b,
        }
}

impl Iterator for Diff {
    type Item = Result<Difference<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let found = self.advance().transpose();
        self.has_ended = !matches!(found, Some(Ok(_)));
        found
    }
}

impl FusedIterator for Diff {}

impl fmt::Debug for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diff")
            .field("skipped_blocks", &self.skipped_blocks())
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}

/// The visible keys of a side.
struct Side {
    cursor: SideCursor,
    /// The timestamp of all keys, if the table does not keep them: the smallest there is.
    timestamp: Vec<u8>,
}

#[expect(clippy::large_enum_variant, reason = "there are two of them")]
enum SideCursor {
    Table(sstkit_table::Cursor),
    ColumnFamily(DatabaseCursor),
    Empty,
}

/// The same call on either cursor; what nothing has to say otherwise.
macro_rules! either {
    ($cursor:expr, $it:ident => $call:expr, $empty:expr) => {
        match $cursor {
            SideCursor::Table($it) => $call,
            SideCursor::ColumnFamily($it) => $call,
            SideCursor::Empty => $empty,
        }
    };
}

impl Side {
    fn new(side: &DiffSide, scan: &ReadOptions, order: &Comparator) -> Result<Self> {
        let cursor = match side {
            DiffSide::Table(table) => SideCursor::Table(table.cursor_with(scan)),
            DiffSide::ColumnFamily(family) => {
                let scan = scan.clone().at(family.view());
                SideCursor::ColumnFamily(DatabaseCursor::open(family.family(), &scan)?)
            }
            DiffSide::Empty => SideCursor::Empty,
        };
        Ok(Self { cursor, timestamp: vec![0; missing_timestamp(side, order)] })
    }

    fn is_valid(&self) -> bool {
        either!(&self.cursor, cursor => cursor.is_valid(), false)
    }

    fn key(&self) -> &[u8] {
        either!(&self.cursor, cursor => cursor.key(), &[])
    }

    fn timestamp(&self) -> &[u8] {
        match self.timestamp.as_slice() {
            [] => either!(&self.cursor, cursor => cursor.timestamp(), &[]),
            smallest => smallest,
        }
    }

    /// The value, if it is stored as it is.
    fn plain_value(&self) -> Option<&[u8]> {
        either!(&self.cursor, cursor => cursor.plain_value(), None)
    }

    /// Whether both have the same plain value; false if that is not known yet.
    fn is_same_plain(&self, other: &Self) -> bool {
        self.plain_value().is_some_and(|value| other.plain_value() == Some(value))
            && self.timestamp() == other.timestamp()
    }

    /// Moves to the first key of a range.
    fn seek(&mut self, lower: &Bound<Vec<u8>>, order: &Comparator) -> Result<()> {
        match lower {
            Bound::Included(key) | Bound::Excluded(key) => {
                either!(&mut self.cursor, cursor => cursor.seek(key)?, false)
            }
            Bound::Unbounded => either!(&mut self.cursor, cursor => cursor.seek_to_first()?, false),
        };
        if let Bound::Excluded(key) = lower
            && self.is_valid()
            && order.compare_without_timestamp(self.key(), key).is_eq()
        {
            self.next()?;
        }
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        either!(&mut self.cursor, cursor => cursor.next()?, false);
        Ok(())
    }

    /// The current record; moves on.
    fn take(&mut self) -> Result<Option<Record>> {
        let mut record = either!(&self.cursor, cursor => cursor.record()?, None);
        if let Some(record) = record.as_mut().filter(|_| !self.timestamp.is_empty()) {
            record.timestamp.clone_from(&self.timestamp);
        }
        self.next()?;
        Ok(record)
    }
}
