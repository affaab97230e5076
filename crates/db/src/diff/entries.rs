//! The stored entries of a side.

use std::ops::Bound;
use std::sync::Arc;

use sstkit_table::raw::{ColumnValue, EntryKind, decode_wide_columns};
use sstkit_table::visibility::{InternalIterator, MergingIterator};
use sstkit_table::{Column, Comparator, EntryCursor, Table, Value};

use super::{DiffSide, missing_timestamp};
use crate::column_family::ColumnFamily;
use crate::error::{ErrorKind, Result};
use crate::read::{DatabaseEntry, SourceIterator, entries_by_sequence, entry_of};

/// The entries of a side: keys ascend, and the entries of a key are sorted by timestamp and sequence
/// number, the largest first, whatever file they are in.
pub(super) struct EntrySide {
    cursor: SideCursor,
    missing_timestamp: usize,
    /// The current key with the timestamp that the table does not keep: the smallest there is.
    stamped: Vec<u8>,
    timestamp_size: usize,
    /// Room for a key that is left behind.
    left: Vec<u8>,
}

#[expect(clippy::large_enum_variant, reason = "there are two of them")]
enum SideCursor {
    Table(Table, EntryCursor),
    ColumnFamily(ColumnFamily, MergingIterator<SourceIterator>),
    Empty,
}

/// The same call on either cursor; what nothing has to say otherwise.
macro_rules! either {
    ($side:expr, $it:ident => $call:expr, $empty:expr) => {
        match $side {
            SideCursor::Table(_, $it) => $call,
            SideCursor::ColumnFamily(_, $it) => $call,
            SideCursor::Empty => $empty,
        }
    };
}

/// What an entry holds, with everything resolved that can be.
#[derive(PartialEq, Eq)]
enum Contents {
    Value(Value),
    Columns(Vec<Column>),
    /// In a blob file that a table alone does not have.
    Elsewhere,
}

