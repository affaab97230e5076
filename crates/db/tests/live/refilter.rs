//! Databases of the real engines with other filters: the engine opens them, reads the same, uses the
//! filters, and would have built them itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sstkit_db::{Database, DatabaseOptions, Refilter};
use sstkit_filter::{FilterPolicy, PrefixExtractor};
use sstkit_table::raw::BlockKind;
use sstkit_table::{Table, TableReadOptions, Ticker};
use sstkit_testkit::engines::{call, entries, keys, read_entries, read_values};
use sstkit_testkit::random::{Random, seeds};

use crate::life;

/// What RocksDB counts of filters.
const FILTER_TICKERS: [Ticker; 6] = [
    Ticker::BloomFilterUseful,
    Ticker::BloomFilterFullPositive,
    Ticker::BloomFilterFullTruePositive,
    Ticker::BloomFilterPrefixChecked,
    Ticker::BloomFilterPrefixUseful,
    Ticker::BloomFilterPrefixTruePositive,
];

fn policy(text: &str) -> FilterPolicy {
    text.parse().unwrap()
}

/// New filters, each of another kind.
fn refilters() -> Vec<(&'static str, Refilter)> {
    let with = |text: &str| Refilter::new().filter(policy(text)).threads(2);
    let prefixes = |text: &str| with(text).prefix_extractor(PrefixExtractor::Fixed(8));
    vec![
        ("none", with("none")),
        ("bloom", with("bloomfilter:12")),
        ("few bits", with("bloomfilter:6.5")),
        ("ribbon", with("ribbonfilter:9.9")),
        ("ribbon in lower levels", with("ribbonfilter:10:3")),
        ("partitioned bloom", with("bloomfilter:10").partition_filters(true)),
        ("partitioned ribbon", with("ribbonfilter:7").partition_filters(true)),
        ("prefixes and keys", prefixes("bloomfilter:10").whole_key_filtering(true)),
        ("prefixes", prefixes("bloomfilter:10").whole_key_filtering(false)),
        ("partitioned prefixes", prefixes("ribbonfilter:8").partition_filters(true)),
    ]
}

/// Opened as for a copy: logs are not read.
fn open(path: &Path) -> Database {
    let options = DatabaseOptions::default().replay_logs(false).list_logs(true);
    Database::open_with(path, &options).unwrap()
}

/// The filter blocks of a table: the filter, or the index of its partitions and these.
fn filter_blocks(path: &Path) -> Vec<(BlockKind, Vec<u8>)> {
    let table = Table::open_with(path, &TableReadOptions::default().no_block_cache()).unwrap();
    let kinds = [BlockKind::Filter, BlockKind::FilterPartition];
    let blocks = table.view().blocks().unwrap().into_iter();
    blocks
        .filter(|(kind, _)| kinds.contains(kind))
        .map(|(kind, handle)| (kind, table.view().block(kind, handle).unwrap().to_vec()))
        .collect()
}

/// Tables of a database, by file name.
fn tables(path: &Path) -> BTreeMap<String, PathBuf> {
    let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let is_table = |path: &PathBuf| path.extension().is_some_and(|it| it == "sst" || it == "ldb");
    let name = |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_owned(), path);
    files.filter(is_table).map(name).collect()
}

/// Makes filter sizes independent of the allocator of the engine.
fn disable_memory_sizing(path: &Path) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("OPTIONS-") {
            let text = fs::read_to_string(&path).unwrap();
            let name = "optimize_filters_for_memory=";
            assert!(text.contains(name), "{text}");
            let exact = text.replace(&format!("{name}true"), &format!("{name}false"));
            fs::write(path, exact).unwrap();
        }
    }
}

/// Random steps, with everything in tables at the end; and the column families.
fn flushed_steps(random: &mut Random, count: u64) -> (Vec<Value>, Vec<String>) {
    let mut steps = life::rocksdb_steps(random, count);
    let mut families = vec!["default".to_owned()];
    for step in &steps {
        let name = || step[1].as_str().unwrap().to_owned();
        match step[0].as_str().unwrap() {
            "create_family" => families.push(name()),
            "drop_family" => families.retain(|it| *it != name()),
            _ => {}
        }
    }
    steps.extend(families.iter().map(|name| json!(["flush", name])));
    (steps, families)
}

/// What our own lookups in a column family count, and whether RocksDB may count more: with up to three
/// files, all in level 0, it does not look at their key ranges.
fn our_tickers(path: &Path, family: &str, keys: &[Vec<u8>]) -> (Vec<u64>, bool) {
    let database = Database::open(path).unwrap();
    let family = database.column_family(family).unwrap();
    for key in keys {
        family.get(key).unwrap();
    }
    let counted = family.stats().tickers();
    let counts = FILTER_TICKERS.iter().map(|&ticker| counted.get(ticker)).collect();
    let is_wide = family.levels().iter().all(|level| level.number == 0 && level.files.len() <= 3);
    (counts, is_wide)
}

fn their_tickers(probe: &Value) -> Vec<u64> {
    let count = |ticker: &Ticker| probe["tickers"][ticker.name()].as_u64().unwrap_or(0);
    FILTER_TICKERS.iter().map(count).collect()
}

