//! What is done to a database: random steps, the same for the same seed.

use serde_json::{Value, json};
use sstkit_testkit::Random;
pub(crate) use sstkit_testkit::history::key;
use sstkit_testkit::history::{KEYS, some_key, some_range, some_value};

pub(crate) fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Keys that may be there.
pub(crate) fn keys() -> impl Iterator<Item = Vec<u8>> {
    (0..KEYS).map(|number| key(2 * number))
}

/// Keys that are never there, each between two that may be.
pub(crate) fn absent_keys() -> impl Iterator<Item = Vec<u8>> {
    (0..KEYS).map(|number| key(2 * number + 1))
}

/// Settings of a RocksDB database, under which a few thousand small entries fill several levels.
pub(crate) fn rocksdb_settings(random: &mut Random) -> Value {
    let mut settings = json!({
        "bits_per_key": random.pick(&[5.0, 10.0]),
        "format_version": random.pick(&[2, 4, 5, 6]),
        "block_size": random.pick(&[256, 1024]),
        "compression": random.pick(&["none", "snappy", "lz4", "zstd"]),
        "compaction_style": random.pick(&["level", "level", "universal"]),
        "write_buffer_size": 64 << 10,
        "target_file_size_base": 8 << 10,
        "max_bytes_for_level_base": 32 << 10,
        "level_compaction_dynamic_level_bytes": random.below(2) == 0,
        "recycle_log_file_num": random.below(3),
        "optimize_filters_for_hits": random.below(4) == 0,
        "atomic_flush": random.below(3) == 0,
    });
    if random.below(3) == 0 {
        settings["min_blob_size"] = json!(100);
    }
    if random.below(3) == 0 {
        settings["fixed_prefix"] = json!(8);
    }
    if random.below(3) == 0 {
        settings["index_type"] = json!("two_level_index_search");
        settings["partition_filters"] = json!(true);
        settings["metadata_block_size"] = json!(512);
    }
    settings
}

/// Random steps, some of which record the visible state.
pub(crate) fn rocksdb_steps(random: &mut Random, count: u64) -> Vec<Value> {
    let mut families = vec!["default".to_owned()];
    let mut steps = Vec::new();
    for step in 0..count {
        let family = random.pick(&families).clone();
        steps.push(match random.below(400) {
            0..=3 => json!(["flush", family]),
            4 => json!(["compact", family]),
            5 => json!(["reopen"]),
            6..=8 => json!(["look"]),
            9 if families.len() < 4 => {
                families.push(format!("famille-{step}é"));
                json!(["create_family", families[families.len() - 1]])
            }
            10 if families.len() > 2 => {
                let dropped = families.remove(1 + random.below(families.len() as u64 - 1) as usize);
                json!(["drop_family", dropped])
            }
            11..=20 => {
                let (begin, end) = some_range(random);
                json!(["delete_range", family, hex(begin), hex(end)])
            }
            21..=23 => {
                let mut keys: Vec<_> =
                    (0..1 + random.below(40)).map(|_| some_key(random)).collect();
                keys.sort_unstable();
                keys.dedup();
                let entries: Vec<_> =
                    keys.iter().map(|key| json!([hex(key), hex(some_value(random))])).collect();
                json!(["ingest", family, entries])
            }
            24..=43 => {
                let columns = json!([
                    [hex(""), hex(some_value(random))],
                    [hex("colour"), hex(some_value(random))]
                ]);
                json!(["put_entity", family, hex(some_key(random)), columns])
            }
            44..=53 => {
                let changes: Vec<_> = (0..random.below(20))
                    .map(|_| {
                        let value = (random.below(4) > 0).then(|| hex(some_value(random)));
                        json!([random.pick(&families), hex(some_key(random)), value])
                    })
                    .collect();
                json!(["write", changes])
            }
            54..=113 => json!(["delete", family, hex(some_key(random))]),
            _ => json!(["put", family, hex(some_key(random)), hex(some_value(random))]),
        });
    }
    steps
}

/// Random steps that LevelDB supports.
pub(crate) fn leveldb_steps(random: &mut Random, count: u64) -> Vec<Value> {
    let step = |random: &mut Random| match random.below(1000) {
        0 => json!(["compact"]),
        1..=3 => json!(["reopen"]),
        4..=53 => {
            let changes: Vec<_> = (0..random.below(20))
                .map(|_| {
                    let value = (random.below(4) > 0).then(|| hex(some_value(random)));
                    json!([hex(some_key(random)), value])
                })
                .collect();
            json!(["write", changes])
        }
        54..=203 => json!(["delete", hex(some_key(random))]),
        _ => json!(["put", hex(some_key(random)), hex(some_value(random))]),
    };
    (0..count).map(|_| step(random)).collect()
}
