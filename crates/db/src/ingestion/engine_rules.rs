//! What differs between the versions of RocksDB, and between column families.

use sstkit_table::RocksDbVersion;

use crate::column_family::ColumnFamily;
use crate::database::Database;
use crate::raw::ColumnFamilyOptions;

/// The newest version whose rules are known.
pub(super) const NEWEST: RocksDbVersion = RocksDbVersion::new(11, 9);

/// The rules of a version.
#[derive(Clone, Copy, Debug)]
pub(super) struct EngineRules {
    pub(super) version: RocksDbVersion,
    /// Tables whose ranges overlap are taken; before 6.6 they were refused.
    pub(super) takes_overlapping_tables: bool,
    /// Of those that overlap, some may go to lower levels; before 9.8 all went to level 0.
    pub(super) has_batches: bool,
    /// The name of the comparator is checked, from 9.1 on.
    pub(super) checks_comparator: bool,
    /// The property with the largest sequence number is checked, from 9.7 on.
    pub(super) checks_largest_sequence: bool,
    /// FIFO compaction knows level 0 only, from 9.3 on.
    pub(super) puts_fifo_in_level_0: bool,
    /// With universal compaction, empty levels are passed over; until 9.7.
    pub(super) skips_empty_universal_levels: bool,
    /// With universal compaction, a table gets the largest sequence number of its level; until 8.10.
    pub(super) takes_sequence_of_universal_level: bool,
    /// The message if the last level is not reserved; from 10.6 on it names the column family.
    pub(super) ingest_behind_refusal: &'static str,
}

impl EngineRules {
    pub(super) fn of(version: RocksDbVersion) -> Self {
        let since = |major, minor| version >= RocksDbVersion::new(major, minor);
        Self {
            version,
            takes_overlapping_tables: since(6, 6),
            has_batches: since(9, 8),
            checks_comparator: since(9, 1),
            checks_largest_sequence: since(9, 7),
            puts_fifo_in_level_0: since(9, 3),
            skips_empty_universal_levels: !since(9, 8),
            takes_sequence_of_universal_level: !since(8, 11),
            ingest_behind_refusal: match since(10, 6) {
                true => "Can't ingest_behind file in ColumnFamily",
                false => "Can't ingest_behind file in DB with allow_ingest_behind=false",
            },
        }
    }
}

/// How compactions choose tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompactionStyle {
    Level,
    Universal,
    Fifo,
}

/// The settings of a column family that decide about levels.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelSettings {
    pub(super) num_levels: u32,
    pub(super) style: CompactionStyle,
    /// The level that level 0 is compacted to: those in between are not used.
    pub(super) base_level: u32,
    /// Whether tables keep timestamps.
    pub(super) persists_timestamps: bool,
    /// Whether the last level is reserved for tables ingested behind all others: the option
    /// `allow_ingest_behind` of the database or, from RocksDB 10.6 on, `cf_allow_ingest_behind`.
    pub(super) allows_ingest_behind: bool,
}

/// RocksDB's defaults.
const MAX_BYTES_FOR_LEVEL_BASE: u64 = 256 << 20;
const MAX_BYTES_FOR_LEVEL_MULTIPLIER: f64 = 10.0;
/// `level_compaction_dynamic_level_bytes` is on by default from this version on.
const DYNAMIC_LEVELS_SINCE: RocksDbVersion = RocksDbVersion::new(8, 4);

