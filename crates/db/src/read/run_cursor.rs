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

    /// Opens a table.
    fn open(&self, at: usize) -> Result<Table>;

    /// Whether a table may have entries for a move to `key`, or to its first (`backward`: last) entry.
    /// Probes the filter.
    fn may_match(&self, _: &Table, _key: Option<&[u8]>, _backward: bool) -> Result<bool> {
        Ok(true)
    }

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
    /// The table that was opened last: a seek often moves to the same one again.
    open: Option<OpenTable>,
    /// Whether it is at an entry, in the open table.
    is_valid: bool,
    missing_timestamp: usize,
    /// The current key with the smallest timestamp, if its table does not persist timestamps.
    stamped: Vec<u8>,
}

sstkit_coding::debug_opaque!([R] RunCursor<R>);

struct OpenTable {
    /// Its index.
    at: usize,
    table: Table,
    entries: EntryCursor,
}

impl<R: TableRun> RunCursor<R> {
    pub(crate) fn new(run: R) -> Self {
        let stamped = Vec::new();
        Self { run, at: 0, open: None, is_valid: false, missing_timestamp: 0, stamped }
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
    #[inline]
    pub(crate) fn entries(&self) -> Option<&EntryCursor> {
        self.open.as_ref().filter(|_| self.is_valid).map(|open| &open.entries)
    }

    /// Moves in the table at `at`, unless the filter rules it out.
    fn enter(
        &mut self,
        at: usize,
        key: Option<&[u8]>,
        backward: bool,
        go: impl FnOnce(&mut EntryCursor) -> sstkit_table::Result<bool>,
    ) -> Result<bool> {
        (self.at, self.is_valid) = (at, false);
        if self.open.as_ref().is_none_or(|open| open.at != at) {
            self.open = None;
            let table = self.run.open(at)?;
            self.missing_timestamp = self.run.missing_timestamp(at, &table);
            let entries = self.run.entry_cursor(&table);
            self.open = Some(OpenTable { at, table, entries });
        }
        let Some(OpenTable { table, entries, .. }) = &mut self.open else { return Ok(false) };
        Ok(self.run.may_match(table, key, backward)? && go(entries)?)
    }

    /// After a move in the current table: continues with the following tables if it reached the
    /// end.
    #[inline]
    fn settle_forward(&mut self, mut more: bool) -> Result<bool> {
        while !more {
            let next = self.at + 1;
            if next >= self.run.len() || self.run.is_out_of_range(next, false) {
                return Ok(self.end());
            }
            more = self.enter(next, None, false, EntryCursor::seek_to_first)?;
        }
        Ok(self.arrive())
    }

    /// After a move in the current table: continues with the preceding tables if it reached the
    /// start.
    fn settle_backward(&mut self, mut more: bool) -> Result<bool> {
        while !more {
            let Some(next) = self.at.checked_sub(1) else { return Ok(self.end()) };
            if self.run.is_out_of_range(next, true) {
                return Ok(self.end());
            }
            more = self.enter(next, None, true, EntryCursor::seek_to_last)?;
        }
        Ok(self.arrive())
    }

    fn end(&mut self) -> bool {
        self.is_valid = false;
        false
    }

    #[inline]
    fn arrive(&mut self) -> bool {
        self.is_valid = true;
        if self.missing_timestamp > 0 {
            self.stamp();
        }
        true
    }

    fn stamp(&mut self) {
        if let Some(OpenTable { entries, .. }) = &self.open {
            self.stamped.clear();
            self.stamped.extend_from_slice(entries.user_key());
            self.stamped.resize(self.stamped.len() + self.missing_timestamp, 0);
        }
    }

    /// Resets the position if the move failed.
    #[inline]
    fn fused(&mut self, moved: Result<bool>) -> Result<bool> {
        if moved.is_err() {
            self.is_valid = false;
        }
        moved
    }

    /// Moves in the current table.
    #[inline]
    fn step(
        &mut self,
        go: impl FnOnce(&mut EntryCursor) -> sstkit_table::Result<bool>,
        settle: impl FnOnce(&mut Self, bool) -> Result<bool>,
    ) -> Result<bool> {
        let Some(OpenTable { entries, .. }) = self.open.as_mut().filter(|_| self.is_valid) else {
            return Ok(false);
        };
        let moved = match go(entries) {
            // The fast path: still in the same table.
            Ok(true) => return Ok(self.arrive()),
            Ok(false) => settle(self, false),
            Err(error) => Err(error),
        };
        self.fused(moved)
    }

    /// After the last entry of a table: older entries of its user key may be in the tables that follow.
    fn next_user_key_in_other_table(&mut self, timestamp_size: usize) -> Result<bool> {
        let left = self.entries().map_or(&[][..], EntryCursor::left_user_key).to_vec();
        let mut more = self.settle_forward(false)?;
        let bare = |key: &[u8]| key.len().saturating_sub(timestamp_size);
        while more && self.user_key()[..bare(self.user_key())] == left {
            more = self.next()?;
        }
        Ok(more)
    }

    fn first_at(&mut self, at: usize, key: Option<&[u8]>) -> Result<bool> {
        if at >= self.run.len() {
            return Ok(self.end());
        }
        let more = self.enter(at, key, false, |entries| match key {
            Some(key) => entries.seek(key),
            None => entries.seek_to_first(),
        })?;
        self.settle_forward(more)
    }

    fn last_at(&mut self, at: Option<usize>, key: Option<&[u8]>) -> Result<bool> {
        let Some(at) = at else { return Ok(self.end()) };
        let more = self.enter(at, key, true, |entries| match key {
            Some(key) => entries.seek_for_prev(key),
            None => entries.seek_to_last(),
        })?;
        self.settle_backward(more)
    }
}

impl<R: TableRun> InternalIterator for RunCursor<R> {
    #[inline]
    fn is_valid(&self) -> bool {
        self.is_valid
    }

    #[inline]
    fn is_first_of_user_key(&mut self, timestamp_size: usize) -> bool {
        let stored_size = timestamp_size - self.missing_timestamp;
        self.open.as_mut().is_some_and(|open| open.entries.is_first_of_user_key(stored_size))
    }

    #[inline]
    fn user_key(&self) -> &[u8] {
        match &self.open {
            Some(_) if self.missing_timestamp > 0 => &self.stamped,
            Some(open) => InternalIterator::user_key(&open.entries),
            None => &[],
        }
    }

    #[inline]
    fn sequence(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| InternalIterator::sequence(&open.entries))
    }

    #[inline]
    fn kind(&self) -> EntryKind {
        self.open.as_ref().map_or(EntryKind::Value, |open| InternalIterator::kind(&open.entries))
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.open.as_ref().map_or(&[], |open| InternalIterator::value(&open.entries))
    }

    #[inline]
    fn value_handle(&self) -> Value {
        let handle = |open: &OpenTable| InternalIterator::value_handle(&open.entries);
        self.open.as_ref().map_or_else(Value::default, handle)
    }

    #[inline]
    fn next(&mut self) -> Result<bool> {
        self.step(EntryCursor::next, Self::settle_forward)
    }

    #[inline]
    fn next_user_key(&mut self, timestamp_size: usize) -> Result<bool> {
        let stored_size = timestamp_size - self.missing_timestamp;
        self.step(
            |entries| entries.next_user_key(stored_size),
            |this, _| this.next_user_key_in_other_table(timestamp_size),
        )
    }

    #[inline]
    fn prev(&mut self) -> Result<bool> {
        self.step(EntryCursor::prev, Self::settle_backward)
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
