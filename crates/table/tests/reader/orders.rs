//! User-made orders and filters: a filter knows bytes and the bytewise order, and must not be probed
//! where the order does not go by them.

use std::cmp::Ordering;
use std::sync::Arc;

use sstkit_filter::{FilterPolicy, PrefixExtractor};
use sstkit_table::raw::{EntryKind, IndexKind, InternalKey};
use sstkit_table::{
    Comparator, KeyOrder, PrefixMode, ReadOptions, Table, TableOptions, TableReadOptions,
    TableWriter, Ticker, Tickers,
};
use sstkit_testkit::orders::IgnoreCase;

use crate::counting_source::CountingSource;
use crate::table_maker::{Stored, TableMaker, internal};

/// By the last byte, then by bytes: the keys of a prefix are everywhere.
#[derive(Debug)]
struct ByLastByte;

impl KeyOrder for ByLastByte {
    fn name(&self) -> &str {
        "example.ByLastByte"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.last().cmp(&b.last()).then_with(|| a.cmp(b))
    }
}

fn ignore_case(exact: bool) -> Comparator {
    Comparator::User(Arc::new(IgnoreCase { exact }))
}

fn filtered(order: &Comparator, partitioned: bool) -> TableOptions {
    let options = TableOptions::rocksdb()
        .comparator(order.clone())
        .filter("bloomfilter:20:false".parse::<FilterPolicy>().unwrap())
        .prefix_extractor(PrefixExtractor::Fixed(2))
        .metadata_block_size(256)
        .block_size(256);
    match partitioned {
        true => options.index_kind(IndexKind::TwoLevel).partition_filters(true),
        false => options,
    }
}

fn write(options: &TableOptions, keys: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, options).unwrap();
    keys.iter().for_each(|key| writer.put(key, key).unwrap());
    writer.finish().unwrap();
    bytes
}

/// Keys of a hundred prefixes, in this order.
fn sorted_keys(order: &Comparator) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> =
        (0..2000u32).map(|i| format!("{:02}/{i}", i * 37 % 100).into_bytes()).collect();
    keys.sort_by(|a, b| order.compare(a, b));
    keys
}

#[test]
fn prefixes_are_found_in_any_order() {
    let orders =
        [Comparator::Bytewise, Comparator::ReverseBytewise, Comparator::User(Arc::new(ByLastByte))];
    for order in orders {
        let keys = sorted_keys(&order);
        for partitioned in [false, true] {
            let bytes = write(&filtered(&order, partitioned), &keys);
            let options = TableReadOptions::default().comparator(order.clone());
            let table = Table::from_source(bytes, &options).unwrap();
            for prefix in (0..100).map(|i| format!("{i:02}").into_bytes()) {
                let expected: Vec<_> = keys.iter().filter(|key| key.starts_with(&prefix)).collect();
                let found: Vec<_> = table.prefix(&prefix).map(|entry| entry.unwrap().0).collect();
                assert!(found.iter().eq(expected), "{order} {partitioned}");
                assert!(table.filter().unwrap().may_contain_prefix(&prefix).unwrap(), "{order}");
            }
        }
    }
}

