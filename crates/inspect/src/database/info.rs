//! Describes a database.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use sstkit_db::raw::BlobFileMetaData;
use sstkit_db::{ColumnFamily, Database, LevelFile};
use sstkit_table::Table;
use sstkit_table::raw::{Engine, property_names};

use super::open_level_file;
use crate::encoding::Encoding;
use crate::error::Result;
use crate::filter_report::{FilterReport, FilterTotal, LookupSpace};
use crate::info::{PropertyValue, property_values};
use crate::names;
use crate::verify::Problem;

/// Properties whose total over all tables is meaningful.
const SUMMED: &[&str] = &[
    property_names::NUM_ENTRIES,
    property_names::DELETED_KEYS,
    property_names::MERGE_OPERANDS,
    property_names::NUM_RANGE_DELETIONS,
    property_names::NUM_FILTER_ENTRIES,
    property_names::NUM_DATA_BLOCKS,
    property_names::RAW_KEY_SIZE,
    property_names::RAW_VALUE_SIZE,
    property_names::DATA_SIZE,
    property_names::INDEX_SIZE,
    property_names::FILTER_SIZE,
];

/// The description of a database.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DatabaseInfo {
    /// The directory.
    pub file: String,
    /// `leveldb-database` or `rocksdb-database`; `leveldb-tables` or `rocksdb-tables` for a
    /// directory of tables, with or without a `manifest.json`.
    pub kind: &'static str,
    /// The format version of all tables; `None` if they differ, or if there are none.
    pub format_version: Option<u32>,
    /// The checksum of all tables; `None` if they differ, or if there are none.
    pub checksum: Option<&'static str>,
    /// The number of entries in all tables (including range deletions) and in the write-ahead logs.
    pub entries: u64,
    /// The size of all tables and blob files in bytes.
    pub size: u64,
    /// The sequence number of the last write; `None` without a MANIFEST.
    pub last_seq: Option<u64>,
    /// The number of the MANIFEST.
    pub manifest: Option<u64>,
    /// The id of the database.
    pub db_id: Option<String>,
    /// The number of the next file.
    pub next_file_number: Option<u64>,
    /// Its column families.
    pub column_families: Vec<ColumnFamilyInfo>,
    /// The totals of all filters.
    pub filter: FilterTotal,
    /// Totals of properties over all tables, by RocksDB's names.
    pub properties: BTreeMap<String, PropertyValue>,
    /// What is missing or was assumed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// Parts that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// A column family.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ColumnFamilyInfo {
    /// The id.
    pub id: u32,
    /// The name.
    pub name: String,
    /// The comparator, if known.
    pub comparator: Option<String>,
    /// The merge operator, if the database names one.
    pub merge_operator: Option<String>,
    /// The prefix extractor.
    pub prefix_extractor: Option<String>,
    /// The filter policy of new tables, as in OPTIONS.
    pub filter_policy: Option<String>,
    /// The number of writes that are only in the logs.
    pub memtable_entries: u64,
    /// The levels that have files, top level first.
    pub levels: Vec<LevelInfo>,
    /// The blob files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blob_files: Vec<BlobFileInfo>,
}

/// A level.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LevelInfo {
    /// The number of the level.
    pub level: u32,
    /// The size of all files in bytes.
    pub size: u64,
    /// The number of entries in all files.
    pub entries: u64,
    /// The files: newest first in level 0, by key in the others.
    pub files: Vec<FileInfo>,
}

/// A table of a level.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FileInfo {
    /// The path.
    pub file: String,
    /// The file number.
    pub number: u64,
    /// The size in bytes, from the MANIFEST.
    pub size: u64,
    /// The number of entries; `None` if it could not be read.
    pub entries: Option<u64>,
    /// The smallest key, without timestamp.
    pub smallest_key: String,
    /// The largest key, without timestamp.
    pub largest_key: String,
    /// The smallest sequence number; not in a LevelDB MANIFEST.
    pub smallest_seq: Option<u64>,
    /// The largest sequence number.
    pub largest_seq: Option<u64>,
    /// The kind of its filter, as in a [`FilterReport`].
    pub filter: Option<&'static str>,
    /// The size of its filter in bytes.
    pub filter_bytes: Option<u64>,
}

/// A blob file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlobFileInfo {
    /// The file number.
    pub number: u64,
    /// The number of values.
    pub blobs: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The number of values that are no longer referenced.
    pub garbage_blobs: u64,
    /// Their size in bytes.
    pub garbage_bytes: u64,
}

impl From<&BlobFileMetaData> for BlobFileInfo {
    fn from(meta: &BlobFileMetaData) -> Self {
        Self {
            number: meta.number,
            blobs: meta.blob_count,
            bytes: meta.blob_bytes,
            garbage_blobs: meta.garbage_count,
            garbage_bytes: meta.garbage_bytes,
        }
    }
}

/// What a directory is.
pub(crate) const fn database_kind(engine: Engine, is_folder_of_tables: bool) -> &'static str {
    match (engine, is_folder_of_tables) {
        (Engine::LevelDb, false) => "leveldb-database",
        (Engine::RocksDb, false) => "rocksdb-database",
        (Engine::LevelDb, true) => "leveldb-tables",
        (Engine::RocksDb, true) => "rocksdb-tables",
    }
}

