//! A cache of the caller's, behind the block cache.
//!
//! ```text
//! block cache --- miss ---> SecondaryCache --- miss ---> file ---> checksum ---> codec
//!      ^                          | hit                                            |
//!      '---- parsed --------------+------------------ offered to the secondary ----'
//! ```

use bytes::Bytes;

use super::{BlockKey, CachedBlock};
use crate::error::Result;

/// A cache behind a [`BlockCache`](crate::BlockCache), as RocksDB's `SecondaryCache`: in memory under another
/// policy, on a local disk for tables in a remote store, or shared by several processes. It is called
/// for blocks that the block cache does not have, by any thread.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::{Arc, Mutex};
///
/// use bytes::Bytes;
/// use sstkit_table::{BlockCache, BlockKey, SecondaryCache};
///
/// /// Keeps everything.
/// #[derive(Debug, Default)]
/// struct Keeper(Mutex<HashMap<BlockKey, Bytes>>);
///
/// impl SecondaryCache for Keeper {
///     fn get(&self, key: &BlockKey) -> Option<Bytes> {
///         self.0.lock().unwrap().get(key).cloned()
///     }
///
///     fn insert(&self, key: &BlockKey, contents: &[u8]) {
///         self.0.lock().unwrap().insert(*key, Bytes::copy_from_slice(contents));
///     }
///
///     fn evict_file(&self, file: u64) {
///         self.0.lock().unwrap().retain(|key, _| key.file != file);
///     }
/// }
///
/// // Without a capacity of its own: the secondary cache is the only one.
/// let cache = BlockCache::new(0).with_secondary(Arc::new(Keeper::default()));
/// # let _ = cache;
/// ```
pub trait SecondaryCache: Send + Sync + std::fmt::Debug {
    /// The contents of a block, as they were inserted.
    fn get(&self, key: &BlockKey) -> Option<Bytes>;

    /// Offers the contents of a block that was read from the file, verified and decompressed. They need
    /// not be kept.
    fn insert(&self, key: &BlockKey, contents: &[u8]);

    /// The blocks of this file are no longer used.
    fn evict_file(&self, file: u64);
}

/// A block from the secondary cache, or from the file. `load` parses the contents that it is given, or
/// reads them.
pub(super) fn load(
    secondary: &dyn SecondaryCache,
    key: &BlockKey,
    load: impl FnOnce(Option<Bytes>) -> Result<CachedBlock>,
) -> Result<(CachedBlock, bool)> {
    let contents = secondary.get(key);
    let is_hit = contents.is_some();
    let block = load(contents)?;
    if !is_hit {
        secondary.insert(key, block.bytes());
    }
    Ok((block, is_hit))
}
