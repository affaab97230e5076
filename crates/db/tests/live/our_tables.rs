//! What [`BulkBuilder`] and [`Compaction`] write, taken in by the real RocksDB: it reads back the
//! same.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;
use sstkit_db::{
    BulkBuilder, BulkManifest, BulkOptions, Compaction, CompactionOptions, Database,
    SequenceNumbers,
};
use sstkit_table::raw::FormatVersion;
use sstkit_table::{Table, TableOptions, TableWriter};
use sstkit_testkit::engines::{call, keys, read_entries, read_values};
use sstkit_testkit::random::{Random, seeds};

use crate::life;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Settings that the engine, which is older than the newest format version, can read.
fn table_options(random: &mut Random) -> TableOptions {
    let policies = ["none", "bloomfilter:10", "ribbonfilter:9.9", "ribbonfilter:10:3"];
    let versions = [FormatVersion::V2, FormatVersion::V4, FormatVersion::V5, FormatVersion::V6];
    TableOptions::rocksdb()
        .format_version(*random.pick(&versions))
        .block_size(*random.pick(&[256, 4096]))
        .filter(random.pick(&policies).parse().unwrap())
}

/// The tables in `folder` hold exactly `expected`, says RocksDB.
fn ingested(folder: &Path, expected: &Entries, what: &str) {
    let manifest = BulkManifest::read(folder.join("manifest.json")).unwrap();
    manifest.verify(folder).unwrap();
    let tables: Vec<_> = manifest.files.iter().map(|file| folder.join(&file.name)).collect();
    let gets: Vec<&[u8]> = expected.keys().map(Vec::as_slice).step_by(7).collect();
    let answer = call(
        "rocksdb_ingest",
        &json!({ "path": folder.join("rocksdb"), "settings": {}, "tables": tables,
                 "gets": keys(&gets) }),
    );
    assert!(
        read_entries(&answer, "entries").into_iter().eq(expected.clone()),
        "{what}: RocksDB sees other entries"
    );
    let found = read_values(&answer, "found");
    assert!(found.iter().zip(&gets).all(|(value, &key)| value.as_ref() == expected.get(key)));
}

#[test]
fn bulk_builder() {
    for seed in seeds(6) {
        let mut random = Random::new(seed);
        let what = format!("SSTKIT_SEED={seed}");
        let count = 1 + random.below(20_000);
        let mut expected = Entries::new();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables");
        let options = BulkOptions::new(table_options(&mut random))
            .memory(1 << 20)
            .threads(1 + random.below(2) as usize)
            .max_file_size(Some(32 << 10));
        let mut builder = BulkBuilder::create(&path, &options).unwrap();
        for _ in 0..count {
            let number = random.below(2 * count);
            let (key, value) = (format!("{number:x}").into_bytes(), random.bytes(number % 90));
            builder.put(&key, &value).unwrap();
            expected.insert(key, value);
        }
        builder.finish().unwrap();
        ingested(&path, &expected, &what);
    }
}

/// Tables with random entries, the oldest first, and what is visible of them together.
fn overlapping_tables(random: &mut Random, folder: &Path) -> (Vec<Table>, Entries) {
    let mut visible = Entries::new();
    let tables = (0..2 + random.below(5)).map(|number| {
        let path = folder.join(format!("input-{number}.sst"));
        let mut writer = TableWriter::create(&path, &table_options(random)).unwrap();
        // Older tables are covered, the entries of this one are not.
        if random.below(2) == 0 {
            let range = (life::key(random.below(400)), life::key(400 + random.below(400)));
            writer.delete_range(&range.0, &range.1).unwrap();
            visible.retain(|key, _| *key < range.0 || *key >= range.1);
        }
        let written: BTreeMap<_, _> =
            (0..1 + random.below(400)).map(|_| (random.below(800), random.below(5))).collect();
        for (number, what) in written {
            let (key, value) = (life::key(number), random.bytes(10 * what));
            if what == 0 {
                writer.delete(&key).unwrap();
                visible.remove(&key);
            } else {
                writer.put(&key, &value).unwrap();
                visible.insert(key, value);
            }
        }
        writer.finish().unwrap();
        Table::open(&path).unwrap()
    });
    (tables.collect(), visible)
}

/// Into tables that can be ingested, with nothing below them.
fn to_ingest(random: &mut Random) -> CompactionOptions {
    CompactionOptions::new(table_options(random))
        .sequence_numbers(SequenceNumbers::Zero)
        .bottommost(true)
        .threads(1 + random.below(3) as usize)
        .max_file_size(Some(4 << 10))
}

#[test]
fn compaction_of_tables() {
    for seed in seeds(6) {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let (tables, visible) = overlapping_tables(&mut random, folder.path());
        let mut compaction = Compaction::new(&to_ingest(&mut random));
        for table in &tables {
            compaction.add_table(table).unwrap();
        }
        let path = folder.path().join("tables");
        compaction.run(&path).unwrap();
        ingested(&path, &visible, &format!("SSTKIT_SEED={seed}"));
    }
}

#[test]
fn compaction_of_a_database() {
    for seed in seeds(4) {
        let mut random = Random::new(seed);
        let settings = life::rocksdb_settings(&mut random);
        let mut steps = life::rocksdb_steps(&mut random, 1500);
        // What is read back are values, not entities.
        steps.retain(|step| step[0] != "put_entity");
        let folder = tempfile::tempdir().unwrap();
        let [path, copy] = crate::folders(folder.path());
        let answer = call(
            "rocksdb_live_database",
            &json!({ "path": path, "copy": copy, "settings": settings, "steps": steps }),
        );
        let last = answer["looks"].as_array().unwrap().last().unwrap();
        let db = Database::open(&copy).unwrap();
        for (number, family) in db.column_families().enumerate() {
            let what = format!("SSTKIT_SEED={seed}: {}", family.name());
            let visible: Entries =
                read_entries(&last["views"][family.name()], "entries").into_iter().collect();
            let mut compaction = Compaction::new(&to_ingest(&mut random));
            compaction.add_column_family(&family, ..).unwrap();
            let path = folder.path().join(format!("tables-{number}"));
            compaction.run(&path).unwrap();
            ingested(&path, &visible, &what);
        }
    }
}
