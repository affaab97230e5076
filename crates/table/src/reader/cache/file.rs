//! The file that a cached block belongs to.
//!
//! ```text
//! device, inode, size, time, last bytes ----.
//! how blocks are decoded -------------------+---> number       the same each time the file is opened
//! no identity: memory, a network … -------------> number       unique, evicted with the table
//! ```
//!
//! A table that is opened again finds its blocks, a replaced file does not find those of the old one,
//! and no unreachable block stays in the cache.

use std::hash::Hash;

use super::BlockCache;

/// A file in a cache. Dropping it evicts the blocks of a file without an identity.
pub(crate) struct CachedFile {
    pub(crate) cache: BlockCache,
    /// Part of the keys of its blocks.
    pub(crate) number: u64,
    evicts: bool,
}

impl CachedFile {
    /// A file with a cache of its own.
    pub(crate) fn alone(bytes: u64) -> Self {
        Self { cache: BlockCache::new(bytes), number: 0, evicts: false }
    }

    /// A file in a shared cache. Files with the same `identity` share their blocks.
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
