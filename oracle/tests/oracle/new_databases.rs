//! Databases that sstkit writes, opened by RocksDB 11 as its own with its own loader of OPTIONS: read,
//! written to, flushed, compacted, opened again, and always equal to a model.

use std::path::Path;

use rocksdb::{BlockBasedOptions, Cache, DB, DBCompressionType, Env, IteratorMode, Options};
use sstkit_db::{
    ColumnFamilyDescriptor, Compaction, CompactionOptions, Database, DatabaseWriter,
    DatabaseWriterOptions,
};
use sstkit_table::raw::{Codec, FormatVersion};
use sstkit_table::{Comparator, TableOptions};
use sstkit_testkit::history::{self, FamilyHistory, Step, Visible};
use sstkit_testkit::random::{Random, seeds};

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Opens a database, which exists, with its own OPTIONS.
fn open(path: &Path, what: &str) -> DB {
    let cache = Cache::new_lru_cache(8 << 20);
    let loaded = Options::load_latest(path, Env::new().unwrap(), false, cache);
    let (mut options, families) = loaded.unwrap_or_else(|error| panic!("{what}: {error}"));
    options.set_paranoid_checks(true);
    DB::open_cf_descriptors(&options, path, families)
        .unwrap_or_else(|error| panic!("{what}: {error}"))
}

fn seen(db: &DB, name: &str) -> Entries {
    let family = db.cf_handle(name).expect("a column family");
    let entries = db.iterator_cf(family, IteratorMode::Start);
    entries
        .map(|entry| entry.unwrap())
        .map(|(key, value)| (key.into_vec(), value.into_vec()))
        .collect()
}

fn same(db: &DB, family: &FamilyHistory, what: &str) {
    let mut expected: Entries = family.visible.clone().into_iter().collect();
    expected.sort_by(|a, b| family.comparator.compare(&a.0, &b.0));
    assert!(seen(db, &family.name) == expected, "{what}: {}: other entries", family.name);
    let handle = db.cf_handle(&family.name).expect("a column family");
    for number in 0..2 * history::KEYS {
        let key = history::key(number);
        let found = db.get_cf(handle, &key).unwrap();
        assert_eq!(found.as_ref(), family.visible.get(&key), "{what}: {}", key.escape_ascii());
    }
}

/// Does steps to a database that is open, and returns it, as it may have been opened again.
fn continued(mut db: DB, path: &Path, names: &[String], steps: &[(usize, Step)], what: &str) -> DB {
    for (number, step) in steps {
        if matches!(step, Step::Reopen) {
            drop(db);
            db = open(path, what);
            continue;
        }
        let family = db.cf_handle(&names[*number]).expect("a column family");
        match step {
            Step::Put(key, value) => db.put_cf(family, key, value).unwrap(),
            Step::Delete(key) => db.delete_cf(family, key).unwrap(),
            Step::DeleteRange(begin, end) => db.delete_range_cf(family, begin, end).unwrap(),
            Step::Flush => db.flush_cf(family).unwrap(),
            Step::Compact => db.compact_range_cf(family, None::<&[u8]>, None::<&[u8]>),
            Step::Reopen => unreachable!("done above"),
        }
    }
    db
}

