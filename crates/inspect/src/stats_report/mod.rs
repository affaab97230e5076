//! What a table or database contains and what its space is used for: what `sst stats` shows.
//!
//! ```text
//! StatsReport
//!  '- FamilyStats        one per column family; a table has one without a name
//!      |- EntryTotals     entries, bytes of keys and values, stored bytes: also of each level and file
//!      |- SpaceReport     what is visible, and what is not: see `space.rs`
//!      |- SizesReport     histograms
//!      |- lists           largest values, most versions, tombstones: see `lists.rs`
//!      '- PrefixReport    groups of keys as a tree: see `prefix_groups.rs`
//! ```

mod lists;
mod prefix_groups;
mod space;

use std::collections::BTreeMap;

use serde::Serialize;
use sstkit_db::{Analysis, ColumnFamily, Database, EntryCounts, FileAnalysis, SizeHistogram};
use sstkit_table::raw::EntryKind;

use crate::encoding::Encoding;
use crate::names;
use crate::verify::Problem;

pub use self::lists::{
    DenseRangeReport, LargeValueReport, RangeTombstoneReport, RangeTombstonesReport,
    SkippedRangeReport, TombstonesReport, VersionsReport,
};
pub use self::prefix_groups::{OtherGroups, PrefixGroup, PrefixReport};
pub use self::space::{BlobSpace, SpaceReport, SpaceUse};

/// What a table or database contains.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StatsReport {
    /// The file or directory.
    pub file: String,
    /// Whether it is an estimate from indexes and properties alone.
    pub sampled: bool,
    /// The column families; of a table, one without a name.
    pub column_families: Vec<FamilyStats>,
    /// What could not be read. The numbers are then incomplete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// What a column family or table contains.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FamilyStats {
    /// The name; `None` for a table.
    pub name: Option<String>,
    /// Different keys; `None` in an estimate, or if several files have keys in an unknown order.
    pub keys: Option<u64>,
    /// Keys that have a value; `None` in an estimate, or if the order of the keys is unknown.
    pub visible_keys: Option<u64>,
    /// The size of all tables in bytes.
    pub size: u64,
    /// Entries that are only in the write-ahead logs, of all keys. An estimate does not include them.
    pub log_entries: u64,
    /// All entries.
    #[serde(flatten)]
    pub totals: EntryTotals,
    /// What the space is used for; `None` in an estimate, or if the order of the keys is unknown.
    pub space: Option<SpaceReport>,
    /// The levels that have files, the write-ahead log first.
    pub levels: Vec<LevelTotals>,
    /// Sizes of the user keys of all entries, with their timestamps; `None` in an estimate.
    pub key_sizes: Option<SizesReport>,
    /// Sizes of all values but those of tombstones; of one in a blob file, as stored there.
    pub value_sizes: Option<SizesReport>,
    /// The largest values.
    pub largest_values: Vec<LargeValueReport>,
    /// The keys with most entries.
    pub most_versions: Vec<VersionsReport>,
    /// Deletions of single keys.
    pub tombstones: TombstonesReport,
    /// Deletions of ranges.
    pub range_tombstones: RangeTombstonesReport,
    /// Groups of keys, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefixes: Option<PrefixReport>,
}

/// Entries, and the bytes they take.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EntryTotals {
    /// Entries without range tombstones; `None` if not known.
    pub entries: Option<u64>,
    /// Entries by type; `None` in an estimate.
    pub entries_by_kind: Option<BTreeMap<&'static str, u64>>,
    /// Deletions of single keys; `None` if not known.
    pub tombstone_entries: Option<u64>,
    /// Bytes of user keys, with their timestamps; `None` if not known.
    pub key_bytes: Option<u64>,
    /// Bytes of values before compression; `None` if not known.
    pub value_bytes: Option<u64>,
    /// Bytes of data blocks as stored, for a range to the precision of a block.
    pub stored_bytes: u64,
    /// Stored bytes per byte of keys and values in tables; `None` if not known.
    pub stored_share: Option<f64>,
    /// Bytes of keys and values that are not visible: older versions, what range tombstones cover, and
    /// tombstones. `None` in an estimate, or if the order of the keys is unknown.
    pub garbage_bytes: Option<u64>,
    /// Entries in the logs only, which stored bytes do not include.
    #[serde(skip)]
    in_log: u64,
}

/// The entries of a level.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LevelTotals {
    /// The level; `None` for the write-ahead log, and for a table.
    pub level: Option<u32>,
    /// The size of its files in bytes.
    pub size: u64,
    /// Its entries.
    #[serde(flatten)]
    pub totals: EntryTotals,
    /// Its files.
    pub files: Vec<FileTotals>,
}

