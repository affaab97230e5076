//! What [`DatabaseWriter`] makes, opened by the real engines as their own: read, written to, flushed,
//! compacted, opened again, and always equal to a model, or to what the engine makes of the source.

use std::path::Path;

use serde_json::{Value, json};
use sstkit_db::{
    ColumnFamily, ColumnFamilyDescriptor, Compaction, CompactionOptions, Database, DatabaseWriter,
    DatabaseWriterOptions,
};
use sstkit_table::raw::{Codec, Engine, FormatVersion};
use sstkit_table::{Comparator, RocksDbVersion, TableOptions};
use sstkit_testkit::engines::{call, read_entries, unhex};
use sstkit_testkit::history::{self, FamilyHistory, Step, Visible};
use sstkit_testkit::random::{Random, seeds};

use crate::life;

/// What the tests run.
const ROCKSDB: RocksDbVersion = RocksDbVersion::new(9, 8);

fn rocksdb_tables(random: &mut Random) -> TableOptions {
    let policies = ["none", "bloomfilter:10", "ribbonfilter:9.9", "ribbonfilter:10:3"];
    let versions = [FormatVersion::V2, FormatVersion::V4, FormatVersion::V5, FormatVersion::V6];
    let codecs = [Codec::None, Codec::Snappy, Codec::Lz4, Codec::Zstd];
    TableOptions::rocksdb()
        .format_version(*random.pick(&versions))
        .block_size(*random.pick(&[256, 4096]))
        .compression(*random.pick(&codecs))
        .filter(random.pick(&policies).parse().unwrap())
}

fn leveldb_tables(random: &mut Random) -> TableOptions {
    let policies = ["none", "leveldb.BuiltinBloomFilter2:10"];
    TableOptions::leveldb()
        .block_size(*random.pick(&[256, 4096]))
        .filter(random.pick(&policies).parse().unwrap())
}

