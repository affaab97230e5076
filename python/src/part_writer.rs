//! The parts of a plan.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::Serialize;
use sstkit_db::{BulkManifest, PartOptions, PartWriter as Writer};
use sstkit_table::raw::EntryKind;

use crate::bytes_arg::BytesArg;
use crate::errors::Outcome;
use crate::input_rows::{InputRows, RowColumns};
use crate::json::to_python;
use crate::open_writer::OpenWriter;
use crate::plan::Plan;
use crate::work;

/// Writes an attempt at a part of a plan.
///
/// The attempt appears when it is finished, whole. Its name must be one that no other attempt at this
/// part has. Several attempts do no harm: the commit takes one of them.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct PartWriter {
    output: PathBuf,
    writer: OpenWriter<Writer>,
}

/// A finished attempt: the fields of `sst part --format json`, but for the time.
#[derive(Serialize)]
struct PartReport<'s> {
    output: String,
    part: usize,
    attempt: String,
    folder: String,
    manifest: &'s BulkManifest,
}

#[pymethods]
impl PartWriter {
    #[new]
    #[pyo3(signature = (plan, part, attempt, *, sorted = true, memory = None, threads = 1))]
    fn new(
        py: Python<'_>,
        plan: &Bound<'_, PyAny>,
        part: usize,
        attempt: &str,
        sorted: bool,
        memory: Option<usize>,
        threads: usize,
    ) -> PyResult<Self> {
        let plan = match plan.cast::<Plan>() {
            Ok(plan) => plan.get().inner().clone(),
            Err(_) => {
                let path: PathBuf = plan.extract()?;
                let opened: Outcome<_> = py.detach(|| Ok(sstkit_db::Plan::open(path)?));
                opened?
            }
        };
        let mut options = PartOptions::default().sorted(sorted).threads(threads);
        if let Some(bytes) = memory {
            options = options.memory(bytes);
        }
        let output = plan.output().to_path_buf();
        let writer: Outcome<_> = py.detach(|| Ok(Writer::create(&plan, part, attempt, &options)?));
        Ok(Self { output, writer: OpenWriter::new(writer?) })
    }

    /// Sets a key to a value.
    fn put(&self, py: Python<'_>, key: BytesArg, value: BytesArg) -> PyResult<()> {
        self.writer.add(py, |writer| Ok(writer.put(key.as_ref(), value.as_ref())?))
    }

    /// Deletes a key.
    fn delete(&self, py: Python<'_>, key: BytesArg) -> PyResult<()> {
        self.writer.add(py, |writer| Ok(writer.add(EntryKind::Deletion, key.as_ref(), &[])?))
    }

    /// Writes rows of Arrow data, and returns their number. After an error the writer cannot be used
    /// any more.
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

    /// Writes what is left, and makes the attempt durable. The result is what `sst part --format json`
    /// prints, but for the time.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let writer = self.writer.take()?;
        let summary = work::write(py, move |_| Ok(writer.finish()?))?;
        let report = PartReport {
            output: self.output.display().to_string(),
            part: summary.part,
            attempt: summary.attempt,
            folder: summary.folder.display().to_string(),
            manifest: &summary.manifest,
        };
        to_python(py, &report)
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
