//! What differs between two tables or column families, of any engine and format.
//!
//! ```text
//! a   alice 1   bob 2           dave 4          Removed(bob), Added(carol), Changed(dave 4, dave 5)
//! b   alice 1           carol 3 dave 5
//! ```
//!
//! Both sides are read in the order of their keys and merged: [`Diff`] compares what is visible,
//! [`InternalDiff`] what is stored. Memory does not grow with the data. Of two tables only the parts
//! are decoded whose blocks are not stored with the same bytes, see
//! [`UnequalRanges`].

mod entries;
mod internal;
mod keep_going;
mod parallel_ranges;
mod tombstones;
mod visible;

use std::ops::Bound;
use std::thread;

use sstkit_coding::setters;
use sstkit_table::{Comparator, KeyBounds, KeyRange, ReadOptions, Table, UnequalRanges};

use self::keep_going::KeepGoing;
use self::parallel_ranges::{FindUnequal, PART_SIZE, ParallelRanges};
use crate::column_family::ColumnFamily;
use crate::error::{Error, Result};
use crate::key_selection::KeySelection;

pub use self::internal::{InternalDiff, InternalDifference};
pub use self::visible::Diff;

/// A side of a comparison: a table or a column family. A column family is compared at its sequence
/// number, a table at its newest.
#[derive(Clone, Debug)]
pub enum DiffSide {
    /// A table.
    Table(Table),
    /// A column family of a database.
    ColumnFamily(ColumnFamily),
    /// Nothing: the other side of a column family that only one database has.
    Empty,
}

impl From<Table> for DiffSide {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<ColumnFamily> for DiffSide {
    fn from(family: ColumnFamily) -> Self {
        Self::ColumnFamily(family)
    }
}

impl DiffSide {
    /// The order of its keys, if it has any.
    fn comparator(&self) -> Result<Option<&Comparator>> {
        match self {
            Self::Table(table) => Ok(Some(table.comparator()?)),
            Self::ColumnFamily(family) => family.comparator().map(Some),
            Self::Empty => Ok(None),
        }
    }

    /// What it is called in messages.
    fn name(&self) -> String {
        match self {
            Self::Table(table) => match table.path() {
                Some(path) => path.display().to_string(),
                None => "a table".to_owned(),
            },
            Self::ColumnFamily(family) => {
                let path = family.family().files.directory().path();
                format!("column family {:?} of {}", family.name(), path.display())
            }
            Self::Empty => "nothing".to_owned(),
        }
    }
}

/// What differs about a key or an entry, from the first side to the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference<T> {
    /// Only the first side has it.
    Removed(T),
    /// Only the second side has it.
    Added(T),
    /// Both have it, with other contents.
    Changed(T, T),
}

/// Which keys are compared. All by default.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    keys: KeySelection,
    skip_equal_blocks: bool,
    threads: usize,
    keep_going: KeepGoing,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            keys: KeySelection::default(),
            skip_equal_blocks: true,
            threads: thread::available_parallelism().map_or(1, usize::from),
            keep_going: KeepGoing::default(),
        }
    }
}

impl DiffOptions {
    /// Compares only keys in this range, in comparator order.
    #[must_use]
    pub fn range(mut self, range: impl KeyBounds) -> Self {
        self.keys.set_range(range);
        self
    }

    /// The scan of either side.
    fn scan(&self, order: &Comparator) -> ReadOptions {
        self.keys.scan(Some(order)).fill_cache(false)
    }
}

setters! {
    impl DiffOptions:

    /// Compares only keys that start with this, instead of a range.
    pub fn prefix(mut self, prefix: impl Into<Vec<u8>>) { self.keys.prefix = Some(prefix.into()); }

    /// Whether data blocks of two tables that are stored with the same bytes are skipped; default on.
    /// The differences are the same. Off decodes every block, and so finds damage under a checksum
    /// that matches.
    pub fn skip_equal_blocks(mut self, on: bool) { self.skip_equal_blocks = on; }

    /// Threads that compare the blocks of two large tables. Default: the number of processors.
    pub fn threads(mut self, threads: usize) { self.threads = threads; }

    /// Asks now and then, also where nothing differs, whether to go on. If not, the comparison is
    /// [cancelled](crate::Error::is_cancelled). Default: it is not.
    pub fn keep_going(mut self, callback: impl Fn() -> bool + Send + Sync + 'static) {
        self.keep_going = KeepGoing::new(callback);
    }
}

/// The order of both sides.
///
/// # Errors
///
/// If it is not the same.
fn common_order(a: &DiffSide, b: &DiffSide) -> Result<Comparator> {
    match (a.comparator()?, b.comparator()?) {
        (Some(order), Some(other)) if order.name() != other.name() => {
            Err(Error::invalid_input(format!(
                "cannot compare keys in different orders: {} has the comparator {:?}, {} has {:?}",
                a.name(),
                order.name(),
                b.name(),
                other.name()
            )))
        }
        (order, other) => Ok(order.or(other).cloned().unwrap_or_default()),
    }
}

/// The parts of the key range that have to be decoded.
enum Ranges {
    /// One range, until it is taken.
    Whole(Option<KeyRange>),
    Unequal(Box<UnequalRanges>),
    Parallel(ParallelRanges),
}

impl Ranges {
    /// Of a scan; `find` finds those of two tables.
    fn new(
        (a, b): (&DiffSide, &DiffSide),
        options: &DiffOptions,
        scan: &ReadOptions,
        find: FindUnequal,
    ) -> Result<Self> {
        let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
        let whole = (owned(scan.lower_bound()), owned(scan.upper_bound()));
        if let (DiffSide::Table(a), DiffSide::Table(b)) = (a, b)
            && options.skip_equal_blocks
            && let Some(unequal) = find(a, b, whole.clone())?
        {
            if let Some(parallel) =
                ParallelRanges::new((a, b), &whole, find, options.threads, PART_SIZE)?
            {
                return Ok(Self::Parallel(parallel));
            }
            return Ok(Self::Unequal(Box::new(unequal)));
        }
        Ok(Self::Whole(Some(whole)))
    }

    fn next(&mut self, keep_going: &KeepGoing) -> Result<Option<KeyRange>> {
        match self {
            Self::Whole(range) => Ok(range.take()),
            Self::Unequal(ranges) => Ok(ranges.next_range()?),
            Self::Parallel(ranges) => loop {
                if let Some(range) = ranges.next_of_part() {
                    return Ok(Some(range));
                }
                keep_going.ask()?;
                if !ranges.next_part()? {
                    return Ok(None);
                }
            },
        }
    }

    fn skipped_blocks(&self) -> u64 {
        match self {
            Self::Whole(_) => 0,
            Self::Unequal(ranges) => ranges.skipped_blocks(),
            Self::Parallel(ranges) => ranges.skipped_blocks(),
        }
    }
}

/// Whether a key is not behind the end of a range.
fn is_within(key: &[u8], upper: &Bound<Vec<u8>>, order: &Comparator) -> bool {
    match upper {
        Bound::Included(bound) => order.compare_without_timestamp(key, bound).is_le(),
        Bound::Excluded(bound) => order.compare_without_timestamp(key, bound).is_lt(),
        Bound::Unbounded => true,
    }
}

/// Bytes of timestamp that the keys of a side should have and do not.
fn missing_timestamp(side: &DiffSide, order: &Comparator) -> usize {
    match side {
        DiffSide::Table(table) if !table.properties().has_persisted_timestamps() => {
            order.timestamp_size()
        }
        // A column family adds them itself.
        _ => 0,
    }
}
