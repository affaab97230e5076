//! Databases that the real engines make on the spot, by random steps: read as they lie there, they
//! show what the engine showed. And tables and databases of ours that the engine takes for its own.
//!
//! The seed of a failing case is printed; `SSTKIT_SEED=N` starts from another one, `SSTKIT_CASES=N`
//! runs more of them.

mod diff;
mod identity;
mod ingestion;
mod life;
mod new_databases;
mod other_engines;
mod our_tables;
mod refilter;
mod salvage;
mod views;

use std::path::Path;

use serde_json::{Value, json};
use sstkit_db::Database;
use sstkit_testkit::engines::{call, read_entries};
use sstkit_testkit::random::{Random, seeds};

use views::{ReadView, compare};

/// The directory after it was closed, and the copy made while it was open.
fn folders(folder: &Path) -> [std::path::PathBuf; 2] {
    [folder.join("database"), folder.join("copy")]
}

#[test]
fn rocksdb() {
    for seed in seeds(8) {
        let mut random = Random::new(seed);
        let settings = life::rocksdb_settings(&mut random);
        let count = 200 + random.below(3000);
        let steps = life::rocksdb_steps(&mut random, count);
        let what = format!("SSTKIT_SEED={seed}: {count} steps, {settings}");
        let folder = tempfile::tempdir().unwrap();
        let [path, copy] = folders(folder.path());
        let answer = call(
            "rocksdb_live_database",
            &json!({ "path": path, "copy": copy, "settings": settings, "steps": steps }),
        );
        let looks = answer["looks"].as_array().unwrap();
        // The snapshots of earlier ones went with the reopening, and with them what they saw. So they
        // do when the database is closed.
        let reopened = steps.iter().rposition(|step| step[0] == "reopen").unwrap_or(0) as u64;
        let kept = looks.iter().position(|look| look["step"].as_u64() >= Some(reopened)).unwrap();
        rocksdb_case(&copy, &looks[kept..], &what);
        rocksdb_case(&path, &looks[looks.len() - 1..], &what);
    }
}

/// Compares what the engine saw at several moments with what is in the directory.
fn rocksdb_case(path: &Path, looks: &[Value], what: &str) {
    let db = Database::open(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    for look in looks {
        let sequence = look["sequence"].as_u64().unwrap();
        for (name, view) in look["views"].as_object().unwrap() {
            // Dropped after the look.
            let Ok(family) = db.column_family(name) else { continue };
            let view = ReadView {
                entries: read_entries(view, "entries"),
                entities: views::read_entities(view, "entities"),
            };
            let what = format!("{what}: {name} at {sequence} in {}", path.display());
            compare(&family.at(sequence), &view, &what);
        }
    }
    let last = looks.last().unwrap();
    assert_eq!(db.last_sequence(), last["sequence"].as_u64().unwrap(), "{what}");
    let mut names: Vec<_> = db.column_families().map(|family| family.name().to_owned()).collect();
    names.sort_unstable();
    let mut expected: Vec<_> = last["views"].as_object().unwrap().keys().cloned().collect();
    expected.sort_unstable();
    assert_eq!(names, expected, "{what}");
}

#[test]
fn leveldb() {
    for seed in seeds(6) {
        let mut random = Random::new(seed);
        let settings = json!({
            "bits_per_key": random.pick(&[5, 10]),
            "block_size": random.pick(&[256, 4096]),
            "compression": random.pick(&[None, Some("snappy")]),
        });
        let buffers = json!({ "write_buffer_size": 64 << 10, "max_file_size": 32 << 10 });
        let count = 200 + random.below(4000);
        let steps = life::leveldb_steps(&mut random, count);
        let what = format!("SSTKIT_SEED={seed}: {count} steps, {settings}");
        let folder = tempfile::tempdir().unwrap();
        let [path, copy] = folders(folder.path());
        let answer = call(
            "leveldb_live_database",
            &json!({ "path": path, "copy": copy, "settings": settings, "steps": steps,
                     "buffers": buffers }),
        );
        let view = ReadView { entries: read_entries(&answer, "entries"), entities: Vec::new() };
        for path in [path, copy] {
            let db = Database::open(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
            compare(&db.default_column_family(), &view, &what);
        }
    }
}