impl LevelSettings {
    pub(super) fn of(database: &Database, family: &ColumnFamily, version: RocksDbVersion) -> Self {
        let options = database.options_file().column_family(family.name());
        let text = |name: &str| options.get(name).and_then(|value| value.as_text());
        let style = match options.get("compaction_style").and_then(|value| value.as_name()) {
            Some("kCompactionStyleUniversal") => CompactionStyle::Universal,
            Some("kCompactionStyleFIFO") => CompactionStyle::Fifo,
            _ => CompactionStyle::Level,
        };
        let num_levels = family.family().settings.num_levels.max(1);
        let dynamic = text("level_compaction_dynamic_level_bytes")
            .and_then(|text| text.parse().ok())
            .unwrap_or(version >= DYNAMIC_LEVELS_SINCE);
        let base_level = match (style, dynamic) {
            (CompactionStyle::Level, true) => {
                let mut sizes = vec![0_u64; num_levels as usize];
                for file in family.family().version.files() {
                    if let Some(size) = sizes.get_mut(file.level as usize) {
                        *size = size.saturating_add(file.meta.size);
                    }
                }
                dynamic_base_level(&sizes, &options)
            }
            (CompactionStyle::Level, false) => 1,
            _ => 0,
        };
        let persists_timestamps = text("persist_user_defined_timestamps") != Some("false");
        let of_database = database.options_file().database().get("allow_ingest_behind");
        let allows_ingest_behind = of_database.and_then(|value| value.as_text()) == Some("true")
            || text("cf_allow_ingest_behind") == Some("true");
        Self { num_levels, style, base_level, persists_timestamps, allows_ingest_behind }
    }
}

/// The base level with `level_compaction_dynamic_level_bytes`: sizes are divided from the largest level
/// upwards, until a level would be smaller than the base.
fn dynamic_base_level(sizes: &[u64], options: &ColumnFamilyOptions<'_>) -> u32 {
    let text = |name: &str| options.get(name).and_then(|value| value.as_text());
    let base = text("max_bytes_for_level_base").and_then(|it| it.parse().ok());
    let multiplier = text("max_bytes_for_level_multiplier").and_then(|it| it.parse().ok());
    let base_max: u64 = base.unwrap_or(MAX_BYTES_FOR_LEVEL_BASE);
    let multiplier: f64 = multiplier.unwrap_or(MAX_BYTES_FOR_LEVEL_MULTIPLIER);
    let base_min = (base_max as f64 / multiplier) as u64;
    let last = sizes.len().saturating_sub(1);
    let largest = sizes.iter().skip(1).copied().max().unwrap_or(0);
    let Some(first_used) = (1..sizes.len()).find(|&level| sizes[level] > 0) else {
        return last as u32;
    };
    let divide = |size: u64| (size as f64 / multiplier) as u64;
    let mut size = largest;
    for _ in first_used..last {
        size = divide(size);
    }
    let mut level = first_used;
    if size > base_min {
        while level > 1 && size > base_max {
            level -= 1;
            size = divide(size);
        }
    }
    level as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::OptionsFile;

    #[test]
    fn base_levels() {
        let file = OptionsFile::parse(
            "[DBOptions]\n[CFOptions \"default\"]\nmax_bytes_for_level_base=1000\n",
        )
        .unwrap();
        let options = file.column_family("default");
        for (sizes, level) in [
            (&[50, 0, 0, 0, 0, 0, 0][..], 6),
            (&[0, 0, 0, 0, 0, 0, 900], 6),
            (&[0, 0, 0, 0, 0, 0, 2000], 5),
            (&[0, 0, 0, 0, 0, 500, 5000], 5),
            (&[0, 0, 0, 0, 0, 5000, 50_000], 4),
            (&[0, 0, 0, 0, 0, 10, 20], 5),
            (&[0, 10_000_000_000], 1),
            (&[10], 0),
        ] {
            assert_eq!(dynamic_base_level(sizes, &options), level, "{sizes:?}");
        }
    }

    #[test]
    fn rules_by_version() {
        let rules = |text: &str| EngineRules::of(text.parse().unwrap());
        assert!(!rules("6.5").takes_overlapping_tables && rules("6.6").takes_overlapping_tables);
        assert!(!rules("9.7").has_batches && rules("9.8").has_batches);
        assert!(rules("8.10").takes_sequence_of_universal_level);
        assert!(rules("11.9").checks_comparator);
    }
}
