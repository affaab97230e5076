//! LevelDB's tables do not say in which order their keys are. Without the MANIFEST, the keys do.

use std::fs;
use std::path::Path;

use sstkit_db::{
    ColumnFamilyDescriptor, Database, DatabaseOptions, DatabaseSalvage, DatabaseSalvageOptions,
    DatabaseWriter, DatabaseWriterOptions, FileSource,
};
use sstkit_table::raw::{Codec, EntryKind, InternalKey};
use sstkit_table::{Comparator, TableOptions, TableWriter};

use crate::contents::{Damaged, assert_same, contents};
use crate::small_database::without_manifest;

/// A database of LevelDB with one table, whose keys are sorted here.
fn leveldb(path: &Path, order: &Comparator, mut keys: Vec<Vec<u8>>) {
    keys.sort_by(|a, b| order.compare(a, b));
    let mut writer = DatabaseWriter::create(path, DatabaseWriterOptions::leveldb()).unwrap();
    let descriptor = ColumnFamilyDescriptor::new("default").comparator(order.clone());
    let id = writer.column_family(descriptor).unwrap();
    let table = writer.new_table_path();
    let options = TableOptions::leveldb().block_size(256).compression(Codec::None);
    let options = writer.table_options(id, &options).unwrap();
    let mut out = TableWriter::create(&table, &options).unwrap();
    for (nth, user_key) in keys.iter().enumerate() {
        let sequence = nth as u64 + 1;
        out.add(&InternalKey { user_key, sequence, kind: EntryKind::Value }, b"value").unwrap();
    }
    out.finish().unwrap();
    writer.add_table(id, 2, &FileSource::Written(table), None).unwrap();
    writer.set_last_sequence(keys.len() as u64);
    writer.finish().unwrap();
}

fn numbered(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|number| format!("key{number:05}").into_bytes()).collect()
}

/// Keys of IndexedDB: the schema version, and values with numbers as keys, which are not in the order of
/// their bytes.
fn indexed_db(count: u32) -> Vec<Vec<u8>> {
    let value = |number| [&[0, 1, 1, 1, 3][..], &f64::from(number).to_le_bytes()].concat();
    std::iter::once(vec![0; 5]).chain((0..count).map(value)).collect()
}

/// The source, what is saved of it without its MANIFEST, and its comparator.
fn saved(order: &Comparator, keys: Vec<Vec<u8>>, what: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    leveldb(&path, order, keys);
    let original = contents(&Database::open(&path).unwrap());
    let (report, db) = without_manifest(&path).salvage(false, what);
    assert!(!report.has_losses(), "{what}: {report:#?}");
    assert_eq!(report.entries(), original.len() as u64, "{what}");
    assert_same(&contents(&db), &original, what);
    let comparator = report.column_families[0].comparator.clone();
    assert_eq!(*db.column_families().next().unwrap().comparator().unwrap().name(), comparator);
    comparator
}

#[test]
fn the_keys_tell_the_order() {
    let order = |name: &str| name.parse::<Comparator>().unwrap();
    let reverse = Comparator::ReverseBytewise;
    assert_eq!(
        saved(&Comparator::Bytewise, numbered(300), "bytewise"),
        "leveldb.BytewiseComparator"
    );
    assert_eq!(saved(&reverse, numbered(300), "reverse"), "rocksdb.ReverseBytewiseComparator");
    assert_eq!(saved(&order("idb_cmp1"), indexed_db(300), "IndexedDB"), "idb_cmp1");
    // In the order of their bytes, too.
    assert_eq!(saved(&order("idb_cmp1"), indexed_db(2), "a small IndexedDB"), "idb_cmp1");
}

/// A damaged block must not look like another order.
#[test]
fn a_damaged_table_in_another_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    leveldb(&path, &Comparator::ReverseBytewise, numbered(300));
    let damaged = without_manifest(&path);
    let mut bytes = damaged.bytes("000001.ldb");
    bytes[1000] ^= 1;
    damaged.write("000001.ldb", &bytes);
    let (report, db) = damaged.salvage(false, "a flipped bit");
    let found = contents(&db);
    assert!(found.len() > 250 && found.len() < 300, "{}", found.len());
    assert!(found.is_subset(&contents(&Database::open(&path).unwrap())));
    assert_eq!(report.entries(), found.len() as u64);
    assert!(report.has_losses());
}

/// An order that is not known: nothing is written, until it is named.
#[test]
fn an_order_that_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let order = Comparator::from_short_name("shortlex").unwrap();
    // Neither ascending nor descending by bytes.
    let keys = (1..300).map(|number| number.to_string().into_bytes()).collect();
    leveldb(&path, &order, keys);
    let damaged = without_manifest(&path);
    let salvage = DatabaseSalvage::open(&damaged.path, &DatabaseSalvageOptions::default()).unwrap();
    assert_eq!(salvage.report().entries(), 299);
    let target = folder.path().join("saved");
    let error = salvage.write_database(&target).unwrap_err().to_string();
    assert!(error.contains("use --comparator"), "{error}");
    assert!(!target.exists());
    let read = DatabaseOptions::default().comparator(order.clone());
    let options = DatabaseSalvageOptions::default().read(read.clone());
    DatabaseSalvage::open(&damaged.path, &options).unwrap().write_database(&target).unwrap();
    let db = Database::open_with(&target, &read).unwrap();
    assert_eq!(contents(&db).len(), 299);
    assert_eq!(*db.column_families().next().unwrap().comparator().unwrap().name(), *order.name());
}

/// What is written has as many entries as the report says, or nothing is written.
#[test]
fn a_source_that_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    leveldb(&path, &Comparator::Bytewise, numbered(300));
    let damaged = Damaged::copy_of(&path);
    let mut bytes = damaged.bytes("000001.ldb");
    bytes[1000] ^= 1;
    damaged.write("000001.ldb", &bytes);
    let salvage = DatabaseSalvage::open(&damaged.path, &DatabaseSalvageOptions::default()).unwrap();
    bytes[3000] ^= 1;
    damaged.write("000001.ldb", &bytes);
    for (name, as_database) in [("database", true), ("tables", false)] {
        let target = folder.path().join(name);
        let result = match as_database {
            true => salvage.write_database(&target),
            false => salvage.write_tables(&target),
        };
        let error = result.unwrap_err().to_string();
        assert!(error.contains("another number of entries"), "{error}");
        assert!(!target.exists());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
