//! [`DatabaseWriter`]: what it writes is read back, and nothing else is touched.

use std::fs;
use std::path::{Path, PathBuf};

use sstkit_db::raw::{FileMetaData, OptionsSection};
use sstkit_db::{
    BulkBuilder, BulkOptions, ColumnFamilyDescriptor, Database, DatabaseOptions, DatabaseWriter,
    DatabaseWriterOptions, FileSource, Level,
};
use sstkit_table::raw::{Engine, EntryKind, InternalKey};
use sstkit_table::{Comparator, Table, TableOptions, TableWriter};

pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/databases").join(name)
}

/// The names of what is in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub(crate) fn assert_sound(path: &Path) {
    Database::open(path).unwrap().verify(|file| assert!(file.is_sound(), "{file:?}"));
}

pub(crate) type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// All that a database shows, by column family.
pub(crate) fn contents(db: &Database) -> Vec<(String, Entries)> {
    let families = db.column_families();
    families
        .map(|family| {
            let entries = family.iter().map(|entry| {
                let (key, value) = entry.unwrap();
                (key.to_vec(), value.to_vec())
            });
            (family.name().to_owned(), entries.collect())
        })
        .collect()
}

/// Every database that the engines wrote, with its files taken over: the same but for the logs.
#[test]
fn files_are_taken_over() {
    for name in names(&golden("")).iter().filter(|name| golden(name).is_dir()) {
        let without_logs = DatabaseOptions::default().replay_logs(false);
        let source = Database::open_with(golden(name), &without_logs).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("copy");
        let options = DatabaseWriterOptions::like(&source);
        let mut writer = DatabaseWriter::create(&target, options).unwrap();
        let state = source.manifest().unwrap();
        for family in source.column_families() {
            let id = writer.column_family(ColumnFamilyDescriptor::like(&source, &family)).unwrap();
            assert_eq!(id, family.id());
            let mut levels = family.levels();
            levels.reverse();
            let numbered = |it: &Level| {
                let files = it.files.iter().rev().cloned();
                files.map(|file| (it.number, file)).collect::<Vec<_>>()
            };
            for (level, file) in levels.iter().flat_map(numbered) {
                let metadata = file.metadata().clone();
                let path = file.path().to_path_buf();
                let source = FileSource::Link(path);
                let number = writer.add_table(id, level, &source, Some(metadata)).unwrap();
                assert_eq!(number, file.number());
            }
            for blobs in state.column_families[&id].live_blob_files() {
                let path = golden(name).join(format!("{:06}.blob", blobs.number));
                let source = FileSource::Copy(path);
                writer.add_blob_file(id, blobs.number, &source, Some(blobs.clone())).unwrap();
            }
        }
        writer.set_last_sequence(state.last_sequence);
        writer.finish().unwrap();
        assert_eq!(names(folder.path()), ["copy"]);

        let copy = Database::open(&target).unwrap();
        let copied = copy.manifest().unwrap();
        assert_eq!(copied.last_sequence, state.last_sequence);
        assert!(copied.next_file_number > state.next_file_number);
        for (id, family) in &state.column_families {
            let again = &copied.column_families[id];
            assert!(again.files().eq(family.files()), "{name}");
            assert_eq!(
                (&again.name, &again.comparator, again.persist_timestamps),
                (&family.name, &family.comparator, family.persist_timestamps)
            );
            assert!(again.live_blob_files().eq(family.live_blob_files()), "{name}");
        }
        assert_eq!(contents(&copy), contents(&source), "{name}");
        assert_sound(&target);
        if copy.engine() == Engine::RocksDb {
            check_options(&source, &copy);
        } else {
            assert!(!names(&target).iter().any(|name| name == "IDENTITY"));
        }
    }
}

/// Everything that the source said, but for its paths.
fn check_options(source: &Database, copy: &Database) {
    let (source, copy) = (source.options_file(), copy.options_file());
    assert_eq!(source.rocksdb_version(), copy.rocksdb_version());
    for section in source.sections() {
        let again = copy.section(section.kind(), section.name()).unwrap();
        for (name, value) in section.stored().filter(|(name, _)| *name != "wal_dir") {
            assert!(again.stored().any(|it| it == (name, value)), "{name}={value}");
        }
    }
    assert!(copy.database().wal_dir().is_none());
}

