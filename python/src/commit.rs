//! Putting the parts of a plan together.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use serde::Serialize;
use sstkit_db::{BulkManifest, CommitOptions};

use crate::build_output::BuildOutput;
use crate::json::to_python;
use crate::location::Location;
use crate::work;

/// The result: the fields of `sst commit --format json`.
#[derive(Serialize)]
struct CommitReport {
    output: String,
    left_over: Vec<String>,
    manifest: BulkManifest,
}

/// Puts the parts of a plan together.
///
/// Chooses one attempt for each part (those in `attempts`, or the first one by name), checks order,
/// bounds, counts and checksums, moves the tables into the output directory and writes manifest.json
/// last. After an interruption call it again: it continues with the same choice. The result is what
/// `sst commit --format json` prints.
#[pyfunction]
#[pyo3(signature = (out, *, attempts = None, entries = None, checksums = true, clean = false))]
pub(crate) fn commit<'py>(
    py: Python<'py>,
    out: Location,
    attempts: Option<BTreeMap<usize, String>>,
    entries: Option<u64>,
    checksums: bool,
    clean: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = CommitOptions::default()
        .attempts(attempts.unwrap_or_default())
        .entries(entries)
        .checksums(checksums)
        .clean(clean);
    let report = work::write(py, move |stop| {
        let path = out.path().display().to_string();
        let summary = BuildOutput::new(out)?.commit(options, stop)?;
        Ok(CommitReport {
            output: path,
            left_over: summary.losers.iter().map(|path| path.display().to_string()).collect(),
            manifest: summary.manifest,
        })
    })?;
    to_python(py, &report)
}
