//! Each option of a read changes what it should, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use sstkit_filter::PrefixExtractor;
use sstkit_table::raw::{BlockKind, Codec, EntryKind, InternalKey};
use sstkit_table::visibility::Recency;
use sstkit_table::{
    BlockCache, Comparator, ErrorKind, MergedTables, PrefixMode, ReadOptions, Table, TableOptions,
    TableReadOptions, TableWriter, Ticker, Tickers,
};
use sstkit_testkit::goldens::{Model, golden_tables, open, options};

use crate::counting_source::CountingSource;

/// Options that concern how something is read, not what.
fn ways() -> [ReadOptions; 6] {
    let default = ReadOptions::default;
    [
        default(),
        default().use_filters(false),
        default().fill_cache(false).pin_data(true),
        default().verify_checksums(false),
        default().readahead_size(100_000),
        default().prefix_mode(PrefixMode::TotalOrder).fill_cache(false).use_filters(false),
    ]
}

#[test]
fn every_way_of_reading_shows_the_same() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let model = Model::of(&golden);
        let mut keys = model.absent_keys();
        keys.extend(model.keys.iter().cloned());
        let keys: Vec<_> = keys.into_iter().step_by(3).collect();
        for way in ways() {
            let table = open(&golden, &options());
            for (key, value) in keys.iter().zip(table.get_many_with(&keys, &way).unwrap()) {
                assert_eq!(value.as_deref(), model.get(key), "{name}: {way:?}");
                let alone = table.get_with(key, &way).unwrap();
                assert_eq!(alone.as_deref(), model.get(key), "{name}: {way:?}");
                let record = table.get_record_with(key, &way).unwrap();
                let value = record.and_then(|record| record.value.value());
                assert_eq!(value.as_deref(), model.get(key), "{name}: {way:?}");
            }
            let pairs = |pair: Result<(Vec<u8>, sstkit_table::Value), _>| {
                pair.map(|(key, value)| (key, value.to_vec())).unwrap()
            };
            assert!(table.iter_with(&way).map(pairs).eq(model.visible.iter().cloned()), "{name}");
            let backward = model.visible.iter().rev().cloned();
            assert!(table.iter_with(&way).rev().map(pairs).eq(backward), "{name}: {way:?}");
        }
    }
}

/// Key `number`, with a prefix that four keys share.
fn key(number: u32) -> Vec<u8> {
    format!("{:05}/{}", number / 4, number % 4).into_bytes()
}

fn write(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb()
        .compression(Codec::None)
        .filter("bloomfilter:10".parse().unwrap())
        .prefix_extractor(PrefixExtractor::Fixed(6));
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    numbers.for_each(|number| writer.put(&key(number), &[b'v'; 100]).unwrap());
    writer.finish().unwrap();
    bytes
}

fn opened(cache: &BlockCache) -> (Table, Arc<Tickers>) {
    let tickers = Arc::new(Tickers::default());
    let options = TableReadOptions::default().tickers(&tickers).block_cache(cache);
    (Table::from_source(write((0..4000).step_by(2)), &options).unwrap(), tickers)
}

#[test]
fn fill_cache() {
    let cache = BlockCache::new(10 << 20);
    let (table, tickers) = opened(&cache);
    let leave = ReadOptions::default().fill_cache(false);
    for _ in 0..2 {
        assert!(table.get_with(&key(100), &leave).unwrap().is_some());
        assert_eq!(table.get_many_with(&[key(200), key(300)], &leave).unwrap().len(), 2);
    }
    assert_eq!(cache.len(), 0);
    assert_eq!(tickers.get(Ticker::BlockCacheDataMiss), 6);
    assert!(table.get(&key(100)).unwrap().is_some());
    assert_eq!((cache.len(), tickers.get(Ticker::BlockCacheDataMiss)), (1, 7));
    // What is there is used.
    assert!(table.get_with(&key(100), &leave).unwrap().is_some());
    assert_eq!((cache.len(), tickers.get(Ticker::BlockCacheDataMiss)), (1, 7));
}

