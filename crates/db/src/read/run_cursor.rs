//! Moving about in the entries of a run: one table after the other, each opened when its turn
//! comes.

use std::ops::Bound;
use std::sync::Arc;

use sstkit_table::raw::EntryKind;
use sstkit_table::{EntryCursor, ScanOptions, Value};

use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::merging_iterator::{EntrySource, SortedEntries};
use crate::version::{Run, TableFile};

/// A cursor over the tables of a run.
pub(super) struct RunCursor {
    family: Arc<ColumnFamilyData>,
    run: Arc<Run>,
    scan: Arc<ScanOptions>,
    /// Number of the current file.
    at: usize,
    /// In the current file.
    entries: Option<EntryCursor>,
    /// The current key with the timestamp that its table does not keep: the smallest there is.
    stamped: Vec<u8>,
    is_stamped: bool,
}

impl RunCursor {
    pub(super) fn new(
        family: &Arc<ColumnFamilyData>,
        run: &Arc<Run>,
        scan: &Arc<ScanOptions>,
    ) -> Self {
        Self {
            family: Arc::clone(family),
            run: Arc::clone(run),
            scan: Arc::clone(scan),
            at: 0,
            entries: None,
            stamped: Vec::new(),
            is_stamped: false,
        }
    }

    /// The table of the current entry.
    pub(super) fn file(&self) -> Option<&Arc<TableFile>> {
        self.run.files.get(self.at)
    }

    /// Opens the file at `at`, unless it is not needed: its filter knows that no key of the scan is
    /// in it.
    fn open(&mut self, key: Option<&[u8]>, backward: bool) -> Result<Option<&mut EntryCursor>> {
        self.entries = None;
        let Some(file) = self.run.files.get(self.at) else { return Ok(None) };
        let table = self.family.table(file)?;
        if !table.may_match(&self.scan, key, backward)? {
            return Ok(None);
        }
        self.is_stamped =
            !table.properties().has_persisted_timestamps() && self.family.keys.timestamp_size() > 0;
        Ok(Some(self.entries.insert(table.entry_cursor())))
    }

    /// After a move in the current file; where that has ended, to the first entry after it.
    fn settle_forward(&mut self, mut more: bool) -> Result<bool> {
        while !more {
            self.at += 1;
            let Some(file) = self.run.files.get(self.at) else { return Ok(self.end()) };
            let (keys, start) = (&self.family.keys, file.smallest());
            let is_beyond = match self.scan.upper_bound() {
                Bound::Included(bound) => keys.compare(start, bound).is_gt(),
                Bound::Excluded(bound) => keys.compare(start, bound).is_ge(),
                Bound::Unbounded => false,
            };
            if is_beyond {
                return Ok(self.end());
            }
            more = match self.open(None, false)? {
                Some(entries) => entries.seek_to_first()?,
                None => false,
            };
        }
        Ok(self.arrive())
    }

    /// After a move in the current file; where that has ended, to the last entry before it.
    fn settle_backward(&mut self, mut more: bool) -> Result<bool> {
        while !more {
            let Some(at) = self.at.checked_sub(1) else { return Ok(self.end()) };
            self.at = at;
            let Some(file) = self.run.files.get(at) else { return Ok(self.end()) };
            let (keys, end) = (&self.family.keys, file.largest());
            let is_beyond = match self.scan.lower_bound() {
                Bound::Included(bound) | Bound::Excluded(bound) => keys.compare(end, bound).is_lt(),
                Bound::Unbounded => false,
            };
            if is_beyond {
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

    fn arrive(&mut self) -> bool {
        if let (true, Some(entries)) = (self.is_stamped, &self.entries) {
            self.stamped.clear();
            self.stamped.extend_from_slice(entries.user_key());
            let length = self.stamped.len() + self.family.keys.timestamp_size();
            self.stamped.resize(length, 0);
        }
        true
    }

    /// Forgets where it was, if the move there failed.
    fn fused(&mut self, moved: Result<bool>) -> Result<bool> {
        if moved.is_err() {
            self.entries = None;
        }
        moved
    }

    fn first_at(&mut self, at: usize, key: Option<&[u8]>) -> Result<bool> {
        self.at = at;
        if at >= self.run.files.len() {
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

impl SortedEntries for RunCursor {
    fn is_valid(&self) -> bool {
        self.entries.is_some()
    }

    fn user_key(&self) -> &[u8] {
        match &self.entries {
            Some(_) if self.is_stamped => &self.stamped,
            Some(entries) => entries.user_key(),
            None => &[],
        }
    }

    fn sequence(&self) -> u64 {
        self.entries.as_ref().map_or(0, EntryCursor::sequence)
    }

    fn kind(&self) -> EntryKind {
        self.entries.as_ref().map_or(EntryKind::Value, EntryCursor::kind)
    }

    fn value(&self) -> &[u8] {
        self.entries.as_ref().map_or(&[], EntryCursor::value)
    }

    fn value_handle(&self) -> Value {
        self.entries.as_ref().map_or_else(Value::default, EntryCursor::value_handle)
    }

    fn next(&mut self) -> Result<bool> {
        let Some(entries) = &mut self.entries else { return Ok(false) };
        let moved = match entries.next() {
            Ok(more) => self.settle_forward(more),
            Err(error) => Err(error.into()),
        };
        self.fused(moved)
    }
}

impl EntrySource for RunCursor {
    fn seek_to_first(&mut self) -> Result<bool> {
        let moved = self.first_at(0, None);
        self.fused(moved)
    }

    fn seek_to_last(&mut self) -> Result<bool> {
        let moved = self.last_at(self.run.files.len().checked_sub(1), None);
        self.fused(moved)
    }

    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let moved = self.first_at(self.run.first_at(key, &self.family.keys), Some(key));
        self.fused(moved)
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        let after = self.run.first_after(key, &self.family.keys);
        let moved = self.last_at(after.checked_sub(1), Some(key));
        self.fused(moved)
    }

    fn prev(&mut self) -> Result<bool> {
        let Some(entries) = &mut self.entries else { return Ok(false) };
        let moved = match entries.prev() {
            Ok(more) => self.settle_backward(more),
            Err(error) => Err(error.into()),
        };
        self.fused(moved)
    }
}