/// Metadata that is read from the tables agrees with what the engines wrote in the MANIFEST.
#[test]
fn metadata_is_read_from_tables() {
    let mut files = 0;
    for name in names(&golden("")).iter().filter(|name| golden(name).is_dir()) {
        // Ingested tables have their sequence numbers in the MANIFEST only.
        if name == "rocksdb-ingested" {
            continue;
        }
        let source = Database::open(golden(name)).unwrap();
        for family in source.column_families() {
            for level in family.levels() {
                for file in &level.files {
                    let expected = file.metadata();
                    let table = file.open().unwrap();
                    let found = sstkit_db::raw::FileMetaData::of_table(&table).unwrap();
                    let what = format!("{name}: {expected:?}\n{found:?}");
                    if expected.smallest_sequence.is_some() {
                        assert_eq!(found.smallest_sequence, expected.smallest_sequence, "{what}");
                        assert_eq!(found.largest_sequence, expected.largest_sequence, "{what}");
                        assert_eq!(found.unique_id, expected.unique_id, "{what}");
                        assert_eq!(found.tail_size, expected.tail_size, "{what}");
                        assert_eq!(found.oldest_blob_file, expected.oldest_blob_file, "{what}");
                    }
                    // A compaction may cut range tombstones at the bounds of a file.
                    if table.range_deletions().is_empty() {
                        assert_eq!(found.smallest, expected.smallest, "{what}");
                        assert_eq!(found.largest, expected.largest, "{what}");
                    }
                    files += 1;
                }
            }
        }
    }
    assert!(files > 40, "{files}");
}

#[test]
fn an_existing_path_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("db");
    fs::create_dir(&target).unwrap();
    let error = DatabaseWriter::create(&target, DatabaseWriterOptions::rocksdb()).unwrap_err();
    assert!(error.to_string().contains("already exists"), "{error}");
    fs::remove_dir(&target).unwrap();
    let writer = DatabaseWriter::create(&target, DatabaseWriterOptions::rocksdb()).unwrap();
    // Another process creates it in the meantime.
    fs::create_dir(&target).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    assert_eq!(names(folder.path()), ["db"]);
    assert_eq!(names(&target), [""; 0]);
}

/// RocksDB has 62 bits for the number of a file.
#[test]
fn file_numbers_that_rocksdb_cannot_store_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("db");
    let mut writer = DatabaseWriter::create(&target, DatabaseWriterOptions::rocksdb()).unwrap();
    let log = folder.path().join("empty.log");
    fs::write(&log, b"").unwrap();
    let error = writer.add_log(1 << 62, &FileSource::Copy(log.clone())).unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
    writer.add_log((1 << 62) - 1, &FileSource::Copy(log)).unwrap();
    // The engine that opens it would have none for its own files.
    let error = writer.finish().unwrap_err();
    assert!(error.to_string().contains("used up"), "{error}");
    assert!(!target.exists());
}

/// A MANIFEST may list a table under any number. Such a table gets another one.
#[test]
fn tables_with_impossible_numbers_are_renumbered() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("db");
    let path = golden("leveldb-nofilter/000005.ldb");
    let table = Table::open(&path).unwrap();
    let mut metadata = FileMetaData::of_table(&table).unwrap();
    let mut writer = DatabaseWriter::create(&target, DatabaseWriterOptions::leveldb()).unwrap();
    let source = FileSource::Copy(path);
    for (wanted, number) in [(1 << 63, 1), (7, 7), (7, 8)] {
        metadata.number = wanted;
        assert_eq!(writer.add_table(0, 0, &source, Some(metadata.clone())).unwrap(), number);
    }
    writer.finish().unwrap();
    let found = names(&target);
    assert!(
        ["000001.ldb", "000007.ldb", "000008.ldb"]
            .iter()
            .all(|it| found.iter().any(|name| name == it)),
        "{found:?}"
    );
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("db");
    let mut writer = DatabaseWriter::create(&target, DatabaseWriterOptions::leveldb()).unwrap();
    let source = FileSource::Copy(golden("leveldb-nofilter/000005.ldb"));
    writer.add_table(0, 2, &source, None).unwrap();
    assert_eq!(names(folder.path()).len(), 1);
    drop(writer);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn overlapping_tables_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("db");
    let mut writer = DatabaseWriter::create(&target, DatabaseWriterOptions::leveldb()).unwrap();
    let source = FileSource::Link(golden("leveldb-nofilter/000005.ldb"));
    assert!(writer.add_table(0, 7, &source, None).is_err());
    assert!(writer.add_table(1, 2, &source, None).is_err());
    assert!(writer.column_family(ColumnFamilyDescriptor::new("meta")).is_err());
    let numbers = [0; 2].map(|_| writer.add_table(0, 2, &source, None).unwrap());
    assert_ne!(numbers[0], numbers[1]);
    let error = writer.finish().unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
    assert_eq!(names(folder.path()), [""; 0]);
}

