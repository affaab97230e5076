//! Keys that are looked up repeatedly take the fast path, from the cache slot of their block. The
//! results are the same.

use std::sync::Arc;

use bytes::Bytes;
use sstkit_filter::{FilterPolicy, HashedKey};
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{
    BlockCache, Table, TableOptions, TableReadOptions, TableWriter, Ticker, Tickers, Value,
};
use sstkit_testkit::goldens::{Model, golden_tables, open, options};

/// The number of rounds after which all structures of a cached block exist.
const ROUNDS: usize = 4;

fn check(table: &Table, model: &Model, keys: &[Vec<u8>]) {
    let entries: Vec<_> = keys.iter().map(|key| table.get_entries(key).unwrap()).collect();
    for round in 0..ROUNDS {
        for key in keys {
            let found = table.get(key).unwrap();
            assert_eq!(found.as_deref(), model.get(key), "round {round}, {key:?}");
        }
        for (key, entries) in keys.iter().zip(&entries) {
            assert_eq!(table.get_entries(key).unwrap(), *entries, "round {round}, {key:?}");
            // All entries, from one on.
            for wanted in 1..=2 {
                let mut seen = Vec::new();
                let visit = |entry: &InternalKey<'_>, value: Value| {
                    seen.push((entry.sequence, entry.kind, value));
                    seen.len() < wanted
                };
                assert_eq!(table.lookup(&HashedKey::new(key), visit).unwrap(), !entries.is_empty());
                let expected = entries.iter().take(wanted);
                assert!(expected.map(|it| (it.sequence, it.kind, it.value.clone())).eq(seen));
            }
        }
        let found = table.get_many(keys).unwrap();
        assert!(keys.iter().zip(&found).all(|(key, it)| it.as_deref() == model.get(key)));
    }
}

/// The keys of a table, and keys beside them.
fn keys(model: &Model) -> Vec<Vec<u8>> {
    let mut keys = [model.keys.clone(), model.absent_keys()].concat();
    for key in model.keys.iter().step_by(7) {
        keys.push([key.as_slice(), &[0]].concat());
        keys.push(key[..key.len() / 2].to_vec());
    }
    keys
}

#[test]
fn golden_tables_asked_again_and_again() {
    for golden in golden_tables() {
        let model = Model::of(&golden);
        let options = options().block_cache(&BlockCache::new(64 << 20));
        check(&open(&golden, &options), &model, &keys(&model));
    }
}

/// Blocks are evicted while they are looked up.
#[test]
fn the_same_with_a_cache_that_is_too_small() {
    for golden in golden_tables().into_iter().step_by(5) {
        let model = Model::of(&golden);
        let options = options().block_cache(&BlockCache::new(20_000));
        check(&open(&golden, &options), &model, &keys(&model));
    }
}

/// The results do not depend on whether the block stays in its slot.
#[test]
fn values_outlive_their_blocks() {
    for golden in golden_tables().into_iter().step_by(11) {
        let model = Model::of(&golden);
        let cache = BlockCache::new(64 << 20);
        let table = open(&golden, &options().block_cache(&cache));
        let mut values: Vec<Option<Value>> = Vec::new();
        for _ in 0..ROUNDS {
            values = model.keys.iter().map(|key| table.get(key).unwrap()).collect();
        }
        cache.clear();
        drop(table);
        let expected = model.keys.iter().map(|key| model.get(key));
        assert!(values.iter().map(Option::as_deref).eq(expected));
    }
}

/// On both paths, a lookup counts one data block and, if the key is found, one true positive of the
/// filter.
#[test]
fn each_lookup_counts_once() {
    let options = TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap());
    let keys: Vec<Vec<u8>> = (0..3000).map(|i| format!("user{i:06}").into_bytes()).collect();
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    keys.iter().for_each(|key| writer.put(key, &[7; 100]).unwrap());
    writer.finish().unwrap();

    let tickers = Arc::new(Tickers::default());
    let options = TableReadOptions::default().tickers(&tickers);
    let table = Table::from_source(Bytes::from(bytes), &options).unwrap();
    let accesses =
        || [Ticker::BlockCacheDataHit, Ticker::BlockCacheDataMiss].map(|it| tickers.get(it));
    for round in 1..=ROUNDS as u64 {
        let before: u64 = accesses().iter().sum();
        keys.iter().for_each(|key| assert!(table.get(key).unwrap().is_some()));
        let between: u64 = accesses().iter().sum();
        // One by one, each lookup reads its block.
        assert_eq!(between - before, 3000, "round {round}");
        assert_eq!(tickers.get(Ticker::BloomFilterFullTruePositive), round * 6000 - 3000);
        assert_eq!(tickers.get(Ticker::BloomFilterFullPositive), round * 6000 - 3000);

        assert!(table.get_many(&keys).unwrap().iter().all(Option::is_some));
        let together = accesses().iter().sum::<u64>() - between;
        let [_, blocks] = accesses();
        // In a batch: once per block on the slow path, once per key on the fast path, which all of
        // them take in one round.
        assert!(together == blocks || together == 3000, "{together} in round {round}");
        assert_eq!(tickers.get(Ticker::BloomFilterFullTruePositive), round * 6000);
        assert_eq!(tickers.get(Ticker::BloomFilterFullPositive), round * 6000);
        assert_eq!(blocks, tickers.get(Ticker::BlockCacheDataAdd));
    }
}

