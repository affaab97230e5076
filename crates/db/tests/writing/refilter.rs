//! [`Refilter`]: other filters, the same data.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sstkit_db::{
    BulkBuilder, BulkManifest, BulkOptions, Database, DatabaseOptions, ErrorKind, MANIFEST_NAME,
    Phase, Refilter,
};
use sstkit_filter::{FilterLayout, FilterPolicy, PrefixExtractor, UsableSize};
use sstkit_table::raw::{Engine, IndexKind, property_names};
use sstkit_table::{Table, TableOptions, TableReadOptions};

use crate::database_writer::{assert_sound, contents, golden, names};

fn policy(text: &str) -> FilterPolicy {
    text.parse().unwrap()
}

fn databases() -> Vec<String> {
    names(&golden("")).into_iter().filter(|name| golden(name).is_dir()).collect()
}

/// Opened as for a copy: logs are not read.
fn open(path: &Path) -> Database {
    let options = DatabaseOptions::default().replay_logs(false).list_logs(true);
    Database::open_with(path, &options).unwrap()
}

/// The bytes up to the end of the last data block.
fn data_area(path: &Path) -> Vec<u8> {
    let options = TableReadOptions::default().unknown_order("any");
    let table = Table::open_with(path, &options).unwrap();
    let mut index = table.view().index().unwrap();
    let mut end = 0;
    while index.advance().unwrap() {
        end = index.handle().end().unwrap();
    }
    let mut bytes = fs::read(path).unwrap();
    bytes.truncate(end as usize);
    bytes
}

/// The layout of the filter of a table and its bytes.
fn filter(path: &Path) -> Option<(FilterLayout, u64)> {
    let options = TableReadOptions::default().unknown_order("any");
    let table = Table::open_with(path, &options).unwrap();
    let (layout, _, handle) = table.metaindex().filters().next()?;
    Some((layout, handle.size))
}

/// An option of the tables of the default column family, or of the column family, as stored.
fn option(database: &Database, name: &str) -> Option<String> {
    let sections = ["TableOptions/BlockBasedTable", "CFOptions"];
    let options = sections.iter().filter_map(|kind| {
        let section = database.options_file().section(kind, Some("default"))?;
        let (_, value) = section.stored().find(|(it, _)| *it == name)?;
        Some(value.to_owned())
    });
    options.into_iter().next()
}

fn filter_of(engine: Engine, bits: u32) -> FilterPolicy {
    match engine {
        Engine::RocksDb => policy(&format!("bloomfilter:{bits}")),
        Engine::LevelDb => policy(&format!("leveldb.BuiltinBloomFilter2:{bits}")),
    }
}