/// Tables of several levels, with versions, range tombstones, and another order.
#[test]
fn tables_are_written_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("db");
    let mut writer = DatabaseWriter::create(&target, DatabaseWriterOptions::rocksdb()).unwrap();
    let descriptor = ColumnFamilyDescriptor::new("backwards #1: \"é\"")
        .comparator(Comparator::ReverseBytewise)
        .option("merge_operator", "uint64add")
        .tables_like(&TableOptions::rocksdb().filter("ribbonfilter:10".parse().unwrap()));
    let id = writer.column_family(descriptor).unwrap();
    let mut add = |level, entries: &[(&[u8], u64, EntryKind, &[u8])]| {
        let path = writer.new_table_path();
        let options = writer.table_options(id, &TableOptions::rocksdb()).unwrap();
        let mut table = TableWriter::create(&path, &options).unwrap();
        for &(user_key, sequence, kind, value) in entries {
            table.add(&InternalKey { user_key, sequence, kind }, value).unwrap();
        }
        table.finish().unwrap();
        writer.add_table(id, level, &FileSource::Written(path), None).unwrap();
    };
    add(6, &[(b"y", 1, EntryKind::Value, b"1"), (b"m", 2, EntryKind::Value, b"2")]);
    add(6, &[(b"k", 3, EntryKind::Value, b"3"), (b"a", 4, EntryKind::Value, b"4")]);
    add(0, &[(b"z", 5, EntryKind::RangeDeletion, b"m")]);
    add(0, &[(b"k", 7, EntryKind::Value, b"7"), (b"k", 6, EntryKind::Deletion, b"")]);
    writer.finish().unwrap();
    let db = Database::open(&target).unwrap();
    let expected = vec![
        ("default".to_owned(), vec![]),
        (
            "backwards #1: \"é\"".to_owned(),
            vec![
                (b"m".into(), b"2".into()),
                (b"k".into(), b"7".into()),
                (b"a".into(), b"4".into()),
            ],
        ),
    ];
    assert_eq!(contents(&db), expected);
    assert_eq!(db.last_sequence(), 7);
    let options = db.options_file().column_family("backwards #1: \"é\"");
    assert_eq!(options.merge_operator(), Some("uint64add"));
    assert_eq!(options.comparator(), Some("rocksdb.ReverseBytewiseComparator"));
    let state = &db.manifest().unwrap().column_families[&id];
    let newest = state.levels[&0].values().map(|file| file.epoch_number).collect::<Vec<_>>();
    assert_eq!(newest, [Some(3), Some(4)]);
    let tombstone = state.levels[&0].values().next().unwrap();
    assert_eq!(tombstone.largest, b"m\x0f\xff\xff\xff\xff\xff\xff\xff");
    let ids: Vec<_> = state.files().map(|(_, file)| file.unique_id.unwrap()).collect();
    assert!(ids.iter().enumerate().all(|(at, id)| !ids[..at].contains(id)));
    assert_sound(&target);
}

#[test]
fn a_builder_is_for_one_database() {
    let folder = tempfile::tempdir().unwrap();
    let create = |name: &str| {
        let path = folder.path().join(name);
        DatabaseWriter::create(path, DatabaseWriterOptions::rocksdb()).unwrap()
    };
    let (one, mut other) = (create("one"), create("other"));
    let options = BulkOptions::new(TableOptions::rocksdb());
    let builder = || {
        let mut builder = BulkBuilder::for_database(&one, 0, &options).unwrap();
        builder.put(b"alice", b"1").unwrap();
        builder
    };
    assert!(builder().finish_into(&mut other, 0, 6).is_err());
    assert!(builder().finish().is_err());
    let leveldb = BulkOptions::new(TableOptions::leveldb());
    assert!(BulkBuilder::for_database(&one, 0, &leveldb).is_err());
    let reverse = options.clone().comparator(Comparator::ReverseBytewise);
    assert!(BulkBuilder::for_database(&one, 0, &reverse).is_err());
    drop((one, other));
    assert_eq!(names(folder.path()), [""; 0]);
}

