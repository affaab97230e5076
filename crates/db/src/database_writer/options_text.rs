//! The OPTIONS file of a new database: what the source had, and what was set.
//!
//! RocksDB's loader needs `[Version]`, `[DBOptions]` and `[CFOptions "default"]`, in this order, and
//! after each column family the options of its tables. Options that are left out have their
//! defaults.

use std::collections::BTreeMap;

use sstkit_table::raw::FormatVersion;
use sstkit_table::{RocksDbVersion, TableFeature};

use super::writer_options::{ColumnFamilyDescriptor, DatabaseWriterOptions};
use super::{Family, levels};
use crate::raw::{OptionsFile, OptionsSection};

/// The version of RocksDB, if nothing says another.
const DEFAULT_VERSION: RocksDbVersion = RocksDbVersion::new(9, 8);
/// RocksDB's default.
const DEFAULT_NUM_LEVELS: u32 = 7;
/// The version of the file format, which has not changed since 2015.
const FILE_VERSION: &str = "1.1";

const DATABASE: &str = "DBOptions";
const COLUMN_FAMILY: &str = "CFOptions";
const BLOCK_BASED_TABLE: &str = "TableOptions/BlockBasedTable";

/// Paths, which are those of another directory.
const PATHS: [&str; 2] = ["wal_dir", "db_log_dir"];

/// Options that RocksDB 11.9 writes and 9.8 does not know, and structs that have got fields since.
const SINCE_9_8: &[&str] = &[
    "async_wal_precreate",
    "blob_compression_opts",
    "blob_direct_write_partitions",
    "cf_allow_ingest_behind",
    "compaction_options_fifo",
    "compaction_options_universal",
    "compression_manager",
    "decouple_partitioned_filters",
    "disallow_memtable_writes",
    "enable_blob_direct_write",
    "enforce_write_buffer_manager_during_recovery",
    "fail_if_no_udi_on_open",
    "fast_sst_open",
    "index_block_search_type",
    "max_compaction_trigger_wakeup_seconds",
    "max_manifest_space_amp_pct",
    "memtable_avg_op_scan_flush_trigger",
    "memtable_batch_lookup_optimization",
    "memtable_op_scan_flush_trigger",
    "memtable_verify_per_key_checksum_on_seek",
    "min_tombstones_for_range_conversion",
    "open_files_async",
    "optimize_manifest_for_recovery",
    "paranoid_memory_checks",
    "read_io_executor_threads",
    "read_triggered_compaction_threshold",
    "reuse_manifest_on_open",
    "separate_key_value_in_data_block",
    "super_block_alignment_size",
    "super_block_alignment_space_overhead_ratio",
    "target_file_size_is_upper_bound",
    "track_and_verify_wals",
    "uniform_cv_threshold",
    "use_direct_io_for_compaction_reads",
    "use_udi_as_primary_index",
    "user_defined_index_factory",
    "verify_manifest_content_on_close",
    "verify_output_flags",
    "write_identity_file",
];

/// The OPTIONS file.
pub(super) fn options_file(
    options: &DatabaseWriterOptions,
    families: &BTreeMap<u32, Family>,
) -> OptionsFile {
    let empty = OptionsFile::default();
    let source = options.options_file.as_ref().unwrap_or(&empty);
    let source_version = source.rocksdb_version().and_then(|text| text.parse().ok());
    let version = options.rocksdb_version.or(source_version).unwrap_or(DEFAULT_VERSION);
    let is_older = source_version.is_some_and(|source| version < source);
    let mut sections = vec![
        version_section(version, source),
        section(source, DATABASE, None, &options.database_options, is_older),
    ];
    for family in families.values() {
        let descriptor = &family.descriptor;
        let ColumnFamilyDescriptor { name, options, table_options, .. } = descriptor;
        let mut of_family = section(source, COLUMN_FAMILY, Some(name), options, is_older);
        of_family.set("comparator", &descriptor.comparator_name);
        if let Some(persist) = descriptor.persist_timestamps {
            of_family.set("persist_user_defined_timestamps", &persist.to_string());
        }
        let configured =
            of_family.get("num_levels").and_then(|value| value.as_text()?.parse().ok());
        let needed = levels::count(&family.files).max(configured.unwrap_or(DEFAULT_NUM_LEVELS));
        of_family.set("num_levels", &needed.to_string());
        sections.push(of_family);
        let mut tables = section(source, BLOCK_BASED_TABLE, Some(name), table_options, is_older);
        limit_format_version(&mut tables, version);
        sections.push(tables);
    }
    OptionsFile::from_sections(sections)
}

fn version_section(version: RocksDbVersion, source: &OptionsFile) -> OptionsSection {
    let mut section = OptionsSection::new("Version", None);
    // With the patch level, if it is the same version.
    let exact = source
        .rocksdb_version()
        .filter(|text| text.parse().is_ok_and(|it: RocksDbVersion| it == version));
    let text = exact.map_or_else(|| format!("{version}.0"), str::to_owned);
    section.set("rocksdb_version", &text);
    section.set("options_file_version", FILE_VERSION);
    section
}

/// What the source says, without what does not hold for the new database, and what was set.
fn section(
    source: &OptionsFile,
    kind: &str,
    name: Option<&str>,
    options: &[(String, String)],
    is_older: bool,
) -> OptionsSection {
    let mut section =
        source.section(kind, name).cloned().unwrap_or_else(|| OptionsSection::new(kind, name));
    PATHS.iter().for_each(|path| section.remove(path));
    if is_older {
        SINCE_9_8.iter().for_each(|option| section.remove(option));
    }
    options.iter().for_each(|(name, value)| section.set(name, value));
    section
}

/// RocksDB refuses to write tables of a version that it does not know.
fn limit_format_version(tables: &mut OptionsSection, version: RocksDbVersion) {
    let configured = tables.get("format_version").and_then(|value| value.as_text()?.parse().ok());
    let Some(configured) = configured.and_then(FormatVersion::from_number) else { return };
    let is_known = |it: &FormatVersion| TableFeature::FormatVersion(*it).is_read_by(version);
    let Some(newest) = FormatVersion::ALL.into_iter().rev().find(is_known) else { return };
    if configured > newest {
        tables.set("format_version", &newest.number().to_string());
    }
}
