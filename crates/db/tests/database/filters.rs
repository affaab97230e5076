//! What lookups touch, counted.

use std::path::Path;

use sstkit_db::{ColumnFamily, Database, DatabaseOptions};
use sstkit_table::raw::EntryKind::{RangeDeletion, Value};
use sstkit_table::{TableOptions, Ticker};

use crate::maker::{Batch, Item, Maker};

const FILES: u64 = 40;
const KEYS: u64 = 250;

fn key(n: u64) -> Vec<u8> {
    format!("key{n:08}").into_bytes()
}

/// Several levels of overlapping and of adjoining files, each with a filter. All keys are even.
fn many_files() -> Maker {
    let mut db = Maker::new();
    db.table_options(TableOptions::rocksdb().filter("ribbonfilter:10".parse().unwrap()));
    for file in 0..FILES {
        let level = (file % 4) as u32;
        let keys: Vec<Vec<u8>> = match level {
            // Each file over all of the range.
            0 => (0..KEYS).map(|i| key(2 * (i * FILES + file))).collect(),
            _ => (0..KEYS).map(|i| key(2 * (file * KEYS + i))).collect(),
        };
        let sequence = 1000 * (4 - u64::from(level)) + file;
        let items: Vec<Item<'_>> =
            keys.iter().map(|key| (&key[..], sequence, Value, &key[..])).collect();
        db.table(level, 100 + file, &items);
    }
    db.finish();
    db
}

fn data_blocks(family: &ColumnFamily) -> u64 {
    let tickers = family.stats().tickers();
    tickers.get(Ticker::BlockCacheDataHit) + tickers.get(Ticker::BlockCacheDataMiss)
}

#[test]
fn absent_keys_touch_no_data_block_but_for_false_positives() {
    let db = many_files();
    let family = Database::open(db.path()).unwrap().default_column_family();
    let absent: Vec<Vec<u8>> = (0..FILES * KEYS).map(|n| key(2 * n + 1)).collect();
    for key in &absent {
        assert_eq!(family.get(key).unwrap(), None);
    }
    let one_by_one = family.stats();
    assert_eq!(one_by_one.lookups, absent.len() as u64);
    let tickers = one_by_one.tickers();
    let (useful, positive) =
        (tickers.get(Ticker::BloomFilterUseful), tickers.get(Ticker::BloomFilterFullPositive));
    assert_eq!(tickers.get(Ticker::BloomFilterFullTruePositive), 0);
    assert_eq!(data_blocks(&family), positive, "one block for each false positive");
    // Ribbon filters of 10 bits are wrong about one time in a hundred.
    assert!(positive * 50 < useful, "{positive} of {useful}");
    // Each file of level 0 was searched, and one file of each other level at most.
    let [zero, others @ ..] = &one_by_one.levels[..] else { panic!("no levels") };
    assert_eq!(zero.files.iter().map(|file| file.lookups).sum::<u64>(), useful_of(zero));
    for level in others {
        let asked: u64 = level.files.iter().map(|file| file.lookups).sum();
        assert!(asked <= level.lookups);
        assert_eq!(asked + level.out_of_range, level.lookups * level.files.len() as u64);
    }
    // A batch makes the same probes.
    let again = Database::open(db.path()).unwrap().default_column_family();
    assert!(again.get_many(&absent).unwrap().iter().all(Option::is_none));
    assert_eq!(again.stats().tickers().get(Ticker::BloomFilterUseful), useful);
    assert_eq!(data_blocks(&again), positive);
}

