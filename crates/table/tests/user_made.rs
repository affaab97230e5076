//! A table whose filter policy, prefix extractor and comparator are all user-made: written, and read
//! again by the names it stores.

use std::error::Error;
use std::sync::Arc;

use sstkit_filter::{
    FilterPolicy, HashedKey, PrefixExtractor, Registry, SliceTransform, UserBuilder, UserFilter,
    UserPolicy,
};
use sstkit_table::{
    ErrorKind, Table, TableOptions, TableReadOptions, TableWriter, Ticker, Tickers,
};
use sstkit_testkit::orders::short_first;

/// A filter that is the sorted list of the hashes.
#[derive(Debug)]
struct HashList;

impl UserPolicy for HashList {
    fn name(&self) -> &str {
        "test.HashList"
    }

    fn builder(&self) -> Box<dyn UserBuilder> {
        Box::new(HashListBuilder(Vec::new()))
    }

    fn open(&self, _: &[u8]) -> Option<Box<dyn UserFilter>> {
        Some(Box::new(Opened))
    }
}

struct Opened;

impl UserFilter for Opened {
    fn may_contain(&self, filter: &[u8], key: &HashedKey<'_>) -> bool {
        let (hashes, _) = filter.as_chunks::<8>();
        hashes.binary_search_by_key(&key.hash64(), |hash| u64::from_le_bytes(*hash)).is_ok()
    }
}

struct HashListBuilder(Vec<u64>);

impl UserBuilder for HashListBuilder {
    fn add(&mut self, key: &HashedKey<'_>) {
        self.0.push(key.hash64());
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        self.0.sort_unstable();
        Ok(self.0.iter().flat_map(|hash| hash.to_le_bytes()).collect())
    }
}

/// Everything up to the first slash.
#[derive(Debug)]
struct UpToSlash;

impl SliceTransform for UpToSlash {
    fn name(&self) -> &str {
        "test.UpToSlash"
    }

    fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        key.iter().position(|&byte| byte == b'/').map(|end| &key[..=end])
    }
}

fn write(partitioned: bool) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut keys: Vec<Vec<u8>> = (0..3000u32)
        .map(|i| format!("{}/{i}", "group".repeat(1 + i as usize % 3)).into())
        .collect();
    let order = short_first();
    keys.sort_by(|a, b| order.compare(a, b));
    let mut options = TableOptions::rocksdb()
        .comparator(order)
        .filter(FilterPolicy::User(Arc::new(HashList)))
        .prefix_extractor(PrefixExtractor::User(Arc::new(UpToSlash)))
        .block_size(512);
    if partitioned {
        options =
            options.index_kind(sstkit_table::raw::IndexKind::TwoLevel).partition_filters(true);
    }
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for key in &keys {
        writer.put(key, key).unwrap();
    }
    writer.finish().unwrap();
    (keys, bytes)
}

fn known(tickers: &Arc<Tickers>) -> TableReadOptions {
    let mut registry = Registry::default();
    registry.register_policy(Arc::new(HashList)).unwrap();
    registry.register_extractor(Arc::new(UpToSlash)).unwrap();
    TableReadOptions::default()
        .comparator(short_first())
        .registry(registry)
        .prefix_extractor(PrefixExtractor::User(Arc::new(UpToSlash)))
        .tickers(tickers)
}

#[test]
fn found_again_by_their_names() {
    for partitioned in [false, true] {
        let (keys, bytes) = write(partitioned);
        let tickers = Arc::new(Tickers::default());
        let table = Table::from_source(bytes, &known(&tickers)).unwrap();
        for key in &keys {
            assert_eq!(table.get(key).unwrap().as_deref(), Some(key.as_slice()));
        }
        let absent: Vec<Vec<u8>> = keys.iter().map(|key| [key, &b"?"[..]].concat()).collect();
        for key in &absent {
            assert_eq!(table.get(key).unwrap(), None);
        }
        // A list of hashes has no false positives.
        assert_eq!(tickers.get(Ticker::BloomFilterUseful), absent.len() as u64);
        let filter = table.filter().unwrap();
        assert_eq!(filter.policy(), "test.HashList");
        assert!(table.verify().is_sound(), "{:?}", table.verify());
        let found: Vec<Vec<u8>> = table.iter().map(|entry| entry.unwrap().0.to_vec()).collect();
        assert_eq!(found, keys);
    }
}

/// Without them the table can be scanned and inspected; what needs the order is refused by name.
#[test]
fn unknown_names() {
    let (keys, bytes) = write(false);
    let table = Table::from_bytes(bytes).unwrap();
    let scanned = table.entries().filter(Result::is_ok).count();
    assert_eq!(scanned, keys.len());
    let error = table.get(&keys[0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("test.ShortFirst"), "{error}");
}
