//! Which file a block in the cache is of.
//!
//! ```text
//! device, inode, size, time, last bytes ----.
//! how blocks are decoded -------------------+---> number       the same whenever the file is opened
//! nothing known: memory, a network … -----------> number       one of its own, evicted with the table
//! ```
//!
//! So a table that is opened again finds its blocks, a file that was replaced does not find those of
//! the file before it, and no block stays that nobody can reach.

use std::hash::Hash;

use super::BlockCache;

/// A file in a cache. Dropping it evicts the blocks of a file that will not be recognised.
pub(crate) struct CachedFile {
    pub(crate) cache: BlockCache,
    /// Part of the keys of its blocks.
    pub(crate) number: u64,
    evicts: bool,
}

impl CachedFile {
    /// In a cache that no other file uses, and that goes with it.
    pub(crate) fn alone(bytes: u64) -> Self {
        Self { cache: BlockCache::new(bytes), number: 0, evicts: false }
    }

    /// In a shared cache. Files with the same `identity` share their blocks.
    pub(crate) fn shared(cache: &BlockCache, identity: Option<impl Hash>) -> Self {
        let (number, evicts) = match identity {
            Some(identity) => (cache.number_of(identity), false),
            None => (cache.new_number(), true),
        };
        Self { cache: cache.clone(), number, evicts }
    }
}

impl Drop for CachedFile {
    fn drop(&mut self) {
        if self.evicts {
            self.cache.evict(self.number);
        }
    }
}
