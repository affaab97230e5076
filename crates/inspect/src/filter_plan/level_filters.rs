//! The filters of the files of a level, taken together.

use std::collections::BTreeMap;

use sstkit_db::{ColumnFamily, Database};
use sstkit_filter::{Destination, FilteredLevel};
use sstkit_table::RocksDbVersion;
use sstkit_table::raw::{Engine, FormatVersion};

use super::key_count::{DistinctShares, KeyCount, SampleSize};
use super::{FilterLevels, PlannedKeys, TableMemory};
use crate::database::open_level_file;
use crate::error::Result;
use crate::filter_report::{FilterReport, LookupSpace, shares};
use crate::inspected_table::InspectedTable;

/// The filters of a level.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LevelFilters {
    /// The column family; `None` for single tables.
    pub column_family: Option<String>,
    /// The level; `None` for single tables.
    pub level: Option<u32>,
    /// Files.
    pub files: u64,
    /// Bytes of all filters.
    pub bytes: u64,
    /// The mean of the expected false-positive rates, by the share of lookups that probe each; 1
    /// without a filter.
    pub fpr: f64,
    /// The expected number of data blocks of the level that a seek to a prefix without keys reads.
    pub wasted_seek_reads: f64,
    /// Keys and prefixes that new filters would have, at most.
    pub keys: u64,
    /// Whether their number was estimated from a sample.
    pub keys_are_estimated: bool,
    /// The level as the allocator sees it.
    pub shape: FilteredLevel,
}

/// The filter of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FilteredFile {
    /// The column family; `None` for single tables.
    pub column_family: Option<String>,
    /// The number of its level in [`FilterLevels::levels`].
    pub group: usize,
    /// The size of the file.
    pub size: u64,
    /// Its filter. A kind that the engine ignores has no expected rate.
    pub report: FilterReport,
    /// What it takes in memory.
    pub memory: TableMemory,
    count: KeyCount,
    run: usize,
    /// Whether seeks probe it: the prefixes are those of the column family.
    filters_seeks: bool,
}

impl FilteredFile {
    /// The share of seeks to prefixes without keys that read the file: 1 without prefixes in its filter.
    pub(super) fn seek_rate(&self) -> f64 {
        self.report.expected_fpr.filter(|_| self.filters_seeks).unwrap_or(1.0)
    }
}

pub(super) fn of_database(
    database: &Database,
    keys: &PlannedKeys,
    keep_going: &dyn Fn() -> bool,
) -> Result<FilterLevels> {
    let mut files = Vec::new();
    let mut groups: BTreeMap<(usize, u32), Vec<usize>> = BTreeMap::new();
    let mut names = Vec::new();
    let mut format_version = FormatVersion::V7;
    let families: Vec<ColumnFamily> = database.column_families().collect();
    let count = families.iter().flat_map(ColumnFamily::levels).map(|it| it.files.len()).sum();
    let sample = SampleSize::of_one_in(count);
    let ignores_filter_blocks = ignores_filter_blocks(database);
    for (tree, family) in families.iter().enumerate() {
        let space = LookupSpace::of(family);
        // Such a last level has no filters, and those that it still has are not probed.
        let options = database.options_file().column_family(family.name());
        let for_hits = options.optimize_filters_for_hits() == Some(true);
        let partition_size =
            database.options_file().table(family.name()).get("metadata_block_size");
        let partition_size = partition_size.and_then(|size| size.as_text()?.parse().ok());
        let last = family.levels().last().map(|level| level.number).filter(|&number| number > 0);
        let extractor = family.prefix_extractor().map(|it| it.name().into_owned());
        names.push(family.name().to_owned());
        for level in family.levels() {
            for file in level.files {
                if !keep_going() {
                    return Err(sstkit_table::Error::cancelled().into());
                }
                let opened = open_level_file(&file)?;
                format_version = format_version.min(opened.table().view().footer().version);
                let name = file.path().display().to_string();
                let report = FilterReport::without_probes(name, &opened)?.at_level(level.number);
                let count = KeyCount::of(&opened, keys, sample)?;
                let count = count.in_partitions(&opened, &report, keys, partition_size);
                let memory = TableMemory::of(&opened, count.keys)?;
                let mut report = report.in_run(&space, &file, &opened, Some(memory.entries));
                let is_ignored = ignores_filter_blocks && report.kind == IGNORED_KIND;
                if is_ignored || for_hits && Some(level.number) == last {
                    report.expected_fpr = None;
                }
                let seeks =
                    report.prefix_extractor.is_some() && report.prefix_extractor == extractor;
                groups.entry((tree, level.number)).or_default().push(files.len());
                files.push(FilteredFile {
                    column_family: Some(family.name().to_owned()),
                    group: groups.len() - 1,
                    size: opened.table().size(),
                    report,
                    memory,
                    count,
                    run: file.run(),
                    filters_seeks: seeks,
                });
            }
        }
    }
    let reports: Vec<FilterReport> = files.iter().map(|file| file.report.clone()).collect();
    let shares = shares(&reports);
    // The levels of a column family come in their order.
    let levels = groups.into_iter().map(|((tree, level), numbers)| {
        let mut filters = summarize(&files, &shares, &numbers, tree);
        filters.column_family = Some(names[tree].clone());
        filters.level = Some(level);
        filters.shape = filters.shape.destination(Destination::Level(level));
        filters
    });
    Ok(FilterLevels { levels: levels.collect(), files, engine: database.engine(), format_version })
}

