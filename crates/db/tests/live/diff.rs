//! A database of LevelDB and one of RocksDB, compared: what differs is what the engines show.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sstkit_db::{Database, Diff, DiffOptions, Difference, RecordValue};
use sstkit_testkit::engines::{call, read_entries};
use sstkit_testkit::random::{Random, seeds};

use crate::life;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;
/// What both sides have for a key.
type Both = (Option<Vec<u8>>, Option<Vec<u8>>);

/// The same steps for RocksDB, which names a column family.
fn for_rocksdb(step: &Value) -> Value {
    let family = "default";
    match step[0].as_str() {
        Some("put") => json!(["put", family, step[1], step[2]]),
        Some("delete") => json!(["delete", family, step[1]]),
        Some("write") => {
            let changes = step[1].as_array().unwrap().iter();
            let changes: Vec<Value> = changes.map(|it| json!([family, it[0], it[1]])).collect();
            json!(["write", changes])
        }
        Some("compact") => json!(["compact", family]),
        _ => json!(["reopen"]),
    }
}

#[test]
fn leveldb_and_rocksdb() {
    for seed in seeds(3) {
        let mut random = Random::new(seed);
        let steps = life::leveldb_steps(&mut random, 1500);
        let more = life::leveldb_steps(&mut random, 20);
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let leveldb = call(
            "leveldb_live_database",
            &json!({ "path": path("a"), "copy": path("a2"), "settings": {}, "steps": steps }),
        );
        let all: Vec<Value> = steps.iter().chain(&more).map(for_rocksdb).collect();
        let settings = life::rocksdb_settings(&mut random);
        let rocksdb = call(
            "rocksdb_live_database",
            &json!({ "path": path("b"), "copy": path("b2"), "settings": settings, "steps": all }),
        );
        let looks = rocksdb["looks"].as_array().unwrap();
        let view = &looks[looks.len() - 1]["views"]["default"];
        let a: Pairs = read_entries(&leveldb, "entries").into_iter().collect();
        let b: Pairs = read_entries(view, "entries").into_iter().collect();
        let mut expected: BTreeMap<Vec<u8>, Both> = BTreeMap::new();
        for key in a.keys().chain(b.keys()).filter(|&key| a.get(key) != b.get(key)) {
            expected.insert(key.clone(), (a.get(key).cloned(), b.get(key).cloned()));
        }
        assert!(!expected.is_empty(), "SSTKIT_SEED={seed}");

        let side = |name| Database::open(path(name)).unwrap().default_column_family().into();
        let value = |value: &RecordValue| value.value().map(|value| value.to_vec());
        let diff = Diff::new(&side("a"), &side("b"), &DiffOptions::default()).unwrap();
        let found = diff.map(|difference| match difference.unwrap() {
            Difference::Removed(it) => (it.key, (value(&it.value), None)),
            Difference::Added(it) => (it.key, (None, value(&it.value))),
            Difference::Changed(a, b) => (a.key, (value(&a.value), value(&b.value))),
        });
        assert!(found.eq(expected), "SSTKIT_SEED={seed}: {settings}");
    }
}