/// Writes a table of internal entries.
fn table_of(options: &TableOptions, entries: &[(InternalKey<'_>, &[u8])]) -> Bytes {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, options).unwrap();
    entries.iter().for_each(|(key, value)| writer.add(key, value).unwrap());
    writer.finish().unwrap();
    Bytes::from(bytes)
}

/// A value covered by a range tombstone is not visible, however often it is looked up.
#[test]
fn values_under_range_deletions() {
    let keys: Vec<Vec<u8>> = (0..1000).map(|i| format!("user{i:06}").into_bytes()).collect();
    let mut entries: Vec<(InternalKey<'_>, &[u8])> = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        let sequence = if i % 3 == 0 { 9 } else { 1 };
        entries.push((InternalKey { user_key: key, sequence, kind: EntryKind::Value }, b"value"));
    }
    let kind = EntryKind::RangeDeletion;
    entries.push((InternalKey { user_key: &keys[100], sequence: 5, kind }, &keys[900]));
    let table = table_of(&TableOptions::rocksdb().external_file(false), &entries);
    let table = Table::from_source(table, &TableReadOptions::default()).unwrap();
    for round in 0..ROUNDS {
        let many = table.get_many(&keys).unwrap();
        for (i, key) in keys.iter().enumerate() {
            let expected = (i % 3 == 0 || !(100..900).contains(&i)).then_some(&b"value"[..]);
            assert_eq!(table.get(key).unwrap().as_deref(), expected, "round {round}, key {i}");
            assert_eq!(many[i].as_deref(), expected, "round {round}, key {i}");
        }
    }
}

/// A global sequence number applies on both paths.
#[test]
fn one_sequence_number_for_all() {
    let keys: Vec<Vec<u8>> = (0..1000).map(|i| format!("user{i:06}").into_bytes()).collect();
    let value = |key| (InternalKey { user_key: key, sequence: 0, kind: EntryKind::Value }, key);
    let entries: Vec<_> = keys.iter().map(|key| value(key.as_slice())).collect();
    let table = table_of(&TableOptions::rocksdb(), &entries);
    let options = TableReadOptions::default().global_sequence_number(77);
    let table = Table::from_source(table, &options).unwrap();
    for round in 0..ROUNDS {
        for key in &keys {
            let mut seen = None;
            let visit = |entry: &InternalKey<'_>, _| {
                seen = Some(entry.sequence);
                false
            };
            assert!(table.lookup(&HashedKey::new(key), visit).unwrap());
            assert_eq!(seen, Some(77), "round {round}");
        }
    }
}

/// A filter block is probed for the data block of the key, each time.
#[test]
fn filter_blocks_are_probed_each_time() {
    let options = TableOptions::leveldb().filter(FilterPolicy::LevelDb { bits_per_key: 10 });
    let keys: Vec<Vec<u8>> = (0..2000).map(|i| format!("user{i:06}").into_bytes()).collect();
    let value = |key| (InternalKey { user_key: key, sequence: 1, kind: EntryKind::Value }, key);
    let entries: Vec<_> = keys.iter().step_by(2).map(|key| value(key.as_slice())).collect();
    let tickers = Arc::new(Tickers::default());
    let options_to_read = TableReadOptions::default().tickers(&tickers);
    let table = Table::from_source(table_of(&options, &entries), &options_to_read).unwrap();
    let answers = || {
        let kinds = [Ticker::BloomFilterUseful, Ticker::BloomFilterFullPositive];
        kinds.map(|ticker| tickers.get(ticker))
    };
    keys.iter().for_each(|key| drop(table.get(key).unwrap()));
    let [useful, positive] = answers();
    assert!(useful > 900 && positive >= 1000);
    for round in 2..=ROUNDS as u64 {
        keys.iter().for_each(|key| drop(table.get(key).unwrap()));
        assert_eq!(answers(), [round * useful, round * positive]);
    }
}