/// The first source that has the key answers, as in the engines, and no older one is searched.
#[test]
fn a_key_that_is_found_is_found_once() {
    for name in ["leveldb-bloom-snappy", "rocksdb-leveled-bloom"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/databases");
        let path = Path::new(folder).join(name);
        let family = Database::open(&path).unwrap().default_column_family();
        let mut in_tables = Vec::new();
        let mut last = Vec::new();
        for entry in family.entries().map(Result::unwrap) {
            if entry.key != last {
                last.clone_from(&entry.key);
                let is_value = entry.kind == Value;
                in_tables.extend(entry.file.filter(|_| is_value).map(|_| entry.key));
            }
        }
        assert!(family.levels().len() > 1 && !in_tables.is_empty(), "{name}");
        let again = Database::open(&path).unwrap().default_column_family();
        assert!(again.get_many(&in_tables).unwrap().iter().all(Option::is_some), "{name}");
        let found = again.stats().tickers().get(Ticker::BloomFilterFullTruePositive);
        assert_eq!(found, in_tables.len() as u64, "{name}, many at once");
        let family = Database::open(&path).unwrap().default_column_family();
        for key in &in_tables {
            assert!(family.get(key).unwrap().is_some(), "{name}");
        }
        let found = family.stats().tickers().get(Ticker::BloomFilterFullTruePositive);
        assert_eq!(found, in_tables.len() as u64, "{name}");
    }
}

fn useful_of(level: &sstkit_db::LevelStats) -> u64 {
    level.tickers.get(Ticker::BloomFilterUseful)
        + level.tickers.get(Ticker::BloomFilterFullPositive)
}

#[test]
fn a_prefix_that_no_file_has_reads_no_data() {
    let mut db = Maker::new();
    let filter = TableOptions::rocksdb().filter("bloomfilter:20".parse().unwrap());
    db.table_options(filter.prefix_extractor("fixed:4".parse().unwrap()));
    for file in 0..6u8 {
        let keys: Vec<Vec<u8>> =
            (0..50).map(|n| format!("p{:02}/{n:03}", n % 25 * 4).into_bytes()).collect();
        let mut keys: Vec<Vec<u8>> =
            keys.into_iter().chain([b"a".to_vec(), b"z".to_vec()]).collect();
        keys.sort();
        let items: Vec<Item<'_>> =
            keys.iter().map(|key| (&key[..], u64::from(file) + 1, Value, &b"v"[..])).collect();
        db.table(0, 100 + u64::from(file), &items);
    }
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    for prefix in ["p01/", "p02/", "p33/", "p99/"] {
        assert_eq!(family.prefix(prefix).count(), 0);
        assert_eq!(family.prefix(prefix).rev().count(), 0);
        let end = [prefix.as_bytes(), b"~"].concat();
        assert_eq!(family.range(prefix.as_bytes()..&end[..]).count(), 0);
    }
    assert_eq!(data_blocks(&family), 0);
    let tickers = family.stats().tickers();
    assert_eq!(tickers.get(Ticker::NonLastLevelSeekFiltered), 4 * 3 * 6);
    assert_eq!(family.prefix("p04/").count(), 2);
    assert!(data_blocks(&family) > 0);
}

/// With `optimize_filters_for_hits` no filter of the last level is probed: keys are expected there.
#[test]
fn filters_for_hits_leave_out_the_last_level() {
    let mut db = Maker::new();
    db.table_options(TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap()));
    for (level, number) in [(0, 13), (1, 12), (2, 11)] {
        let sequence = 3 - u64::from(level);
        db.table(level, number, &[(b"a", sequence, Value, b"v"), (b"z", sequence, Value, b"v")]);
    }
    db.finish();
    let options = "[Version]\n  rocksdb_version=11.9.0\n  options_file_version=1.1\n[DBOptions]\n\
                   [CFOptions \"default\"]\n  optimize_filters_for_hits=true\n\
                   [TableOptions/BlockBasedTable \"default\"]\n";
    let asked = |family: &ColumnFamily| -> Vec<u64> {
        assert_eq!(family.get(b"m").unwrap(), None);
        family.stats().levels.iter().map(useful_of).collect()
    };
    assert_eq!(asked(&Database::open(db.path()).unwrap().default_column_family()), [1, 1, 1]);
    std::fs::write(db.path().join("OPTIONS-000007"), options).unwrap();
    assert_eq!(asked(&Database::open(db.path()).unwrap().default_column_family()), [1, 1, 0]);
}

