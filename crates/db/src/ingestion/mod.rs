//! Whether RocksDB would ingest tables, and where it would put them: the rules of its
//! `IngestExternalFile`.
//!
//! ```text
//! tables ---> ExternalTable: is it one, for this column family?     external_table.rs
//!             |                                                      (a refusal of one refuses all)
//!             v
//!             batches: tables that overlap an earlier one come next   batches.rs
//!             |
//!             v        for each table, from level 0 down:
//! log      a . . . . z     keys in its range: it goes above them, with a new sequence number
//! level 0  [c.....f]       no keys, but the file ranges overlap: not this level, perhaps below
//! level 6     [d....k]     neither: this level                      target_level.rs
//! ```
//!
//! The rules have changed over time; [`EngineRules`] has the differences.

mod batches;
mod engine_rules;
mod external_table;
mod target_level;

use std::path::PathBuf;
use std::sync::Arc;

use sstkit_coding::setters;
use sstkit_table::visibility::UserKeys;
use sstkit_table::{RocksDbVersion, Table};

use crate::column_family::ColumnFamily;
use crate::column_family_data::ColumnFamilyData;
use crate::database::Database;
use crate::error::Result;

use self::engine_rules::{CompactionStyle, EngineRules, LevelSettings};
use self::external_table::ExternalTable;
use self::target_level::Target;

/// How tables are to be ingested: RocksDB's `IngestExternalFileOptions`.
#[derive(Clone, Debug, Default)]
pub struct IngestionOptions {
    version: Option<RocksDbVersion>,
    ingest_behind: bool,
    fail_if_not_bottommost_level: bool,
    has_snapshots: bool,
}

setters! {
    impl IngestionOptions:

    /// The version of RocksDB that ingests. Default: the one that wrote the OPTIONS file of the
    /// database.
    pub fn version(mut self, version: RocksDbVersion) { self.version = Some(version); }

    /// `ingest_behind`: below everything, so that existing keys count. Default: off.
    pub fn ingest_behind(mut self, on: bool) { self.ingest_behind = on; }

    /// `fail_if_not_bottommost_level`. Default: off.
    pub fn fail_if_not_bottommost_level(mut self, on: bool) {
        self.fail_if_not_bottommost_level = on;
    }

    /// Whether the running database has snapshots: each table then gets a sequence number of its own.
    /// Default: no.
    pub fn has_snapshots(mut self, on: bool) { self.has_snapshots = on; }
}

/// What would happen if tables were ingested.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IngestionPlan {
    /// The version of RocksDB whose rules were applied.
    pub version: RocksDbVersion,
    /// Whether it was given, or is in the OPTIONS file; otherwise it is the newest known.
    pub version_is_known: bool,
    /// The tables, in the order given.
    pub tables: Vec<PlannedTable>,
    /// Why none of them would be ingested, besides refusals of single tables.
    pub refusals: Vec<IngestionRefusal>,
    /// Whether key ranges of tables overlap one another.
    pub tables_overlap: bool,
    /// Whether the write-ahead log has keys in the range of a table, so that the memtable is flushed
    /// first, which blocks writes.
    pub needs_flush: bool,
    /// The last sequence number of the database before.
    pub last_sequence: u64,
    /// The number of levels of the column family.
    pub num_levels: u32,
    /// Files in level 0 before, not counting the one that a flush writes.
    pub level_zero_files: u64,
}

/// A table to ingest, and where it would go.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedTable {
    /// The file.
    pub path: PathBuf,
    /// The smallest key, without timestamp; `None` if the table is empty or cannot be read.
    pub smallest: Option<Vec<u8>>,
    /// The largest key, without timestamp, or the end of a range tombstone.
    pub largest: Option<Vec<u8>>,
    /// Whether the range ends before `largest`, because that is the end of a range tombstone.
    pub largest_is_exclusive: bool,
    /// Why it would be refused.
    pub refusals: Vec<IngestionRefusal>,
    /// What the engine accepts, but should not.
    pub warnings: Vec<String>,
    /// Where it would go; `None` if anything is refused.
    pub placement: Option<IngestedPlacement>,
}

sstkit_coding::debug_struct!(PlannedTable {
    path,
    smallest: bytes,
    largest: bytes,
    largest_is_exclusive,
    refusals,
    warnings,
    placement,
});

/// Where a table would go.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IngestedPlacement {
    /// The level.
    pub level: u32,
    /// The sequence number of all its entries; 0 if none is assigned.
    pub sequence: u64,
    /// The topmost source with keys in its range; `None` if there are none.
    pub overlap: Option<IngestionOverlap>,
    /// Levels without keys in its range, but with a file around it, so that it does not fit.
    pub occupied_levels: Vec<u32>,
    /// Sorted runs with keys in its range or files around it: each is one more to read for a lookup.
    pub runs_in_range: u64,
}

/// A source with keys in the range of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IngestionOverlap {
    /// The write-ahead log, which becomes a file of level 0.
    Log,
    /// A level.
    Level(u32),
}

/// Why tables would be refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IngestionRefusal {
    /// The status of RocksDB: `InvalidArgument`, `Corruption`, `NotSupported` or `TryAgain`.
    pub status: &'static str,
    /// The beginning of RocksDB's message, if it is known.
    pub engine_message: Option<&'static str>,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl IngestionRefusal {
    fn new(
        status: &'static str,
        engine_message: impl Into<Option<&'static str>>,
        message: impl Into<String>,
    ) -> Self {
        Self { status, engine_message: engine_message.into(), message: message.into() }
    }
}

