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
//! Without a share for high priority there is one pool for all. Each block has a [slot](slots) whose
//! number others may remember; what goes when room is needed is decided by [shards](shard).

mod file;
mod hashing;
mod pool;
mod recycled_buffer;
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
pub(crate) use self::recycled_buffer::RecycledBuffer;
use self::shard::Shard;
use self::slots::NO_SLOT;
pub(crate) use self::slots::SlotHint;
use crate::error::Result;
use crate::raw::{Block, BlockFences, BlockHandle, BlockKind};

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
    /// Keyed, so that nobody can choose what a file is taken for.
    numbering: RandomState,
    next_file: AtomicU64,
}

/// Which block: the [number of the file](mod@file) in this cache, and what a handle to it says. In a forged file
/// two handles may lead to one offset and mean different blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockKey {
    pub(crate) file: u64,
    pub(crate) kind: BlockKind,
    pub(crate) handle: BlockHandle,
}

/// Whether a block goes to the part of the cache that data blocks cannot fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    Low,
    High,
}

/// A block ready for use. Cloning counts a reference and copies a few words.
#[derive(Clone)]
pub(crate) enum CachedBlock {
    Block(Block<Bytes>),
    Filter(Filter<Bytes>),
    FilterBlock(FilterBlock<Bytes>),
}

impl CachedBlock {
    /// Bytes of its contents.
    pub(crate) fn len(&self) -> u64 {
        let length = match self {
            Self::Block(block) => block.bytes().len(),
            Self::Filter(filter) => filter.bytes().len(),
            Self::FilterBlock(filter) => filter.bytes().len(),
        };
        length as u64
    }
}

impl BlockCache {
    /// A cache of at most `bytes`, with what it needs for each block: not much less for many tiny ones,
    /// as the places of blocks that went stay for others. A block is kept if it fits: into all of it,
    /// or in a cache of 64 MiB and more into a part of 32 MiB or more. Of each part the memory of one
    /// block that went, of at most 64 KiB, waits for the next one, which is not counted.
    pub fn new(bytes: u64) -> Self {
        Self::with_high_priority_share(bytes, 0.0)
    }

    /// A cache of at most `bytes`, of which the given share (0 to 1; RocksDB's
    /// `high_pri_pool_ratio`) is kept for index and filter blocks of tables that keep them here.
    pub fn with_high_priority_share(bytes: u64, share: f64) -> Self {
        let high = (bytes as f64 * share.clamp(0.0, 1.0)) as u64;
        let pools = Pools {
            common: common_pool(bytes - high.min(bytes)),
            // One shard: its blocks may be large.
            high: (high > 0).then(|| Pool::new(high, 1)),
            numbering: RandomState::new(),
            next_file: AtomicU64::new(0),
        };
        Self { pools: Arc::new(pools) }
    }

    /// A cache in one piece whose evictions are the same in every run: which ghost entries collide
    /// depends on the seed of the hash.
    #[cfg(test)]
    pub(crate) fn deterministic(bytes: u64) -> Self {
        let hashing = BlockHashing::seeded(0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
        let pools = Pools {
            common: Pool::with_hashing(bytes, 1, hashing),
            high: None,
            numbering: RandomState::new(),
            next_file: AtomicU64::new(0),
        };
        Self { pools: Arc::new(pools) }
    }

    /// Bytes in use, a few words for each block included.
    pub fn used_bytes(&self) -> u64 {
        self.pools().map(|pool| pool.sum(Shard::used_bytes)).sum()
    }

    /// Blocks held.
    pub fn len(&self) -> usize {
        self.pools().map(|pool| pool.sum(|shard| shard.len() as u64)).sum::<u64>() as usize
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops all blocks.
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

    /// A number for a file that no other file of this cache has.
    fn new_number(&self) -> u64 {
        self.number_of(self.pools.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// The number of the file that is known by this.
    fn number_of(&self, identity: impl Hash) -> u64 {
        self.pools.numbering.hash_one(identity)
    }

    /// Evicts all blocks of a file.
    fn evict(&self, file: u64) {
        self.pools().for_each(|pool| pool.evict(file));
    }

    /// The block under `key`, if it is there. Asking does not make it count as used.
    pub(crate) fn peek(&self, key: &BlockKey) -> Option<CachedBlock> {
        self.pools().find_map(|pool| pool.peek(key))
    }

    /// The block under `key`, if it is there. `hint` says where it may be, and then where it is.
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

    /// Looks into the data block under `key` where it lies, if it is where `hint` says, has been used
    /// before, and can have fences. What is done there should not take long, and must not come
    /// here again. `tail` bytes follow the keys proper in the block.
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

    /// Asks for the memory that [`look`](Self::look) starts with.
    #[inline]
    pub(crate) fn prefetch(&self, hint: &SlotHint) {
        self.pools.common.prefetch(hint.get());
    }

    /// Whether the block under `key`, which is not here and comes by on a long scan, is to be
    /// [loaded](Self::get_or_load): if there is room, or if it came by not long ago. If it is
    /// neither, it has come by now.
    pub(crate) fn admits_scanned(&self, key: &BlockKey) -> bool {
        self.pools.common.admits_scanned(key)
    }

    /// The block under `key`, and whether it was found rather than loaded. While one thread loads a
    /// block, others that want it wait for it; if loading fails, the next one tries. `load` is given
    /// memory that another one may have left.
    pub(crate) fn get_or_load(
        &self,
        key: BlockKey,
        priority: Priority,
        hint: &SlotHint,
        load: impl FnOnce(RecycledBuffer) -> Result<CachedBlock>,
    ) -> Result<(CachedBlock, bool)> {
        let pool = self.pool(priority);
        if let Some(block) = pool.get_at(&key, hint.get()) {
            return Ok((block, true));
        }
        let (block, slot, found) = pool.load(key, load)?;
        hint.set(slot.unwrap_or(NO_SLOT));
        Ok((block, found))
    }
}

/// A block must fit into a shard to be kept, so there are several only where each is large.
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