/// Every database that the engines wrote: the same contents, levels, numbers, bounds and data blocks,
/// and the logs.
#[test]
fn only_the_filters_change() {
    for name in databases() {
        let source = open(&golden(&name));
        let folder = tempfile::tempdir().unwrap();
        for bits in [0, 3, 17] {
            let wanted = match bits {
                0 => FilterPolicy::None,
                _ => filter_of(source.engine(), bits),
            };
            let target = folder.path().join(format!("{bits}"));
            let refilter = Refilter::new().filter(wanted).threads(3);
            let summary = refilter.database(&source, &target).unwrap();
            assert_sound(&target);
            let (before, after) =
                (Database::open(golden(&name)).unwrap(), Database::open(&target).unwrap());
            assert_eq!(contents(&after), contents(&before), "{name}");
            assert_eq!(after.last_sequence(), before.last_sequence(), "{name}");
            assert_eq!(after.logs().len() as u64, summary.logs);
            for (log, copy) in before.logs().iter().zip(after.logs()) {
                assert_eq!(log.file_name(), copy.file_name());
                assert!(fs::read(log).unwrap() == fs::read(copy).unwrap(), "{name}");
            }

            let mut files = 0;
            let (state, new_state) = (before.manifest().unwrap(), after.manifest().unwrap());
            for (id, family) in &state.column_families {
                let new = &new_state.column_families[id];
                assert_eq!(family.log_number, new.log_number);
                assert!(new.live_blob_files().eq(family.live_blob_files()), "{name}");
                assert_eq!(family.files().count(), new.files().count(), "{name}");
                for ((level, old), (new_level, new)) in family.files().zip(new.files()) {
                    assert_eq!((level, old.number), (new_level, new.number), "{name}");
                    let mut expected = old.clone();
                    expected.path_id = 0;
                    (expected.size, expected.tail_size) = (new.size, new.tail_size);
                    expected.unique_id = new.unique_id;
                    expected.file_checksum.clone_from(&new.file_checksum);
                    assert_eq!(expected, *new, "{name}");
                    let has_checksum =
                        old.file_checksum.as_ref().is_some_and(|(it, _)| it.ends_with("Crc32c"));
                    assert_eq!(new.file_checksum.is_some(), has_checksum, "{name}");
                    if old.unique_id.is_some() {
                        assert!(new.unique_id.is_some() && new.unique_id != old.unique_id);
                    }
                    files += 1;
                }
            }
            assert_eq!(summary.files.len(), files, "{name}");
            for file in &summary.files {
                let new = target.join(&file.name);
                assert!(data_area(&file.source) == data_area(&new), "{name}: {}", file.name);
                let found = filter(&new);
                // One with range tombstones only has no keys for a filter.
                let has_keys = !data_area(&new).is_empty();
                assert_eq!(found.is_some(), bits > 0 && has_keys, "{name}: {}", file.name);
                assert_eq!(file.bytes_after, fs::metadata(&new).unwrap().len());
                if !matches!(found, Some((FilterLayout::Partitioned, _))) {
                    assert_eq!(file.filter_bytes_after, found.map_or(0, |(_, bytes)| bytes));
                }
            }
            if after.engine() == Engine::RocksDb && files > 0 {
                let expected = match bits {
                    0 => "nullptr".into(),
                    _ => format!("bloomfilter:{bits}:false"),
                };
                assert_eq!(option(&after, "filter_policy").unwrap(), expected, "{name}");
            }
        }
        assert_eq!(names(folder.path()), ["0", "17", "3"], "{name}");
    }
}

/// Tables of levels without a policy are the same files; OPTIONS name the policy of most data.
#[test]
fn levels_have_policies_of_their_own() {
    let name = "rocksdb-leveled-bloom";
    let source = open(&golden(name));
    let levels: Vec<u32> =
        source.default_column_family().levels().iter().map(|level| level.number).collect();
    let (&first, &last) = (levels.first().unwrap(), levels.last().unwrap());
    assert!(first < last, "{name} has one level only");
    let folder = tempfile::tempdir().unwrap();

    let target = folder.path().join("last");
    let refilter = Refilter::new().level_filter(last, policy("ribbonfilter:20"));
    let summary = refilter.database(&source, &target).unwrap();
    assert_sound(&target);
    for file in &summary.files {
        let is_same = fs::read(&file.source).unwrap() == fs::read(target.join(&file.name)).unwrap();
        assert_eq!(is_same, file.level != Some(last), "{}", file.name);
        assert_eq!(file.policy.is_some(), file.level == Some(last));
    }
    let after = Database::open(&target).unwrap();
    assert_eq!(option(&after, "filter_policy").unwrap(), "ribbonfilter:20");
    assert_eq!(option(&after, "optimize_filters_for_hits").unwrap(), "false");

    // No filter in the last level is an option of RocksDB.
    let target = folder.path().join("none");
    let refilter = Refilter::new()
        .filter(policy("bloomfilter:9"))
        .level_filter(0, policy("bloomfilter:8"))
        .column_family_filter("default", last, FilterPolicy::None);
    let summary = refilter.database(&source, &target).unwrap();
    let after = Database::open(&target).unwrap();
    assert_eq!(contents(&after), contents(&Database::open(golden(name)).unwrap()));
    assert_eq!(option(&after, "optimize_filters_for_hits").unwrap(), "true");
    for file in &summary.files {
        let has_filter = filter(&target.join(&file.name)).is_some();
        assert_eq!(has_filter, file.level != Some(last), "{}", file.name);
    }

    // Other levels keep their policy.
    let target = folder.path().join("for-hits");
    let refilter = Refilter::new().level_filter(last, FilterPolicy::None);
    refilter.database(&source, &target).unwrap();
    let after = Database::open(&target).unwrap();
    assert_eq!(option(&after, "filter_policy").unwrap(), "bloomfilter:10:false");
    assert_eq!(option(&after, "optimize_filters_for_hits").unwrap(), "true");
    let again = folder.path().join("first");
    let refilter = Refilter::new().level_filter(first, policy("ribbonfilter:12"));
    refilter.database(&after, &again).unwrap();
    let after = Database::open(&again).unwrap();
    assert_eq!(option(&after, "filter_policy").unwrap(), "ribbonfilter:12");
    assert_eq!(option(&after, "optimize_filters_for_hits").unwrap(), "true");
    let again = folder.path().join("only-first");
    refilter.database(&source, &again).unwrap();
    let after = Database::open(&again).unwrap();
    assert_eq!(option(&after, "filter_policy").unwrap(), "bloomfilter:10:false");
    assert_eq!(option(&after, "optimize_filters_for_hits").unwrap(), "false");

    // A new filter in the last level is in use again.
    let again = folder.path().join("again");
    let refilter = Refilter::new().filter(policy("bloomfilter:7.5"));
    refilter.database(&open(&folder.path().join("none")), &again).unwrap();
    let after = Database::open(&again).unwrap();
    assert_eq!(option(&after, "optimize_filters_for_hits").unwrap(), "false");
    assert_eq!(option(&after, "filter_policy").unwrap(), "bloomfilter:7.5:false");
}

