//! What scans do to the block cache.

use std::sync::Arc;

use sstkit_table::{
    BlockCache, ScanOptions, Table, TableOptions, TableReadOptions, TableWriter, Ticker, Tickers,
};

use crate::counting_source::CountingSource;

const KEYS: u32 = 20_000;

fn key(number: u32) -> Vec<u8> {
    format!("user{number:06}").into_bytes()
}

/// A table of about 600 blocks, with a cache of its own.
fn table(cache_bytes: u64) -> (Table, Arc<Tickers>) {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb()).unwrap();
    (0..KEYS).for_each(|number| writer.put(&key(number), &[7; 100]).unwrap());
    writer.finish().unwrap();

    let tickers = Arc::new(Tickers::default());
    let cache = BlockCache::new(cache_bytes);
    let options = TableReadOptions::default().tickers(&tickers).block_cache(&cache);
    (Table::open_with(CountingSource::new(&bytes), &options).unwrap(), tickers)
}

/// Scans all of it, and says how many of its blocks were found in the cache and how many came there.
fn scan((table, tickers): &(Table, Arc<Tickers>), backward: bool, fill_cache: bool) -> (u64, u64) {
    let counts =
        || [Ticker::BlockCacheDataHit, Ticker::BlockCacheDataAdd].map(|it| tickers.get(it));
    let [hits, adds] = counts();
    let mut cursor = table.cursor_with(&ScanOptions::default().fill_cache(fill_cache));
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
fn where_there_is_room_all_is_kept() {
    for backward in [false, true] {
        let table = table(8 << 20);
        let (hits, adds) = scan(&table, backward, true);
        assert!(hits == 0 && adds > 500);
        assert_eq!(scan(&table, backward, true), (adds, 0));
    }
}

#[test]
fn what_is_not_to_be_kept_is_not() {
    let table = table(8 << 20);
    assert_eq!(scan(&table, false, false), (0, 0));
}

/// A long scan fills the room there is. After that what is there stays, and is found by the next
/// scan: if each block took the place of another one, none would ever be found.
#[test]
fn where_there_is_too_little_room_what_is_there_stays() {
    for backward in [false, true] {
        let table = table(512 << 10);
        let (_, adds) = scan(&table, backward, true);
        assert!((50..130).contains(&adds), "{adds}");
        for _ in 0..3 {
            let (hits, adds) = scan(&table, backward, true);
            assert!(hits >= 50, "{hits}");
            assert!(adds < 50, "{adds}");
        }
    }
}

/// Blocks that come by again soon take the place of what is not used.
#[test]
fn what_comes_by_again_is_kept() {
    let table = table(512 << 10);
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
    // About fifteen blocks each time. The first two come in as it is not yet seen to be long; hashes
    // decide whether what was remembered of one is driven out by another.
    let (first, second, third) = (adds(5000), adds(5000), adds(5000));
    assert!(first < 8, "{first}");
    assert!(second >= 5, "{second}");
    assert!(third < 9, "{third}");
}
