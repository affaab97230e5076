//! The block cache, shared by any number of tables.
//!
//! ```text
//! (file, kind, handle) -> block, decompressed and parsed
//!
//! +----------------------+--------------------------------------+
//! | high priority        | everything else                      |     capacity in bytes
//! | index, filter, parts | data blocks                          |
//! +----------------------+--------------------------------------+
//! ```
//!
//! Without a high-priority share there is one pool for all blocks. Each block is in a [slot](slots);
//! index entries and cursors keep its number as a hint. [Shards](shard) decide which block to evict.
//! `docs/decisions/0005-block-cache.md` compares this cache with simpler ones.

mod file;
mod hashing;
mod pool;
mod secondary_cache;
mod shard;
mod slots;

use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use sstkit_filter::{Filter, FilterBlock};

pub(crate) use self::file::CachedFile;
#[cfg(test)]
use self::hashing::BlockHashing;
use self::pool::Pool;
pub use self::secondary_cache::SecondaryCache;
use self::shard::Shard;
use self::slots::NO_SLOT;
pub(crate) use self::slots::SlotHint;
use crate::error::Result;
use crate::raw::{Block, BlockFences, BlockHandle, BlockKind};

/// The smallest shard: it has room for the index and filter blocks of large tables.
const SHARD_BYTES: u64 = 32 << 20;

/// A cache of blocks with a capacity in bytes.
///
/// Cloning gives another handle to the same cache, which any number of threads may use.
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
    secondary: Option<Arc<dyn SecondaryCache>>,
}

struct Pools {
    /// In bytes.
    capacity: AtomicU64,
    /// Of the capacity.
    high_share: f64,
    common: Pool,
    high: Option<Pool>,
    /// Keyed, so that an attacker cannot choose the number of a file.
    numbering: RandomState,
    next_file: AtomicU64,
    secondary_hits: AtomicU64,
}

/// The key of a block in a cache. In a forged file two handles may have the same offset and mean
/// different blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockKey {
    /// The number of the file in this cache: the same each time the file is opened.
    pub file: u64,
    /// The kind of block.
    pub kind: BlockKind,
    /// Where it is in the file.
    pub handle: BlockHandle,
}

/// Whether a block belongs to the part of the cache that data blocks cannot fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    Low,
    High,
}

/// A block ready for use. Cloning increments a reference count and copies a few words.
#[derive(Clone)]
pub(crate) enum CachedBlock {
    Block(Block<Bytes>),
    Filter(Filter<Bytes>),
    FilterBlock(FilterBlock<Bytes>),
}

impl CachedBlock {
    /// Bytes of its contents.
    pub(crate) fn len(&self) -> u64 {
        self.bytes().len() as u64
    }

    /// Its contents.
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Block(block) => block.bytes(),
            Self::Filter(filter) => filter.bytes(),
            Self::FilterBlock(filter) => filter.bytes(),
        }
    }
}

impl BlockCache {
    /// A cache of at most `bytes`, including the overhead per block. Slots of evicted blocks are reused,
    /// never freed. A block is cached if it fits into one shard: the whole cache, or in a cache of 64 MiB
    /// or more a shard of at least 32 MiB.
    pub fn new(bytes: u64) -> Self {
        Self::with_high_priority_share(bytes, 0.0)
    }

    /// A cache of at most `bytes`, of which the given share (0 to 1; RocksDB's `high_pri_pool_ratio`) is
    /// reserved for index and filter blocks.
    pub fn with_high_priority_share(bytes: u64, share: f64) -> Self {
        let high_share = share.clamp(0.0, 1.0);
        let (high, common) = shares(bytes, high_share);
        let pools = Pools {
            capacity: AtomicU64::new(bytes),
            high_share,
            common: common_pool(common),
            // One shard: its blocks may be large.
            high: (high > 0).then(|| Pool::new(high, 1)),
            numbering: RandomState::new(),
            next_file: AtomicU64::new(0),
            secondary_hits: AtomicU64::new(0),
        };
        Self { pools: Arc::new(pools), secondary: None }
    }

