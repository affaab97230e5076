//! What scans do to the block cache.

use std::sync::Arc;

use bytes::Bytes;
use sstkit_table::raw::Codec;
use sstkit_table::{
    BlockCache, ReadOptions, Source, Table, TableOptions, TableReadOptions, TableWriter, Ticker,
    Tickers,
};

use crate::counting_source::CountingSource;

const KEYS: u32 = 20_000;

fn key(number: u32) -> Vec<u8> {
    format!("user{number:06}").into_bytes()
}

/// A table of about 600 blocks, with a cache of its own. What is `lent` is in memory.
fn table(cache_bytes: u64, codec: Codec, lent: bool) -> (Table, Arc<Tickers>) {
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb().compression(codec);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    (0..KEYS).for_each(|number| writer.put(&key(number), &[7; 100]).unwrap());
    writer.finish().unwrap();

    let source: Box<dyn Source> = match lent {
        true => Box::new(Bytes::from(bytes)),
        false => Box::new(CountingSource::new(&bytes)),
    };
    let tickers = Arc::new(Tickers::default());
    let cache = BlockCache::new(cache_bytes);
    let options = TableReadOptions::default().tickers(&tickers).block_cache(&cache);
    (Table::from_source(source, &options).unwrap(), tickers)
}

/// Each way in which a scan may get its blocks: direction, how they are stored, and where.
fn ways() -> impl Iterator<Item = (bool, Codec, bool)> {
    (0..8).map(|way| {
        let codec = if way & 2 == 0 { Codec::None } else { Codec::Lz4 };
        (way & 1 == 0, codec, way & 4 == 0)
    })
}

/// Scans all of it, and says how many of its blocks were found in the cache and how many came there.
fn scan((table, tickers): &(Table, Arc<Tickers>), backward: bool, fill_cache: bool) -> (u64, u64) {
    let counts =
        || [Ticker::BlockCacheDataHit, Ticker::BlockCacheDataAdd].map(|it| tickers.get(it));
    let [hits, adds] = counts();
    let mut cursor = table.cursor_with(&ReadOptions::default().fill_cache(fill_cache));
    let mut more = if backward { cursor.seek_to_last() } else { cursor.seek_to_first() }.unwrap();
    let mut numbers: Vec<_> = (0..KEYS).collect();
    if backward {
        numbers.reverse();
    }
    for number in numbers {
        assert!(more);
        assert_eq!(cursor.key(), key(number));
        assert_eq!(*cursor.value_bytes().unwrap(), [7; 100]);
        more = if backward { cursor.prev() } else { cursor.next() }.unwrap();
    }
    assert!(!more);
    let [hits_after, adds_after] = counts();
    (hits_after - hits, adds_after - adds)
}

#[test]
fn everything_is_kept_while_there_is_room() {
    for (backward, codec, lent) in ways() {
        let table = table(8 << 20, codec, lent);
        let (hits, adds) = scan(&table, backward, true);
        assert!(hits == 0 && adds > 500);
        assert_eq!(scan(&table, backward, true), (adds, 0));
    }
}

#[test]
fn blocks_that_are_not_to_be_cached_are_not() {
    for (backward, codec, lent) in ways() {
        let table = table(8 << 20, codec, lent);
        assert_eq!(scan(&table, backward, false), (0, 0));
    }
}

/// A long scan fills the room there is. After that what is there stays, and is found by the next
/// scan: if each block took the place of another one, none would ever be found.
#[test]
fn cached_blocks_stay_if_there_is_too_little_room() {
    let (mut first, mut found, mut more) = (0, 0, 0);
    for (backward, codec, lent) in ways() {
        let table = table(512 << 10, codec, lent);
        first += scan(&table, backward, true).1;
        for _ in 0..3 {
            let (hits, adds) = scan(&table, backward, true);
            found += hits;
            more += adds;
        }
    }
    // The seed of each cache's hash is random, and no single one is to decide: on average over all.
    let (caches, scans) = (8, 8 * 3);
    assert!((50 * caches..130 * caches).contains(&first), "{first}");
    assert!(found >= 50 * scans, "{found}");
    assert!(more < 50 * scans, "{more}");
}

/// Blocks that are read again soon replace those that are not used.
#[test]
fn blocks_that_are_read_again_are_kept() {
    let mut sums = [0; 3];
    for (_, codec, lent) in ways() {
        let table = table(512 << 10, codec, lent);
        scan(&table, false, true);
        let (table, tickers) = &table;
        let adds = |from: u32| {
            let before = tickers.get(Ticker::BlockCacheDataAdd);
            let mut cursor = table.cursor();
            let mut more = cursor.seek(&key(from)).unwrap();
            for _ in 0..500 {
                assert!(more);
                more = cursor.next().unwrap();
            }
            tickers.get(Ticker::BlockCacheDataAdd) - before
        };
        sums.iter_mut().for_each(|sum| *sum += adds(5000));
    }
    // About fifteen blocks each time. The first two come in as it is not yet seen to be long; hashes,
    // whose seeds are random, decide whether the ghost of one is evicted by another: on average over
    // eight caches.
    let [first, second, third] = sums;
    assert!(first < 8 * 8, "{first}");
    assert!(second >= 8 * 5, "{second}");
    assert!(third < 8 * 9, "{third}");
}

/// Cache hits do not end the run of reads that makes a scan a long one.
#[test]
fn existing_entries_do_not_shorten_it() {
    let (mut found, mut more) = (0, 0);
    for (backward, codec, lent) in ways() {
        let table = table(512 << 10, codec, lent);
        // All over the table, some blocks in a row: nearly as much as there is room for.
        for number in (0..KEYS).step_by(35).filter(|number| number % 1000 < 150) {
            table.0.get(&key(number)).unwrap().unwrap();
        }
        let (hits, adds) = scan(&table, backward, true);
        found += hits;
        more += adds;
    }
    // On average over eight caches: the seeds of their hashes are random.
    assert!(found > 8 * 80, "{found}");
    assert!(more < 8 * 40, "{more}");
}

/// Blocks leave their memory to others, but not while a value in it is held.
#[test]
fn held_values_do_not_change() {
    let (mut bytes, options) = (Vec::new(), TableOptions::rocksdb().compression(Codec::None));
    let value = |number: u32| vec![number as u8; 600 + number as usize % 7];
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    (0..2000).for_each(|number| writer.put(&key(number), &value(number)).unwrap());
    writer.finish().unwrap();

    let options = TableReadOptions::default().block_cache(&BlockCache::new(64 << 10));
    let table = Table::from_source(CountingSource::new(&bytes), &options).unwrap();
    let mut held = Vec::new();
    let mut cursor = table.cursor();
    assert!(cursor.seek(&key(1000)).unwrap());
    for number in (0..2000).map(|i| i * 37 % 2000) {
        let found = table.get(&key(number)).unwrap().unwrap();
        assert_eq!(*found, value(number));
        if number % 10 == 0 {
            held.push((number, found));
        }
    }
    assert_eq!(*cursor.value_bytes().unwrap(), value(1000));
    assert!(held.iter().all(|(number, found)| **found == value(*number)));
}