#[test]
fn use_filters() {
    let (table, tickers) = opened(&BlockCache::new(10 << 20));
    let filters = [
        Ticker::BloomFilterUseful,
        Ticker::BloomFilterFullPositive,
        Ticker::BloomFilterFullTruePositive,
        Ticker::BloomFilterPrefixChecked,
    ];
    let counts = || filters.map(|ticker| tickers.get(ticker));
    let without = ReadOptions::default().use_filters(false);
    for number in 0..400 {
        let found = table.get_with(&key(number), &without).unwrap();
        assert_eq!(found.is_some(), number % 2 == 0);
    }
    let keys: Vec<_> = (0..400).map(key).collect();
    let found = table.get_many_with(&keys, &without).unwrap();
    assert!((0..).zip(found).all(|(number, value)| value.is_some() == (number % 2 == 0)));
    assert_eq!(counts(), [0; 4]);
    assert!(tickers.get(Ticker::BlockCacheDataHit) > 350, "absent keys were searched, too");
    for number in 0..400 {
        assert_eq!(table.get(&key(number)).unwrap().is_some(), number % 2 == 0);
    }
    let [useful, positive, true_positive, _] = counts();
    assert!(useful > 190 && positive >= 200 && true_positive == 200, "{:?}", counts());
}

#[test]
fn verify_checksums() {
    let mut bytes = write((0..4000).step_by(2));
    let blocks = Table::from_bytes(bytes.clone()).unwrap().block_handles().unwrap();
    let (_, second) = *blocks.iter().filter(|(kind, _)| *kind == BlockKind::Data).nth(1).unwrap();
    let at = second.offset as usize + 40;
    let value = bytes[at..].iter().position(|&byte| byte == b'v').unwrap();
    bytes[at + value] = b'X';

    let open = |options: &TableReadOptions| Table::from_source(bytes.clone(), options).unwrap();
    let table = open(&TableReadOptions::default().no_block_cache());
    let values = |table: &Table, options: &ReadOptions| -> Result<usize, sstkit_table::Error> {
        let pairs: Vec<_> = table.iter_with(options).collect::<Result<_, _>>()?;
        let mut damaged = 0;
        for (key, value) in pairs {
            let found = table.get_with(&key, options)?;
            assert_eq!(found.as_ref(), Some(&value));
            assert_eq!(table.get_many_with(&[&key], options)?, [found]);
            damaged += usize::from(value.contains(&b'X'));
        }
        Ok(damaged)
    };
    let unverified = ReadOptions::default().verify_checksums(false);
    assert_eq!(values(&table, &ReadOptions::default()).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(values(&table, &unverified).unwrap(), 1);
    // A table that is opened without verification stays so.
    let table = open(&TableReadOptions::default().verify_checksums(false));
    assert_eq!(values(&table, &ReadOptions::default()).unwrap(), 1);
}

#[test]
fn readahead_size() {
    let bytes = write(0..40_000);
    let reads = |options: &ReadOptions, backward: bool| {
        let source = Arc::new(CountingSource::new(&bytes));
        let table = Table::from_source(Arc::clone(&source), &TableReadOptions::default()).unwrap();
        let before = source.reads();
        let keys = match backward {
            false => table.iter_with(options).count(),
            true => table.iter_with(options).rev().count(),
        };
        assert_eq!(keys, 40_000);
        source.reads() - before
    };
    let (grown, fixed) = (ReadOptions::default(), ReadOptions::default().readahead_size(1 << 20));
    for backward in [false, true] {
        assert!(reads(&grown, backward) >= 18, "{}", reads(&grown, backward));
        assert!(reads(&fixed, backward) <= 7, "{}", reads(&fixed, backward));
    }
}

#[test]
fn pin_data() {
    let (table, _) = opened(&BlockCache::new(10 << 20));
    // The second use of a cached block makes its fences.
    for _ in 0..4 {
        table.get(&key(0)).unwrap();
    }
    let get = |options: &ReadOptions| table.get_with(&key(0), options).unwrap().unwrap();
    let many = |options: &ReadOptions| table.get_many_with(&[key(0)], options).unwrap().remove(0);
    let (copied, pinned) = (ReadOptions::default(), ReadOptions::default().pin_data(true));
    let (a, b) = (get(&copied), get(&copied));
    assert_ne!(a.as_ptr(), b.as_ptr(), "short values are copied");
    let (a, b, c) = (get(&pinned), get(&pinned), many(&pinned).unwrap());
    assert_eq!((a.as_ptr(), b.as_ptr()), (b.as_ptr(), c.as_ptr()));
}

#[test]
fn every_sequence_number() {
    // Versions of 20 keys, the newest first, as stored.
    let mut versions: Vec<(Vec<u8>, u64, EntryKind)> = Vec::new();
    for sequence in 1..=200u64 {
        let kind = if sequence % 7 == 0 { EntryKind::Deletion } else { EntryKind::Value };
        versions.push((format!("key{:02}", sequence * 13 % 20).into_bytes(), sequence, kind));
    }
    let mut stored = versions.clone();
    stored.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb().external_file(false).block_size(100);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for (user_key, sequence, kind) in &stored {
        let key = InternalKey { user_key, sequence: *sequence, kind: *kind };
        writer.add(&key, sequence.to_string().as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let table = Table::from_bytes(bytes).unwrap();
    let keys: Vec<_> = (0..21).map(|number| format!("key{number:02}")).collect();
    for sequence in 0..=201 {
        let mut model = BTreeMap::new();
        for (key, at, kind) in versions.iter().filter(|(_, at, _)| *at <= sequence) {
            match kind {
                EntryKind::Value => model.insert(key.clone(), at.to_string().into_bytes()),
                _ => model.remove(key),
            };
        }
        let options = ReadOptions::default().sequence(sequence);
        for _ in 0..3 {
            let many = table.get_many_with(&keys, &options).unwrap();
            for (key, found) in keys.iter().zip(many) {
                let expected = model.get(key.as_bytes()).map(Vec::as_slice);
                assert_eq!(found.as_deref(), expected, "{key} at {sequence}");
                let alone = table.get_with(key.as_bytes(), &options).unwrap();
                assert_eq!(alone.as_deref(), expected, "{key} at {sequence}");
            }
        }
        let visible = table.iter_with(&options).map(Result::unwrap);
        assert!(visible.map(|(key, value)| (key, value.to_vec())).eq(model));
    }
}

#[test]
fn timestamps_have_the_size_of_the_comparator() {
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb().comparator(Comparator::BytewiseWithTimestamp);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for time in [9u64, 5] {
        writer.put_at(b"key", &time.to_le_bytes(), &[time as u8]).unwrap();
    }
    writer.finish().unwrap();
    let with = Table::from_bytes(bytes).unwrap();
    let at = |time: u64| ReadOptions::default().timestamp(&time.to_le_bytes());
    let get = |time| with.get_with(b"key", &at(time)).unwrap().map(Vec::from);
    assert_eq!([4, 5, 8, 9].map(get), [None, Some(vec![5]), Some(vec![5]), Some(vec![9])]);
    assert_eq!(with.iter_with(&at(7)).next().unwrap().unwrap().1, [5]);

    let without = Table::from_bytes(write(0..10)).unwrap();
    for (table, options) in [(&with, ReadOptions::default().timestamp(b"short")), (&without, at(9))]
    {
        let errors = [
            table.get_with(b"key", &options).map(drop).unwrap_err(),
            table.get_many_with(&[b"key"], &options).map(drop).unwrap_err(),
            table.get_record_with(b"key", &options).map(drop).unwrap_err(),
            table.iter_with(&options).next().unwrap().unwrap_err(),
            table.cursor_with(&options).seek(b"key").unwrap_err(),
        ];
        assert!(errors.iter().all(|error| error.kind() == ErrorKind::InvalidInput), "{errors:?}");
    }
}

/// Of one table and of several, a scan with the prefix of its seek key ends with it.
#[test]
fn the_prefix_of_the_seek_key() {
    let one = Table::from_bytes(write(0..400)).unwrap();
    let parts = [write((0..400).filter(|it| it % 3 == 0)), write((0..400).filter(|it| it % 3 > 0))];
    let parts = parts.map(|part| Table::from_bytes(Bytes::from(part)).unwrap());
    let several = MergedTables::new(&parts, Recency::BySource).unwrap();
    let options = ReadOptions::default().prefix_mode(PrefixMode::SamePrefix);
    for number in 0..420 {
        let expected: Vec<_> = (number..400).filter(|it| it / 4 == number / 4).map(key).collect();
        let mut cursor = one.cursor_with(&options);
        let mut more = cursor.seek(&key(number)).unwrap();
        let mut found = Vec::new();
        while more {
            found.push(cursor.key().to_vec());
            more = cursor.next().unwrap();
        }
        assert_eq!(found, expected, "{number}");
        let mut cursor = several.cursor_with(&options);
        let mut more = cursor.seek(&key(number)).unwrap();
        found.clear();
        while more {
            found.push(cursor.key().to_vec());
            more = cursor.next().unwrap();
        }
        assert_eq!(found, expected, "{number} of several tables");
    }
}
