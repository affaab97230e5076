//! What is saved of damaged databases: by sstkit, and by the engines' own repair.
//!
//! ```text
//! engine ---> database ---> copy, damaged ---> DatabaseSalvage ---> read by the engine --.
//!                |               '-----------> RepairDB ----------> read by the engine --+--> counts
//!                '---> what it showed before --------------------------------------------'
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sstkit_db::{DatabaseSalvage, DatabaseSalvageOptions};
use sstkit_testkit::engines::{call, read_entries};
use sstkit_testkit::faults::DatabaseDamage;
use sstkit_testkit::random::Random;

/// Keys that are written first.
const KEYS: u32 = 20_000;
/// Keys that are written last, and are in a log.
const LOGGED: u32 = 1_000;
/// Changes in one batch.
const BATCH: usize = 100;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// An engine of the tests.
struct Engine {
    name: &'static str,
    repair: &'static str,
    live: &'static str,
    read: &'static str,
    settings: Value,
}

/// Runs the comparison, and returns the record.
pub fn run() -> Result<Value, Box<dyn Error>> {
    let engines = [
        Engine {
            name: "RocksDB 9.8",
            repair: "RocksDB's RepairDB",
            live: "rocksdb_live_database",
            read: "rocksdb_read_database",
            settings: json!({
                "bits_per_key": 10, "write_buffer_size": 512 << 10,
                "target_file_size_base": 256 << 10, "max_bytes_for_level_base": 1 << 20,
                "disable_auto_compactions": true,
            }),
        },
        Engine {
            name: "LevelDB 1.23",
            repair: "LevelDB's RepairDB",
            live: "leveldb_live_database",
            read: "leveldb_read_database",
            settings: json!({ "bits_per_key": 10 }),
        },
    ];
    let mut results = Vec::new();
    for engine in &engines {
        compare(engine, &mut results)?;
    }
    Ok(json!({ "results": results }))
}

fn compare(engine: &Engine, results: &mut Vec<Value>) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let [path, source] = ["database", "copy"].map(|name| folder.path().join(name));
    let buffers = json!({ "write_buffer_size": 512 << 10, "max_file_size": 256 << 10 });
    let steps = steps(engine);
    let answer = call(
        engine.live,
        &json!({ "path": path, "copy": source, "settings": engine.settings, "steps": steps,
                 "buffers": buffers }),
    );
    let before = match answer["looks"].as_array().and_then(|looks| looks.last()) {
        Some(look) => pairs(&look["views"]["default"]),
        None => pairs(&answer),
    };
    for damage in DatabaseDamage::ALL {
        let of = |name: &str| folder.path().join(format!("{damage:?}-{name}"));
        let [damaged, saved, repaired] = [of("damaged"), of("saved"), of("repaired")];
        copy(&source, &damaged)?;
        if !damage.apply(&damaged, &mut Random::new(1)) {
            continue;
        }
        copy(&damaged, &repaired)?;
        let read = |path: &Path, repair: bool| {
            let request = json!({ "path": path, "settings": engine.settings, "repair": repair });
            count(&call(engine.read, &request), &before)
        };
        let by_engine = read(&repaired, true);
        // The repair of both engines reads logs past the damage.
        let modes: &[bool] = if damage == DatabaseDamage::Log { &[false, true] } else { &[false] };
        for &past_damage in modes {
            let options = DatabaseSalvageOptions::default().past_damage(past_damage);
            let saved = saved.with_extension(past_damage.to_string());
            DatabaseSalvage::open(&damaged, &options)?.write_database(&saved)?;
            let option = if past_damage { ", `--past-damage`" } else { "" };
            results.push(json!({
                "engine": engine.name,
                "damage": format!("{}{option}", damage.name()),
                "before": before.len(),
                "salvage": read(&saved, false),
                "repair": by_engine,
                "repair_name": engine.repair,
            }));
        }
    }
    Ok(())
}

/// Puts that are compacted; overwritten values and deletions above them; and writes in a log.
fn steps(engine: &Engine) -> Vec<Value> {
    let key = |number: u32| format!("key{number:06}");
    let value = |number: u32, round: u32| format!("value {number} of round {round} {number:080}");
    let mut steps = Vec::new();
    let write = |changes: Vec<(String, Option<String>)>, steps: &mut Vec<Value>| {
        for batch in changes.chunks(BATCH) {
            let changes = batch.iter().map(|(key, value)| {
                let (key, value) = (hex(key), value.as_deref().map(hex));
                match engine.live.starts_with("rocksdb") {
                    true => json!(["default", key, value]),
                    false => json!([key, value]),
                }
            });
            steps.push(json!(["write", changes.collect::<Vec<_>>()]));
        }
    };
    write((0..KEYS).map(|it| (key(it), Some(value(it, 1)))).collect(), &mut steps);
    match engine.live.starts_with("rocksdb") {
        true => steps.push(json!(["compact", "default"])),
        false => steps.push(json!(["compact"])),
    }
    let changed = (0..KEYS).filter(|it| it % 4 == 0).map(|it| (key(it), Some(value(it, 2))));
    write(changed.collect(), &mut steps);
    write((0..KEYS).filter(|it| it % 5 == 0).map(|it| (key(it), None)).collect(), &mut steps);
    if engine.live.starts_with("rocksdb") {
        steps.push(json!(["flush", "default"]));
    }
    let last = (KEYS..KEYS + LOGGED).map(|it| (key(it), Some(value(it, 3))));
    write(last.collect(), &mut steps);
    steps
}

/// How many entries are as before, are missing, and have values that were not visible before.
fn count(answer: &Value, before: &Pairs) -> Value {
    let found = pairs(answer);
    let right = found.iter().filter(|(key, value)| before.get(*key) == Some(*value)).count();
    let missing = before.keys().filter(|key| !found.contains_key(*key)).count();
    json!({
        "right": right,
        "missing": missing,
        "wrong": found.len() - right,
        "error": answer.get("error"),
    })
}

fn pairs(answer: &Value) -> Pairs {
    read_entries(answer, "entries").into_iter().collect()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn copy(source: &Path, target: &Path) -> std::io::Result<()> {
    fs::create_dir(target)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        fs::copy(entry.path(), target.join(entry.file_name()))?;
    }
    Ok(())
}
