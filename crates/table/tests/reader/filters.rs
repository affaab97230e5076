//! Filters save reads; the tickers count as in RocksDB.

use std::sync::Arc;

use sstkit_filter::{FilterKind, FilterLayout, PrefixExtractor};
use sstkit_table::{
    PrefixMode, ReadOptions, Table, TableOptions, TableReadOptions, TableWriter, Ticker, Tickers,
};
use sstkit_testkit::goldens::{Golden, Model, golden_tables, options};

use crate::counting_source::CountingSource;

struct Counted {
    name: String,
    table: Table,
    source: Arc<CountingSource>,
    tickers: Arc<Tickers>,
    model: Model,
}

impl Counted {
    fn open(golden: &Golden, options: TableReadOptions) -> Self {
        let source = Arc::new(CountingSource::new(&golden.bytes));
        let tickers = Arc::new(Tickers::default());
        let table = Table::from_source(Arc::clone(&source), &options.tickers(&tickers)).unwrap();
        let name = golden.path.file_name().unwrap().to_string_lossy().into_owned();
        Self { name, table, source, tickers, model: Model::of(golden) }
    }

    fn get(&self, ticker: Ticker) -> u64 {
        self.tickers.get(ticker)
    }
}

/// All tables with a filter that lookups can use for whole keys.
fn with_whole_keys(options: impl Fn() -> TableReadOptions) -> Vec<Counted> {
    let tables: Vec<_> = golden_tables()
        .iter()
        .map(|golden| Counted::open(golden, options()))
        .filter(|counted| counted.table.filter().is_some_and(|filter| filter.whole_key_filtering()))
        .collect();
    assert!(tables.len() > 50);
    tables
}

#[test]
fn lookups_of_present_keys() {
    for counted in with_whole_keys(options) {
        let name = &counted.name;
        let keys = counted.model.keys.len() as u64;
        for key in &counted.model.keys {
            counted.table.get(key).unwrap();
        }
        // Deletions are found, too.
        assert_eq!(counted.get(Ticker::BloomFilterFullTruePositive), keys, "{name}");
        assert_eq!(counted.get(Ticker::BloomFilterFullPositive), keys, "{name}");
        assert_eq!(counted.get(Ticker::BloomFilterUseful), 0, "{name}");
        assert_eq!(counted.get(Ticker::BloomFilterPrefixChecked), 0, "{name}");
        assert_eq!(counted.tickers.false_positive_rate(), None);
    }
}

#[test]
fn absent_keys_are_answered_without_a_data_block() {
    for counted in with_whole_keys(|| options().no_block_cache()) {
        let name = &counted.name;
        let layout = counted.table.filter().unwrap().layout();
        // Brings the filter in.
        counted.table.get(&counted.model.keys[0]).unwrap();
        counted.tickers.reset();
        let reads_before = counted.source.reads();
        let absent = counted.model.absent_keys();
        for key in &absent {
            assert_eq!(counted.table.get(key).unwrap(), None);
        }
        let useful = counted.get(Ticker::BloomFilterUseful);
        let positive = counted.get(Ticker::BloomFilterFullPositive);
        if layout != FilterLayout::Block {
            assert_eq!(useful + positive, absent.len() as u64, "{name}");
        }
        assert_eq!(counted.get(Ticker::BloomFilterFullTruePositive), 0, "{name}");
        // One bit a key filters little, ten filter nearly everything.
        let few_bits = ["bloom1-", "bloomfilter_4", "bloom5-", "_6.5", "_7.3"];
        let limit = if few_bits.iter().any(|few| name.contains(few)) { 0.7 } else { 0.06 };
        let rate = counted.tickers.false_positive_rate().unwrap();
        if absent.len() > 300 {
            assert!(rate < limit, "{name}: {rate}");
        }
        // Only what passed was looked for: in one data block, or where it may be in the next, two.
        if layout == FilterLayout::Full && !name.contains("twolevel") {
            let reads = counted.source.reads() - reads_before;
            assert!(reads <= 2 * positive, "{name}: {reads} reads for {positive} that passed");
        }
    }
}

#[test]
fn batches_count_as_multiget_does() {
    for counted in with_whole_keys(options) {
        if counted.table.filter().unwrap().layout() == FilterLayout::Block {
            continue;
        }
        let mut keys = counted.model.absent_keys();
        let absent = keys.len() as u64;
        keys.extend(counted.model.keys.iter().cloned());
        counted.table.get_many(&keys).unwrap();
        let useful = counted.get(Ticker::BloomFilterUseful);
        let positive = counted.get(Ticker::BloomFilterFullPositive);
        let found = counted.model.keys.len() as u64;
        assert_eq!(useful + positive, keys.len() as u64);
        assert!(useful <= absent);
        assert_eq!(counted.get(Ticker::BloomFilterFullTruePositive), found, "{}", counted.name);
    }
}