impl DatabaseInfo {
    /// Describes a database. Reads the tail and the filter of each table, and all of each LevelDB
    /// table, which does not store its number of entries. Read errors are reported as problems.
    pub fn of(name: impl Into<String>, database: &Database, encoding: Encoding) -> Self {
        let mut survey = Survey { encoding, ..Survey::default() };
        let families: Vec<_> = database
            .column_families()
            .map(|family| survey.column_family(database, &family))
            .collect();
        let manifest = database.manifest();
        let memtables: u64 = families.iter().map(|family| family.memtable_entries).sum();
        Self {
            file: name.into(),
            kind: database_kind(database.engine(), is_folder_of_tables(database)),
            format_version: survey.format_version.of_all(),
            checksum: survey.checksum.of_all(),
            entries: survey.entries + memtables,
            size: survey.size,
            last_seq: manifest.map(|_| database.last_sequence()),
            manifest: database.manifest_number(),
            db_id: manifest.and_then(|manifest| manifest.db_id.clone()),
            next_file_number: manifest.map(|manifest| manifest.next_file_number),
            filter: FilterTotal::of(&survey.filters),
            properties: survey.properties,
            caveats: database.caveats().iter().map(ToString::to_string).collect(),
            problems: survey.problems,
            column_families: families,
        }
    }
}

/// A value that may be the same for all tables.
#[derive(Default)]
struct Common<T> {
    first: Option<T>,
    differs: bool,
}

/// Whether it is a directory of tables that was never a database.
fn is_folder_of_tables(database: &Database) -> bool {
    let is_plain = || Database::is_folder_of_tables(database.path()).unwrap_or(false);
    database.bulk_manifest().is_some() || database.manifest().is_none() && is_plain()
}

impl<T: PartialEq> Common<T> {
    fn see(&mut self, value: T) {
        match &self.first {
            Some(first) => self.differs |= *first != value,
            None => self.first = Some(value),
        }
    }

    fn of_all(self) -> Option<T> {
        self.first.filter(|_| !self.differs)
    }
}

/// Totals over all tables.
#[derive(Default)]
struct Survey {
    encoding: Encoding,
    format_version: Common<u32>,
    checksum: Common<&'static str>,
    entries: u64,
    size: u64,
    filters: Vec<FilterReport>,
    properties: BTreeMap<String, PropertyValue>,
    problems: Vec<Problem>,
}

impl Survey {
    fn column_family(&mut self, database: &Database, family: &ColumnFamily) -> ColumnFamilyInfo {
        let mut levels = Vec::new();
        let space = LookupSpace::of(family);
        for level in family.levels() {
            let files: Vec<FileInfo> =
                level.files.iter().map(|file| self.file(&space, file)).collect();
            levels.push(LevelInfo {
                level: level.number,
                size: files.iter().map(|file| file.size).sum(),
                entries: files.iter().filter_map(|file| file.entries).sum(),
                files,
            });
        }
        let manifest = database.manifest().and_then(|it| it.column_families.get(&family.id()));
        let blob_files: Vec<BlobFileInfo> =
            manifest.into_iter().flat_map(|it| it.blob_files.values()).map(Into::into).collect();
        self.size += blob_files.iter().map(|file| file.bytes).sum::<u64>();
        ColumnFamilyInfo {
            id: family.id(),
            name: family.name().to_owned(),
            comparator: match family.comparator() {
                Ok(comparator) => Some(comparator.to_string()),
                Err(_) => manifest.and_then(|it| it.comparator.clone()),
            },
            merge_operator: family.merge_operator_name().map(str::to_owned),
            prefix_extractor: family.prefix_extractor().map(|it| it.name().into_owned()),
            filter_policy: family.filter_policy().map(str::to_owned),
            memtable_entries: family.memtable_entries() as u64,
            levels,
            blob_files,
        }
    }

    fn file(&mut self, space: &Arc<LookupSpace>, file: &LevelFile) -> FileInfo {
        let meta = file.metadata();
        let mut info = FileInfo {
            file: file.path().display().to_string(),
            number: meta.number,
            size: meta.size,
            entries: None,
            smallest_key: self.encoding.encode(file.smallest()),
            largest_key: self.encoding.encode(file.largest()),
            smallest_seq: meta.smallest_sequence,
            largest_seq: meta.largest_sequence,
            filter: None,
            filter_bytes: None,
        };
        self.size += meta.size;
        if let Err(error) = self.table(space, file, &mut info) {
            self.problems.push(Problem::of_file(error.to_string()));
        }
        info
    }

    fn table(
        &mut self,
        space: &Arc<LookupSpace>,
        file: &LevelFile,
        info: &mut FileInfo,
    ) -> Result<()> {
        let opened = open_level_file(file)?;
        let table = opened.table();
        self.format_version.see(table.footer().version.number());
        self.checksum.see(names::checksum(table.footer().checksum));
        self.add_properties(table);
        let entries = match table.engine() {
            Engine::RocksDb => table.properties().num_entries(),
            Engine::LevelDb => count(table)?,
        };
        info.entries = Some(entries);
        self.entries += entries;
        let report = match FilterReport::of_existing(&info.file, &opened)? {
            Some(report) => {
                info.filter_bytes = Some(report.bytes);
                report
            }
            None => FilterReport::none(&info.file),
        };
        info.filter = Some(report.kind);
        self.filters.push(report.in_run(space, file, &opened, Some(entries)));
        Ok(())
    }

    fn add_properties(&mut self, table: &Table) {
        for (name, value) in property_values(table.properties()) {
            if let PropertyValue::Number(number) = value
                && SUMMED.contains(&name.as_str())
            {
                let sum = self.properties.entry(name).or_insert(PropertyValue::Number(0));
                if let PropertyValue::Number(sum) = sum {
                    *sum = sum.saturating_add(number);
                }
            }
        }
    }
}

fn count(table: &Table) -> Result<u64> {
    let mut cursor = table.entry_cursor();
    let mut count = 0;
    let mut more = cursor.seek_to_first()?;
    while more {
        count += 1;
        more = cursor.next()?;
    }
    Ok(count)
}
