//! Blocks that have been read, kept for the next time: shared by all tables that are given it.
//!
//! ```text
//! (file, kind, handle) -> block, decompressed and its tail checked
//!
//! +----------------------+--------------------------------------+
//! | high priority        | everything else                      |     budget in bytes
//! | index, filter, parts | data blocks                          |
//! +----------------------+--------------------------------------+
//! ```
//!
//! Without a share for high priority there is one pool for all. `quick_cache` evicts by S3-FIFO, so
//! a long scan does not drive out what is used often.

use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use sstkit_filter::{Filter, FilterBlock};

use super::block_hashing::BlockHashing;
use crate::error::Result;
use crate::raw::{Block, BlockHandle, BlockKind};

/// What a block takes beside its bytes, roughly.
const OVERHEAD: u64 = 128;

/// For sizing the hash table: the block size that both engines use by default.
const TYPICAL_BLOCK: u64 = 4096;

/// What a shard of a pool has at least: room for index and filter blocks of large tables.
const SHARD_BYTES: u64 = 32 << 20;

/// A cache of blocks with a byte budget.
///
/// Cloning gives another handle to the same cache. All of it may be used by any number of threads.
///
/// ```
/// use sstkit_table::{BlockCache, TableReadOptions};
///
/// let cache = BlockCache::new(64 << 20);
/// let options = TableReadOptions::default().block_cache(&cache); // for each table
/// assert_eq!(cache.used_bytes(), 0);
/// ```
#[derive(Clone)]
pub struct BlockCache {
    pools: Arc<Pools>,
}

struct Pools {
    common: Pool,
    high: Option<Pool>,
    next_file: AtomicU64,
}

type Pool = Cache<BlockKey, CachedBlock, ByBytes, BlockHashing>;

/// Which block: the file as numbered by this cache, and what a handle to it says. In a forged file
/// two handles may lead to one offset and mean different blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockKey {
    pub(super) file: u64,
    pub(super) kind: BlockKind,
    pub(super) handle: BlockHandle,
}

/// Whether a block goes to the part of the cache that data blocks cannot fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Priority {
    Low,
    High,
}

/// A block ready for use. Cloning counts a reference and copies a few words.
#[derive(Clone)]
pub(super) enum CachedBlock {
    Block(Block<Bytes>),
    Filter(Filter<Bytes>),
    FilterBlock(FilterBlock<Bytes>),
}

impl CachedBlock {
    /// Bytes of its contents.
    pub(super) fn len(&self) -> u64 {
        let length = match self {
            Self::Block(block) => block.bytes().len(),
            Self::Filter(filter) => filter.bytes().len(),
            Self::FilterBlock(filter) => filter.bytes().len(),
        };
        length as u64
    }
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<BlockKey, CachedBlock> for ByBytes {
    fn weight(&self, _: &BlockKey, block: &CachedBlock) -> u64 {
        block.len() + OVERHEAD
    }
}

impl BlockCache {
    /// A cache of at most `bytes`. Blocks up to a quarter of that, or up to 31 MiB, can be kept.
    pub fn new(bytes: u64) -> Self {
        Self::with_high_priority_share(bytes, 0.0)
    }

    /// A cache of at most `bytes`, of which the given share (0 to 1; RocksDB's
    /// `high_pri_pool_ratio`) is kept for index and filter blocks of tables that keep them here.
    pub fn with_high_priority_share(bytes: u64, share: f64) -> Self {
        let high = (bytes as f64 * share.clamp(0.0, 1.0)) as u64;
        let pools = Pools {
            common: common_pool(bytes - high.min(bytes)),
            // Its blocks are few and large, and hits only share a lock.
            high: (high > 0).then(|| pool(high, 1)),
            next_file: AtomicU64::new(0),
        };
        Self { pools: Arc::new(pools) }
    }

    /// Bytes in use, a few words for each block included.
    pub fn used_bytes(&self) -> u64 {
        self.pools().map(Cache::weight).sum()
    }

