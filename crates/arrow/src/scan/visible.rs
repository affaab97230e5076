//! Rows of the visible state.

use sstkit_db::DatabaseCursor;
use sstkit_table::{Cursor, Record, RecordValue, Value};

use super::batches::Rows;
use super::builders::{ColumnBuilders, PlainColumns};
use crate::error::Result;

/// What the cursors of tables and databases have in common.
pub(super) trait VisibleCursor: Send {
    fn seek_to_first(&mut self) -> Result<bool>;
    fn seek_to_last(&mut self) -> Result<bool>;
    fn next(&mut self) -> Result<bool>;
    fn prev(&mut self) -> Result<bool>;
    fn key(&self) -> &[u8];
    fn timestamp(&self) -> &[u8];
    fn plain_value(&self) -> Option<&[u8]>;
    fn value(&self) -> Result<Value>;
    fn record(&self) -> Result<Option<Record>>;
}

macro_rules! visible_cursor {
    ($($cursor:ty),*) => {$(
        impl VisibleCursor for $cursor {
            fn seek_to_first(&mut self) -> Result<bool> {
                Ok(<$cursor>::seek_to_first(self)?)
            }

            fn seek_to_last(&mut self) -> Result<bool> {
                Ok(<$cursor>::seek_to_last(self)?)
            }

            #[inline]
            fn next(&mut self) -> Result<bool> {
                Ok(<$cursor>::next(self)?)
            }

            fn prev(&mut self) -> Result<bool> {
                Ok(<$cursor>::prev(self)?)
            }

            #[inline]
            fn key(&self) -> &[u8] {
                <$cursor>::key(self)
            }

            #[inline]
            fn timestamp(&self) -> &[u8] {
                <$cursor>::timestamp(self)
            }

            #[inline]
            fn plain_value(&self) -> Option<&[u8]> {
                <$cursor>::plain_value(self)
            }

            fn value(&self) -> Result<Value> {
                Ok(<$cursor>::value(self)?)
            }

            fn record(&self) -> Result<Option<Record>> {
                Ok(<$cursor>::record(self)?)
            }
        }
    )*};
}

visible_cursor!(Cursor, DatabaseCursor);

/// Why no more rows are appended.
enum Stopped {
    /// The cursor is at a row that is still to be appended.
    AtRow,
    /// The batch is full.
    Full,
    /// There are no more rows.
    AtEnd,
}

/// The visible keys under a cursor.
pub(super) struct VisibleRows<C> {
    cursor: C,
    reverse: bool,
    is_positioned: bool,
}

impl<C: VisibleCursor> VisibleRows<C> {
    pub(super) fn new(cursor: C, reverse: bool) -> Self {
        Self { cursor, reverse, is_positioned: false }
    }

    #[inline]
    fn advance(&mut self) -> Result<bool> {
        match (std::mem::replace(&mut self.is_positioned, true), self.reverse) {
            (true, false) => self.cursor.next(),
            (true, true) => self.cursor.prev(),
            (false, false) => self.cursor.seek_to_first(),
            (false, true) => self.cursor.seek_to_last(),
        }
    }

    #[inline]
    fn append(&self, columns: &mut ColumnBuilders) -> Result<()> {
        let cursor = &self.cursor;
        columns.append_key(cursor.key(), cursor.timestamp())?;
        if !columns.wants_values() {
            return Ok(());
        }
        match cursor.plain_value() {
            Some(value) if columns.value.as_ref().is_some_and(|it| it.wants_handle(value)) => {
                columns.append_value(Some(cursor.value()?))
            }
            Some(value) => columns.append_plain(value),
            None => self.append_record(columns),
        }
    }

    /// Appends rows up to one whose value is stored in another form.
    #[inline]
    fn fill_plain(
        &mut self,
        columns: &mut PlainColumns<'_>,
        rows: usize,
        bytes: usize,
    ) -> Result<Stopped> {
        while columns.has_room(rows, bytes) {
            if !self.advance()? {
                return Ok(Stopped::AtEnd);
            }
            match self.cursor.plain_value() {
                Some(value) => columns.append(self.cursor.key(), value)?,
                None => return Ok(Stopped::AtRow),
            }
        }
        Ok(Stopped::Full)
    }

    /// A value that is stored in another form.
    #[cold]
    fn append_record(&self, columns: &mut ColumnBuilders) -> Result<()> {
        let Some(record) = self.cursor.record()? else { return columns.append_value(None) };
        match record.value {
            RecordValue::Value(value) => columns.append_value(Some(value)),
            RecordValue::Entity(entity) => columns.append_entity(&entity),
            RecordValue::Unresolved { operator, base, operands } => {
                columns.append_unresolved(&record.key, operator.as_deref(), base, &operands)
            }
        }
    }
}

impl<C: VisibleCursor> Rows for VisibleRows<C> {
    fn fill(&mut self, columns: &mut ColumnBuilders, rows: usize, bytes: usize) -> Result<bool> {
        while columns.rows() < rows && columns.bytes() < bytes {
            let stopped = match columns.plain() {
                Some(mut plain) => self.fill_plain(&mut plain, rows, bytes)?,
                None if self.advance()? => Stopped::AtRow,
                None => Stopped::AtEnd,
            };
            match stopped {
                Stopped::AtRow => self.append(columns)?,
                Stopped::Full => return Ok(true),
                Stopped::AtEnd => return Ok(false),
            }
        }
        Ok(true)
    }
}
