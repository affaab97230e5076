//! Databases of newer engines than the one that most tests run: RocksDB 10.5, which npm has, and 11.0,
//! which is inside of a store of triples.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use sstkit_db::Database;
use sstkit_testkit::engines::{call, call_node, entries, keys, read_entries};
use sstkit_testkit::random::{Random, seeds};

/// Keys of several lengths with values that are sometimes large.
fn random_entries(random: &mut Random, count: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entry = |number: u64| {
        let key = format!("{:04}/{number}", random.below(300)).into_bytes();
        (key, vec![b'a' + (number % 26) as u8; random.below(400) as usize])
    };
    (0..count).map(entry).collect()
}

#[test]
fn rocksdb_of_npm() {
    for seed in seeds(2) {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database");
        let count = 500 + random.below(1500);
        let (stored, logged) =
            (random_entries(&mut random, count), random_entries(&mut random, 50));
        let families = json!([
            { "name": "bloom", "format_version": 6, "filter": "bloom" },
            { "name": "ribbon", "format_version": 7, "filter": "ribbon" },
            { "name": "blobs", "format_version": 7, "filter": "none", "min_blob_size": 200 },
        ]);
        let arguments = json!({
            "path": path, "families": families, "entries": entries(&stored), "logged": entries(&logged),
            "deleted": keys(["0100", "0150"]),
        });
        let answer = call_node("rocksdb_database", &arguments);
        let database = Database::open(&path).unwrap();
        assert!(database.caveats().is_empty(), "{:?}", database.caveats());
        for name in ["bloom", "ribbon", "blobs"] {
            let expected = read_entries(&answer["seen"], name);
            assert!(expected.len() > 100, "SSTKIT_SEED={seed}: {name}");
            let family = database.column_family(name).unwrap();
            let found = family.iter().map(|entry| entry.map(|(k, v)| (k.to_vec(), v.to_vec())));
            let found: Vec<_> = found.collect::<Result<_, _>>().unwrap();
            assert!(found == expected, "SSTKIT_SEED={seed}: {name}");
            for (key, value) in expected.iter().step_by(37) {
                assert_eq!(
                    family.get(key).unwrap().as_deref(),
                    Some(&value[..]),
                    "SSTKIT_SEED={seed}"
                );
            }
        }
        database.verify(|file| assert!(file.is_sound(), "SSTKIT_SEED={seed}: {file:?}"));
    }
}

#[test]
fn rocksdb_of_oxigraph() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    let answer = call("oxigraph_database", &json!({ "path": path, "count": 1000 }));
    let database = Database::open(&path).unwrap();
    assert!(database.caveats().is_empty(), "{:?}", database.caveats());
    database.verify(|file| assert!(file.is_sound(), "{file:?}"));
    let strings = database.column_family("id2str").unwrap();
    let triples = database.column_family("dspo").unwrap();
    // A triple is three terms, each a byte that says what it is and the hash of its text.
    let text = |term: &[u8]| {
        let value = strings.get(&term[1..]).unwrap().expect("a text");
        String::from_utf8(value.to_vec()).unwrap()
    };
    let mut found = BTreeSet::new();
    for entry in &triples {
        let (key, _) = entry.unwrap();
        assert_eq!(key.len(), 3 * 17);
        found.insert(key.chunks(17).map(text).collect::<Vec<_>>());
    }
    let expected: BTreeSet<Vec<String>> =
        serde_json::from_value(answer["triples"].clone()).unwrap();
    assert_eq!(expected.len(), 1000 - 1000_usize.div_ceil(7));
    assert_eq!(found, expected);
}
