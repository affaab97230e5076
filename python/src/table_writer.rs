//! A table from sorted entries.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::Serialize;
use sstkit_inspect::Encoding;
use sstkit_table::{Summary, TableWriter as Writer};

use crate::bytes_arg::BytesArg;
use crate::errors::Outcome;
use crate::input_rows::{InputRows, RowColumns};
use crate::json::to_python;
use crate::location::LocalPath;
use crate::open_writer::OpenWriter;
use crate::table_settings::TableSettings;
use crate::work;

/// Writes one table from entries in the order of their keys.
///
/// The file appears under its name when `finish` is called, complete. As a context manager it is
/// finished at the end of the block; after an exception nothing is left behind.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct TableWriter {
    path: PathBuf,
    writer: OpenWriter<Writer<'static>>,
}

/// What was written.
#[derive(Serialize)]
struct TableReport {
    file: String,
    size: u64,
    entries: u64,
    range_deletions: u64,
    smallest_key: String,
    largest_key: String,
}

impl TableReport {
    fn new(file: String, summary: &Summary) -> Self {
        Self {
            file,
            size: summary.file_size,
            entries: summary.num_entries,
            range_deletions: summary.num_range_deletions,
            smallest_key: Encoding::default().encode(&summary.first_key),
            largest_key: Encoding::default().encode(&summary.last_key),
        }
    }
}

#[pymethods]
impl TableWriter {
    #[new]
    #[pyo3(signature = (path, **options))]
    fn new(path: LocalPath, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let LocalPath(path) = path;
        let settings = TableSettings::new(options)?;
        let create = || -> Outcome<_> { Ok(Writer::create(&path, &settings.table)?) };
        let writer = OpenWriter::new(create()?);
        Ok(Self { path, writer })
    }

    /// Sets a key to a value.
    fn put(&self, py: Python<'_>, key: BytesArg, value: BytesArg) -> PyResult<()> {
        self.writer.add(py, |writer| Ok(writer.put(key.as_ref(), value.as_ref())?))
    }

    /// Deletes a key.
    fn delete(&self, py: Python<'_>, key: BytesArg) -> PyResult<()> {
        self.writer.add(py, |writer| Ok(writer.delete(key.as_ref())?))
    }

    /// Deletes a key that was put once.
    fn single_delete(&self, py: Python<'_>, key: BytesArg) -> PyResult<()> {
        self.writer.add(py, |writer| Ok(writer.single_delete(key.as_ref())?))
    }

    /// Adds a merge operand.
    fn merge(&self, py: Python<'_>, key: BytesArg, operand: BytesArg) -> PyResult<()> {
        self.writer.add(py, |writer| Ok(writer.merge(key.as_ref(), operand.as_ref())?))
    }

    /// Deletes all keys from `start` to `end`, which is not included. Range deletions may be added
    /// in any order.
    fn delete_range(&self, py: Python<'_>, start: BytesArg, end: BytesArg) -> PyResult<()> {
        self.writer.add(py, |writer| Ok(writer.delete_range(start.as_ref(), end.as_ref())?))
    }

    /// Sets a key to an entity: a dictionary of columns.
    fn put_entity(
        &self,
        py: Python<'_>,
        key: BytesArg,
        columns: Vec<(BytesArg, BytesArg)>,
    ) -> PyResult<()> {
        self.writer.add(py, |writer| {
            let columns: Vec<(&[u8], &[u8])> =
                columns.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
            Ok(writer.put_entity(key.as_ref(), &columns)?)
        })
    }

    /// Writes rows of Arrow data, sorted by key, and returns their number. After an error the writer
    /// cannot be used any more.
    #[pyo3(signature = (data, **columns))]
    fn write(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        columns: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        let rows = InputRows::new(data, &RowColumns::take(columns)?)?;
        self.writer.add_many(py, move |writer, stop| rows.write_to(writer, stop))
    }

    /// Completes the table, makes it durable, and gives it its name.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let writer = self.writer.take()?;
        let summary = work::write(py, move |_| Ok(writer.finish()?))?;
        to_python(py, &TableReport::new(self.path.display().to_string(), &summary))
    }

    /// Drops what was written.
    fn abandon(&self) {
        self.writer.abandon();
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        match exception.iter().all(|it| it.is_none()) {
            true => self.finish(py).map(drop),
            false => {
                self.abandon();
                Ok(())
            }
        }
    }
}
