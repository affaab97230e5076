//! Blocks that have been read, kept for the next time: shared by all tables that are given it.
//!
//! ```text
//! (file, offset) -> block, decompressed and its tail checked
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
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sstkit_filter::{Filter, FilterBlock};

use crate::error::Result;
use crate::raw::Block;

/// What a block takes beside its bytes, roughly.
const OVERHEAD: u64 = 128;

/// For sizing the hash table: the block size that both engines use by default.
const TYPICAL_BLOCK: u64 = 4096;

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

type Pool = Cache<BlockKey, CachedBlock, ByBytes>;

/// Which block: the file as numbered by this cache, and the offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BlockKey {
    pub(super) file: u64,
    pub(super) offset: u64,
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
    /// A cache of at most `bytes`.
    pub fn new(bytes: u64) -> Self {
        Self::with_high_priority_share(bytes, 0.0)
    }

    /// A cache of at most `bytes`, of which the given share (0 to 1; RocksDB's
    /// `high_pri_pool_ratio`) is kept for index and filter blocks of tables that keep them here.
    pub fn with_high_priority_share(bytes: u64, share: f64) -> Self {
        let high = (bytes as f64 * share.clamp(0.0, 1.0)) as u64;
        let pools = Pools {
            common: pool(bytes - high.min(bytes)),
            high: (high > 0).then(|| pool(high)),
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

    fn pools(&self) -> impl Iterator<Item = &Pool> {
        std::iter::once(&self.pools.common).chain(&self.pools.high)
    }

    /// A number for a file that no other file of this cache has.
    pub(super) fn add_file(&self) -> u64 {
        self.pools.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// The block under `key`, and whether it was found rather than loaded. While one thread
    /// loads a block, others that want it wait for it; if loading fails, the next one tries.
    pub(super) fn get_or_load(
        &self,
        key: BlockKey,
        priority: Priority,
        load: impl FnOnce() -> Result<CachedBlock>,
    ) -> Result<(CachedBlock, bool)> {
        let pool = match (priority, &self.pools.high) {
            (Priority::High, Some(high)) => high,
            _ => &self.pools.common,
        };
        let mut found = true;
        let block = pool.get_or_insert_with(&key, || {
            found = false;
            load()
        })?;
        Ok((block, found))
    }
}

fn pool(bytes: u64) -> Pool {
    let typical = (bytes / TYPICAL_BLOCK).clamp(1, 1 << 24) as usize;
    Cache::with_weighter(typical, bytes, ByBytes)
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
            let key = BlockKey { file: 0, offset };
            let (_, found) = cache.get_or_load(key, Priority::Low, || Ok(block(1000))).unwrap();
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
        let key = BlockKey { file: 0, offset: 0 };
        for _ in 0..3 {
            assert!(!cache.get_or_load(key, Priority::Low, || Ok(block(100))).unwrap().1);
        }
        assert_eq!(cache.used_bytes(), 0);
    }

    #[test]
    fn a_block_is_loaded_once_and_failures_are_not_kept() {
        let cache = BlockCache::with_high_priority_share(1 << 20, 0.5);
        let key = BlockKey { file: 1, offset: 7 };
        let failed = cache.get_or_load(key, Priority::High, || Err(crate::Error::corrupt("no")));
        assert!(failed.is_err());
        assert!(!cache.get_or_load(key, Priority::High, || Ok(block(10))).unwrap().1);
        assert!(cache.get_or_load(key, Priority::High, || unreachable!()).unwrap().1);
    }

    #[test]
    fn high_priority_outlives_any_number_of_data_blocks() {
        let cache = BlockCache::with_high_priority_share(200_000, 0.5);
        let index = BlockKey { file: 0, offset: 0 };
        cache.get_or_load(index, Priority::High, || Ok(block(1000))).unwrap();
        for offset in 1..5000 {
            let key = BlockKey { file: 0, offset };
            cache.get_or_load(key, Priority::Low, || Ok(block(1000))).unwrap();
        }
        assert!(cache.get_or_load(index, Priority::High, || unreachable!()).unwrap().1);
    }
}
