//! The entries of a run: one table after another, each opened when it is reached.

use sstkit_table::raw::EntryKind;
use sstkit_table::visibility::InternalIterator;
use sstkit_table::{EntryCursor, Table, Value};

use crate::error::Result;

/// Tables with consecutive key ranges.
pub trait TableRun {
    /// The number of tables.
    fn len(&self) -> usize;

    /// The index of the first table that does not end before `key`.
    fn first_at(&self, key: &[u8]) -> usize;

    /// The index of the first table that starts after `key`.
    fn first_after(&self, key: &[u8]) -> usize;

    /// Opens a table to move to `key`, or to its first (`backward`: last) entry. `None` if the
    /// filter rules it out.
    fn open(&self, at: usize, key: Option<&[u8]>, backward: bool) -> Result<Option<Table>>;

    /// A cursor over the entries of a table that was opened.
    fn entry_cursor(&self, table: &Table) -> EntryCursor {
        table.entry_cursor()
    }

    /// The size of the timestamp that keys of the column family have and keys of this table lack.
    fn missing_timestamp(&self, at: usize, table: &Table) -> usize;

    /// Whether a table, and all after it (`backward`: before it), are outside the bounds of the
    /// scan.
    fn is_out_of_range(&self, _at: usize, _backward: bool) -> bool {
        false
    }
}

/// Moves over the entries of a run.
pub struct RunCursor<R> {
    run: R,
    /// The index of the current table.
    at: usize,
    /// In the current table.
    entries: Option<EntryCursor>,
    missing_timestamp: usize,
    /// The current key with the smallest timestamp, if its table does not persist timestamps.
    stamped: Vec<u8>,
}

sstkit_coding::debug_opaque!([R] RunCursor<R>);

impl<R: TableRun> RunCursor<R> {
    pub(crate) fn new(run: R) -> Self {
        Self { run, at: 0, entries: None, missing_timestamp: 0, stamped: Vec::new() }
    }

    pub(crate) fn run(&self) -> &R {
        &self.run
    }

    /// The index of the table of the current entry.
    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The cursor in that table.
    pub(crate) fn entries(&self) -> Option<&EntryCursor> {
        self.entries.as_ref()
    }

    /// Opens the table at `at`, unless the filter rules it out.
    fn open(&mut self, key: Option<&[u8]>, backward: bool) -> Result<Option<&mut EntryCursor>> {
        self.entries = None;
        let Some(table) = self.run.open(self.at, key, backward)? else { return Ok(None) };
        self.missing_timestamp = self.run.missing_timestamp(self.at, &table);
        Ok(Some(self.entries.insert(self.run.entry_cursor(&table))))
    }

    /// After a move in the current table: continues with the following tables if it reached the
    /// end.
    #[inline]
    fn settle_forward(&mut self, mut more: bool) -> Result<bool> {
        while !more {
            self.at += 1;
            if self.at >= self.run.len() || self.run.is_out_of_range(self.at, false) {
                return Ok(self.end());
            }
            more = match self.open(None, false)? {
                Some(entries) => entries.seek_to_first()?,
                None => false,
            };
        }
        Ok(self.arrive())
    }

    /// After a move in the current table: continues with the preceding tables if it reached the
    /// start.
    fn settle_backward(&mut self, mut more: bool) -> Result<bool> {
        while !more {
            let Some(at) = self.at.checked_sub(1) else { return Ok(self.end()) };
            self.at = at;
            if self.run.is_out_of_range(at, true) {
                return Ok(self.end());
            }
            more = match self.open(None, true)? {
                Some(entries) => entries.seek_to_last()?,
                None => false,
            };
        }
        Ok(self.arrive())
    }

    fn end(&mut self) -> bool {
        self.entries = None;
        false
    }

    #[inline]
    fn arrive(&mut self) -> bool {
        if self.missing_timestamp > 0 {
            self.stamp();
        }
        true
    }

