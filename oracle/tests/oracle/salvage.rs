//! Golden databases with a file that is deleted or damaged, salvaged: RocksDB 11 opens the result as its
//! own, sees in it what sstkit does, writes to it, compacts it and opens it again.

use std::fs;
use std::path::Path;

use rocksdb::{Cache, DB, Env, IteratorMode, Options, ReadOptions};
use sstkit_db::{Database, DatabaseSalvage, DatabaseSalvageOptions};
use sstkit_table::raw::Engine;
use sstkit_testkit::faults::FileDamage;
use sstkit_testkit::goldens::golden_databases;
use sstkit_testkit::random::Random;

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn copy(source: &Path, target: &Path) {
    fs::create_dir(target).unwrap();
    for entry in fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), target.join(entry.file_name())).unwrap();
    }
}

/// The databases are of RocksDB 11.9, which has options that 11.8 does not know.
fn open(path: &Path, what: &str) -> DB {
    let cache = Cache::new_lru_cache(8 << 20);
    let loaded = Options::load_latest(path, Env::new().unwrap(), true, cache);
    let (mut options, families) = loaded.unwrap_or_else(|error| panic!("{what}: {error}"));
    options.set_paranoid_checks(true);
    DB::open_cf_descriptors(&options, path, families)
        .unwrap_or_else(|error| panic!("{what}: {error}"))
}

fn seen(db: &DB, name: &str, timestamp_size: usize, what: &str) -> Entries {
    let family = db.cf_handle(name).unwrap_or_else(|| panic!("{what}: no column family {name}"));
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    if timestamp_size > 0 {
        options.set_timestamp(vec![0xff; timestamp_size]);
    }
    let entries = db.iterator_cf_opt(family, options, IteratorMode::Start);
    entries
        .map(|entry| entry.unwrap_or_else(|error| panic!("{what}: {error}")))
        .map(|(key, value)| (key.into_vec(), value.into_vec()))
        .collect()
}

#[test]
fn golden_databases_without_any_of_their_files() {
    let mut opened = 0;
    for golden in golden_databases() {
        if Database::open(&golden).unwrap().engine() == Engine::LevelDb {
            continue;
        }
        let mut random = Random::new(1);
        for damage in FileDamage::of_each_file(&golden) {
            let what = format!("{}: {damage}", golden.display());
            let folder = tempfile::tempdir().unwrap();
            let [damaged, saved] = ["damaged", "saved"].map(|name| folder.path().join(name));
            copy(&golden, &damaged);
            if !damage.apply(&damaged, &mut random) {
                continue;
            }
            let salvage = DatabaseSalvage::open(&damaged, &DatabaseSalvageOptions::default());
            let salvage = salvage.unwrap_or_else(|error| panic!("{what}: {error}"));
            salvage.write_database(&saved).unwrap_or_else(|error| panic!("{what}: {error}"));
            let ours = Database::open(&saved).unwrap_or_else(|error| panic!("{what}: {error}"));
            let families: Vec<(String, usize, Entries)> = ours
                .column_families()
                .map(|family| {
                    let size = family.comparator().unwrap().timestamp_size();
                    let entries = family.iter().map(|entry| entry.unwrap());
                    let entries = entries.map(|(key, value)| (key, value.to_vec())).collect();
                    (family.name().to_owned(), size, entries)
                })
                .collect();
            drop(ours);

            let db = open(&saved, &what);
            for (name, timestamp_size, entries) in &families {
                let found = seen(&db, name, *timestamp_size, &what);
                assert!(found == *entries, "{what}: {name}: {} entries", found.len());
            }
            let with_timestamps = families.iter().any(|it| it.1 > 0);
            for (name, ..) in families.iter().filter(|_| !with_timestamps) {
                let family = db.cf_handle(name).unwrap();
                db.put_cf(family, b"\xffnew", b"value").unwrap();
                db.flush_cf(family).unwrap();
                db.compact_range_cf(family, None::<&[u8]>, None::<&[u8]>);
            }
            drop(db);
            let db = open(&saved, &format!("{what}, again"));
            for (name, timestamp_size, entries) in &families {
                let mut expected = entries.clone();
                if !with_timestamps {
                    expected.push((b"\xffnew".to_vec(), b"value".to_vec()));
                }
                let found = seen(&db, name, *timestamp_size, &what);
                assert!(found == expected, "{what}: {name}: {} entries, again", found.len());
            }
            opened += 1;
        }
    }
    assert!(opened > 300, "{opened}");
}
