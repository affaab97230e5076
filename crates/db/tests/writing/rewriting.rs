//! Whole databases rewritten into new ones: what is visible stays, and where it is.

use std::path::Path;

use sstkit_db::{
    ColumnFamily, ColumnFamilyDescriptor, Compaction, CompactionOptions, Database, DatabaseOptions,
    DatabaseWriter, DatabaseWriterOptions, SequenceNumbers,
};
use sstkit_table::TableOptions;
use sstkit_table::raw::{Engine, EntryKind};

use crate::database_writer::{assert_sound, contents, golden, names};

fn databases() -> Vec<String> {
    names(&golden("")).into_iter().filter(|name| golden(name).is_dir()).collect()
}

fn compaction_options(engine: Engine) -> CompactionOptions {
    let table = match engine {
        Engine::RocksDb => TableOptions::rocksdb().filter("ribbonfilter:10:3".parse().unwrap()),
        Engine::LevelDb => TableOptions::leveldb(),
    };
    CompactionOptions::new(table).max_file_size(Some(20_000))
}

/// Writes a database like `source`, a column family at a time.
fn rewrite(
    source: &Database,
    target: &Path,
    mut family: impl FnMut(&ColumnFamily, &mut DatabaseWriter, u32),
) -> Database {
    let mut writer = DatabaseWriter::create(target, DatabaseWriterOptions::like(source)).unwrap();
    for it in source.column_families() {
        let id = writer.column_family(ColumnFamilyDescriptor::like(source, &it)).unwrap();
        family(&it, &mut writer, id);
    }
    writer.set_last_sequence(source.last_sequence());
    writer.finish().unwrap();
    assert_sound(target);
    Database::open(target).unwrap()
}

fn blob_files(folder: &Path) -> Vec<String> {
    names(folder).into_iter().filter(|name| name.ends_with(".blob")).collect()
}

#[test]
fn into_the_last_level() {
    let folder = tempfile::tempdir().unwrap();
    for name in databases() {
        let source = Database::open(golden(&name)).unwrap();
        let options = compaction_options(source.engine()).bottommost(true);
        for keeps in [false, true] {
            let target = folder.path().join(format!("{name}-{keeps}"));
            let rewritten = rewrite(&source, &target, |family, writer, id| {
                let mut compaction = Compaction::new(&options.clone().keep_blob_files(keeps));
                compaction.add_column_family(family, ..).unwrap();
                compaction.run_into(writer, id, 6).unwrap();
            });
            assert_eq!(contents(&rewritten), contents(&source), "{name}");
            assert_eq!(rewritten.last_sequence(), source.last_sequence());
            let levels = rewritten.column_families().flat_map(|family| family.levels());
            assert!(levels.into_iter().all(|level| level.number == 6), "{name}");
            let expected = keeps && name == "rocksdb-blobs";
            assert_eq!(!blob_files(&target).is_empty(), expected, "{name}");
        }
    }
}