    /// This cache, with another one behind it. Handles that were cloned before do not have it.
    #[must_use]
    pub fn with_secondary(mut self, secondary: Arc<dyn SecondaryCache>) -> Self {
        self.secondary = Some(secondary);
        self
    }

    /// A cache with one shard whose evictions are the same in every run: which ghost entries collide
    /// depends on the seed of the hash.
    #[cfg(test)]
    pub(crate) fn deterministic(bytes: u64) -> Self {
        let hashing = BlockHashing::seeded(0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
        let pools = Pools {
            capacity: AtomicU64::new(bytes),
            high_share: 0.0,
            common: Pool::with_hashing(bytes, 1, hashing),
            high: None,
            numbering: RandomState::new(),
            next_file: AtomicU64::new(0),
            secondary_hits: AtomicU64::new(0),
        };
        Self { pools: Arc::new(pools), secondary: None }
    }

    /// The capacity in bytes.
    pub fn capacity(&self) -> u64 {
        self.pools.capacity.load(Ordering::Relaxed)
    }

    /// Changes the capacity, and evicts blocks until the rest fits. The number of shards, and so the
    /// largest block that can be cached, are those of a cache that was created with the old capacity.
    ///
    /// ```
    /// use sstkit_table::BlockCache;
    ///
    /// let cache = BlockCache::new(64 << 20);
    /// cache.set_capacity(16 << 20); // memory is short
    /// assert_eq!(cache.capacity(), 16 << 20);
    /// assert!(cache.used_bytes() <= cache.capacity());
    /// ```
    pub fn set_capacity(&self, bytes: u64) {
        self.pools.capacity.store(bytes, Ordering::Relaxed);
        let (high, common) = shares(bytes, self.pools.high_share);
        self.pools.common.set_capacity(common);
        self.pools.high.iter().for_each(|pool| pool.set_capacity(high));
    }

    /// What the cache contains, and what went in and out. Hits and misses are counted by
    /// [`Tickers`](crate::Tickers), which tables can share: a hit in the cache itself touches nothing
    /// that threads share.
    pub fn metrics(&self) -> CacheMetrics {
        let sum = |count: fn(&Shard) -> u64| self.pools().map(|pool| pool.sum(count)).sum();
        CacheMetrics {
            capacity: self.capacity(),
            used_bytes: self.used_bytes(),
            blocks: self.len(),
            insertions: sum(|shard| shard.insertions),
            evictions: sum(|shard| shard.evictions),
            secondary_hits: self.pools.secondary_hits.load(Ordering::Relaxed),
        }
    }

    /// Bytes in use, including the overhead per block.
    pub fn used_bytes(&self) -> u64 {
        self.pools().map(|pool| pool.sum(Shard::used_bytes)).sum()
    }

    /// The number of cached blocks.
    pub fn len(&self) -> usize {
        self.pools().map(|pool| pool.sum(|shard| shard.len() as u64)).sum::<u64>() as usize
    }

    /// Whether no block is cached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Evicts all blocks.
    pub fn clear(&self) {
        self.pools().for_each(Pool::clear);
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

    /// A number that no other file of this cache has.
    fn new_number(&self) -> u64 {
        self.number_of(self.pools.next_file.fetch_add(1, Ordering::Relaxed))
    }

    fn number_of(&self, identity: impl Hash) -> u64 {
        self.pools.numbering.hash_one(identity)
    }

    pub(crate) fn evict(&self, file: u64) {
        self.pools().for_each(|pool| pool.evict(file));
        if let Some(secondary) = &self.secondary {
            secondary.evict_file(file);
        }
    }

    /// The block of `key`, if it is cached. Does not count as a use.
    pub(crate) fn peek(&self, key: &BlockKey) -> Option<CachedBlock> {
        self.pools().find_map(|pool| pool.peek(key))
    }

    /// The block of `key`, if it is cached. Looks at the slot of `hint` first, and updates it.
    #[inline]
    pub(crate) fn get(
        &self,
        key: &BlockKey,
        priority: Priority,
        hint: &SlotHint,
    ) -> Option<CachedBlock> {
        let (block, slot) = self.pool(priority).get(key, hint.get())?;
        hint.set(slot);
        Some(block)
    }

    /// Calls `look` with the data block of `key`, if it is in the slot of `hint`, has been used before
    /// and has fences. The slot is locked meanwhile: `look` should be short and must not use the cache.
    /// `tail` bytes follow the user key in each stored key.
    #[inline]
    pub(crate) fn look<R>(
        &self,
        key: &BlockKey,
        hint: &SlotHint,
        tail: usize,
        look: impl FnOnce(&Block<Bytes>, &BlockFences) -> Option<R>,
    ) -> Option<R> {
        self.pools.common.look((key, hint.get()), tail, look)
    }

    /// Prefetches the slot for [`look`](Self::look).
    #[inline]
    pub(crate) fn prefetch(&self, hint: &SlotHint) {
        self.pools.common.prefetch(hint.get());
    }

    /// Prefetches the block after that of `hint`, in the direction of a scan.
    #[inline]
    pub(crate) fn prefetch_scan(&self, hint: &SlotHint, backward: bool) {
        self.pools.common.prefetch_scan(hint.get(), backward);
    }

    /// The admission policy for long scans: whether a block that is not cached should be
    /// [inserted](Self::get_or_load). It is, if there is room or if it has a ghost entry; otherwise it gets
    /// a ghost entry.
    pub(crate) fn admits_scanned(&self, key: &BlockKey) -> bool {
        self.pools.common.admits_scanned(key)
    }

    /// The block of `key`, and whether it was a hit. While one thread loads a block, others wait for it;
    /// if loading fails, the next one tries. `load` gets the contents, if the secondary cache has them.
    pub(crate) fn get_or_load(
        &self,
        key: BlockKey,
        priority: Priority,
        hint: &SlotHint,
        load: impl FnOnce(Option<Bytes>) -> Result<CachedBlock>,
    ) -> Result<(CachedBlock, bool)> {
        let pool = self.pool(priority);
        if let Some(block) = pool.get_at(&key, hint.get()) {
            return Ok((block, true));
        }
        let (block, slot, found) = pool.load(key, || match &self.secondary {
            None => load(None),
            Some(secondary) => {
                let (block, is_hit) = secondary_cache::load(&**secondary, &key, load)?;
                self.pools.secondary_hits.fetch_add(is_hit.into(), Ordering::Relaxed);
                Ok(block)
            }
        })?;
        hint.set(slot.unwrap_or(NO_SLOT));
        Ok((block, found))
    }
}

/// The state of a [`BlockCache`], and its events since it was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheMetrics {
    /// The capacity in bytes.
    pub capacity: u64,
    /// Bytes in use, including the overhead per block.
    pub used_bytes: u64,
    /// The number of blocks.
    pub blocks: usize,
    /// Blocks that were inserted.
    pub insertions: u64,
    /// Blocks that were evicted to make room; not those of files that were evicted or closed.
    pub evictions: u64,
    /// Blocks that the [`SecondaryCache`] had.
    pub secondary_hits: u64,
}

/// The parts of the capacity for blocks of high priority, and for all others.
fn shares(bytes: u64, high_share: f64) -> (u64, u64) {
    let high = ((bytes as f64 * high_share) as u64).min(bytes);
    (high, bytes - high)
}

/// A block must fit into a shard to be cached, so there are several shards only if each is large.
fn common_pool(bytes: u64) -> Pool {
    let most = std::thread::available_parallelism().map_or(1, NonZero::get) as u64 * 4;
    let shards = (bytes / SHARD_BYTES).clamp(1, most);
    Pool::new(bytes, 1 << shards.ilog2())
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
mod tests;
