//! Parquet: record batches, whose columns make keys and values.
//!
//! Keys are encoded as `docs/formats/key-encoding.md` says, so that they sort as the values of the
//! columns do: strings and binary unchanged, integers big-endian with the sign bit inverted, and so on.
//! A value is a column of strings, binary or integers, or several columns as an entity or a JSON object.
//!
//! A file that `sst scan` has written is recognized by its metadata. All its columns are used, unless
//! others are given.
//!
//! The parquet crate panics on some malformed files. All calls into it go through [`guarded`],
//! which turns a panic into an error.

use std::cell::Cell;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use anyhow::{Context as _, Result, anyhow, bail};
use arrow_schema::Schema;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use sstkit_arrow::{BatchColumns, BatchWriter, EntrySink, ScanColumn};
use sstkit_table::Comparator;

use super::{InputSettings, SCAN_METADATA, ValueForm};
use sstkit_inspect::suggest::hint;

/// Rows that are decoded at a time. Values may be large.
const BATCH_ROWS: usize = 1024;

/// Reads Parquet batch by batch.
pub(crate) struct ParquetInput {
    batches: ParquetRecordBatchReader,
    writer: BatchWriter,
    name: String,
    rows: u64,
    size: u64,
    has_timestamps: bool,
}

impl ParquetInput {
    pub(super) fn open(path: &Path, name: String, settings: &InputSettings) -> Result<Self> {
        let file = File::open(path).with_context(|| name.clone())?;
        guarded(|| Self::new(file, name.clone(), settings)).with_context(|| name)
    }

    fn new(file: File, name: String, settings: &InputSettings) -> Result<Self> {
        let size = file.metadata()?.len();
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
        let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        let is_of_scan = is_of_scan(&builder) && !settings.has_columns();
        let columns = match is_of_scan {
            true => BatchColumns::of_scan(builder.schema()),
            false => columns(builder.schema(), settings)?,
        };
        // Only these are decoded.
        let names = columns.names();
        let has_timestamps = is_of_scan && names.contains(&ScanColumn::Timestamp.name());
        let roots = builder.schema().fields().iter().enumerate();
        let roots = roots.filter(|(_, field)| names.contains(&field.name().as_str()));
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots.map(|(root, _)| root));
        let batches = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build()?;
        let schema = arrow_array::RecordBatchReader::schema(&batches);
        let writer = BatchWriter::new(schema, &columns)?;
        Ok(Self { batches, writer, name, rows, size, has_timestamps })
    }

    /// Fails if the keys have timestamps and the comparator has none, or the other way round.
    pub(crate) fn check_timestamps(&self, comparator: &Comparator) -> Result<()> {
        let name = &self.name;
        match (self.has_timestamps, comparator.timestamp_size()) {
            (true, 0) => bail!("{name}: the keys have timestamps, but {comparator} expects none"),
            (false, 1..) => bail!("{name}: no timestamps, but {comparator} expects them"),
            _ => Ok(()),
        }
    }

    /// The approximate number of bytes that were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        let share = self.writer.rows() as f64 / self.rows.max(1) as f64;
        (self.size as f64 * share) as u64
    }

    /// Writes the rows of the next batch and returns their number; `None` at the end.
    pub(crate) fn write_batch(&mut self, sink: &mut impl EntrySink) -> Result<Option<u64>> {
        let batch = guarded(|| Ok(self.batches.next().transpose()?));
        let Some(batch) = batch.with_context(|| self.name.clone())? else { return Ok(None) };
        self.writer.write(&batch, sink).with_context(|| self.name.clone())?;
        Ok(Some(batch.num_rows() as u64))
    }
}

/// Whether `sst scan` has written the file.
fn is_of_scan(builder: &ParquetRecordBatchReaderBuilder<File>) -> bool {
    let metadata = builder.metadata().file_metadata().key_value_metadata();
    let (name, version) = SCAN_METADATA;
    let is_it = |it: &parquet::file::metadata::KeyValue| {
        it.key == name && it.value.as_deref() == Some(version)
    };
    metadata.is_some_and(|all| all.iter().any(is_it))
}

/// The columns that are given, or `key` and `value`.
fn columns(schema: &Schema, settings: &InputSettings) -> Result<BatchColumns> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let (key, values) = (settings.key_columns(), settings.value_columns(names.iter().copied()));
    for name in key.iter().chain(&values) {
        if !names.contains(&name.as_str()) {
            let (list, hint) = (names.join(", "), hint(name, names.iter().copied()));
            return Err(anyhow!("no column {name:?} (found {list}): use --key and --value{hint}"));
        }
    }
    Ok(match settings.value_form(values.len()) {
        ValueForm::Plain => BatchColumns::new(key, values.first().cloned().unwrap_or_default()),
        ValueForm::Entity => BatchColumns::new(key, "").entity(values),
        ValueForm::Json => BatchColumns::new(key, "").json(values),
    })
}

thread_local! {
    /// Whether a panic on this thread becomes an error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls into the parquet crate. A panic becomes an error and prints nothing. What panicked is not
/// used again, since the error ends the reading.
fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                usual(info);
            }
        }));
    });
    IS_GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    IS_GUARDED.set(false);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        let first = text.lines().next().unwrap_or_default();
        Err(anyhow!("the Parquet file is malformed: {first}"))
    })
}