/// The entries of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FileTotals {
    /// The file; `None` for the write-ahead log.
    pub file: Option<String>,
    /// The file number; `None` for a table on its own.
    pub number: Option<u64>,
    /// The size in bytes.
    pub size: u64,
    /// When it was written, in seconds since 1970; `None` if it does not say.
    pub created: Option<u64>,
    /// The smallest sequence number of a tombstone.
    pub oldest_tombstone_seq: Option<u64>,
    /// Its entries.
    #[serde(flatten)]
    pub totals: EntryTotals,
}

/// A histogram of sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SizesReport {
    /// The smallest size; `None` of nothing.
    pub min: Option<u64>,
    /// The largest size; `None` of nothing.
    pub max: Option<u64>,
    /// The mean size; `None` of nothing.
    pub mean: Option<f64>,
    /// How many there are from one size to another, both included. Each bin is twice as wide as the one
    /// before.
    pub bins: Vec<SizeBin>,
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SizeBin {
    /// The smallest size.
    pub from: u64,
    /// The largest size.
    pub to: u64,
    /// How many there are.
    pub count: u64,
}

impl From<&SizeHistogram> for SizesReport {
    fn from(histogram: &SizeHistogram) -> Self {
        let buckets = histogram.buckets().into_iter();
        Self {
            min: histogram.smallest(),
            max: histogram.largest(),
            mean: histogram.mean(),
            bins: buckets.map(|it| SizeBin { from: it.from, to: it.to, count: it.count }).collect(),
        }
    }
}

impl StatsReport {
    /// A report without column families yet.
    pub fn new(file: impl Into<String>, sampled: bool) -> Self {
        Self { file: file.into(), sampled, ..Self::default() }
    }

    /// Adds a table.
    pub fn add_table(&mut self, analysis: &Analysis, encoding: Encoding, top: usize) {
        let stats = FamilyStats::of(None, analysis, encoding, top);
        self.add(stats, analysis);
    }

    /// Adds a column family of a database.
    pub fn add_column_family(
        &mut self,
        database: &Database,
        family: &ColumnFamily,
        analysis: &Analysis,
        encoding: Encoding,
        top: usize,
    ) {
        let mut stats = FamilyStats::of(Some(family.name()), analysis, encoding, top);
        stats.log_entries = family.memtable_entries() as u64;
        let manifest = database.manifest().and_then(|it| it.column_families.get(&family.id()));
        if let (Some(state), Some(space)) = (manifest, &mut stats.space) {
            space.add_blob_files(state.live_blob_files());
        }
        self.add(stats, analysis);
    }

    fn add(&mut self, stats: FamilyStats, analysis: &Analysis) {
        self.problems.extend(analysis.problems.iter().map(Problem::from));
        self.column_families.push(stats);
    }
}

impl FamilyStats {
    fn of(name: Option<&str>, analysis: &Analysis, encoding: Encoding, top: usize) -> Self {
        let contents = analysis.contents.as_ref();
        let is_ordered = contents.is_some_and(|it| it.is_ordered);
        let totals = |file: &FileAnalysis| match contents {
            Some(_) => EntryTotals::counted(file, is_ordered),
            None => EntryTotals::estimated(file),
        };
        let mut levels: Vec<LevelTotals> = Vec::new();
        for file in &analysis.files {
            let totals = totals(file);
            let is_log = file.path.is_none() && file.number.is_none();
            if is_log && file.counts.entries() == 0 {
                continue;
            }
            if levels.last().is_none_or(|last| last.level != file.level) {
                levels.push(LevelTotals { level: file.level, ..LevelTotals::default() });
            }
            let Some(level) = levels.last_mut() else { continue };
            level.size += file.size;
            level.files.push(FileTotals {
                file: file.path.as_ref().map(|path| path.display().to_string()),
                number: file.number,
                size: file.size,
                created: file.properties.created,
                oldest_tombstone_seq: file.counts.oldest_tombstone,
                totals,
            });
        }
        for level in &mut levels {
            level.totals = EntryTotals::sum(level.files.iter().map(|file| &file.totals));
        }
        let mut totals = EntryTotals::sum(levels.iter().map(|level| &level.totals));
        if levels.is_empty() && contents.is_some() {
            totals = EntryTotals::counted(&FileAnalysis::default(), is_ordered);
        }
        // In an unknown order, the versions of a key are found in one file only.
        let sources = analysis.files.iter().filter(|file| file.counts.entries() > 0).count();
        let knows_keys = is_ordered || sources <= 1;
        let place = lists::Places::new(&analysis.files);
        Self {
            name: name.map(str::to_owned),
            keys: contents.filter(|_| knows_keys).map(|it| it.keys),
            visible_keys: contents.filter(|it| it.is_ordered).map(|it| it.visible_keys),
            size: levels.iter().map(|level| level.size).sum(),
            log_entries: 0,
            totals,
            space: is_ordered.then(|| SpaceReport::of(&analysis.files)),
            key_sizes: contents.map(|it| (&it.key_sizes).into()),
            value_sizes: contents.map(|it| (&it.value_sizes).into()),
            largest_values: place.largest_values(contents, encoding),
            most_versions: lists::most_versions(contents.filter(|_| knows_keys), encoding),
            tombstones: place.tombstones(contents.filter(|it| it.is_ordered), encoding),
            range_tombstones: RangeTombstonesReport::of(analysis, encoding),
            prefixes: analysis.prefixes.as_ref().map(|it| PrefixReport::of(it, encoding, top)),
            levels,
        }
    }
}

