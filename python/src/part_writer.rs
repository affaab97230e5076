//! The parts of a plan.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::Serialize;
use sstkit_db::{BulkManifest, PartOptions, PartWriter as Writer, Plan as DbPlan};
use sstkit_table::raw::EntryKind;
#[cfg(feature = "remote")]
use tempfile::TempDir;

use crate::build_output::BuildOutput;
use crate::bytes_arg::BytesArg;
use crate::errors::Outcome;
use crate::input_rows::{InputRows, RowColumns};
use crate::json::to_python;
use crate::location::{self, Location};
use crate::open_writer::OpenWriter;
use crate::plan::Plan;
use crate::work::{self, Stop};

/// Writes an attempt at a part of a plan.
///
/// The attempt appears when it is finished, whole. Its name must be one that no other attempt at this
/// part has. Several attempts do no harm: the commit takes one of them.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct PartWriter {
    output: PathBuf,
    writer: OpenWriter<OpenPart>,
}

/// An attempt that is being written.
struct OpenPart {
    writer: Writer,
    /// Ends the work of the writer, sorting included.
    stop: Stop,
    output: BuildOutput,
    /// Where it is written, if the output is in an object store.
    #[cfg(feature = "remote")]
    _disk: Option<TempDir>,
}

impl OpenPart {
    fn new(plan: &DbPlan, part: usize, attempt: &str, options: &PartOptions) -> Outcome<Self> {
        let output = BuildOutput::of(plan)?;
        let stop = Stop::default();
        let create =
            |plan: &DbPlan| Writer::with_progress(plan, part, attempt, options, stop.callback());
        #[cfg(feature = "remote")]
        if matches!(output, BuildOutput::Remote(_)) {
            let disk = TempDir::with_prefix("sstkit-part-").map_err(sstkit_db::Error::from)?;
            let plan = DbPlan::restore(disk.path(), &plan.to_json())?;
            let writer = create(&plan)?;
            return Ok(Self { writer, stop, output, _disk: Some(disk) });
        }
        Ok(Self {
            writer: create(plan)?,
            stop,
            output,
            #[cfg(feature = "remote")]
            _disk: None,
        })
    }
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
                let path: Location = plan.extract()?;
                let opened: Outcome<_> = py.detach(|| BuildOutput::new(path)?.open_plan());
                opened?
            }
        };
        let mut options = PartOptions::default().sorted(sorted).threads(threads);
        if let Some(bytes) = memory {
            options = options.memory(bytes);
        }
        let output = plan.output().to_path_buf();
        let writer: Outcome<_> = py.detach(|| OpenPart::new(&plan, part, attempt, &options));
        Ok(Self { output, writer: OpenWriter::new(writer?) })
    }

    /// Sets a key to a value.
    fn put(&self, py: Python<'_>, key: BytesArg, value: BytesArg) -> PyResult<()> {
        self.writer.add(py, |open| Ok(open.writer.put(key.as_ref(), value.as_ref())?))
    }

    /// Deletes a key.
    fn delete(&self, py: Python<'_>, key: BytesArg) -> PyResult<()> {
        self.writer.add(py, |open| Ok(open.writer.add(EntryKind::Deletion, key.as_ref(), &[])?))
    }

    /// Deletes a key that was put once.
    fn single_delete(&self, py: Python<'_>, key: BytesArg) -> PyResult<()> {
        let kind = EntryKind::SingleDeletion;
        self.writer.add(py, |open| Ok(open.writer.add(kind, key.as_ref(), &[])?))
    }

    /// Adds a merge operand.
    fn merge(&self, py: Python<'_>, key: BytesArg, operand: BytesArg) -> PyResult<()> {
        let kind = EntryKind::Merge;
        self.writer.add(py, |open| Ok(open.writer.add(kind, key.as_ref(), operand.as_ref())?))
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
        self.writer.add_many(py, move |open, stop| rows.write_to(&mut open.writer, stop))
    }

    /// Writes what is left, and makes the attempt durable. The result is what `sst part --format json`
    /// prints, but for the time.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let open = self.writer.take()?;
        let summary = work::write_until(py, open.stop.clone(), move |stop| {
            let summary = open.writer.finish()?;
            stop.check()?;
            open.output.deliver(&summary)?;
            Ok(summary)
        })?;
        let folder = match location::address(&self.output) {
            Some(address) => address.to_owned(),
            None => summary.folder.display().to_string(),
        };
        let report = PartReport {
            output: self.output.display().to_string(),
            part: summary.part,
            attempt: summary.attempt,
            folder,
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