/// Cursors show what iterators do, whatever order the options were first used in.
#[test]
fn a_cursor_shows_only_keys_with_the_prefix_in_any_order() {
    let by_last_byte = Comparator::User(Arc::new(ByLastByte));
    let orders =
        [Comparator::Bytewise, Comparator::ReverseBytewise, by_last_byte, ignore_case(true)];
    for order in &orders {
        let keys = sorted_keys(order);
        let bytes = write(&filtered(order, false), &keys);
        let options = TableReadOptions::default().comparator(order.clone());
        let table = Table::from_source(bytes, &options).unwrap();
        for prefix in [&b"17/"[..], b"1", b"", b"99/1999", b"absent"] {
            let expected: Vec<_> = keys.iter().filter(|key| key.starts_with(prefix)).collect();
            for given in orders.iter().map(Some).chain([None]) {
                let scan = ReadOptions::default().prefix(prefix).in_order(given);
                let mut cursor = table.cursor_with(&scan);
                let mut found = Vec::new();
                let mut more = cursor.seek_to_first().unwrap();
                while more {
                    found.push(cursor.key().to_vec());
                    more = cursor.next().unwrap();
                }
                assert!(found.iter().eq(expected.iter().copied()), "{order}, for {given:?}");
                let mut more = cursor.seek_to_last().unwrap();
                while more {
                    assert_eq!(found.pop().as_deref(), Some(cursor.key()), "{order}");
                    more = cursor.prev().unwrap();
                }
                assert!(found.is_empty(), "{order}, for {given:?}");
                for key in keys.iter().step_by(111) {
                    let next = expected.iter().find(|it| order.compare(it, key).is_ge());
                    assert_eq!(cursor.seek(key).unwrap(), next.is_some());
                    assert_eq!(cursor.key(), next.map_or(&[][..], |it| it));
                    let before = expected.iter().rfind(|it| order.compare(it, key).is_le());
                    assert_eq!(cursor.seek_for_prev(key).unwrap(), before.is_some());
                    assert_eq!(cursor.key(), before.map_or(&[][..], |it| it));
                }
            }
            let in_order = |key: &&Vec<u8>| order.compare(key, b"17/").is_lt();
            let expected = expected.into_iter().filter(in_order);
            let part = ReadOptions::default().prefix(prefix).range(..b"17/");
            let other = ReadOptions::default().prefix("5").range(..b"17/").prefix(prefix);
            for scan in [part, other] {
                let keys = table.iter_with(&scan).map(|entry| entry.unwrap().0);
                assert!(keys.eq(expected.clone().cloned()), "{order}, {scan:?}");
            }
            let all = ReadOptions::default().prefix("5").range(..).prefix(prefix).range(..);
            assert_eq!(table.iter_with(&all).count(), table.prefix(prefix).count(), "{order}");
        }
    }
}

/// Of several spellings of a key that of the newest entry counts, from both ends.
#[test]
fn a_key_is_spelled_as_its_newest_entry_from_both_ends() {
    let put =
        |key: &[u8], sequence| -> Stored { (internal(key, sequence, EntryKind::Value), vec![]) };
    let block = vec![put(b"a", 1), put(b"KEY", 5), put(b"key", 3), put(b"z", 1)];
    let bytes = TableMaker::new(vec![block]).comparator("test.IgnoreCase").rocksdb();
    let options = TableReadOptions::default().comparator(ignore_case(false));
    let table = Table::from_source(bytes, &options).unwrap();
    let keys = |iter: &mut dyn Iterator<Item = sstkit_table::Result<(Vec<u8>, _)>>| {
        iter.map(|entry| entry.unwrap().0).collect::<Vec<Vec<u8>>>()
    };
    assert_eq!(keys(&mut table.iter()), [&b"a"[..], b"KEY", b"z"]);
    assert_eq!(keys(&mut table.iter().rev()), [&b"z"[..], b"KEY", b"a"]);
    assert_eq!(keys(&mut table.prefix(b"K")), [b"KEY"]);
    assert_eq!(keys(&mut table.prefix(b"K").rev()), [b"KEY"]);
    assert_eq!(table.prefix(b"k").count() + table.prefix(b"k").rev().count(), 0);
}

/// Between two keys of one prefix there may be keys of any other.
#[test]
fn seeks_in_a_custom_order_probe_no_filter() {
    let order = Comparator::User(Arc::new(ByLastByte));
    let keys = sorted_keys(&order);
    for partitioned in [false, true] {
        let tickers = Arc::new(Tickers::default());
        let bytes = write(&filtered(&order, partitioned), &keys);
        let options = TableReadOptions::default().comparator(order.clone()).tickers(&tickers);
        let table = Table::from_source(bytes, &options).unwrap();
        let found: Vec<_> = table
            .range(b"xx0".as_slice()..b"xx5".as_slice())
            .map(|entry| entry.unwrap().0)
            .collect();
        let inside = |key: &&Vec<u8>| {
            order.compare(key, b"xx0").is_ge() && order.compare(key, b"xx5").is_lt()
        };
        let expected: Vec<_> = keys.iter().filter(inside).cloned().collect();
        assert!(expected.len() > 500);
        assert_eq!(found, expected);
        let same = ReadOptions::default().prefix_mode(PrefixMode::SamePrefix);
        for key in &keys {
            assert!(table.cursor_with(&same).seek(key).unwrap());
        }
        for ticker in [Ticker::NonLastLevelSeekFiltered, Ticker::NonLastLevelSeekFilterMatch] {
            assert_eq!(tickers.get(ticker), 0);
        }
    }
}