#[test]
fn prefixes_and_partitions() {
    let name = "rocksdb-leveled-bloom";
    let source = open(&golden(name));
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new");
    let refilter = Refilter::new()
        .filter(policy("bloomfilter:10"))
        .prefix_extractor(PrefixExtractor::Fixed(4))
        .whole_key_filtering(false)
        .partition_filters(true)
        .optimize_filters_for_memory(UsableSize::Jemalloc);
    let summary = refilter.database(&source, &target).unwrap();
    assert_sound(&target);
    let after = Database::open(&target).unwrap();
    assert_eq!(contents(&after), contents(&Database::open(golden(name)).unwrap()));
    for (name, expected) in [
        ("prefix_extractor", "rocksdb.FixedPrefix.4"),
        ("whole_key_filtering", "false"),
        ("partition_filters", "true"),
        ("index_type", "kTwoLevelIndexSearch"),
        ("optimize_filters_for_memory", "true"),
    ] {
        assert_eq!(option(&after, name).unwrap(), expected);
    }
    for file in &summary.files {
        let table = Table::open(target.join(&file.name)).unwrap();
        assert_eq!(filter(&target.join(&file.name)).unwrap().0, FilterLayout::Partitioned);
        assert_eq!(table.view().index_format().kind, IndexKind::TwoLevel);
        assert_eq!(table.properties().get(property_names::WHOLE_KEY_FILTERING).unwrap(), b"0");
        assert!(data_area(&file.source) == data_area(&target.join(&file.name)));
    }
}

fn bulk_folder(folder: &Path) {
    let options = BulkOptions::new(TableOptions::rocksdb()).max_file_size(Some(20_000));
    let mut builder = BulkBuilder::create(folder, &options).unwrap();
    for i in 0..3000 {
        builder.put(format!("key{i:05}").as_bytes(), &[i as u8; 50]).unwrap();
    }
    builder.finish().unwrap();
}

