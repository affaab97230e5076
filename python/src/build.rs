//! Tables from Arrow data in any order.

use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use sstkit_db::{BulkBuilder, BulkManifest, BulkOptions, Duplicates};
use sstkit_table::raw::Engine;

use crate::errors::Failure;
use crate::input_rows::{InputRows, RowColumns};
use crate::json::to_python;
use crate::location::Location;
use crate::settings::one_of;
use crate::staged_output::{StagedOutput, staged};
use crate::table_settings::TableSettings;
use crate::work;

const DUPLICATES: [(&str, Duplicates); 3] =
    [("last", Duplicates::Last), ("first", Duplicates::First), ("error", Duplicates::Error)];

/// What to do with several entries for one key.
pub(crate) fn duplicates(text: &str) -> Result<Duplicates, Failure> {
    one_of("choice of duplicates", text, &DUPLICATES)
}

/// The result: the fields of `sst build --format json`.
#[derive(Serialize)]
struct BuildReport {
    output: String,
    #[serde(rename = "as")]
    kind: &'static str,
    entries_read: u64,
    duplicates_dropped: u64,
    runs: u64,
    spilled_bytes: u64,
    seconds: f64,
    manifest: BulkManifest,
}

/// Builds a table, or with max_file_size a directory of tables, from anything that exports Arrow.
///
/// Rows may be in any order: they are sorted in bounded memory, unless sorted=True says that they are.
/// The output appears when it is complete. The result is what `sst build --format json` prints.
#[pyfunction]
#[pyo3(signature = (
    data, out, *, sorted = false, duplicates = "last", max_file_size = None, memory = None,
    replace = false, **options
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn build<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    out: Location,
    sorted: bool,
    duplicates: &str,
    max_file_size: Option<u64>,
    memory: Option<usize>,
    replace: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (columns, others) = RowColumns::split(options)?;
    let settings = TableSettings::new(others.as_ref())?;
    let mut bulk = BulkOptions::new(settings.table)
        .comparator(settings.comparator)
        .threads(settings.threads)
        .sorted(sorted)
        .duplicates(self::duplicates(duplicates)?)
        .max_file_size(max_file_size)
        .replace(replace);
    if let Some(bytes) = memory {
        bulk = bulk.memory(bytes);
    }
    if settings.engine == Engine::LevelDb {
        bulk = bulk.extension("ldb");
    }
    let rows = InputRows::new(data, &columns)?;
    let report = work::write(py, move |stop| {
        let start = Instant::now();
        let stage = staged(&out, max_file_size.is_some(), replace)?;
        let path = stage.as_ref().map_or_else(|| out.path().to_path_buf(), StagedOutput::path);
        let mut builder = BulkBuilder::create(&path, &bulk.progress(stop.callback()))?;
        if rows.write_to(&mut builder, stop)? == 0 {
            return Err(Failure::invalid("the data has no rows; nothing was written"));
        }
        let summary = builder.finish().map_err(|error| error.in_file(&path))?;
        if let Some(stage) = &stage {
            let uploaded = stage.upload(&|| stop.check().is_ok());
            stop.check()?;
            uploaded.map_err(|error| sstkit_db::Error::from(error).in_file(out.path()))?;
        }
        Ok(BuildReport {
            output: out.path().display().to_string(),
            kind: if max_file_size.is_some() { "folder" } else { "table" },
            entries_read: summary.entries_added,
            duplicates_dropped: summary.duplicates_dropped,
            runs: summary.runs,
            spilled_bytes: summary.spilled_bytes,
            seconds: start.elapsed().as_secs_f64(),
            manifest: summary.manifest,
        })
    })?;
    to_python(py, &report)
}