impl IngestionPlan {
    /// Applies the rules to tables, which would be ingested into a column family in this order.
    ///
    /// The state is that of the directory: running compactions, and snapshots unless
    /// [given](IngestionOptions::has_snapshots), are not known.
    ///
    /// # Errors
    ///
    /// Fails if the comparator of the column family is unknown, or if the database cannot be read. What
    /// is wrong with the tables is a refusal.
    pub fn new(
        database: &Database,
        family: &ColumnFamily,
        tables: &[(PathBuf, sstkit_table::Result<Table>)],
        options: &IngestionOptions,
    ) -> Result<Self> {
        let data = family.family();
        data.require_order()?;
        let written_by = database.options_file().rocksdb_version().and_then(|it| it.parse().ok());
        let known = options.version.or(written_by);
        let version = known.unwrap_or(engine_rules::NEWEST);
        let check = Check {
            family: data,
            keys: &data.keys,
            rules: EngineRules::of(version),
            levels: LevelSettings::of(database, family, version),
            options,
        };
        let external: Vec<ExternalTable> =
            tables.iter().map(|(path, table)| check.external_table(path, table)).collect();
        let mut plan = Self {
            version,
            version_is_known: known.is_some(),
            tables: external.iter().map(ExternalTable::planned).collect(),
            refusals: Vec::new(),
            tables_overlap: false,
            needs_flush: false,
            last_sequence: database.last_sequence(),
            num_levels: check.levels.num_levels,
            level_zero_files: check.runs_of_level(0).count() as u64,
        };
        plan.refusals.extend(check.refuse_ingest_behind());
        check.place(&external, &mut plan)?;
        Ok(plan)
    }

    /// Whether the tables would be ingested.
    pub fn is_accepted(&self) -> bool {
        self.refusals.is_empty() && self.tables.iter().all(|table| table.refusals.is_empty())
    }
}

/// What the rules are applied to.
struct Check<'a> {
    family: &'a Arc<ColumnFamilyData>,
    keys: &'a UserKeys,
    rules: EngineRules,
    levels: LevelSettings,
    options: &'a IngestionOptions,
}

impl Check<'_> {
    /// Finds the level and sequence number of each table.
    fn place(&self, external: &[ExternalTable], plan: &mut IngestionPlan) -> Result<()> {
        let ranges: Vec<_> = external.iter().filter_map(|table| table.range.as_ref()).collect();
        plan.tables_overlap = batches::overlap(&ranges, self.keys);
        if plan.tables_overlap {
            plan.refusals.extend(self.refuse_overlap());
        }
        for range in &ranges {
            plan.needs_flush |= self.log_overlaps(range);
        }
        if plan.needs_flush && self.keys.timestamp_size() > 0 {
            plan.refusals.push(IngestionRefusal::new(
                "InvalidArgument",
                "Column family enables user-defined timestamps",
                "the write-ahead log has keys in the range of a table, and the column family has \
                 timestamps",
            ));
        }
        if ranges.len() < external.len() || !plan.is_accepted() {
            return Ok(());
        }
        let mut last_sequence = plan.last_sequence;
        let mut above = None;
        let mut placements = Vec::new();
        for batch in batches::divide(&ranges, plan.tables_overlap, self.keys) {
            let mut uppermost = u32::MAX;
            for range in batch {
                let target = Target { range, above, tables_overlap: plan.tables_overlap };
                match self.target_level(&target, last_sequence)? {
                    Ok(placement) => {
                        last_sequence = last_sequence.max(placement.sequence);
                        uppermost = uppermost.min(placement.level);
                        placements.push(placement);
                    }
                    Err(refusal) => {
                        plan.refusals.push(refusal);
                        return Ok(());
                    }
                }
            }
            above = self.rules.has_batches.then_some(uppermost);
        }
        for (table, placement) in plan.tables.iter_mut().zip(placements) {
            table.placement = Some(placement);
        }
        Ok(())
    }

    /// The last level must have been reserved since the first write.
    fn refuse_ingest_behind(&self) -> Option<IngestionRefusal> {
        if !self.options.ingest_behind {
            return None;
        }
        if self.keys.timestamp_size() > 0 {
            return Some(IngestionRefusal::new(
                "InvalidArgument",
                "Column family with user-defined timestamps enabled doesn't support ingest behind.",
                "the column family has timestamps, which ingest_behind does not allow",
            ));
        }
        (!self.levels.allows_ingest_behind).then(|| {
            IngestionRefusal::new(
                "InvalidArgument",
                self.rules.ingest_behind_refusal,
                "the database was opened without the option allow_ingest_behind, which reserves the \
                 last level: ingest without ingest_behind, or rebuild the database with that option",
            )
        })
    }

    fn refuse_overlap(&self) -> Option<IngestionRefusal> {
        if self.options.ingest_behind {
            return Some(IngestionRefusal::new(
                "NotSupported",
                "Files with overlapping ranges cannot be ingested with ingestion behind mode.",
                "the key ranges of the tables overlap, which ingest_behind does not allow",
            ));
        }
        if self.keys.timestamp_size() > 0 {
            return Some(IngestionRefusal::new(
                "NotSupported",
                "Files with overlapping ranges cannot be ingested to column family with \
                 user-defined timestamp enabled.",
                "the key ranges of the tables overlap, and the column family has timestamps",
            ));
        }
        (!self.rules.takes_overlapping_tables).then(|| {
            IngestionRefusal::new(
                "NotSupported",
                "Files have overlapping ranges",
                "the key ranges of the tables overlap: ingest them one after another, or merge them \
                 with sst compact",
            )
        })
    }

    /// FIFO compaction has one level.
    fn is_fifo(&self) -> bool {
        self.rules.puts_fifo_in_level_0 && self.levels.style == CompactionStyle::Fifo
    }
}