/// Without whole keys in the filter, lookups make prefix probes.
#[test]
fn lookups_by_prefix() {
    let (mut tried, mut outside) = (0, 0);
    for golden in golden_tables() {
        let counted = Counted::open(&golden, options());
        let Some(filter) = counted.table.filter() else { continue };
        if filter.whole_key_filtering() {
            continue;
        }
        tried += 1;
        let extractor = filter.prefix_extractor().unwrap().clone();
        let in_domain = |key: &Vec<u8>| extractor.prefix(key).is_some();
        let checked = counted.model.keys.iter().filter(|key| in_domain(key)).count() as u64;
        for key in &counted.model.keys {
            counted.table.get(key).unwrap();
        }
        let found = counted.model.keys.len() as u64;
        assert_eq!(counted.get(Ticker::BloomFilterPrefixChecked), checked, "{}", counted.name);
        assert_eq!(counted.get(Ticker::BloomFilterPrefixUseful), 0);
        // Even those without a probe.
        assert_eq!(counted.get(Ticker::BloomFilterPrefixTruePositive), found);
        assert_eq!(counted.get(Ticker::BloomFilterFullPositive), 0);

        // A batch counts all its keys as checked.
        counted.tickers.reset();
        let keys: Vec<Vec<u8>> = (0..100).map(|i| format!("zzzzzzzz{i}").into_bytes()).collect();
        assert!(counted.table.get_many(&keys).unwrap().iter().all(Option::is_none));
        assert_eq!(counted.get(Ticker::BloomFilterPrefixChecked), 100);
        // All have one prefix, so all or none are filtered.
        let useful = counted.get(Ticker::BloomFilterPrefixUseful);
        assert!(useful == 0 || useful == 100);

        // Also if none of them has a prefix.
        if extractor.prefix(b"").is_none() {
            outside += 1;
            counted.tickers.reset();
            counted.table.get_many(&[b""; 7]).unwrap();
            assert_eq!(counted.get(Ticker::BloomFilterPrefixChecked), 7);
            assert_eq!(counted.get(Ticker::BloomFilterPrefixUseful), 0);
        }

        // With another extractor, the prefixes in the filter are not used.
        let counted = Counted::open(&golden, options().prefix_extractor(PrefixExtractor::Fixed(3)));
        for key in &counted.model.keys {
            assert_eq!(counted.table.get(key).unwrap().as_deref(), counted.model.get(key));
        }
        assert_eq!(counted.get(Ticker::BloomFilterPrefixChecked), 0);
        assert_eq!(counted.get(Ticker::BloomFilterPrefixTruePositive), found);
    }
    assert!(tried >= 4 && outside > 0);
}

/// Tables whose filters have prefixes, with their extractor.
fn with_prefixes(options: impl Fn() -> TableReadOptions) -> Vec<(Counted, PrefixExtractor)> {
    let tables: Vec<_> = golden_tables()
        .iter()
        .map(|golden| Counted::open(golden, options()))
        .filter_map(|counted| {
            let extractor = counted.table.filter()?.prefix_extractor()?.clone();
            Some((counted, extractor))
        })
        .collect();
    assert!(tables.len() >= 8);
    tables
}

/// Prefixes of the right length, some of which the table has.
fn prefixes(model: &Model, extractor: &PrefixExtractor) -> Vec<(Vec<u8>, bool)> {
    let length = extractor.full_length().unwrap();
    let mut prefixes = Vec::new();
    for key in model.keys.iter().filter(|key| key.len() >= length) {
        let prefix = key[..length].to_vec();
        let mut other = prefix.clone();
        other[length - 1] ^= 0x11;
        for prefix in [prefix, other] {
            let is_there = model.keys.iter().any(|key| key.starts_with(&prefix));
            prefixes.push((prefix, is_there));
        }
    }
    prefixes.sort();
    prefixes.dedup();
    let step = (prefixes.len() / 200).max(1);
    prefixes.into_iter().step_by(step).collect()
}

