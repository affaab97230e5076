//! A database that an engine writes to while it is verified.

use std::fs;
use std::path::Path;

use sstkit_db::Database;
use sstkit_inspect::{VerifyReport, VerifyStatus, verify_database};

/// A copy of a database with three tables.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let databases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/databases");
    for entry in fs::read_dir(databases.join("rocksdb-wal-plus-tables")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

fn reports(database: &Database) -> Vec<VerifyReport> {
    let mut reports = Vec::new();
    verify_database("db", database, None, None, |report| reports.push(report));
    reports
}

/// A MANIFEST of one edit, without any table: comparator, log number, next file, last sequence.
fn empty_manifest() -> Vec<u8> {
    let comparator = b"leveldb.BytewiseComparator";
    let mut edit = vec![1, comparator.len() as u8];
    edit.extend_from_slice(comparator);
    edit.extend_from_slice(&[2, 12, 3, 100, 4, 127]);
    let mut record = vec![1];
    record.extend_from_slice(&edit);
    let crc = crc32c::crc32c(&record);
    let masked = crc.rotate_right(15).wrapping_add(0xa282_ead8);
    [&masked.to_le_bytes()[..], &(edit.len() as u16).to_le_bytes(), &record].concat()
}

#[test]
fn a_table_that_the_engine_deletes_during_the_work_is_no_damage() {
    let folder = copy();
    let database = Database::open(folder.path()).unwrap();
    fs::remove_file(folder.path().join("000013.sst")).unwrap();
    fs::write(folder.path().join("MANIFEST-000099"), empty_manifest()).unwrap();
    fs::write(folder.path().join("CURRENT"), "MANIFEST-000099\n").unwrap();
    let reports = reports(&database);
    let directory = reports.last().unwrap();
    assert!(directory.sound, "{reports:#?}");
    assert!(directory.notes.iter().any(|note| note.contains("000013.sst")), "{directory:?}");
}

#[test]
fn a_table_that_is_missing_and_still_listed_is_damage() {
    let folder = copy();
    let database = Database::open(folder.path()).unwrap();
    fs::remove_file(folder.path().join("000013.sst")).unwrap();
    // The MANIFEST has grown, by a torn record: the directory has changed.
    let manifest = folder.path().join("MANIFEST-000005");
    let mut bytes = fs::read(&manifest).unwrap();
    bytes.extend_from_slice(&[1, 2, 3]);
    fs::write(&manifest, bytes).unwrap();
    let reports = reports(&database);
    let directory = reports.last().unwrap();
    assert_eq!(directory.status, VerifyStatus::Damaged, "{reports:#?}");
    let table = reports.iter().find(|report| report.file.ends_with("000013.sst")).unwrap();
    assert_eq!(table.status, VerifyStatus::Damaged);
}