pub(super) fn of_table(
    name: &str,
    table: &InspectedTable,
    keys: &PlannedKeys,
) -> Result<FilterLevels> {
    let report = FilterReport::without_probes(name.to_owned(), table)?;
    let count = KeyCount::of(table, keys, SampleSize::of_one_in(1))?;
    let count = count.in_partitions(table, &report, keys, None);
    let size = table.table().size();
    let memory = TableMemory::of(table, count.keys)?;
    let files = [FilteredFile {
        column_family: None,
        group: 0,
        size,
        filters_seeks: report.prefix_extractor.is_some(),
        report,
        memory,
        count,
        run: 0,
    }];
    let view = table.table().view();
    Ok(FilterLevels {
        levels: vec![summarize(&files, &[1.0], &[0], 0)],
        engine: view.engine(),
        format_version: view.footer().version,
        files: files.to_vec(),
    })
}

/// RocksDB has neither built nor read filters of single blocks since this version.
const IGNORED_SINCE: RocksDbVersion = RocksDbVersion::new(7, 0);
/// The kind of these.
pub(crate) const IGNORED_KIND: &str = "block_based_bloom";

/// Whether the engine ignores RocksDB's filters of single blocks: a version that is not known is a new
/// one.
fn ignores_filter_blocks(database: &Database) -> bool {
    let version = database.options_file().rocksdb_version().and_then(|text| text.parse().ok());
    database.engine() == Engine::RocksDb
        && version.is_none_or(|version: RocksDbVersion| version >= IGNORED_SINCE)
}

/// The filters of files by the duplicates in them: how many of the different keys they have, and the share
/// of their own keys that are different. Nothing if no file has a filter block.
fn distinct_shares<'f>(counts: impl Iterator<Item = &'f KeyCount>) -> Vec<(f64, f64)> {
    let mut sums = DistinctShares::default();
    for count in counts {
        let sampled: f64 = count.distinct_shares.iter().map(|(keys, _)| keys).sum();
        let weight = count.distinct as f64 / sampled.max(1.0);
        for (sum, (keys, distinct)) in sums.iter_mut().zip(count.distinct_shares) {
            *sum = (sum.0 + weight * keys, sum.1 + weight * distinct);
        }
    }
    let all: f64 = sums.iter().map(|(keys, _)| keys).sum();
    let used = sums.into_iter().filter(|(keys, _)| *keys > 0.0);
    used.map(|(keys, distinct)| (keys / all, distinct / keys)).collect()
}

/// The filters of the files with these numbers, all of one level.
fn summarize(
    files: &[FilteredFile],
    shares: &[f64],
    numbers: &[usize],
    tree: usize,
) -> LevelFilters {
    let of_level = || numbers.iter().map(|&number| (&files[number], shares[number]));
    let share: f64 = of_level().map(|(_, share)| share).sum();
    let rate = |file: &FilteredFile| file.report.expected_fpr.unwrap_or(1.0);
    let fpr = match share > 0.0 {
        true => of_level().map(|(file, share)| share * rate(file)).sum::<f64>() / share,
        false => of_level().map(|(file, _)| rate(file)).sum::<f64>() / numbers.len() as f64,
    };
    let mut runs: Vec<usize> = of_level().map(|(file, _)| file.run).collect();
    runs.sort_unstable();
    runs.dedup();
    let keys = of_level().map(|(file, _)| file.count.keys).sum();
    let distinct = of_level().map(|(file, _)| file.count.distinct).sum();
    let filters = of_level().map(|(file, _)| file.count.filters).sum();
    let overhead = of_level().map(|(file, _)| file.count.overhead).sum();
    let runs = u32::try_from(runs.len()).unwrap_or(u32::MAX).max(1);
    let mut shape = FilteredLevel::new(keys)
        .distinct(distinct)
        .distinct_shares(&distinct_shares(of_level().map(|(file, _)| &file.count)))
        .filters(filters)
        .overhead(overhead)
        .runs(runs)
        .reach(share / f64::from(runs))
        .tree(tree);
    // Of files with the same settings; those of the newest.
    if let Some(partitions) = of_level().find_map(|(file, _)| file.count.partitions) {
        shape = shape.partitions(partitions);
    }
    LevelFilters {
        column_family: None,
        level: None,
        files: numbers.len() as u64,
        bytes: of_level().map(|(file, _)| file.report.bytes).sum(),
        fpr,
        wasted_seek_reads: of_level().map(|(file, share)| share * file.seek_rate()).sum(),
        keys,
        keys_are_estimated: of_level().any(|(file, _)| file.count.is_estimated),
        shape,
    }
}