/// Equal keys of other bytes have other hashes.
#[test]
fn equal_keys_of_other_bytes_are_found() {
    let keys: Vec<Vec<u8>> = (0..500).map(|i| format!("key{i:04}").into_bytes()).collect();
    let upper: Vec<Vec<u8>> = keys.iter().map(|key| key.to_ascii_uppercase()).collect();
    for (partitioned, whole) in [(false, true), (true, true), (false, false), (true, false)] {
        let options = filtered(&ignore_case(true), partitioned).whole_key_filtering(whole);
        let options = options.data_block_hash_index(true);
        let tickers = Arc::new(Tickers::default());
        let read = TableReadOptions::default().comparator(ignore_case(false)).tickers(&tickers);
        let table = Table::from_source(write(&options, &keys), &read).unwrap();
        let filter = table.filter().unwrap();
        for (key, upper) in keys.iter().zip(&upper) {
            assert_eq!(table.get(upper).unwrap().as_deref(), Some(key.as_slice()));
            assert_eq!(table.get_entries(upper).unwrap().len(), 1);
            assert!(filter.may_contain(upper).unwrap());
        }
        let found = table.get_many(&upper).unwrap();
        assert!(found.iter().map(|value| value.as_deref().unwrap()).eq(&keys));
        assert_eq!(tickers.get(Ticker::BloomFilterFullPositive), 0);
        assert_eq!(tickers.get(Ticker::BloomFilterPrefixChecked), 0);
    }
}

#[test]
fn both_ends_meet_at_equal_keys_of_other_bytes() {
    let put =
        |key: &[u8], sequence| -> Stored { (internal(key, sequence, EntryKind::Value), vec![]) };
    let block = vec![put(b"a", 1), put(b"KEY", 5), put(b"key", 3), put(b"z", 1)];
    let bytes = TableMaker::new(vec![block]).comparator("test.IgnoreCase").rocksdb();
    let options = TableReadOptions::default().comparator(ignore_case(false));
    let mut iter = Table::from_source(bytes, &options).unwrap().iter();
    assert_eq!(iter.next().unwrap().unwrap().0, b"a");
    assert_eq!(iter.next().unwrap().unwrap().0, b"KEY");
    assert_eq!(iter.next_back().unwrap().unwrap().0, b"z");
    assert!(iter.next_back().is_none());
}

/// One key in many data blocks is one question, as far as counting goes.
#[test]
fn a_filter_block_counts_once_a_lookup() {
    let options =
        TableOptions::leveldb().filter(FilterPolicy::LevelDb { bits_per_key: 10 }).block_size(64);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for sequence in (1..40).rev() {
        let key = InternalKey { user_key: b"key", sequence, kind: EntryKind::Value };
        writer.add(&key, &[b'v'; 50]).unwrap();
    }
    writer.finish().unwrap();
    let tickers = Arc::new(Tickers::default());
    let table = Table::from_source(bytes, &TableReadOptions::default().tickers(&tickers)).unwrap();
    assert_eq!(table.get_entries(b"key").unwrap().len(), 39);
    assert_eq!(tickers.get(Ticker::BloomFilterFullPositive), 1);
    assert_eq!(tickers.get(Ticker::BloomFilterFullTruePositive), 1);
    assert_eq!(tickers.get(Ticker::BloomFilterUseful), 0);
    assert_eq!(table.get(b"abc").unwrap(), None);
    assert_eq!(tickers.get(Ticker::BloomFilterUseful), 1);
}

/// Whatever the order in which the keys are given, no block is read twice.
#[test]
fn a_batch_reads_each_partition_once() {
    let order = Comparator::Bytewise;
    let keys = sorted_keys(&order);
    let bytes = write(&filtered(&order, true), &keys);
    let source = Arc::new(CountingSource::new(&bytes));
    let options = TableReadOptions::default().no_block_cache();
    let table = Table::from_source(Arc::clone(&source), &options).unwrap();
    let blocks = table.layout().unwrap().blocks.len() as u64;
    let mut asked = keys.clone();
    asked.sort_by_key(|key| key.iter().rev().copied().collect::<Vec<u8>>());
    let before = source.reads();
    let found = table.get_many(&asked).unwrap();
    assert!(found.iter().map(|value| value.as_deref().unwrap()).eq(&asked));
    let reads = source.reads() - before;
    assert!(reads <= blocks, "{reads} reads of {blocks} blocks");
}