#[test]
fn folders_of_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    bulk_folder(&path("source"));
    let tables: Vec<String> =
        names(&path("source")).into_iter().filter(|name| name.ends_with(".sst")).collect();
    assert!(tables.len() > 3);

    let refilter = Refilter::new().filter(policy("ribbonfilter:12")).threads(2);
    let reading = TableReadOptions::default();
    let summary = refilter.folder(path("source"), path("new"), &reading).unwrap();
    assert_eq!(summary.files.len(), tables.len());
    let manifest = BulkManifest::read(path("new").join(MANIFEST_NAME)).unwrap();
    manifest.verify(path("new")).unwrap();
    assert_eq!(manifest.options["filter_policy"], "ribbonfilter:12");
    assert_eq!(names(&path("new")), names(&path("source")));
    let [before, after] = ["source", "new"].map(|name| Database::open_bulk(path(name)).unwrap());
    assert_eq!(contents(&before), contents(&after));

    fs::remove_file(path("source").join(MANIFEST_NAME)).unwrap();
    refilter.folder(path("source"), path("plain"), &reading).unwrap();
    assert_eq!(names(&path("plain")), tables);
    for table in &tables {
        let (old, new) = (path("source").join(table), path("plain").join(table));
        assert!(data_area(&old) == data_area(&new));
        assert!(filter(&new).is_some() && filter(&old).is_none());
        Table::open(new).unwrap().verify().into_result().unwrap();
    }
    // Neither is replaced, and an empty one has no tables.
    for (from, to) in [("source", "plain"), ("plain", "source")] {
        let error = refilter.folder(path(from), path(to), &reading).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    fs::create_dir(path("empty")).unwrap();
    let error = refilter.folder(path("empty"), path("none"), &reading).unwrap_err();
    assert!(error.to_string().contains("no tables"), "{error}");
    assert_eq!(names(folder.path()), ["empty", "new", "plain", "source"]);
}

#[test]
fn single_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    bulk_folder(&path("source"));
    let table = Table::open(path("source").join("000001.sst")).unwrap();
    let refilter = Refilter::new().filter(policy("bloomfilter:10"));
    let summary = refilter.table(&table, path("new.sst")).unwrap();
    assert_eq!(summary.files[0].name, "new.sst");
    assert!(summary.files[0].filter_bytes_after > 0 && summary.files[0].filter_bytes_before == 0);
    let error = refilter.table(&table, path("new.sst")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let before = fs::read(path("new.sst")).unwrap();
    refilter.clone().filter(policy("none")).replace(true).table(&table, path("new.sst")).unwrap();
    assert_ne!(before, fs::read(path("new.sst")).unwrap());
    assert!(filter(&path("new.sst")).is_none());

    let error = Refilter::new().table(&table, path("other.sst")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    // A filter of the other engine.
    let other = Refilter::new().filter(policy("leveldb.BuiltinBloomFilter2:10"));
    assert!(other.table(&table, path("other.sst")).is_err());
    assert_eq!(names(folder.path()), ["new.sst", "source"]);
}

/// Damage, a signal, a name that is taken: nothing is left.
#[test]
fn a_failure_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("source")).unwrap();
    for name in names(&golden("rocksdb-leveled-bloom")) {
        fs::copy(golden("rocksdb-leveled-bloom").join(&name), path("source").join(name)).unwrap();
    }
    let refilter = Refilter::new().filter(policy("bloomfilter:10")).threads(2);
    let error = refilter.database(&open(&path("source")), path("source")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");

    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let cancelled = refilter.clone().progress(move |progress| {
        assert_eq!(progress.phase, Phase::Copying);
        assert!(progress.done <= progress.total.unwrap());
        counted.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Break(())
    });
    let error = cancelled.database(&open(&path("source")), path("new")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(calls.load(Ordering::Relaxed) > 0);
    assert_eq!(names(folder.path()), ["source"]);

    let mut tables = names(&path("source")).into_iter().filter(|name| name.ends_with(".sst"));
    let damaged = path("source").join(tables.next_back().unwrap());
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[100] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let error = refilter.database(&open(&path("source")), path("new")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(error.file(), Some(damaged.as_path()), "{error}");
    fs::remove_file(path("source").join("CURRENT")).unwrap();
    let tables = Database::open_tables(path("source")).unwrap();
    let error = refilter.database(&tables, path("new")).unwrap_err();
    assert!(error.to_string().contains("MANIFEST"), "{error}");
    assert_eq!(names(folder.path()), ["source"]);
}