/// What a range deletion covers in older sources is passed over at once, from both ends.
#[test]
fn scans_do_not_walk_through_deleted_ranges() {
    let mut db = Maker::new();
    db.table_options(TableOptions::rocksdb().block_size(256));
    let keys: Vec<Vec<u8>> = (0..5000).map(key).collect();
    let items: Vec<Item<'_>> = keys.iter().map(|key| (&key[..], 1, Value, &key[..])).collect();
    db.table(2, 101, &items);
    // Most of it is deleted by a file of level 1, a part of the rest by the log; a new key is amid.
    let (from, to) = (key(100), key(4000));
    db.table(1, 102, &[(&from, 2, RangeDeletion, &to), (&key(2000), 3, Value, b"new")]);
    db.log(200, &[Batch::new().write(0, 0x0f, &[&to, &key(4900)]).at(4)]);
    db.finish();
    let expected: Vec<Vec<u8>> = (0..100).chain([2000]).chain(4900..5000).map(key).collect();
    for reverse in [false, true] {
        let family = Database::open(db.path()).unwrap().default_column_family();
        let key = |entry: sstkit_db::Result<(Vec<u8>, _)>| entry.unwrap().0;
        match reverse {
            false => assert!(family.iter().map(key).eq(expected.iter().cloned())),
            true => assert!(family.iter().rev().map(key).eq(expected.iter().rev().cloned())),
        }
        let all = family.levels()[1].files[0].open().unwrap().properties().num_data_blocks();
        assert!(data_blocks(&family) * 10 < all, "{} of {all} blocks", data_blocks(&family));
    }
}

/// A table that is closed for another one and opened again finds its blocks.
#[test]
#[cfg(unix)]
fn more_files_than_may_be_open_do_not_miss_for_ever() {
    let db = many_files();
    let cache = sstkit_table::BlockCache::new(64 << 20);
    let options = DatabaseOptions::default().max_open_files(3).block_cache(&cache);
    let family = Database::open_with(db.path(), &options).unwrap().default_column_family();
    let read_all = || {
        let keys = (0..FILES * KEYS).step_by(17).map(|n| key(2 * n));
        keys.filter(|key| family.get(key).unwrap().is_some()).count()
    };
    let misses = || family.stats().tickers().get(Ticker::BlockCacheDataMiss);
    let found = read_all();
    assert!(found > 400, "{found}");
    let (held, missed) = (cache.used_bytes(), misses());
    assert_eq!(read_all(), found);
    assert_eq!((cache.used_bytes(), misses()), (held, missed));

    // The same database opened once more, with the same cache.
    let family = Database::open_with(db.path(), &options).unwrap().default_column_family();
    assert!(family.get(&key(0)).unwrap().is_some());
    assert_eq!(family.stats().tickers().get(Ticker::BlockCacheDataMiss), 0);
    assert_eq!(cache.used_bytes(), held);
}

/// RocksDB's MultiGet counts all keys of a batch that a file may have, also those without a prefix;
/// its Get counts those that it probes the filter for.
#[test]
fn get_many_counts_a_prefix_check_for_each_key_as_multiget_does() {
    let checked = |lookup: fn(&ColumnFamily, &[&[u8]])| {
        let mut db = Maker::new();
        let filter = TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap());
        let options = filter.whole_key_filtering(false);
        db.table_options(options.prefix_extractor("fixed:3".parse().unwrap()));
        let items: Vec<Item<'_>> =
            [&b"aa"[..], b"bar1", b"foo1", b"zoo"].map(|key| (key, 7, Value, key)).into();
        db.table(1, 100, &items);
        db.finish();
        let family = Database::open(db.path()).unwrap().default_column_family();
        lookup(&family, &[b"ab", b"bar1", b"foo1", b"foo9"]);
        family.stats().tickers().get(Ticker::BloomFilterPrefixChecked)
    };
    let together = checked(|family, keys| {
        let found = family.get_many(keys).unwrap();
        assert_eq!(found.iter().filter(|value| value.is_some()).count(), 2);
    });
    let one_by_one = checked(|family, keys| {
        assert_eq!(keys.iter().filter(|key| family.get(key).unwrap().is_some()).count(), 2);
    });
    assert_eq!((together, one_by_one), (4, 3));
}