#[test]
fn rocksdb_opens_and_uses_other_filters() {
    let kinds = refilters();
    for seed in seeds(kinds.len() as u64) {
        let mut random = Random::new(seed);
        let (name, refilter) = &kinds[seed as usize % kinds.len()];
        let settings = life::rocksdb_settings(&mut random);
        let count = 500 + random.below(2500);
        let (steps, families) = flushed_steps(&mut random, count);
        let what = format!("SSTKIT_SEED={seed}: {name}, {count} steps, {settings}");
        let folder = tempfile::tempdir().unwrap();
        let [path, copy] = crate::folders(folder.path());
        let request = json!({ "path": path, "copy": copy, "settings": settings, "steps": steps });
        call("rocksdb_live_database", &request);
        disable_memory_sizing(&copy);

        let target = folder.path().join("new");
        refilter.database(&open(&copy), &target).unwrap_or_else(|error| panic!("{what}: {error}"));

        // Keys that may be found, and keys that are never there.
        let probed: Vec<Vec<u8>> = life::keys().chain(life::absent_keys()).collect();
        let counted: Vec<_> =
            families.iter().map(|family| our_tickers(&target, family, &probed)).collect();
        let probes = |family: &String| json!(["probe", family, keys(&probed)]);
        let rewrites = families.iter().map(|family| json!(["rewrite", family]));
        let steps: Vec<Value> = families.iter().map(probes).chain(rewrites).collect();
        let continued = |path: &Path| {
            let request = json!({ "path": path, "steps": steps, "quiet": true });
            call("rocksdb_continue_database", &request)["looks"].as_array().unwrap().clone()
        };
        let (expected, found) = (continued(&copy), continued(&target));
        let last = found.len() - 1;
        for look in [0, last - 1, last] {
            assert!(found[look]["views"] == expected[look]["views"], "{what}: look {look}");
        }
        let mut probes = 0;
        for (number, family) in families.iter().enumerate() {
            let (found, expected) = (&found[1 + number], &expected[1 + number]);
            assert!(found["found"] == expected["found"], "{what}: gets in {family}");
            let theirs = their_tickers(found);
            let (ours, is_wide) = &counted[number];
            let is_same =
                |(ours, theirs): (&u64, &u64)| ours == theirs || *is_wide && ours < theirs;
            let all_same = ours.iter().zip(&theirs).all(is_same);
            assert!(all_same, "{what}: {family}: {ours:?}, RocksDB has {theirs:?}");
            probes += theirs.iter().sum::<u64>();
        }
        assert_eq!(probes > 0, *name != "none", "{what}");

        same_filters_again(&target, refilter, &what);
    }
}

/// The engine has rewritten all tables with the policy in OPTIONS. Without their filters, and with new
/// ones, they are the same again.
fn same_filters_again(path: &Path, refilter: &Refilter, what: &str) {
    let [none, again] = ["none", "again"].map(|name| path.with_extension(name));
    Refilter::new().filter(FilterPolicy::None).database(&open(path), &none).unwrap();
    // Tables without a filter do not tell whether it was partitioned.
    let is_partition = |(kind, _): &(BlockKind, Vec<u8>)| *kind == BlockKind::FilterPartition;
    let is_partitioned =
        tables(path).values().any(|table| filter_blocks(table).iter().any(is_partition));
    let refilter = match is_partitioned {
        true => refilter.clone().partition_filters(true),
        false => refilter.clone(),
    };
    refilter.database(&open(&none), &again).unwrap();
    // Obsolete tables may not have been deleted yet.
    for (name, new) in tables(&again) {
        let (engine, without) =
            (filter_blocks(&path.join(&name)), filter_blocks(&none.join(&name)));
        assert!(without.is_empty(), "{what}: {name}");
        assert!(filter_blocks(&new) == engine, "{what}: {name} has another filter");
    }
}

/// LevelDB's tables have no identity, so that the whole files are the same.
#[test]
fn leveldb_opens_other_filters() {
    for seed in seeds(6) {
        let mut random = Random::new(seed);
        let count = 1 + random.below(4000);
        let written = random.entries(count);
        let [before, bits] = [0; 2].map(|_| *random.pick(&[1, 5, 10, 16, 30]));
        let mut settings = json!({
            "block_size": random.pick(&[256, 4096, 65536]),
            "compression": random.pick(&[None, Some("snappy")]),
        });
        let what = format!("SSTKIT_SEED={seed}: {bits} bits, {settings}");
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, settings: &Value| {
            let request =
                json!({ "path": path(name), "settings": settings, "entries": entries(&written) });
            call("leveldb_write_database", &request);
        };
        let without = settings.clone();
        if seed % 2 == 0 {
            settings["bits_per_key"] = json!(before);
        }
        write("source", &settings);
        settings["bits_per_key"] = json!(bits);
        write("engine", &settings);

        let policy = policy(&format!("leveldb.BuiltinBloomFilter2:{bits}"));
        let refilter = Refilter::new().filter(policy);
        refilter.database(&open(&path("source")), path("new")).unwrap();
        let engine = tables(&path("engine"));
        let new = tables(&path("new"));
        assert!(!new.is_empty() && new.keys().eq(engine.keys()), "{what}: {new:?} {engine:?}");
        for (name, table) in &new {
            assert!(fs::read(table).unwrap() == fs::read(&engine[name]).unwrap(), "{what}: {name}");
        }
        // Of the engine's own tables, without their filters.
        Refilter::new()
            .filter(FilterPolicy::None)
            .database(&open(&path("engine")), path("none"))
            .unwrap();
        for (name, settings) in [("new", &settings), ("none", &without)] {
            let gets: Vec<&Vec<u8>> = written.keys().step_by(3).collect();
            let request = json!({ "path": path(name), "settings": settings, "steps": [],
                                  "gets": keys(&gets) });
            let answer = call("leveldb_continue_database", &request);
            let looks = answer["looks"].as_array().unwrap();
            assert!(read_entries(&looks[0], "entries").into_iter().eq(written.clone()), "{what}");
            let found = read_values(&answer, "found");
            assert_eq!(found.len(), gets.len());
            let is_same =
                |(found, &key): (&Option<Vec<u8>>, &&Vec<u8>)| found.as_ref() == written.get(key);
            assert!(found.iter().zip(&gets).all(is_same), "{what}: {name}");
        }
    }
}