/// Of a table that the engine cannot read, whether its metadata is given or not.
#[test]
fn tables_of_the_other_engine_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let tables = [
        ("rocksdb-fv2-legacy-filters", DatabaseWriterOptions::leveldb()),
        (
            "leveldb-nofilter",
            DatabaseWriterOptions::rocksdb().rocksdb_version("11.8".parse().unwrap()),
        ),
        (
            "rocksdb-wal-plus-tables",
            DatabaseWriterOptions::rocksdb().rocksdb_version("9.8".parse().unwrap()),
        ),
    ];
    for (name, options) in tables {
        let source = Database::open(golden(name)).unwrap();
        let level = source.default_column_family().levels().pop().unwrap();
        let file = &level.files[0];
        for metadata in [None, Some(file.metadata().clone())] {
            let target = folder.path().join("db");
            let mut writer = DatabaseWriter::create(&target, options.clone()).unwrap();
            let table = FileSource::Link(file.path().to_path_buf());
            let error = writer.add_table(0, 1, &table, metadata).unwrap_err();
            assert!(error.to_string().contains("cannot read"), "{name}: {error}");
        }
    }
    // RocksDB before 11 reads LevelDB's tables.
    let options = DatabaseWriterOptions::rocksdb().rocksdb_version("9.8".parse().unwrap());
    let target = folder.path().join("db");
    let mut writer = DatabaseWriter::create(&target, options).unwrap();
    let table = FileSource::Copy(golden("leveldb-nofilter/000005.ldb"));
    writer.add_table(0, 2, &table, None).unwrap();
    writer.finish().unwrap();
    assert_sound(&target);
    let old = DatabaseWriterOptions::rocksdb().rocksdb_version("4.1".parse().unwrap());
    let error = DatabaseWriter::create(folder.path().join("old"), old).unwrap_err();
    assert!(error.to_string().contains("4.2"), "{error}");
}

/// Options that the version does not know are left out; what it knows stays.
#[test]
fn options_are_those_of_the_version() {
    let source = Database::open(golden("rocksdb-leveled-bloom")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let names = |version: &str| {
        let target = folder.path().join(version);
        let options =
            DatabaseWriterOptions::like(&source).rocksdb_version(version.parse().unwrap());
        DatabaseWriter::create(&target, options).unwrap().finish().unwrap();
        let written = Database::open(&target).unwrap();
        let file = written.options_file();
        assert_eq!(file.rocksdb_version().unwrap(), format!("{version}.0"));
        assert_eq!(written.manifest().unwrap().db_id.is_some(), version != "5.18");
        let options = file.sections().iter().flat_map(OptionsSection::options);
        options.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let [new, middle, old] = ["11.9", "9.8", "5.18"].map(names);
    assert!(new.len() > middle.len() && middle.len() > old.len() && old.len() > 100);
    let has = |names: &[String], name: &str| names.iter().any(|it| it == name);
    for (name, expected) in [
        ("num_levels", [true, true, true]),
        ("uncache_aggressiveness", [true, true, false]),
        ("async_wal_precreate", [true, false, false]),
        ("wal_dir", [false; 3]),
    ] {
        assert_eq!([&new, &middle, &old].map(|names| has(names, name)), expected, "{name}");
    }
}

/// A MANIFEST whose last sequence number is too small hides entries.
#[test]
fn entries_that_are_not_visible_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let source = golden("leveldb-nofilter/000005.ldb");
    for hides in [false, true] {
        let target = folder.path().join(format!("{hides}"));
        let options = DatabaseWriterOptions::leveldb();
        let mut writer = DatabaseWriter::create(&target, options).unwrap();
        let mut metadata =
            sstkit_db::raw::FileMetaData::of_table(&Table::open(&source).unwrap()).unwrap();
        if hides {
            metadata.largest_sequence = Some(1);
        }
        let table = FileSource::Copy(source.clone());
        writer.add_table(0, 2, &table, Some(metadata)).unwrap();
        writer.finish().unwrap();
        let mut problems = Vec::new();
        Database::open(&target).unwrap().verify(|file| {
            problems.extend(file.problems.iter().map(|problem| problem.message.clone()));
        });
        assert_eq!(problems.iter().any(|it| it.contains("is not visible")), hides, "{problems:?}");
    }
}
