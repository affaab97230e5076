//! Small databases of RocksDB, written entry by entry.

use std::path::Path;

use sstkit_db::raw::FileMetaData;
use sstkit_db::{
    ColumnFamilyDescriptor, Database, DatabaseWriter, DatabaseWriterOptions, FileSource,
};
use sstkit_table::raw::{EntryKind, InternalKey, MAX_SEQUENCE_NUMBER};
use sstkit_table::{Table, TableOptions, TableWriter};

use crate::contents::{Damaged, visible};

/// Key, sequence number, kind, value or end of a range.
pub(crate) type Entry<'e> = (&'e str, u64, EntryKind, &'e str);

pub(crate) const PUT: EntryKind = EntryKind::Value;
pub(crate) const DELETE: EntryKind = EntryKind::Deletion;
pub(crate) const MERGE: EntryKind = EntryKind::Merge;
pub(crate) const RANGE: EntryKind = EntryKind::RangeDeletion;

/// A table of a new database.
pub(crate) struct SmallTable<'t> {
    pub level: u32,
    pub entries: &'t [Entry<'t>],
    /// The key at which it ends, if that is before the ends of its range tombstones. It starts with its first
    /// point then.
    pub end: Option<End>,
}

/// The last key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// It is not in the table.
    Before(&'static str),
    /// The last point is the last key.
    AtLastPoint,
}

/// A database with these tables in one column family; the newest last.
pub(crate) fn database(path: &Path, family: &str, tables: &[(u32, &[Entry<'_>])]) {
    let tables: Vec<_> =
        tables.iter().map(|&(level, entries)| SmallTable { level, entries, end: None }).collect();
    database_with(path, DatabaseWriterOptions::rocksdb(), family, &tables, 0);
}

/// The same with other options, and a last sequence number that may be larger than those of the tables.
pub(crate) fn database_with(
    path: &Path,
    options: DatabaseWriterOptions,
    family: &str,
    tables: &[SmallTable<'_>],
    last_sequence: u64,
) {
    let mut writer = DatabaseWriter::create(path, options).unwrap();
    let descriptor = ColumnFamilyDescriptor::new(family).option("merge_operator", "stringappend");
    let id = writer.column_family(descriptor).unwrap();
    for SmallTable { level, entries, end } in tables {
        let table = writer.new_table_path();
        let options = TableOptions::rocksdb()
            .merge_operator("StringAppendOperator")
            .block_size(64)
            .compression(sstkit_table::raw::Codec::None);
        let options = writer.table_options(id, &options).unwrap();
        let mut out = TableWriter::create(&table, &options).unwrap();
        for &(key, sequence, kind, value) in *entries {
            let key = InternalKey { user_key: key.as_bytes(), sequence, kind };
            out.add(&key, value.as_bytes()).unwrap();
        }
        out.finish().unwrap();
        let metadata = end.map(|end| metadata(&table, end));
        writer.add_table(id, *level, &FileSource::Written(table), metadata).unwrap();
    }
    writer.set_last_sequence(last_sequence);
    writer.finish().unwrap();
}

fn metadata(path: &Path, end: End) -> FileMetaData {
    let table = Table::open(path).unwrap();
    let mut metadata = FileMetaData::of_table(&table).unwrap();
    let mut cursor = table.entry_cursor();
    cursor.seek_to_first().unwrap();
    metadata.smallest.clear();
    cursor.key().encode_to(&mut metadata.smallest);
    cursor.seek_to_last().unwrap();
    let (user_key, sequence, kind) = match end {
        End::Before(key) => (key.as_bytes(), MAX_SEQUENCE_NUMBER, RANGE),
        End::AtLastPoint => (cursor.user_key(), cursor.sequence(), cursor.kind()),
    };
    metadata.largest.clear();
    InternalKey { user_key, sequence, kind }.encode_to(&mut metadata.largest);
    let name = path.file_name().unwrap().to_str().unwrap();
    metadata.number = name[..6].parse().unwrap();
    metadata
}

pub(crate) fn without_manifest(path: &Path) -> Damaged {
    let damaged = Damaged::copy_of(path);
    let db = Database::open(path).unwrap();
    damaged.remove(&format!("MANIFEST-{:06}", db.manifest_number().unwrap()));
    damaged
}

pub(crate) fn shown(db: &Database, family: &str) -> Vec<(String, String)> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let entries = visible(db).remove(family).unwrap();
    entries.into_iter().map(|(key, value)| (text(key), text(value))).collect()
}

pub(crate) fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
