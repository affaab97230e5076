//! What would happen if tables were ingested into a database: what `sst ingest-check` shows.

use serde::Serialize;
use sstkit_db::{
    ColumnFamily, Database, IngestedPlacement, IngestionOverlap, IngestionPlan, IngestionRefusal,
    PlannedTable,
};

use crate::encoding::Encoding;
use crate::filter_report::FilterReport;
use crate::inspected_table::InspectedTable;

/// What would happen if tables were ingested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IngestionReport {
    /// The database.
    pub into: String,
    /// The column family.
    pub column_family: String,
    /// The version of RocksDB whose rules were applied.
    pub version: String,
    /// Whether it was given, or is in the OPTIONS file; otherwise it is the newest known.
    pub version_known: bool,
    /// Whether all tables would be ingested. If not, none would.
    pub accepted: bool,
    /// Why none of them would be ingested, besides refusals of single tables.
    pub refusals: Vec<RefusalReport>,
    /// Whether key ranges of the tables overlap one another.
    pub tables_overlap: bool,
    /// Whether the memtable is flushed first, which blocks writes.
    pub needs_flush: bool,
    /// The last sequence number of the database before.
    pub last_seq: u64,
    /// Files of level 0 before and after.
    pub level_0_files: [u64; 2],
    /// The tables.
    pub tables: Vec<IngestedTableReport>,
    /// What changes for the database.
    pub effects: Vec<String>,
}

/// A reason not to ingest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RefusalReport {
    /// The status of RocksDB.
    pub status: &'static str,
    /// The beginning of its message, if it is known.
    pub engine_message: Option<&'static str>,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// A table to ingest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IngestedTableReport {
    /// The file.
    pub file: String,
    /// The smallest key, without timestamp.
    pub smallest_key: Option<String>,
    /// The largest key, without timestamp, or the end of a range tombstone.
    pub largest_key: Option<String>,
    /// Whether `largest_key` is the end of a range tombstone.
    pub largest_key_exclusive: bool,
    /// Why it would be refused.
    pub refusals: Vec<RefusalReport>,
    /// What the engine accepts, but should not.
    pub warnings: Vec<String>,
    /// The level it would go to; `None` if anything is refused.
    pub level: Option<u32>,
    /// The sequence number of all its entries; 0 if none is assigned, `None` if anything is refused.
    pub seq: Option<u64>,
    /// The topmost source with keys in its range: `log` or the number of a level; `None` if there are
    /// none.
    pub overlap: Option<String>,
    /// Levels without keys in its range, but with a file around it, so that it does not fit.
    pub occupied_levels: Vec<u32>,
    /// Sorted runs with files in its range, before.
    pub runs_in_range: Option<u64>,
    /// The kind of its filter, as in a [`FilterReport`]; `None` if it cannot be read.
    pub filter: Option<&'static str>,
    /// What changes for reads of its keys.
    pub effects: Vec<String>,
}

impl From<&IngestionRefusal> for RefusalReport {
    fn from(refusal: &IngestionRefusal) -> Self {
        Self {
            status: refusal.status,
            engine_message: refusal.engine_message,
            message: refusal.message.clone(),
        }
    }
}

impl IngestionReport {
    /// Describes a plan. `tables` are those of the plan, as far as they can be read.
    pub fn of(
        database: &Database,
        family: &ColumnFamily,
        plan: &IngestionPlan,
        tables: &[Option<InspectedTable>],
        encoding: Encoding,
    ) -> Self {
        let reports: Vec<IngestedTableReport> = plan
            .tables
            .iter()
            .zip(tables)
            .map(|(planned, table)| table_report(planned, table.as_ref(), family, encoding))
            .collect();
        let added = reports.iter().filter(|table| table.level == Some(0)).count() as u64;
        let flushed = u64::from(plan.needs_flush && plan.is_accepted());
        let level_0_files = [plan.level_zero_files, plan.level_zero_files + added + flushed];
        Self {
            into: database.path().display().to_string(),
            column_family: family.name().to_owned(),
            version: plan.version.to_string(),
            version_known: plan.version_is_known,
            accepted: plan.is_accepted(),
            refusals: plan.refusals.iter().map(Into::into).collect(),
            tables_overlap: plan.tables_overlap,
            needs_flush: plan.needs_flush,
            last_seq: plan.last_sequence,
            level_0_files,
            effects: match plan.is_accepted() {
                true => effects(database, family, plan, level_0_files),
                false => Vec::new(),
            },
            tables: reports,
        }
    }
}

