//! Info, verification, filters and records of every database.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use sstkit_db::Database;
use sstkit_inspect::{
    DatabaseInfo, Encoding, FilterTotal, JsonRecord, VerifyReport, filter_reports, verify_database,
};
use sstkit_table::Table;
use sstkit_table::raw::BlockDecoder;

use crate::files::{databases, listed};

fn open(path: &Path) -> Database {
    Database::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn verify(database: &Database) -> Vec<VerifyReport> {
    let mut reports = Vec::new();
    verify_database("db", database, None, None, |report| reports.push(report));
    reports
}

#[test]
fn records_are_those_that_are_listed() {
    for path in databases() {
        let database = open(&path);
        let found: Vec<Json> = database
            .default_column_family()
            .records()
            .map(|record| JsonRecord::of_visible(&record.unwrap(), Encoding::Hex))
            .map(|record| serde_json::to_value(record).unwrap())
            .collect();
        let expected: Vec<Json> = listed(&path).into_iter().map(without_only_column).collect();
        assert_eq!(found.len(), expected.len(), "{}", path.display());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{}", path.display());
        }
    }
}

/// The lists show a plain value of a database with entities as an entity with one column.
fn without_only_column(mut listed: Json) -> Json {
    if listed["columns"].as_array().is_some_and(|columns| columns.len() == 1) {
        listed.as_object_mut().unwrap().remove("columns");
    }
    listed
}

#[test]
fn info_adds_up() {
    for path in databases() {
        let database = open(&path);
        let name = path.display().to_string();
        let info = DatabaseInfo::of(&name, &database, Encoding::Hex);
        assert!(info.problems.is_empty(), "{name}: {:?}", info.problems);
        let kind = if name.contains("leveldb-") { "leveldb-database" } else { "rocksdb-database" };
        assert_eq!(info.kind, kind);
        let (mut entries, mut size) = (0, 0);
        for family in &info.column_families {
            entries += family.memtable_entries;
            size += family.blob_files.iter().map(|file| file.bytes).sum::<u64>();
            for level in &family.levels {
                assert_eq!(level.size, level.files.iter().map(|file| file.size).sum::<u64>());
                for file in &level.files {
                    assert_eq!(file.size, fs::metadata(&file.file).unwrap().len(), "{name}");
                }
                entries += level.entries;
                size += level.size;
            }
        }
        assert_eq!((info.entries, info.size), (entries, size), "{name}");
        assert!(info.entries >= listed(&path).len() as u64 || name.contains("entit"), "{name}");
        let stored = database.column_families().map(|family| {
            let ranges =
                family.range_deletions().unwrap().iter().filter(|it| it.file.is_some()).count();
            family.entries().count() + ranges
        });
        assert_eq!(info.entries, stored.sum::<usize>() as u64, "{name}");
    }
}

#[test]
fn all_databases_are_sound() {
    for path in databases() {
        let reports = verify(&open(&path));
        for report in &reports {
            assert!(report.sound, "{}: {report:?}", path.display());
        }
        assert_eq!(reports.last().unwrap().file, "db");
        let files = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let named = |path: &Path| {
            let name = path.display().to_string();
            [".sst", ".ldb", ".blob"].iter().any(|ending| name.ends_with(ending))
        };
        let count = files.filter(|path| named(path)).count();
        assert_eq!(reports.len(), count + 1, "{}", path.display());
    }
}

#[test]
fn filters_of_all_files() {
    for path in databases() {
        let database = open(&path);
        for family in database.column_families() {
            let reports: Vec<_> = filter_reports(&family, 100).map(Result::unwrap).collect();
            let files: usize = family.levels().iter().map(|level| level.files.len()).sum();
            assert_eq!(reports.len(), files, "{}", path.display());
            assert!(reports.iter().all(|report| report.level.is_some()));
            assert_eq!(FilterTotal::of(&reports).false_negatives, 0, "{}", path.display());
        }
    }
}

/// Copies a database and changes one of its files.
fn damaged(source: &str, change: impl Fn(&Path)) -> Vec<VerifyReport> {
    let source = databases().into_iter().find(|path| path.ends_with(source)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    change(folder.path());
    verify(&open(folder.path()))
}

/// The files that are not sound, without the directory, which is not sound then either.
fn unsound_files(reports: &[VerifyReport]) -> Vec<&VerifyReport> {
    let (directory, files) = reports.split_last().unwrap();
    let bad: Vec<_> = files.iter().filter(|report| !report.sound).collect();
    assert_eq!(directory.sound, bad.is_empty());
    bad
}

fn first_with(folder: &Path, ending: &str) -> std::path::PathBuf {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().find(|path| path.to_string_lossy().ends_with(ending)).unwrap()
}

#[test]
fn damage_is_found_in_the_file_that_has_it() {
    let flip = |ending: &'static str, at: usize| {
        move |folder: &Path| {
            let path = first_with(folder, ending);
            let mut bytes = fs::read(&path).unwrap();
            bytes[at] ^= 1;
            fs::write(path, bytes).unwrap();
        }
    };
    for (database, ending, change) in [
        ("rocksdb-leveled-bloom", ".sst", flip(".sst", 100)),
        ("leveldb-bloom-snappy", ".ldb", flip(".ldb", 100)),
        ("rocksdb-blobs", ".blob", flip(".blob", 100)),
    ] {
        let reports = damaged(database, change);
        let bad = unsound_files(&reports);
        assert_eq!(bad.len(), 1, "{database}: {bad:?}");
        assert!(bad[0].file.ends_with(ending), "{database}: {bad:?}");
    }
}

/// A sound table in the place of another: only the MANIFEST can tell.
#[test]
fn an_exchanged_table_is_found() {
    let reports = damaged("rocksdb-leveled-bloom", |folder| {
        let path = first_with(folder, ".sst");
        let mut bytes = fs::read(&path).unwrap();
        rename_session(&mut bytes);
        fs::write(path, bytes).unwrap();
    });
    let bad = unsound_files(&reports);
    assert_eq!(bad.len(), 1);
    let messages: Vec<&str> = bad[0].problems.iter().map(|it| it.message.as_str()).collect();
    assert!(messages[0].contains("the unique id does not match the MANIFEST"), "{messages:?}");
}

/// Makes a table one of another session, with the right checksum.
fn rename_session(bytes: &mut [u8]) {
    let table = Table::from_bytes(bytes.to_vec()).unwrap();
    let handle = table.metaindex().properties().unwrap();
    let decoder = BlockDecoder::new(table.footer(), table.engine(), &Default::default());
    let session = table.properties().get("rocksdb.creating.session.identity").unwrap();
    let range = handle.stored_range(table.footer().offset).unwrap();
    let (block, trailer) = bytes[range].split_last_chunk_mut::<5>().unwrap();
    let at = block.windows(session.len()).position(|window| window == session).unwrap();
    block[at + session.len() - 1] = if session.last() == Some(&b'0') { b'1' } else { b'0' };
    let checksum = decoder.checksum(block, trailer[0], handle.offset);
    trailer[1..].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn a_missing_table_is_found() {
    let reports = damaged("rocksdb-leveled-bloom", |folder| {
        fs::remove_file(first_with(folder, ".sst")).unwrap();
    });
    assert_eq!(unsound_files(&reports).len(), 1);
}
