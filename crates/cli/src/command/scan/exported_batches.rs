//! The record batches of an export: as scanned, or with the times of writes apart from the values.
//!
//! ```text
//! stored     key  value + time     in a database with a time to live
//! exported   key  value  written
//! ```

use std::sync::Arc;

use anyhow::{Result, bail};
use arrow_array::builder::{BinaryBuilder, UInt64Builder};
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchReader as _};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use sstkit_arrow::{Batches, ScanColumn};
use sstkit_db::Ttl;

/// The column with the times of writes, in seconds since 1970.
pub(super) const WRITTEN: &str = "written";

pub(super) struct ExportedBatches {
    batches: Batches,
    schema: SchemaRef,
    has_times: bool,
}

impl ExportedBatches {
    /// With `has_times`, values end with the times of their writes.
    pub(super) fn new(batches: Batches, has_times: bool) -> Self {
        let mut schema = batches.schema();
        if has_times {
            let written = Arc::new(Field::new(WRITTEN, DataType::UInt64, true));
            let fields = schema.fields().iter().cloned().chain([written]);
            schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        }
        Self { batches, schema, has_times }
    }

    #[cfg(feature = "parquet")]
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        match self.batches.next_batch()? {
            Some(batch) if self.has_times => Ok(Some(self.split(&batch)?)),
            batch => Ok(batch),
        }
    }

    fn split(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let is_set = |column: ScanColumn| {
            batch.column_by_name(column.name()).is_some_and(|it| it.null_count() < it.len())
        };
        if is_set(ScanColumn::Merge) || is_set(ScanColumn::Columns) {
            bail!(
                "columns and merge operands that end with the time of their write are only shown as \
                 text and JSON: use --ttl=off to write them as stored"
            );
        }
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        let mut written = UInt64Builder::with_capacity(batch.num_rows());
        let value = self.schema.index_of(ScanColumn::Value.name()).ok();
        match value.and_then(|value| Some((value, columns[value].as_binary_opt::<i32>()?))) {
            Some((value, stored)) => {
                let mut values = BinaryBuilder::new();
                for stored in stored {
                    // One that is too short stays as it is.
                    let split = stored.and_then(Ttl::split);
                    values.append_option(split.map(|(value, _)| value).or(stored));
                    written.append_option(split.map(|(_, time)| u64::from(time)));
                }
                columns[value] = Arc::new(values.finish());
            }
            None => written.append_nulls(batch.num_rows()),
        }
        columns.push(Arc::new(written.finish()));
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}