    fn stamp(&mut self) {
        if let Some(entries) = &self.entries {
            self.stamped.clear();
            self.stamped.extend_from_slice(entries.user_key());
            self.stamped.resize(self.stamped.len() + self.missing_timestamp, 0);
        }
    }

    /// Resets the position if the move failed.
    #[inline]
    fn fused(&mut self, moved: Result<bool>) -> Result<bool> {
        if moved.is_err() {
            self.entries = None;
        }
        moved
    }

    /// Moves forward in the current table.
    #[inline]
    fn step(
        &mut self,
        go: impl FnOnce(&mut EntryCursor) -> sstkit_table::Result<bool>,
    ) -> Result<bool> {
        let Some(entries) = &mut self.entries else { return Ok(false) };
        let moved = match go(entries) {
            Ok(more) => self.settle_forward(more),
            Err(error) => Err(error),
        };
        self.fused(moved)
    }

    fn first_at(&mut self, at: usize, key: Option<&[u8]>) -> Result<bool> {
        self.at = at;
        if at >= self.run.len() {
            return Ok(self.end());
        }
        let more = match (self.open(key, false)?, key) {
            (Some(entries), Some(key)) => entries.seek(key)?,
            (Some(entries), None) => entries.seek_to_first()?,
            (None, _) => false,
        };
        self.settle_forward(more)
    }

    fn last_at(&mut self, at: Option<usize>, key: Option<&[u8]>) -> Result<bool> {
        let Some(at) = at else { return Ok(self.end()) };
        self.at = at;
        let more = match (self.open(key, true)?, key) {
            (Some(entries), Some(key)) => entries.seek_for_prev(key)?,
            (Some(entries), None) => entries.seek_to_last()?,
            (None, _) => false,
        };
        self.settle_backward(more)
    }
}

impl<R: TableRun> InternalIterator for RunCursor<R> {
    #[inline]
    fn is_valid(&self) -> bool {
        self.entries.is_some()
    }

    #[inline]
    fn is_first_of_user_key(&mut self, timestamp_size: usize) -> bool {
        let stored_size = timestamp_size - self.missing_timestamp;
        self.entries.as_mut().is_some_and(|entries| entries.is_first_of_user_key(stored_size))
    }

    #[inline]
    fn user_key(&self) -> &[u8] {
        match &self.entries {
            Some(_) if self.missing_timestamp > 0 => &self.stamped,
            Some(entries) => entries.user_key(),
            None => &[],
        }
    }

    #[inline]
    fn sequence(&self) -> u64 {
        self.entries.as_ref().map_or(0, InternalIterator::sequence)
    }

    #[inline]
    fn kind(&self) -> EntryKind {
        self.entries.as_ref().map_or(EntryKind::Value, InternalIterator::kind)
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.entries.as_ref().map_or(&[], EntryCursor::value)
    }

    fn value_handle(&self) -> Value {
        self.entries.as_ref().map_or_else(Value::default, EntryCursor::value_handle)
    }

    #[inline]
    fn next(&mut self) -> Result<bool> {
        self.step(EntryCursor::next)
    }

    #[inline]
    fn next_user_key(&mut self, timestamp_size: usize) -> Result<bool> {
        let stored_size = timestamp_size - self.missing_timestamp;
        self.step(|entries| entries.next_user_key(stored_size))
    }

    fn prev(&mut self) -> Result<bool> {
        let Some(entries) = &mut self.entries else { return Ok(false) };
        let moved = match entries.prev() {
            Ok(more) => self.settle_backward(more),
            Err(error) => Err(error),
        };
        self.fused(moved)
    }

    fn seek_to_first(&mut self) -> Result<bool> {
        let moved = self.first_at(0, None);
        self.fused(moved)
    }

    fn seek_to_last(&mut self) -> Result<bool> {
        let moved = self.last_at(self.run.len().checked_sub(1), None);
        self.fused(moved)
    }

    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let moved = self.first_at(self.run.first_at(key), Some(key));
        self.fused(moved)
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        let after = self.run.first_after(key);
        let moved = self.last_at(after.checked_sub(1), Some(key));
        self.fused(moved)
    }
}
