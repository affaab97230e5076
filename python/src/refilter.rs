//! Other filters for existing tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use pyo3::prelude::*;
use sstkit_db::{Database, DatabaseOptions, Refilter};
use sstkit_filter::{FilterPolicy, PrefixExtractor, UsableSize};
use sstkit_inspect::setting_names as names;
use sstkit_inspect::{FilterLevels, InspectedTable, PlannedKeys, RefilterReport};
use sstkit_table::TableReadOptions;
use sstkit_table::raw::Engine;

use crate::errors::{Failure, Outcome};
use crate::json::to_python;
use crate::work;

/// What is to get other filters.
enum Source {
    Table(InspectedTable, PathBuf),
    /// A directory of tables.
    Folder(Database),
    Database(Database),
}

/// Logs are taken over, not read, and filters do not stay in memory.
fn open(path: &Path) -> Outcome<Source> {
    if !path.is_dir() {
        let options = TableReadOptions::default().no_block_cache();
        return Ok(Source::Table(InspectedTable::open(path, &options)?, path.to_owned()));
    }
    let options = DatabaseOptions::default()
        .replay_logs(false)
        .list_logs(true)
        .cache_index_and_filter_blocks(true);
    match Database::open_folder_with(path, &options)? {
        Some(folder) => Ok(Source::Folder(folder)),
        None => Ok(Source::Database(Database::open_with(path, &options)?)),
    }
}

impl Source {
    fn levels(&self, keys: &PlannedKeys) -> Outcome<FilterLevels> {
        Ok(match self {
            Self::Table(table, path) => {
                FilterLevels::of_table(&path.display().to_string(), table, keys)?
            }
            Self::Folder(database) | Self::Database(database) => FilterLevels::of(database, keys)?,
        })
    }
}

/// Copies a table, a directory of tables or a database with other filters.
///
/// Data blocks are copied byte for byte; filters, indexes and the rest of the tail are rebuilt.
/// `per_level` gives levels of a database a policy of their own. The result is what
/// `sst refilter --format json` prints.
#[pyfunction]
#[pyo3(signature = (
    path, out, filter = None, *, per_level = None, prefix_extractor = None,
    whole_key_filtering = None, partition_filters = None, optimize_filters_for_memory = false,
    threads = None, memory = None, replace = false
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn refilter<'py>(
    py: Python<'py>,
    path: PathBuf,
    out: PathBuf,
    filter: Option<&str>,
    per_level: Option<BTreeMap<u32, String>>,
    prefix_extractor: Option<&str>,
    whole_key_filtering: Option<bool>,
    partition_filters: Option<bool>,
    optimize_filters_for_memory: bool,
    threads: Option<usize>,
    memory: Option<u64>,
    replace: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let parse = |text: &str| names::filter(text).map_err(Failure::Invalid);
    let filter = filter.map(parse).transpose()?;
    let per_level: BTreeMap<u32, FilterPolicy> = per_level
        .unwrap_or_default()
        .iter()
        .map(|(level, text)| Ok((*level, parse(text)?)))
        .collect::<Outcome<_>>()?;
    if filter.is_none() && per_level.is_empty() {
        return Err(Failure::invalid("give filter, per_level, or both").into());
    }
    let extractor: Option<PrefixExtractor> =
        prefix_extractor.map(names::prefix_extractor).transpose().map_err(Failure::Invalid)?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let mut refilter = Refilter::new().replace(replace).threads(threads.unwrap_or_else(cores));
    if let Some(bytes) = memory {
        refilter = refilter.memory(bytes);
    }
    if let Some(extractor) = &extractor {
        refilter = refilter.prefix_extractor(extractor.clone());
    }
    if let Some(on) = whole_key_filtering {
        refilter = refilter.whole_key_filtering(on);
    }
    if let Some(on) = partition_filters {
        refilter = refilter.partition_filters(on);
    }
    if optimize_filters_for_memory {
        refilter = refilter.optimize_filters_for_memory(UsableSize::Jemalloc);
    }
    let keys = PlannedKeys { prefix_extractor: extractor, whole_key_filtering };
    let report = work::write(py, move |stop| {
        let start = Instant::now();
        let source = open(&path)?;
        let before = source.levels(&keys)?;
        let for_engine = |policy: &FilterPolicy| match before.engine {
            Engine::RocksDb => Ok(policy.clone()),
            Engine::LevelDb => names::leveldb_filter(policy)
                .ok_or_else(|| Failure::invalid(format!("LevelDB tables do not support {policy}"))),
        };
        let mut refilter = refilter.progress(stop.callback());
        if let Some(policy) = &filter {
            refilter = refilter.filter(for_engine(policy)?);
        }
        for (level, policy) in &per_level {
            refilter = refilter.level_filter(*level, for_engine(policy)?);
        }
        let of_level = |level: Option<u32>| {
            let own = level.and_then(|level| per_level.get(&level)).or(filter.as_ref());
            own.map(for_engine).transpose()
        };
        let policies = before.levels.iter().map(|it| of_level(it.level));
        let policies = policies.collect::<Outcome<Vec<_>>>()?;
        let report = RefilterReport::planned(&before, &policies, 0.0);
        let summary = match &source {
            Source::Table(table, _) => refilter.table(table.table(), &out)?,
            Source::Folder(folder) => {
                let options = TableReadOptions::default().no_block_cache();
                refilter.folder(folder.path(), &out, &options)?
            }
            Source::Database(database) => refilter.database(database, &out)?,
        };
        let after = open(&out)?.levels(&keys)?;
        Ok(report.done(&out, &summary, (&before, &after), &policies, start.elapsed()))
    })?;
    to_python(py, &report)
}