impl EntryTotals {
    fn counted(file: &FileAnalysis, is_ordered: bool) -> Self {
        let counts = &file.counts;
        let kinds = EntryKind::ALL.iter().copied().map(|kind| (kind, counts.of_kind(kind)));
        let used = kinds.filter(|&(_, count)| count > 0);
        Self {
            entries: Some(counts.entries()),
            entries_by_kind: Some(used.map(|(kind, n)| (names::entry_kind(kind), n)).collect()),
            tombstone_entries: Some(tombstones(counts)),
            key_bytes: Some(counts.key_bytes),
            value_bytes: Some(counts.value_bytes),
            stored_bytes: file.data_bytes_in_range,
            stored_share: None,
            garbage_bytes: is_ordered.then(|| space::garbage_bytes(counts)),
            in_log: if file.path.is_none() && file.size == 0 { counts.bytes() } else { 0 },
        }
        .with_share()
    }

    /// From the properties, as if all data blocks were alike.
    fn estimated(file: &FileAnalysis) -> Self {
        let properties = &file.properties;
        let share = |number: Option<u64>| {
            let all = u128::from(file.data_bytes.max(1));
            let part = u128::from(file.data_bytes_in_range);
            number.map(|number| (u128::from(number) * part / all) as u64)
        };
        let ranges = properties.range_tombstones.unwrap_or(0);
        Self {
            entries: share(properties.entries.map(|it| it.saturating_sub(ranges))),
            tombstone_entries: share(properties.deletions.map(|it| it.saturating_sub(ranges))),
            key_bytes: share(properties.user_key_bytes()),
            value_bytes: share(properties.value_bytes),
            stored_bytes: file.data_bytes_in_range,
            ..Self::default()
        }
        .with_share()
    }

    fn with_share(mut self) -> Self {
        let raw = self.key_bytes.zip(self.value_bytes).map(|(keys, values)| keys + values);
        let in_tables = raw.map(|raw| raw.saturating_sub(self.in_log)).filter(|&raw| raw > 0);
        self.stored_share = in_tables.map(|raw| self.stored_bytes as f64 / raw as f64);
        self
    }

    fn sum<'t>(all: impl Iterator<Item = &'t Self> + Clone) -> Self {
        let sum = |number: fn(&Self) -> Option<u64>| all.clone().map(number).sum();
        let mut by_kind = Some(BTreeMap::new());
        for totals in all.clone() {
            by_kind = by_kind.zip(totals.entries_by_kind.as_ref()).map(|(mut sum, more)| {
                more.iter().for_each(|(kind, count)| *sum.entry(*kind).or_default() += count);
                sum
            });
        }
        Self {
            entries: sum(|it| it.entries),
            entries_by_kind: by_kind.filter(|_| all.clone().next().is_some()),
            tombstone_entries: sum(|it| it.tombstone_entries),
            key_bytes: sum(|it| it.key_bytes),
            value_bytes: sum(|it| it.value_bytes),
            stored_bytes: all.clone().map(|it| it.stored_bytes).sum(),
            stored_share: None,
            garbage_bytes: sum(|it| it.garbage_bytes),
            in_log: all.clone().map(|it| it.in_log).sum(),
        }
        .with_share()
    }
}

fn tombstones(counts: &EntryCounts) -> u64 {
    let deletions = EntryKind::ALL.iter().copied().filter(|kind| kind.is_point_deletion());
    deletions.map(|kind| counts.of_kind(kind)).sum()
}
