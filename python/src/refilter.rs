//! Other filters for existing tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use pyo3::prelude::*;
use sstkit_db::{Database, DatabaseOptions, Refilter};
use sstkit_filter::{AllocatedKind, FilterPolicy, PrefixExtractor, UsableSize};
use sstkit_inspect::setting_names as names;
use sstkit_inspect::{FilterLevels, InspectedTable, PlannedKeys, RefilterReport};
use sstkit_table::TableReadOptions;
use sstkit_table::raw::Engine;

use crate::errors::{Failure, Outcome};
use crate::json::to_python;
use crate::location::LocalPath;
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
/// `per_level` gives levels of a database a policy of their own. `budget` is the memory of all filters
/// together in bytes, which is distributed over the levels without one; `filter` is only a kind then,
/// "bloomfilter" or "ribbonfilter", and `hit_rate` the share of lookups that find their key. The result
/// is what `sst refilter --format json` prints.
#[pyfunction]
#[pyo3(signature = (
    path, out, filter = None, *, per_level = None, budget = None, hit_rate = 0.0,
    prefix_extractor = None, whole_key_filtering = None, partition_filters = None,
    optimize_filters_for_memory = false, threads = None, memory = None, replace = false
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn refilter<'py>(
    py: Python<'py>,
    path: LocalPath,
    out: LocalPath,
    filter: Option<&str>,
    per_level: Option<BTreeMap<u32, String>>,
    budget: Option<u64>,
    hit_rate: f64,
    prefix_extractor: Option<&str>,
    whole_key_filtering: Option<bool>,
    partition_filters: Option<bool>,
    optimize_filters_for_memory: bool,
    threads: Option<usize>,
    memory: Option<u64>,
    replace: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (LocalPath(path), LocalPath(out)) = (path, out);
    let parse = |text: &str| names::filter(text).map_err(Failure::Invalid);
    let kind = budget.map(|_| allocated_kind(filter)).transpose()?;
    let filter = filter.filter(|_| budget.is_none()).map(parse).transpose()?;
    if !(0.0..=1.0).contains(&hit_rate) || (hit_rate > 0.0 && budget.is_none()) {
        return Err(Failure::invalid("hit_rate is from 0 to 1, and needs budget").into());
    }
    let per_level: BTreeMap<u32, FilterPolicy> = per_level
        .unwrap_or_default()
        .iter()
        .map(|(level, text)| Ok((*level, parse(text)?)))
        .collect::<Outcome<_>>()?;
    if filter.is_none() && per_level.is_empty() && budget.is_none() {
        return Err(Failure::invalid("give filter, per_level or budget").into());
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
        // Also of column families without tables.
        if let Some(policy) = &filter {
            refilter = refilter.filter(for_engine(policy)?);
        }
        let of_level = |level: Option<u32>| {
            let own = level.and_then(|level| per_level.get(&level)).or(filter.as_ref());
            own.map(for_engine).transpose()
        };
        let policies = before.levels.iter().map(|it| of_level(it.level));
        let mut policies = policies.collect::<Outcome<Vec<_>>>()?;
        if let (Some(budget), Some(kind)) = (budget, kind) {
            let kind = match (kind, before.engine) {
                (AllocatedKind::Ribbon, Engine::LevelDb) => {
                    return Err(Failure::invalid("LevelDB tables do not support ribbonfilter"));
                }
                (_, Engine::LevelDb) => AllocatedKind::LevelDb,
                (kind, Engine::RocksDb) => kind,
            };
            before.allocate(&mut policies, kind, budget, hit_rate);
        }
        let is_database = matches!(source, Source::Database(_));
        let refilter = before.apply(&policies, is_database, refilter);
        let report = RefilterReport::planned(&before, &policies, hit_rate);
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

/// The kind of filters that a budget is distributed to.
fn allocated_kind(filter: Option<&str>) -> Outcome<AllocatedKind> {
    match filter {
        None | Some("bloomfilter") => Ok(AllocatedKind::Bloom),
        Some("ribbonfilter") => Ok(AllocatedKind::Ribbon),
        Some(other) => Err(Failure::invalid(format!(
            "budget determines the bits per key: filter is bloomfilter or ribbonfilter, not {other}"
        ))),
    }
}