#[test]
fn prefix_scans_probe_the_filter() {
    for last_level in [false, true] {
        let make = || options().level(if last_level { 6 } else { 5 }, 7).no_block_cache();
        for (counted, extractor) in with_prefixes(make) {
            let name = &counted.name;
            let [filtered, matched, data, useful] = match last_level {
                true => [
                    Ticker::LastLevelSeekFiltered,
                    Ticker::LastLevelSeekFilterMatch,
                    Ticker::LastLevelSeekData,
                    Ticker::LastLevelSeekDataUsefulFilterMatch,
                ],
                false => [
                    Ticker::NonLastLevelSeekFiltered,
                    Ticker::NonLastLevelSeekFilterMatch,
                    Ticker::NonLastLevelSeekData,
                    Ticker::NonLastLevelSeekDataUsefulFilterMatch,
                ],
            };
            let (mut absent, mut pruned) = (0, 0);
            for (prefix, is_there) in prefixes(&counted.model, &extractor) {
                counted.tickers.reset();
                let reads = counted.source.reads();
                let found = counted.table.prefix(&prefix).map(Result::unwrap).count();
                assert_eq!(counted.get(filtered) + counted.get(matched), 1, "{name}");
                absent += u64::from(!is_there);
                pruned += counted.get(filtered);
                if is_there {
                    assert_eq!(counted.get(filtered), 0, "{name}");
                    assert_eq!(counted.get(data), 1, "{name}");
                    assert_eq!(counted.get(useful), u64::from(found > 0), "{name}");
                } else if counted.get(filtered) == 1 {
                    assert_eq!(counted.get(data), 0, "{name}");
                    let full = counted.table.filter().unwrap().layout() == FilterLayout::Full;
                    // The filter itself may be read the first time.
                    assert!(!full || counted.source.reads() - reads <= 1, "{name}");
                }
            }
            assert!(absent == 0 || pruned * 10 > absent * 7, "{name}: {pruned} of {absent}");
        }
    }
}

/// Seeks in both directions, bounded by the prefix of the seek key.
#[test]
fn seeks_within_one_prefix() {
    for (counted, extractor) in with_prefixes(options) {
        let name = &counted.name;
        let same = ReadOptions::default().prefix_mode(PrefixMode::SamePrefix);
        let mut cursor = counted.table.cursor_with(&same);
        for (prefix, is_there) in prefixes(&counted.model, &extractor) {
            let of_prefix: Vec<_> = counted
                .model
                .visible
                .iter()
                .filter(|(key, _)| extractor.prefix(key) == Some(prefix.as_slice()))
                .map(|(key, _)| key.clone())
                .collect();
            counted.tickers.reset();
            let mut keys = Vec::new();
            let mut more = cursor.seek(&prefix).unwrap();
            while more {
                keys.push(cursor.key().to_vec());
                more = cursor.next().unwrap();
            }
            assert_eq!(keys, of_prefix, "{name}");

            keys.clear();
            let last = [prefix.as_slice(), &[0xff; 20]].concat();
            let mut more = cursor.seek_for_prev(&last).unwrap();
            while more {
                keys.push(cursor.key().to_vec());
                more = cursor.prev().unwrap();
            }
            keys.reverse();
            assert_eq!(keys, of_prefix, "{name}: backward");
            let asked = counted.get(Ticker::NonLastLevelSeekFiltered)
                + counted.get(Ticker::NonLastLevelSeekFilterMatch);
            assert_eq!(asked, 2, "{name}");
            assert!(!is_there || counted.get(Ticker::NonLastLevelSeekFiltered) == 0, "{name}");
        }
    }
}

/// A forward seek with an upper bound in the same prefix probes; one without, or backward, does not.
#[test]
fn only_bounded_seeks_probe_by_default() {
    for (counted, extractor) in with_prefixes(options) {
        let Some((prefix, _)) = prefixes(&counted.model, &extractor).pop() else { continue };
        let key = prefix.as_slice();
        let within = [key, b"\xff"].concat();
        let mut next = prefix.clone();
        *next.last_mut().unwrap() += 1;
        let mut beyond = prefix.clone();
        *beyond.last_mut().unwrap() += 2;
        let asked = |options: &ReadOptions, backward: bool| {
            counted.tickers.reset();
            let mut cursor = counted.table.cursor_with(options);
            if backward { cursor.seek_for_prev(key) } else { cursor.seek(key) }.unwrap();
            counted.get(Ticker::NonLastLevelSeekFiltered)
                + counted.get(Ticker::NonLastLevelSeekFilterMatch)
        };
        let up_to = |bound: &[u8]| ReadOptions::default().range(..bound);
        assert_eq!(asked(&up_to(&within), false), 1);
        assert_eq!(asked(&up_to(&next), false), 1);
        assert_eq!(asked(&up_to(&beyond), false), 0);
        assert_eq!(asked(&up_to(&within), true), 0);
        assert_eq!(asked(&ReadOptions::default(), false), 0);
        let total = up_to(&within).prefix_mode(PrefixMode::TotalOrder);
        assert_eq!(asked(&total, false), 0);
    }
}

