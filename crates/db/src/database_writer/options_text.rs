//! The OPTIONS file of a new database: what the source had, and what was set.
//!
//! RocksDB's loader needs `[Version]`, `[DBOptions]` and `[CFOptions "default"]`, in this order, and
//! after each column family the options of its tables. Options that are left out have their
//! defaults.

use std::collections::BTreeMap;

use sstkit_table::raw::FormatVersion;
use sstkit_table::{RocksDbVersion, TableFeature};

use super::writer_options::{ColumnFamilyDescriptor, DatabaseWriterOptions};
use super::{Family, levels, option_versions};
use crate::raw::{OptionsFile, OptionsSection};

/// The version of RocksDB, if nothing says another: the first that reads tables with the default
/// format version.
const DEFAULT_VERSION: RocksDbVersion = RocksDbVersion::new(10, 4);
/// RocksDB's default.
const DEFAULT_NUM_LEVELS: u32 = 7;
/// The version of the file format, which has not changed since 2015.
const FILE_VERSION: &str = "1.1";

const DATABASE: &str = "DBOptions";
const COLUMN_FAMILY: &str = "CFOptions";
const BLOCK_BASED_TABLE: &str = "TableOptions/BlockBasedTable";

/// Paths, which are those of another directory.
const PATHS: [&str; 2] = ["wal_dir", "db_log_dir"];

/// The OPTIONS file.
pub(super) fn options_file(
    options: &DatabaseWriterOptions,
    families: &BTreeMap<u32, Family>,
) -> OptionsFile {
    let empty = OptionsFile::default();
    let source = options.options_file.as_ref().unwrap_or(&empty);
    let written_by = source.rocksdb_version().and_then(|text| text.parse().ok());
    let version = options.rocksdb_version.or(written_by).unwrap_or(DEFAULT_VERSION);
    let section = |kind: &str, name: Option<&str>, options: &[(String, String)]| {
        let mut section =
            source.section(kind, name).cloned().unwrap_or_else(|| OptionsSection::new(kind, name));
        PATHS.iter().for_each(|path| section.remove(path));
        options.iter().for_each(|(name, value)| section.set(name, value));
        section
    };
    let mut sections = vec![section(DATABASE, None, &options.database_options)];
    for family in families.values() {
        let descriptor = &family.descriptor;
        let ColumnFamilyDescriptor { name, options, table_options, .. } = descriptor;
        let mut of_family = section(COLUMN_FAMILY, Some(name), options);
        of_family.set("comparator", &descriptor.comparator_name);
        if let Some(persist) = descriptor.persist_timestamps {
            of_family.set("persist_user_defined_timestamps", &persist.to_string());
        }
        let configured =
            of_family.get("num_levels").and_then(|value| value.as_text()?.parse().ok());
        let needed = levels::count(&family.files).max(configured.unwrap_or(DEFAULT_NUM_LEVELS));
        of_family.set("num_levels", &needed.to_string());
        sections.push(of_family);
        let mut tables = section(BLOCK_BASED_TABLE, Some(name), table_options);
        limit_format_version(&mut tables, version);
        sections.push(tables);
    }
    for section in &mut sections {
        option_versions::restrict(section, version, written_by);
    }
    sections.insert(0, version_section(version, source));
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

/// RocksDB refuses to write tables of a version that it does not know.
fn limit_format_version(tables: &mut OptionsSection, version: RocksDbVersion) {
    let configured = tables.get("format_version").and_then(|value| value.as_text()?.parse().ok());
    let Some(configured) = configured.and_then(FormatVersion::from_number) else { return };
    let is_known = |it: &FormatVersion| TableFeature::FormatVersion(*it).is_read_by(version);
    let Some(newest) = FormatVersion::ALL.iter().copied().rev().find(is_known) else { return };
    if configured > newest {
        tables.set("format_version", &newest.number().to_string());
    }
}
