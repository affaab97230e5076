//! The batches of a scan, one after another.

use std::fmt;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::Scan;
use super::builders::ColumnBuilders;
use crate::error::Result;

/// What fills batches.
pub(super) trait Rows: Send {
    /// Appends rows until there are `rows` of them or more than `bytes`; false if there are no more.
    fn fill(&mut self, columns: &mut ColumnBuilders, rows: usize, bytes: usize) -> Result<bool>;
}

/// Iterates over the record batches of a [`Scan`]. An error ends it.
pub struct Batches {
    rows: Box<dyn Rows>,
    columns: ColumnBuilders,
    batch_rows: usize,
    batch_bytes: usize,
    /// Rows that may still come.
    left: u64,
    ended: bool,
}

impl Batches {
    pub(super) fn new(rows: Box<dyn Rows>, columns: ColumnBuilders, scan: &Scan) -> Self {
        let Scan { batch_rows, batch_bytes, limit, .. } = *scan;
        let left = limit.unwrap_or(u64::MAX);
        Self { rows, columns, batch_rows, batch_bytes, left, ended: false }
    }

    /// The next batch, with this crate's error.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.ended {
            return Ok(None);
        }
        self.ended = true;
        let rows = self.batch_rows.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let more = self.rows.fill(&mut self.columns, rows, self.batch_bytes)?;
        if self.columns.rows() == 0 {
            return Ok(None);
        }
        self.left -= self.columns.rows() as u64;
        let batch = self.columns.finish()?;
        self.ended = !more || self.left == 0;
        Ok(Some(batch))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map_err(ArrowError::from).transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(self.columns.schema())
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("schema", self.columns.schema()).finish_non_exhaustive()
    }
}