fn table_report(
    planned: &PlannedTable,
    table: Option<&InspectedTable>,
    family: &ColumnFamily,
    encoding: Encoding,
) -> IngestedTableReport {
    let name = planned.path.display().to_string();
    let filter = table.map(|table| match FilterReport::of_existing(&name, table) {
        Ok(Some(report)) => report,
        Ok(None) => FilterReport::none(&name),
        Err(_) => FilterReport::unreadable(&name, table),
    });
    let placement = planned.placement.as_ref();
    let key = |key: &Option<Vec<u8>>| key.as_ref().map(|key| encoding.encode(key));
    IngestedTableReport {
        smallest_key: key(&planned.smallest),
        largest_key: key(&planned.largest),
        largest_key_exclusive: planned.largest_is_exclusive,
        refusals: planned.refusals.iter().map(Into::into).collect(),
        warnings: planned.warnings.clone(),
        level: placement.map(|it| it.level),
        seq: placement.map(|it| it.sequence),
        overlap: placement.and_then(|it| it.overlap).map(|overlap| match overlap {
            IngestionOverlap::Log => "log".to_owned(),
            IngestionOverlap::Level(level) => level.to_string(),
            _ => "other".to_owned(),
        }),
        occupied_levels: placement.map_or_else(Vec::new, |it| it.occupied_levels.clone()),
        runs_in_range: placement.map(|it| it.runs_in_range),
        effects: placement.map_or_else(Vec::new, |it| table_effects(it, filter.as_ref(), family)),
        filter: filter.map(|report| report.kind),
        file: name,
    }
}

/// What changes for reads of the keys of a table.
fn table_effects(
    placement: &IngestedPlacement,
    filter: Option<&FilterReport>,
    family: &ColumnFamily,
) -> Vec<String> {
    let mut effects = Vec::new();
    effects.push(match placement.sequence {
        0 => "no key of the database is in its range: entries keep sequence number 0, and are \
              visible to all snapshots"
            .to_owned(),
        sequence => format!(
            "entries get sequence number {sequence}: they replace those of the same keys, and are \
             not visible to older snapshots"
        ),
    });
    let runs = placement.runs_in_range;
    effects.push(match runs {
        0 => "no other file is in its range: a lookup there reads this file only".to_owned(),
        _ => format!(
            "a lookup in its range considers up to {} sorted runs instead of {runs}",
            runs + 1
        ),
    });
    let Some(filter) = filter else { return effects };
    if filter.kind == "none" {
        effects.push("no filter: each lookup in its range reads a data block of it".to_owned());
    } else if !filter.whole_key && filter.prefix_extractor.is_none() {
        effects.push("its filter has neither whole keys nor known prefixes".to_owned());
    }
    let of_family = family.prefix_extractor().map(|it| it.name().into_owned());
    if let Some(extractor) = &filter.prefix_extractor
        && of_family.as_ref() != Some(extractor)
    {
        effects.push(format!(
            "its filter has prefixes of {extractor}, not of the prefix extractor of the column \
             family: they are not used"
        ));
    }
    effects
}

/// What changes for the database.
fn effects(
    database: &Database,
    family: &ColumnFamily,
    plan: &IngestionPlan,
    [before, after]: [u64; 2],
) -> Vec<String> {
    let options = database.options_file().column_family(family.name());
    let trigger = |name: &str, default: u64| {
        let text = options.get(name).and_then(|value| value.as_text());
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let mut effects = Vec::new();
    if plan.needs_flush {
        effects.push(
            "the write-ahead log has keys in the range of a table: the memtable is flushed first, \
             and writes wait"
                .to_owned(),
        );
    }
    if after > before {
        effects.push(format!("level 0 has {after} files instead of {before}"));
        for (name, default, what) in [
            ("level0_file_num_compaction_trigger", 4, "a compaction starts"),
            ("level0_slowdown_writes_trigger", 20, "writes are slowed down"),
            ("level0_stop_writes_trigger", 36, "writes stop"),
        ] {
            let limit = trigger(name, default);
            if before < limit && limit <= after {
                effects.push(format!("{what}: {name} is {limit}"));
            }
        }
    }
    effects
}
