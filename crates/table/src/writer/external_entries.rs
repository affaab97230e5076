//! The entries of a table outside of a database: sequence number 0, and a kind.

use std::borrow::Cow;

use super::TableWriter;
use crate::error::Result;
use crate::raw::{ColumnValue, EntryKind, InternalKey, WideColumn, encode_wide_columns};

impl<W> TableWriter<'_, W> {
    /// Sets a key to a value.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.external(key, &[], EntryKind::Value, value)
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.external(key, &[], EntryKind::Deletion, &[])
    }

    /// Deletes a key that was set at most once.
    pub fn single_delete(&mut self, key: &[u8]) -> Result<()> {
        self.external(key, &[], EntryKind::SingleDeletion, &[])
    }

    /// Adds an operand for the merge operator.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.external(key, &[], EntryKind::Merge, operand)
    }

    /// Sets a key to named columns, given in any order. The column with the empty name is the one that
    /// a plain lookup returns.
    pub fn put_entity(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        let mut columns: Vec<_> = columns
            .iter()
            .map(|&(name, value)| WideColumn { name, value: ColumnValue::Inline(value) })
            .collect();
        columns.sort_by_key(|column| column.name);
        let mut entity = Vec::new();
        encode_wide_columns(&columns, &mut entity).map_err(|error| self.named(error))?;
        self.external(key, &[], EntryKind::WideColumnEntity, &entity)
    }

    /// Deletes the keys from `begin` up to, but not including, `end`. Ranges may overlap and come in
    /// any order, before, between and after other entries. An empty range is ignored.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.range(begin, end, &[])
    }

    /// Sets a key to a value as of a timestamp, whose length is that of the comparator's.
    pub fn put_at(&mut self, key: &[u8], timestamp: &[u8], value: &[u8]) -> Result<()> {
        self.external(key, timestamp, EntryKind::Value, value)
    }

    /// Deletes a key as of a timestamp.
    pub fn delete_at(&mut self, key: &[u8], timestamp: &[u8]) -> Result<()> {
        self.external(key, timestamp, EntryKind::DeletionWithTimestamp, &[])
    }

    /// Adds an operand for the merge operator as of a timestamp.
    pub fn merge_at(&mut self, key: &[u8], timestamp: &[u8], operand: &[u8]) -> Result<()> {
        self.external(key, timestamp, EntryKind::Merge, operand)
    }

    /// Deletes a range of keys as of a timestamp.
    pub fn delete_range_at(&mut self, begin: &[u8], end: &[u8], timestamp: &[u8]) -> Result<()> {
        self.range(begin, end, timestamp)
    }

    #[inline]
    fn external(
        &mut self,
        key: &[u8],
        timestamp: &[u8],
        kind: EntryKind,
        value: &[u8],
    ) -> Result<()> {
        self.check_failed()?;
        self.check.timestamp(timestamp).map_err(|error| self.named(error))?;
        let user_key = &*stamped(key, timestamp);
        let key = InternalKey { user_key, sequence: 0, kind };
        self.check
            .external(self.inner.last_key(), &key, value)
            .map_err(|error| self.named(error))?;
        self.push(&key, value)
    }

    fn range(&mut self, begin: &[u8], end: &[u8], timestamp: &[u8]) -> Result<()> {
        self.check_failed()?;
        self.check.timestamp(timestamp).map_err(|error| self.named(error))?;
        let (begin, end) = (stamped(begin, timestamp), stamped(end, timestamp));
        let kind = EntryKind::RangeDeletion;
        let key = InternalKey { user_key: &begin, sequence: 0, kind };
        self.check.entry(self.inner.last_key(), &key, &end).map_err(|error| self.named(error))?;
        if self.check.is_empty_range(&begin, &end) {
            return Ok(());
        }
        self.push(&key, &end)
    }
}

/// A key with its timestamp; a key without one is not copied.
#[inline]
fn stamped<'k>(key: &'k [u8], timestamp: &[u8]) -> Cow<'k, [u8]> {
    if timestamp.is_empty() { Cow::Borrowed(key) } else { Cow::Owned([key, timestamp].concat()) }
}