fn assert_sound(path: &Path, what: &str) {
    let db = Database::open(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    db.verify(|file| assert!(file.is_sound(), "{what}: {file:?}"));
}

fn table_options(random: &mut Random) -> TableOptions {
    let policies = ["none", "bloomfilter:10", "ribbonfilter:9.9", "ribbonfilter:10:3"];
    let versions = [FormatVersion::V2, FormatVersion::V5, FormatVersion::V6, FormatVersion::V7];
    let codecs = [Codec::None, Codec::Snappy, Codec::Zlib, Codec::Lz4, Codec::Zstd];
    TableOptions::rocksdb()
        .format_version(*random.pick(&versions))
        .block_size(*random.pick(&[256, 4096]))
        .compression(*random.pick(&codecs))
        .filter(random.pick(&policies).parse().unwrap())
}

#[test]
fn tables_in_levels() {
    for seed in seeds(20) {
        let mut random = Random::new(seed);
        let what = format!("SSTKIT_SEED={seed}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database");
        let options =
            DatabaseWriterOptions::rocksdb().rocksdb_version("rocksdb-11.8".parse().unwrap());
        let mut writer = DatabaseWriter::create(&path, options).unwrap();
        let names = ["default", "meta", "événements #1: \"a\""];
        let mut families = Vec::new();
        let mut sequence = 0;
        for name in &names[..1 + random.index(names.len())] {
            let orders = [Comparator::Bytewise, Comparator::ReverseBytewise];
            let mut family = FamilyHistory {
                name: (*name).to_owned(),
                comparator: random.pick(&orders).clone(),
                merges: random.below(2) == 0,
                is_plain: false,
                visible: Visible::new(),
            };
            let tables = table_options(&mut random);
            let mut descriptor = ColumnFamilyDescriptor::new(*name)
                .comparator(family.comparator.clone())
                .option("write_buffer_size", "65536")
                .option("target_file_size_base", "8192")
                .option("max_bytes_for_level_base", "32768")
                .tables_like(&tables);
            if family.merges {
                let operator = "{id=StringAppendOperator;delimiter=,;}";
                descriptor = descriptor.option("merge_operator", operator);
            }
            let id = writer.column_family(descriptor).unwrap();
            family.fill(&mut random, &mut sequence, (&mut writer, id), &tables);
            families.push(family);
        }
        writer.finish().unwrap();
        assert_sound(&path, &what);

        let db = open(&path, &what);
        for family in &families {
            same(&db, family, &format!("{what}, at first"));
        }
        let count = 200 + random.below(1500);
        let steps = history::steps(&mut random, &mut families, count);
        let names: Vec<String> = families.iter().map(|family| family.name.clone()).collect();
        let db = continued(db, &path, &names, &steps, &what);
        for family in &families {
            same(&db, family, &format!("{what}, at last"));
        }
        drop(db);
        let db = open(&path, &what);
        for family in &families {
            same(&db, family, &format!("{what}, reopened"));
        }
        drop(db);
        assert_sound(&path, &format!("{what}, afterwards"));
    }
}

fn rocksdb_options(random: &mut Random, blobs: bool) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    table.set_block_size(512);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    options.set_write_buffer_size(64 << 10);
    options.set_target_file_size_base(8 << 10);
    options.set_max_bytes_for_level_base(32 << 10);
    options.set_compression_type(*random.pick(&[DBCompressionType::None, DBCompressionType::Lz4]));
    if blobs {
        options.set_enable_blob_files(true);
        options.set_min_blob_size(100);
        options.set_enable_blob_gc(true);
    }
    options
}

/// A database that RocksDB made, rewritten with all levels, and merged; with blob files taken over, or
/// their values in the tables.
#[test]
fn rewritten_databases() {
    for seed in seeds(20) {
        let mut random = Random::new(seed);
        let what = format!("SSTKIT_SEED={seed}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("source");
        let mut families = [FamilyHistory {
            name: "default".to_owned(),
            comparator: Comparator::Bytewise,
            merges: false,
            is_plain: false,
            visible: Visible::new(),
        }];
        let names = ["default".to_owned()];
        let blobs = random.below(3) > 0;
        let options = rocksdb_options(&mut random, blobs);
        drop(DB::open(&options, &path).unwrap());
        let count = 200 + random.below(2000);
        let steps = history::steps(&mut random, &mut families, count);
        // The last steps would leave one level.
        let steps = &steps[..steps.len() - 2];
        drop(continued(open(&path, &what), &path, &names, steps, &what));

        let source = Database::open(&path).unwrap();
        let family = source.default_column_family();
        for (name, keeps_levels, keeps_blobs) in
            [("levels", true, true), ("merged", false, true), ("inline", false, false)]
        {
            let what = format!("{what}, {name}");
            let out = folder.path().join(name);
            let options = |level: u32| {
                let base = TableOptions::rocksdb();
                let tables = source.options_file().table_options("default", level, base);
                CompactionOptions::new(tables)
                    .max_file_size(Some(8 << 10))
                    .keep_blob_files(keeps_blobs)
                    .level(level)
            };
            let like = DatabaseWriterOptions::like(&source);
            let mut writer = DatabaseWriter::create(&out, like).unwrap();
            let descriptor = ColumnFamilyDescriptor::like(&source, &family);
            let id = writer.column_family(descriptor).unwrap();
            if keeps_levels {
                Compaction::rewrite_levels(&family, &mut writer, id, options).unwrap();
            } else {
                let mut compaction = Compaction::new(&options(6).bottommost(true));
                compaction.add_column_family(&family, ..).unwrap();
                compaction.run_into(&mut writer, id, 6).unwrap();
            }
            writer.set_last_sequence(source.last_sequence());
            writer.finish().unwrap();
            assert_sound(&out, &what);

            let mut after = families.clone();
            let db = open(&out, &what);
            same(&db, &after[0], &format!("{what}, at first"));
            let steps = history::steps(&mut random, &mut after, 500);
            let db = continued(db, &out, &names, &steps, &what);
            same(&db, &after[0], &format!("{what}, at last"));
            drop(db);
            same(&open(&out, &what), &after[0], &format!("{what}, reopened"));
            assert_sound(&out, &format!("{what}, afterwards"));
        }
    }
}