    /// Blocks held.
    pub fn len(&self) -> usize {
        self.pools().map(Cache::len).sum()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops all blocks.
    pub fn clear(&self) {
        self.pools().for_each(Cache::clear);
    }

    fn pool(&self, priority: Priority) -> &Pool {
        match (priority, &self.pools.high) {
            (Priority::High, Some(high)) => high,
            _ => &self.pools.common,
        }
    }

    fn pools(&self) -> impl Iterator<Item = &Pool> {
        std::iter::once(&self.pools.common).chain(&self.pools.high)
    }

    /// A number for a file that no other file of this cache has.
    pub(super) fn add_file(&self) -> u64 {
        self.pools.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// The block under `key`, if it is there. Asking does not make it count as used.
    pub(super) fn peek(&self, key: &BlockKey) -> Option<CachedBlock> {
        self.pools().find_map(|pool| pool.peek(key))
    }

    /// The block under `key`, if it is there.
    pub(super) fn get(&self, key: &BlockKey, priority: Priority) -> Option<CachedBlock> {
        self.pool(priority).get(key)
    }

    /// The block under `key`, and whether it was found rather than loaded. While one thread
    /// loads a block, others that want it wait for it; if loading fails, the next one tries.
    pub(super) fn get_or_load(
        &self,
        key: BlockKey,
        priority: Priority,
        load: impl FnOnce() -> Result<CachedBlock>,
    ) -> Result<(CachedBlock, bool)> {
        let mut found = true;
        let block = self.pool(priority).get_or_insert_with(&key, || {
            found = false;
            load()
        })?;
        Ok((block, found))
    }
}

/// A block must fit into a shard to be kept, so there are several only where each is large.
fn common_pool(bytes: u64) -> Pool {
    let most = std::thread::available_parallelism().map_or(1, NonZero::get) as u64 * 4;
    let shards = (bytes / SHARD_BYTES).clamp(1, most);
    // The cache would round up to a power of two, and shards would be smaller.
    pool(bytes, 1 << shards.ilog2())
}

fn pool(bytes: u64, shards: usize) -> Pool {
    let typical = (bytes / TYPICAL_BLOCK).clamp(1, 1 << 24) as usize;
    let options = OptionsBuilder::new()
        .shards(shards)
        .estimated_items_capacity(typical)
        .weight_capacity(bytes)
        .build();
    match options {
        Ok(options) => Cache::with_options(
            options,
            ByBytes,
            BlockHashing::default(),
            DefaultLifecycle::default(),
        ),
        // Only if something is not set that has no default.
        Err(_) => Cache::with(
            typical,
            bytes,
            ByBytes,
            BlockHashing::default(),
            DefaultLifecycle::default(),
        ),
    }
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache")
            .field("blocks", &self.len())
            .field("used_bytes", &self.used_bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(offset: u64) -> BlockKey {
        BlockKey { file: 0, kind: BlockKind::Data, handle: BlockHandle::new(offset, 1000) }
    }

    fn block(length: usize) -> CachedBlock {
        let mut bytes = vec![0; length];
        bytes[length - 4] = 1;
        bytes[..length - 8].fill(0);
        CachedBlock::Filter(Filter::from_bytes(bytes.into()))
    }

    #[test]
    fn the_budget_holds() {
        let cache = BlockCache::new(100_000);
        for offset in 0..1000 {
            let (_, found) =
                cache.get_or_load(key(offset), Priority::Low, || Ok(block(1000))).unwrap();
            assert!(!found);
            assert!(cache.used_bytes() <= 100_000);
        }
        assert!(cache.len() > 50);
        cache.clear();
        assert!(cache.is_empty());
    }

    #[test]
    fn a_cache_of_nothing_keeps_nothing() {
        let cache = BlockCache::new(0);
        let key = key(0);
        for _ in 0..3 {
            assert!(!cache.get_or_load(key, Priority::Low, || Ok(block(100))).unwrap().1);
        }
        assert_eq!(cache.used_bytes(), 0);
    }

    #[test]
    fn a_block_is_loaded_once_and_failures_are_not_kept() {
        let cache = BlockCache::with_high_priority_share(1 << 20, 0.5);
        let key = key(7);
        let failed = cache.get_or_load(key, Priority::High, || Err(crate::Error::corrupt("no")));
        assert!(failed.is_err());
        assert!(!cache.get_or_load(key, Priority::High, || Ok(block(10))).unwrap().1);
        assert!(cache.get_or_load(key, Priority::High, || unreachable!()).unwrap().1);
    }

    #[test]
    fn high_priority_outlives_any_number_of_data_blocks() {
        let cache = BlockCache::with_high_priority_share(200_000, 0.5);
        let index = key(0);
        cache.get_or_load(index, Priority::High, || Ok(block(1000))).unwrap();
        for offset in 1..5000 {
            cache.get_or_load(key(offset), Priority::Low, || Ok(block(1000))).unwrap();
        }
        assert!(cache.get_or_load(index, Priority::High, || unreachable!()).unwrap().1);
    }

    #[test]
    fn a_block_of_a_quarter_of_the_budget_is_kept() {
        for (mib, share) in
            [(1, 0.0), (8, 0.0), (8, 0.5), (32, 0.0), (64, 0.0), (100, 0.0), (256, 0.5)]
        {
            let cache = BlockCache::with_high_priority_share(mib << 20, share);
            let large = || Ok(block((mib as usize) << 18));
            for offset in 1..20_000 {
                cache.get_or_load(key(offset), Priority::Low, || Ok(block(4000))).unwrap();
            }
            let mut loaded = 0;
            for offset in 1..100 {
                let (_, found) = cache.get_or_load(key(0), Priority::High, large).unwrap();
                loaded += usize::from(!found);
                cache.get_or_load(key(offset), Priority::Low, || Ok(block(4000))).unwrap();
            }
            // In a full cache what is new has to be asked for again to be believed.
            assert!(loaded <= 2, "{mib} MiB: {loaded}");
            assert!(cache.used_bytes() <= mib << 20);
        }
    }

    #[test]
    fn one_offset_may_be_several_blocks() {
        let cache = BlockCache::new(1 << 20);
        let key = |kind, size| BlockKey { file: 0, kind, handle: BlockHandle::new(7, size) };
        for key in
            [key(BlockKind::Data, 100), key(BlockKind::Data, 50), key(BlockKind::Filter, 100)]
        {
            assert!(!cache.get_or_load(key, Priority::Low, || Ok(block(100))).unwrap().1);
        }
        assert_eq!(cache.len(), 3);
    }
}
