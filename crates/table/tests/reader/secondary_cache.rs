//! A cache of the caller's behind the block cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use sstkit_table::raw::{BlockKind, IndexKind};
use sstkit_table::{
    BlockCache, BlockKey, ReadOptions, SecondaryCache, Table, TableOptions, TableReadOptions,
    TableWriter,
};

use crate::counting_source::CountingSource;

#[derive(Debug, Default)]
struct Keeper(Mutex<HashMap<BlockKey, Bytes>>);

impl SecondaryCache for Keeper {
    fn get(&self, key: &BlockKey) -> Option<Bytes> {
        self.0.lock().unwrap().get(key).cloned()
    }

    fn insert(&self, key: &BlockKey, contents: &[u8]) {
        let old = self.0.lock().unwrap().insert(*key, Bytes::copy_from_slice(contents));
        assert!(old.is_none(), "a block is offered when it was read, and it was here");
    }

    fn evict_file(&self, file: u64) {
        self.0.lock().unwrap().retain(|key, _| key.file != file);
    }
}

impl Keeper {
    fn count(&self, kind: BlockKind) -> usize {
        self.0.lock().unwrap().keys().filter(|key| key.kind == kind).count()
    }
}

const KEYS: u32 = 3000;

fn key(number: u32) -> Vec<u8> {
    format!("user{number:06}").into_bytes()
}

/// Compressed data blocks, a partitioned index and a partitioned filter.
fn bytes() -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb()
        .compression("lz4".parse().unwrap())
        .filter("bloomfilter:10".parse().unwrap())
        .index_kind(IndexKind::TwoLevel)
        .partition_filters(true)
        .metadata_block_size(512);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    (0..KEYS).for_each(|number| writer.put(&key(number), &[number as u8; 100]).unwrap());
    writer.finish().unwrap();
    bytes
}

#[test]
fn blocks_that_are_not_cached_come_from_it() {
    let source = Arc::new(CountingSource::new(&bytes()));
    let keeper = Arc::new(Keeper::default());
    // It is the only cache: nothing fits into the other.
    let cache = BlockCache::new(0).with_secondary(keeper.clone());
    let options =
        TableReadOptions::default().block_cache(&cache).cache_index_and_filter_blocks(true);
    let table = Table::from_source(Arc::clone(&source), &options).unwrap();

    let read_all = || {
        for number in 0..KEYS {
            assert_eq!(table.get(&key(number)).unwrap().unwrap(), [number as u8; 100]);
        }
    };
    read_all();
    let reads = source.reads();
    for kind in [BlockKind::Data, BlockKind::IndexPartition, BlockKind::FilterPartition] {
        assert!(keeper.count(kind) > 1, "{kind}");
    }
    let hits = cache.metrics().secondary_hits;
    read_all();
    assert_eq!(source.reads(), reads, "everything comes from the secondary cache");
    assert!(cache.metrics().secondary_hits > hits);
    assert_eq!(cache.len(), 0);

    // A scan of a few keys, and one that does not use the caches.
    let few = ReadOptions::default().range(key(100)..key(110));
    assert_eq!(table.iter_with(&few).count(), 10);
    assert_eq!(source.reads(), reads);

    table.evict_cached_blocks();
    assert_eq!(keeper.count(BlockKind::Data), 0);
    let unfilled = ReadOptions::default().fill_cache(false);
    assert_eq!(table.get_with(&key(7), &unfilled).unwrap().unwrap(), [7; 100]);
    assert_eq!(keeper.count(BlockKind::Data), 0);
    assert!(source.reads() > reads);
}

#[test]
fn the_blocks_of_a_closed_source_are_evicted() {
    let keeper = Arc::new(Keeper::default());
    let cache = BlockCache::new(1 << 20).with_secondary(keeper.clone());
    let options = TableReadOptions::default().block_cache(&cache);
    let table = Table::from_source(CountingSource::new(&bytes()), &options).unwrap();
    assert!(table.get(&key(1)).unwrap().is_some());
    assert_eq!(keeper.count(BlockKind::Data), 1);
    assert!(table.get(&key(1)).unwrap().is_some());
    assert_eq!(cache.metrics().secondary_hits, 0, "the block cache has it");
    drop(table);
    assert!(keeper.0.lock().unwrap().is_empty());
}
