//! Rows that are nothing but a key and a value, written in runs.

use arrow_array::ArrayRef;

use super::entry_sink::EntrySink;
use super::first_null;
use crate::bytes_column::BytesColumn;
use crate::error::Result;
use crate::key::Keys;

/// Rows of a run: a sink may look after each whether it should stop.
const RUN: usize = 4096;

/// Keys as bytes.
#[derive(Clone, Copy)]
pub(super) enum PlainKeys<'b> {
    Column(&'b BytesColumn),
    Encoded(&'b Keys),
}

/// The rows of a batch up to the first null.
pub(super) struct PlainRows<'b> {
    keys: PlainKeys<'b>,
    values: &'b BytesColumn,
    rows: usize,
}

impl<'b> PlainRows<'b> {
    /// Rows of a key and a value; `columns` are those in which a null would be an error, and not empty.
    pub(super) fn new(keys: PlainKeys<'b>, values: &'b BytesColumn, columns: &[&ArrayRef]) -> Self {
        let rows = columns.iter().map(|column| first_null(column).unwrap_or(column.len())).min();
        Self { keys, values, rows: rows.unwrap_or(0) }
    }

    /// Their number.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Adds all of them.
    pub(super) fn add_to(&self, sink: &mut impl EntrySink) -> Result<()> {
        let values = self.values;
        match self.keys {
            PlainKeys::Column(BytesColumn::Binary(keys)) => {
                self.add_runs(sink, |row| (keys.value(row), values.value(row)))
            }
            PlainKeys::Column(keys) => {
                self.add_runs(sink, |row| (keys.value(row), values.value(row)))
            }
            PlainKeys::Encoded(keys) => {
                self.add_runs(sink, |row| (keys.get(row), values.value(row)))
            }
        }
    }

    #[inline]
    fn add_runs(
        &self,
        sink: &mut impl EntrySink,
        entry: impl Fn(usize) -> (&'b [u8], &'b [u8]) + Copy,
    ) -> Result<()> {
        for start in (0..self.rows).step_by(RUN) {
            sink.add_run((start..self.rows.min(start + RUN)).map(entry))?;
        }
        Ok(())
    }
}