fn assert_sound(path: &Path, what: &str) {
    let db = Database::open(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(db.caveats().is_empty(), "{what}: {:?}", db.caveats());
    db.verify(|file| assert!(file.is_sound(), "{what}: {file:?}"));
}

/// Continues with RocksDB. Returns what it saw at first, before the end and after reopening.
fn continued(path: &Path, steps: &[Value]) -> [Value; 3] {
    let arguments = json!({ "path": path, "steps": steps });
    let answer = call("rocksdb_continue_database", &arguments);
    let looks = answer["looks"].as_array().unwrap();
    [0, looks.len() - 2, looks.len() - 1].map(|look| looks[look]["views"].clone())
}

fn same(view: &Value, family: &FamilyHistory, visible: &Visible, what: &str) {
    let found = read_entries(view, "entries");
    let mut expected: Vec<_> = visible.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    expected.sort_by(|a, b| family.comparator.compare(&a.0, &b.0));
    assert_eq!(found.len(), expected.len(), "{what}: {}: entries", family.name);
    for (found, expected) in found.iter().zip(&expected) {
        assert!(
            found == expected,
            "{what}: {}: found \"{}\", expected \"{}\"",
            family.name,
            found.0.escape_ascii(),
            expected.0.escape_ascii()
        );
    }
}

#[test]
fn rocksdb_opens_tables_in_levels() {
    for seed in seeds(3) {
        let mut random = Random::new(seed);
        let what = format!("SSTKIT_SEED={seed}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database");
        let options = DatabaseWriterOptions::rocksdb()
            .rocksdb_version(ROCKSDB)
            .database_option("max_open_files", "50");
        let mut writer = DatabaseWriter::create(&path, options).unwrap();
        let names = ["default", "meta", "événements #1: \"a\"", "{id=x;}"];
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
            let tables = rocksdb_tables(&mut random);
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
        let before = families.clone();
        let count = 200 + random.below(1500);
        let steps = rocksdb_steps(&mut random, &mut families, count);
        let [first, last, reopened] = continued(&path, &steps);
        for (before, after) in before.iter().zip(&families) {
            let name = &before.name;
            same(&first[name], before, &before.visible, &format!("{what}, at first"));
            same(&last[name], after, &after.visible, &format!("{what}, at last"));
            same(&reopened[name], after, &after.visible, &format!("{what}, reopened"));
        }
        assert_sound(&path, &format!("{what}, afterwards"));
    }
}

#[test]
fn leveldb_opens_tables_in_levels() {
    for seed in seeds(3) {
        let mut random = Random::new(seed);
        let what = format!("SSTKIT_SEED={seed}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database");
        let mut writer = DatabaseWriter::create(&path, DatabaseWriterOptions::leveldb()).unwrap();
        let mut family = FamilyHistory {
            name: "default".to_owned(),
            comparator: Comparator::Bytewise,
            merges: false,
            is_plain: true,
            visible: Visible::new(),
        };
        let tables = leveldb_tables(&mut random);
        family.fill(&mut random, &mut 0, (&mut writer, 0), &tables);
        writer.finish().unwrap();
        assert_sound(&path, &what);
        leveldb_continues(&path, &mut random, &mut family, &what);
    }
}

/// Lets LevelDB continue, and compares with what should be visible.
fn leveldb_continues(path: &Path, random: &mut Random, family: &mut FamilyHistory, what: &str) {
    let before = family.clone();
    let count = 200 + random.below(2000);
    let steps = leveldb_steps(random, &mut family.visible, count);
    let buffers = json!({ "write_buffer_size": 64 << 10, "max_file_size": 32 << 10 });
    let settings = json!({ "bits_per_key": 10 });
    let arguments =
        json!({ "path": path, "steps": steps, "settings": settings, "buffers": buffers });
    let answer = call("leveldb_continue_database", &arguments);
    let looks = answer["looks"].as_array().unwrap();
    same(&looks[0], &before, &before.visible, &format!("{what}, at first"));
    same(&looks[1], family, &family.visible, &format!("{what}, at last"));
    same(&looks[2], family, &family.visible, &format!("{what}, reopened"));
    assert_sound(path, &format!("{what}, afterwards"));
}

/// Writes a new database from all column families of another one.
fn rewrite(
    source: &Database,
    options: DatabaseWriterOptions,
    target: &Path,
    mut each: impl FnMut(&ColumnFamily, &mut DatabaseWriter, u32),
) {
    let mut writer = DatabaseWriter::create(target, options).unwrap();
    for family in source.column_families() {
        let id = writer.column_family(ColumnFamilyDescriptor::like(source, &family)).unwrap();
        each(&family, &mut writer, id);
    }
    writer.set_last_sequence(source.last_sequence());
    writer.finish().unwrap();
}

/// A database that RocksDB made, rewritten in two ways: it continues with it as with its own.
#[test]
fn rocksdb_continues_with_a_rewritten_database() {
    for seed in seeds(3) {
        let mut random = Random::new(seed);
        let what = format!("SSTKIT_SEED={seed}");
        let mut settings = life::rocksdb_settings(&mut random);
        if seed % 2 == 0 {
            settings["min_blob_size"] = json!(100);
        }
        let count = 200 + random.below(2000);
        let steps = life::rocksdb_steps(&mut random, count);
        let folder = tempfile::tempdir().unwrap();
        let [path, copy] = crate::folders(folder.path());
        let arguments = json!({ "path": path, "copy": copy, "settings": settings, "steps": steps });
        call("rocksdb_live_database", &arguments);
        let source = Database::open(&copy).unwrap();

        let [levels, merged] = ["levels", "merged"].map(|name| folder.path().join(name));
        let options = |level: u32| {
            let base =
                source.options_file().table_options("default", level, TableOptions::rocksdb());
            CompactionOptions::new(base.readable_by(ROCKSDB))
                .max_file_size(Some(8 << 10))
                .keep_blob_files(true)
                .level(level)
        };
        let like = DatabaseWriterOptions::like(&source);
        rewrite(&source, like.clone(), &levels, |family, writer, id| {
            Compaction::rewrite_levels(family, writer, id, options).unwrap();
        });
        let keeps = random.below(2) == 0;
        rewrite(&source, like, &merged, |family, writer, id| {
            let options = options(6).bottommost(true).keep_blob_files(keeps);
            let mut compaction = Compaction::new(&options);
            compaction.add_column_family(family, ..).unwrap();
            compaction.run_into(writer, id, 6).unwrap();
        });
        drop(source);

        let names: Vec<String> = {
            let db = Database::open(&path).unwrap();
            db.column_families().map(|family| family.name().to_owned()).collect()
        };
        let mut more = life::rocksdb_steps(&mut random, 300);
        // Those of column families that the steps would create are left out.
        let creates = |step: &Value| step[0] == "create_family" || step[0] == "drop_family";
        more.retain(|step| {
            let text = step.to_string();
            !creates(step) && !text.contains("famille") && step[0] != "ingest"
        });
        for name in &names {
            more.push(json!(["put", name, life::hex(life::key(2)), life::hex(b"new")]));
            more.push(json!(["flush", name]));
            more.push(json!(["compact", name]));
        }
        let expected = continued(&path, &more);
        for (out, name) in [(&levels, "levels"), (&merged, "merged")] {
            let what = format!("{what}, {name}: {settings}");
            assert_sound(out, &what);
            let found = continued(out, &more);
            for (found, expected) in found.iter().zip(&expected) {
                for name in &names {
                    assert!(found[name] == expected[name], "{what}: {name} differs");
                }
            }
            assert_sound(out, &format!("{what}, afterwards"));
        }
    }
}

/// From LevelDB to RocksDB, and back.
#[test]
fn from_one_engine_to_the_other_and_back() {
    for seed in seeds(3) {
        let mut random = Random::new(seed);
        let what = format!("SSTKIT_SEED={seed}");
        let folder = tempfile::tempdir().unwrap();
        let [path, copy] = crate::folders(folder.path());
        let steps = life::leveldb_steps(&mut random, 2000);
        let settings = json!({ "bits_per_key": 10, "compression": "snappy" });
        let buffers = json!({ "write_buffer_size": 64 << 10, "max_file_size": 32 << 10 });
        let arguments = json!({ "path": path, "copy": copy, "settings": settings, "steps": steps,
                                "buffers": buffers });
        let answer = call("leveldb_live_database", &arguments);
        let mut family = FamilyHistory {
            name: "default".to_owned(),
            comparator: Comparator::Bytewise,
            merges: false,
            is_plain: true,
            visible: read_entries(&answer, "entries").into_iter().collect(),
        };

        let rocksdb = folder.path().join("rocksdb");
        let keeps_levels = random.below(2) == 0;
        let options = DatabaseWriterOptions::rocksdb().rocksdb_version(ROCKSDB);
        let tables = rocksdb_tables(&mut random);
        convert(&copy, &rocksdb, options, &tables, keeps_levels);
        assert_sound(&rocksdb, &what);
        let before = family.clone();
        let steps = rocksdb_steps(&mut random, std::slice::from_mut(&mut family), 500);
        let [first, last, _] = continued(&rocksdb, &steps);
        same(&first["default"], &before, &before.visible, &format!("{what}, in RocksDB"));
        same(&last["default"], &family, &family.visible, &format!("{what}, in RocksDB at last"));

        // Range tombstones of RocksDB are not for LevelDB: everything is merged.
        let back = folder.path().join("back");
        let tables = leveldb_tables(&mut random);
        convert(&rocksdb, &back, DatabaseWriterOptions::leveldb(), &tables, false);
        assert_sound(&back, &what);
        assert_eq!(Database::open(&back).unwrap().engine(), Engine::LevelDb);
        leveldb_continues(&back, &mut random, &mut family, &format!("{what}, in LevelDB"));
    }
}

/// Writes the default column family of a database with other tables.
fn convert(
    source: &Path,
    target: &Path,
    options: DatabaseWriterOptions,
    tables: &TableOptions,
    keeps_levels: bool,
) {
    let source = Database::open(source).unwrap();
    let family = source.default_column_family();
    let mut writer = DatabaseWriter::create(target, options).unwrap();
    let options = CompactionOptions::new(tables.clone()).max_file_size(Some(16 << 10));
    if keeps_levels {
        Compaction::rewrite_levels(&family, &mut writer, 0, |_| options.clone()).unwrap();
    } else {
        let mut compaction = Compaction::new(&options.bottommost(true));
        compaction.add_column_family(&family, ..).unwrap();
        compaction.run_into(&mut writer, 0, 6).unwrap();
    }
    writer.set_last_sequence(source.last_sequence());
    writer.finish().unwrap();
}

/// Random steps for RocksDB to do next, which are done to what is visible, too.
fn rocksdb_steps(random: &mut Random, families: &mut [FamilyHistory], count: u64) -> Vec<Value> {
    let steps = history::steps(random, families, count);
    let step = |(number, step): (usize, Step)| {
        let name = &families[number].name;
        match step {
            Step::Put(key, value) => json!(["put", name, life::hex(key), life::hex(value)]),
            Step::Delete(key) => json!(["delete", name, life::hex(key)]),
            Step::DeleteRange(begin, end) => {
                json!(["delete_range", name, life::hex(begin), life::hex(end)])
            }
            Step::Flush => json!(["flush", name]),
            Step::Compact => json!(["compact", name]),
            Step::Reopen => json!(["reopen"]),
        }
    };
    steps.into_iter().map(step).collect()
}

/// Random steps for LevelDB to do next, which are done to what is visible, too.
fn leveldb_steps(random: &mut Random, visible: &mut Visible, count: u64) -> Vec<Value> {
    let mut steps = life::leveldb_steps(random, count);
    steps.push(json!(["compact"]));
    for step in &steps {
        let mut change = |key: &Value, value: &Value| match value {
            Value::Null => drop(visible.remove(&unhex(key))),
            value => drop(visible.insert(unhex(key), unhex(value))),
        };
        match step[0].as_str() {
            Some("put") => change(&step[1], &step[2]),
            Some("delete") => change(&step[1], &Value::Null),
            Some("write") => {
                step[1].as_array().unwrap().iter().for_each(|it| change(&it[0], &it[1]));
            }
            _ => {}
        }
    }
    steps
}
