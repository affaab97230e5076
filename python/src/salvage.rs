//! What is left of damaged tables and databases.

use std::path::{Path, PathBuf};
use std::time::Instant;

use pyo3::prelude::*;
use sstkit_db::{DatabaseSalvage, DatabaseSalvageOptions};
use sstkit_inspect::setting_names as names;
use sstkit_inspect::{Encoding, SalvageDescription};
use sstkit_table::raw::Engine;
use sstkit_table::{Comparator, SalvageOptions, TableSalvage, TableWriter};

use crate::errors::{Failure, Outcome};
use crate::json::to_python;
use crate::location::LocalPath;
use crate::settings::one_of;
use crate::work::{self, Stop};

const ENGINES: [(&str, Engine); 2] = [("rocksdb", Engine::RocksDb), ("leveldb", Engine::LevelDb)];

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputKind {
    Folder,
    Database,
}

const KINDS: [(&str, OutputKind); 2] =
    [("folder", OutputKind::Folder), ("database", OutputKind::Database)];

/// How to salvage.
struct Request {
    out: Option<PathBuf>,
    kind: Option<OutputKind>,
    past_damage: bool,
    engine: Option<Engine>,
    comparator: Option<Comparator>,
    threads: usize,
}

/// Gets out of a damaged table or database what is left of it.
///
/// Without `out` nothing is written. `output_kind` is "folder" or "database", by default what `path`
/// is. The result is what `sst salvage --format json` prints: what is saved, what is lost, and what
/// cannot be known.
#[pyfunction]
#[pyo3(signature = (
    path, out = None, *, output_kind = None, past_damage = false, engine = None,
    comparator = None, threads = None
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn salvage<'py>(
    py: Python<'py>,
    path: LocalPath,
    out: Option<LocalPath>,
    output_kind: Option<&str>,
    past_damage: bool,
    engine: Option<&str>,
    comparator: Option<&str>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let LocalPath(path) = path;
    let request = Request {
        out: out.map(|LocalPath(out)| out),
        kind: output_kind.map(|text| one_of("kind of output", text, &KINDS)).transpose()?,
        past_damage,
        engine: engine.map(|text| one_of("engine", text, &ENGINES)).transpose()?,
        comparator: comparator.map(names::comparator).transpose().map_err(Failure::Invalid)?,
        threads: threads.unwrap_or_else(cores),
    };
    let start = Instant::now();
    let description = match path.is_dir() || request.kind.is_some() {
        true => work::write(py, move |stop| request.database(&path, stop))?,
        false => {
            let options = request.of_table();
            let of = path.clone();
            // Of a table, everything is read before anything is written.
            let salvage = work::read(py, move || Ok(TableSalvage::open(of, &options)?))?;
            work::write(py, move |stop| request.table(&path, &salvage, stop))?
        }
    };
    to_python(py, &description.in_time(start.elapsed()))
}

impl Request {
    fn of_table(&self) -> SalvageOptions {
        let mut options = SalvageOptions::default();
        options.comparator.clone_from(&self.comparator);
        options.engine = self.engine;
        options.threads = self.threads;
        options
    }

    fn table(
        &self,
        path: &Path,
        salvage: &TableSalvage,
        stop: &Stop,
    ) -> Outcome<SalvageDescription> {
        let report = salvage.report();
        let description = SalvageDescription::of_table(path, report, Encoding::default());
        let Some(out) = &self.out else { return Ok(description) };
        if report.entries + report.range_tombstones == 0 {
            return Ok(description);
        }
        let mut writer = TableWriter::create(out, &salvage.table_options())?;
        salvage.for_each(|key, value| {
            if stop.check().is_err() {
                return Err(std::io::Error::from(std::io::ErrorKind::Interrupted).into());
            }
            writer.add(key, value)
        })?;
        writer.finish()?;
        Ok(description.written((out, "table"), None))
    }

    fn database(&self, path: &Path, stop: &Stop) -> Outcome<SalvageDescription> {
        let mut read = sstkit_db::DatabaseOptions::default();
        if let Some(comparator) = &self.comparator {
            read = read.comparator(comparator.clone());
        }
        let mut options = DatabaseSalvageOptions::default()
            .read(read)
            .past_damage(self.past_damage)
            .threads(self.threads)
            .progress(stop.callback());
        if let Some(engine) = self.engine {
            options = options.engine(engine);
        }
        let salvage = DatabaseSalvage::open(path, &options)?;
        let report = salvage.report();
        let description = SalvageDescription::of_database(report, Encoding::default());
        let Some(out) = &self.out else { return Ok(description) };
        let of_path = if report.is_folder { OutputKind::Folder } else { OutputKind::Database };
        let (kind, summary) = match self.kind.unwrap_or(of_path) {
            OutputKind::Database => ("database", salvage.write_database(out)?),
            OutputKind::Folder => ("folder", salvage.write_tables(out)?),
        };
        Ok(description.written((out, kind), Some(&summary)))
    }
}