/// What is not referred to any more is garbage, to the byte.
#[test]
fn the_garbage_of_blob_files_is_counted() {
    let source = Database::open(golden("rocksdb-blobs")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let count = |clip: bool| {
        let target = folder.path().join(format!("{clip}"));
        let rewritten = rewrite(&source, &target, |family, writer, id| {
            let options = compaction_options(Engine::RocksDb).keep_blob_files(true);
            let options = if clip { options.range(.."user00030") } else { options };
            let mut compaction = Compaction::new(&options.bottommost(true));
            compaction.add_column_family(family, ..).unwrap();
            let summary = compaction.run_into(writer, id, 6).unwrap();
            assert_eq!(summary.blob_files, blob_files(writer.working_folder()).len() as u64);
        });
        let family = rewritten.default_column_family();
        let references =
            family.entries().filter(|entry| entry.as_ref().unwrap().kind == EntryKind::BlobIndex);
        let references = references.count() as u64;
        let state = &rewritten.manifest().unwrap().column_families[&0];
        let files = state.blob_files.values();
        let live: u64 = files.map(|file| file.blob_count - file.garbage_count).sum();
        assert_eq!(live, references);
        // As many bytes as the records take that are referred to.
        let whole = |file: &sstkit_db::raw::BlobFileMetaData| {
            assert!(file.garbage_bytes <= file.blob_bytes, "{file:?}");
            (file.garbage_count == 0) == (file.garbage_bytes == 0)
                && (file.garbage_count == file.blob_count)
                    == (file.garbage_bytes == file.blob_bytes)
        };
        assert!(state.blob_files.values().all(whole), "{state:?}");
        references
    };
    let (all, some) = (count(false), count(true));
    assert!(some > 0 && some < all, "{some} of {all}");
}

#[test]
fn every_table_stays_in_its_level() {
    let folder = tempfile::tempdir().unwrap();
    let mut deep = 0;
    for name in databases() {
        for replays in [false, true] {
            let options = DatabaseOptions::default().replay_logs(replays);
            let source = Database::open_with(golden(&name), &options).unwrap();
            let target = folder.path().join(format!("{name}-{replays}"));
            let rewritten = rewrite(&source, &target, |family, writer, id| {
                let options = |level: u32| {
                    let options = compaction_options(source.engine()).keep_blob_files(true);
                    if source.engine() == Engine::RocksDb { options.level(level) } else { options }
                };
                let summary = Compaction::rewrite_levels(family, writer, id, options).unwrap();
                let numbers: Vec<u32> = summary.levels.iter().map(|it| it.level).collect();
                assert!(numbers.is_sorted_by(|a, b| a >= b), "{numbers:?}");
                deep += usize::from(numbers.len() > 2);
            });
            assert_eq!(contents(&rewritten), contents(&source), "{name}");
            for family in source.column_families() {
                let again = rewritten.column_family(family.name()).unwrap();
                let mut expected: Vec<u32> = family.levels().iter().map(|it| it.number).collect();
                // The log is in a table of level 0.
                let has_log = family.memtable_entries() > 0;
                if has_log && expected.first() != Some(&0) {
                    expected.insert(0, 0);
                }
                let found: Vec<u32> = again.levels().iter().map(|it| it.number).collect();
                assert_eq!(found, expected, "{name} {}", family.name());
                let top = |family: &ColumnFamily| {
                    let levels = family.levels();
                    let top = levels.iter().find(|level| level.number == 0);
                    top.map_or(0, |level| level.files.len())
                };
                assert_eq!(top(&again), top(&family) + usize::from(has_log), "{name}");
            }
            assert_eq!(blob_files(&target), blob_files(&golden(&name)), "{name}");
        }
    }
    assert!(deep > 3, "{deep}");
}

#[test]
fn levels_need_their_sequence_numbers() {
    let source = Database::open(golden("rocksdb-leveled-bloom")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("db");
    let mut writer = DatabaseWriter::create(&target, DatabaseWriterOptions::like(&source)).unwrap();
    let options = |_| compaction_options(Engine::RocksDb).sequence_numbers(SequenceNumbers::Zero);
    let family = source.default_column_family();
    let error = Compaction::rewrite_levels(&family, &mut writer, 0, options).unwrap_err();
    assert!(error.to_string().contains("sequence numbers"), "{error}");
}

#[test]
fn levels_that_no_database_has_are_refused() {
    let source = Database::open(golden("leveldb-nofilter")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (engine, level) in [(Engine::LevelDb, 7), (Engine::RocksDb, u32::MAX)] {
        let options = match engine {
            Engine::LevelDb => DatabaseWriterOptions::leveldb(),
            Engine::RocksDb => DatabaseWriterOptions::rocksdb(),
        };
        let mut writer = DatabaseWriter::create(folder.path().join("db"), options).unwrap();
        let mut compaction = Compaction::new(&compaction_options(engine));
        compaction.add_column_family(&source.default_column_family(), ..).unwrap();
        let error = compaction.run_into(&mut writer, 0, level).unwrap_err();
        assert!(error.to_string().contains("has no level"), "{error}");
    }
}

#[test]
fn blob_files_are_for_one_database() {
    let source = Database::open(golden("rocksdb-blobs")).unwrap();
    let other = Database::open(golden("rocksdb-blobs")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = compaction_options(Engine::RocksDb).keep_blob_files(true);
    let mut compaction = Compaction::new(&options);
    compaction.add_column_family(&source.default_column_family(), ..).unwrap();
    let error = compaction.run(folder.path().join("tables")).unwrap_err();
    assert!(error.to_string().contains("only a database"), "{error}");
    let create = || {
        let options = DatabaseWriterOptions::like(&source);
        DatabaseWriter::create(folder.path().join("db"), options).unwrap()
    };
    let mut writer = create();
    let id = writer.column_family(ColumnFamilyDescriptor::new("other")).unwrap();
    let error = compaction.run_into(&mut writer, id, 6).unwrap_err();
    assert!(error.to_string().contains("cannot become"), "{error}");
    compaction.add_column_family(&other.default_column_family(), ..).unwrap();
    let error = compaction.run_into(&mut create(), 0, 6).unwrap_err();
    assert!(error.to_string().contains("several databases"), "{error}");
}