#[test]
fn filters_can_be_left_alone() {
    for counted in with_whole_keys(|| options().use_filters(false)).iter().take(5) {
        for key in counted.model.keys.iter().chain(&counted.model.absent_keys()) {
            assert_eq!(counted.table.get(key).unwrap().as_deref(), counted.model.get(key));
        }
        assert_eq!(counted.get(Ticker::BloomFilterUseful), 0);
        assert_eq!(counted.get(Ticker::BloomFilterFullPositive), 0);
        assert_eq!(counted.get(Ticker::BloomFilterFullTruePositive), 0);
    }
}

/// The view of the filter answers as lookups do, and does not count the answers.
#[test]
fn the_view_agrees() {
    for counted in with_whole_keys(options) {
        let filter = counted.table.filter().unwrap();
        let of_blocks = [FilterKind::LevelDbBloom, FilterKind::BlockBasedBloom];
        let kind = filter.kind().unwrap().unwrap();
        assert_eq!(of_blocks.contains(&kind), filter.layout() == FilterLayout::Block);
        let partitions = filter.partitions().unwrap().len();
        assert_eq!(partitions > 0, filter.layout() == FilterLayout::Partitioned);
        for key in counted.model.keys.iter().step_by(7) {
            assert!(filter.may_contain(key).unwrap());
            if let Some(prefix) = filter.prefix_extractor().and_then(|e| e.prefix(key)) {
                assert!(filter.may_contain_prefix(prefix).unwrap(), "{}", counted.name);
            }
        }
        assert_eq!(counted.get(Ticker::BloomFilterFullPositive), 0);
    }
}

#[test]
fn the_cache_is_counted_by_kind() {
    let golden = golden_tables();
    let golden = golden.iter().find(|g| g.path.ends_with("fv7-bloom10.sst"));
    let Some(golden) = golden else { return };
    let counted = Counted::open(golden, options().cache_index_and_filter_blocks(true));
    let key = &counted.model.keys[0];
    counted.tickers.reset();
    counted.table.get(key).unwrap();
    assert_eq!(counted.get(Ticker::BlockCacheFilterMiss), 1);
    assert_eq!(counted.get(Ticker::BlockCacheIndexHit), 1, "opening has put it in");
    assert_eq!(counted.get(Ticker::BlockCacheDataMiss), 1);
    assert_eq!(counted.get(Ticker::BlockCacheDataAdd), 1);
    assert!(counted.get(Ticker::BlockCacheDataBytesInsert) > 0);
    counted.table.get(key).unwrap();
    assert_eq!(counted.get(Ticker::BlockCacheFilterHit), 1);
    assert_eq!(counted.get(Ticker::BlockCacheDataHit), 1);
    assert_eq!(counted.get(Ticker::BlockCacheMiss), 2);
    assert_eq!(counted.get(Ticker::BlockCacheHit), 4);
}

/// A lookup in a table that was just opened reads a data block instead of a filter that is longer,
/// unless it is counted.
#[test]
fn the_first_lookup_does_without_a_long_filter() {
    const KEYS: usize = 60_000;
    let key = |number: usize| format!("{number:08}").into_bytes();
    let options = TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap());
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    (0..KEYS).for_each(|number| writer.put(&key(2 * number), b"value").unwrap());
    writer.finish().unwrap();

    let filter_length = (KEYS * 10 / 8) as u64;
    for (is_counted, first_number) in [(false, 1), (false, 2), (true, 1)] {
        let source = Arc::new(CountingSource::new(&bytes));
        let tickers = Arc::new(Tickers::default());
        let mut options = TableReadOptions::default();
        if is_counted {
            options = options.tickers(&tickers);
        }
        let table = Table::from_source(Arc::clone(&source), &options).unwrap();
        let mut read = source.read_bytes();
        let mut reads_filter = |number: usize| {
            let found = table.get(&key(number)).unwrap();
            assert_eq!(found.is_some(), number.is_multiple_of(2), "{number}");
            source.read_bytes() - std::mem::replace(&mut read, source.read_bytes()) >= filter_length
        };
        assert_eq!(reads_filter(first_number), is_counted);
        assert_eq!(reads_filter(60_001), !is_counted, "the second one reads it");
        assert!(!reads_filter(60_003));
    }
}
