//! The batches of a scan, one after another.

use std::fmt;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use sstkit_table::KeyRange;

use super::Scan;
use super::builders::ColumnBuilders;
use super::parallel::{OpenRange, ParallelBatches};
use crate::error::Result;

/// What fills batches.
pub(super) trait Rows: Send {
    /// Appends rows until there are `rows` of them or more than `bytes`; false if there are no more.
    fn fill(&mut self, columns: &mut ColumnBuilders, rows: usize, bytes: usize) -> Result<bool>;
}

/// Iterates over the record batches of a [`Scan`]. An error ends it.
pub struct Batches {
    made: Made,
    schema: SchemaRef,
    ended: bool,
}

/// Who makes the batches.
enum Made {
    /// The thread that reads them.
    Here(Box<SerialBatches>),
    /// Threads that have not been started.
    Planned { ranges: Vec<KeyRange>, threads: usize, open: Arc<OpenRange> },
    /// Other threads.
    Elsewhere(ParallelBatches),
}

/// Batches that are made when they are read.
struct SerialBatches {
    rows: Box<dyn Rows>,
    columns: ColumnBuilders,
    batch_rows: usize,
    batch_bytes: usize,
    /// Rows that may still come.
    left: u64,
    ended: bool,
}

impl SerialBatches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.ended {
            return Ok(None);
        }
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

impl Batches {
    pub(super) fn new(rows: Box<dyn Rows>, columns: ColumnBuilders, scan: &Scan) -> Self {
        let Scan { batch_rows, batch_bytes, limit, .. } = *scan;
        let schema = SchemaRef::clone(columns.schema());
        let left = limit.unwrap_or(u64::MAX);
        let ended = false;
        let serial = SerialBatches { rows, columns, batch_rows, batch_bytes, left, ended };
        Self { made: Made::Here(Box::new(serial)), schema, ended }
    }

    /// Batches of ranges, one after another, made by several threads.
    pub(super) fn in_parallel(
        ranges: Vec<KeyRange>,
        threads: usize,
        schema: SchemaRef,
        open: Arc<OpenRange>,
    ) -> Self {
        Self { made: Made::Planned { ranges, threads, open }, schema, ended: false }
    }

    /// The next batch, with this crate's error.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.ended {
            return Ok(None);
        }
        let next = self.next_of_all();
        self.ended = !matches!(next, Ok(Some(_)));
        next
    }

    fn next_of_all(&mut self) -> Result<Option<RecordBatch>> {
        if let Made::Planned { ranges, threads, open } = &mut self.made {
            let ranges = std::mem::take(ranges);
            self.made = Made::Elsewhere(ParallelBatches::start(ranges, *threads, open)?);
        }
        match &mut self.made {
            Made::Here(batches) => batches.next_batch(),
            Made::Elsewhere(batches) => batches.next_batch(),
            Made::Planned { .. } => Ok(None),
        }
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
        SchemaRef::clone(&self.schema)
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("schema", &self.schema).finish_non_exhaustive()
    }
}