impl EntrySide {
    pub(super) fn new(side: &DiffSide, order: &Comparator) -> Self {
        let cursor = match side {
            DiffSide::Table(table) => SideCursor::Table(table.clone(), table.entry_cursor()),
            DiffSide::ColumnFamily(family) => {
                let entries = entries_by_sequence(family.family(), &Arc::default());
                SideCursor::ColumnFamily(family.clone(), entries)
            }
            DiffSide::Empty => SideCursor::Empty,
        };
        Self {
            cursor,
            missing_timestamp: missing_timestamp(side, order),
            stamped: Vec::new(),
            timestamp_size: order.timestamp_size(),
            left: Vec::new(),
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        either!(&self.cursor, entries => entries.is_valid(), false)
    }

    /// The current key as stored, with its timestamp.
    pub(super) fn user_key(&self) -> &[u8] {
        match self.missing_timestamp {
            0 => either!(&self.cursor, entries => entries.user_key(), &[]),
            _ => &self.stamped,
        }
    }

    /// The current key without its timestamp.
    pub(super) fn key(&self) -> &[u8] {
        let user_key = self.user_key();
        &user_key[..user_key.len().saturating_sub(self.timestamp_size)]
    }

    pub(super) fn sequence(&self) -> u64 {
        either!(&self.cursor, entries => entries.sequence(), 0)
    }

    fn kind(&self) -> EntryKind {
        either!(&self.cursor, entries => entries.kind(), EntryKind::Value)
    }

    fn value(&self) -> Value {
        either!(&self.cursor, entries => entries.value_handle(), Value::default())
    }

    pub(super) fn next(&mut self) -> Result<()> {
        match &mut self.cursor {
            SideCursor::Table(_, entries) => entries.next()?,
            SideCursor::ColumnFamily(_, entries) => next_write(entries, &mut self.left)?,
            SideCursor::Empty => false,
        };
        self.arrive()
    }

    /// Moves to the first entry of a range.
    pub(super) fn seek(&mut self, lower: &Bound<Vec<u8>>, order: &Comparator) -> Result<()> {
        match lower {
            Bound::Included(key) | Bound::Excluded(key) => {
                either!(&mut self.cursor, entries => entries.seek(key)?, false)
            }
            Bound::Unbounded => {
                either!(&mut self.cursor, entries => entries.seek_to_first()?, false)
            }
        };
        self.arrive()?;
        if let Bound::Excluded(key) = lower {
            while self.is_valid() && order.compare_without_timestamp(self.key(), key).is_eq() {
                self.next()?;
            }
        }
        Ok(())
    }

    /// After a move.
    fn arrive(&mut self) -> Result<()> {
        if self.missing_timestamp > 0 {
            let user_key = either!(&self.cursor, entries => entries.user_key(), &[]);
            self.stamped.clear();
            self.stamped.extend_from_slice(user_key);
            self.stamped.resize(user_key.len() + self.missing_timestamp, 0);
        }
        match &self.cursor {
            // What is not found may be in a table that was left out.
            SideCursor::ColumnFamily(family, entries) if !entries.is_valid() => {
                family.family().require_all_tables()
            }
            _ => Ok(()),
        }
    }

    /// The current entry.
    pub(super) fn entry(&self) -> DatabaseEntry {
        match &self.cursor {
            SideCursor::ColumnFamily(family, entries) => entry_of(family.family(), entries),
            SideCursor::Table(..) | SideCursor::Empty => DatabaseEntry {
                key: self.key().to_vec(),
                timestamp: self.user_key()[self.key().len()..].to_vec(),
                sequence: self.sequence(),
                kind: self.kind(),
                value: self.value(),
                level: None,
                file: None,
            },
        }
    }

    /// Whether the current entries, which have the same key and number, do the same to it.
    pub(super) fn is_same(&self, other: &Self) -> Result<bool> {
        if self.kind() != other.kind() {
            return Ok(false);
        }
        let (a, b) = (self.value(), other.value());
        match self.kind() {
            // Equal references may lead to different blobs, and different ones to equal blobs.
            EntryKind::BlobIndex => {}
            EntryKind::WideColumnEntity if a == b && !has_blobs(&a)? => return Ok(true),
            EntryKind::WideColumnEntity => {}
            _ => return Ok(a == b),
        }
        Ok(match (self.contents()?, other.contents()?) {
            (Contents::Elsewhere, Contents::Elsewhere) => a == b,
            (of_a, of_b) => of_a == of_b,
        })
    }

    fn contents(&self) -> Result<Contents> {
        let entry = self.entry();
        let is_entity = entry.kind == EntryKind::WideColumnEntity;
        let contents: Result<Contents> = match &self.cursor {
            SideCursor::Table(table, _) if is_entity => {
                table.resolve_columns(&entry.value).map(Contents::Columns)
            }
            SideCursor::Table(table, _) => {
                table.resolve(entry.kind, &entry.value).map(Contents::Value)
            }
            SideCursor::ColumnFamily(family, _) if is_entity => {
                family.resolve_columns(&entry).map(Contents::Columns)
            }
            SideCursor::ColumnFamily(family, _) => family.resolve(&entry).map(Contents::Value),
            SideCursor::Empty => Ok(Contents::Elsewhere),
        };
        match (&self.cursor, contents) {
            (SideCursor::Table(..), Err(error)) if error.kind() == ErrorKind::Unsupported => {
                Ok(Contents::Elsewhere)
            }
            (_, contents) => contents,
        }
    }
}

/// Moves to the next write. One that a log and a table have, or two tables, comes from the newest of
/// them; the others are skipped.
fn next_write(entries: &mut MergingIterator<SourceIterator>, left: &mut Vec<u8>) -> Result<bool> {
    let (source, sequence) = (entries.source(), entries.sequence());
    left.clear();
    left.extend_from_slice(entries.user_key());
    let mut more = entries.next()?;
    while more
        && entries.sequence() == sequence
        && entries.source() != source
        && entries.user_key() == left
    {
        more = entries.next()?;
    }
    Ok(more)
}

/// Whether values of columns are blobs.
fn has_blobs(entity: &[u8]) -> Result<bool> {
    let columns = decode_wide_columns(entity)?;
    Ok(columns.iter().any(|column| matches!(column.value, ColumnValue::Blob(_))))
}
