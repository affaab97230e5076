//! A limit, for the whole process, on blocks that decompress to far more than their stored size.
//!
//! ```text
//! decompressed to at most 64 MiB, or 16 times the stored size      not counted: the file justifies it
//! more                                                             counted until it is dropped
//! ```
//!
//! Each is within the limit of one block, but a merge or many threads hold one per table.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::raw::ALWAYS_JUSTIFIED_EXPANSION;

/// Blocks up to this size are not counted.
const LARGE: usize = 64 << 20;

/// The limit of all of them together, in limits of one block.
const BLOCKS: usize = 2;

/// Bytes of all of them.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The contents of a large block, counted until they are dropped.
struct LargeBlock(Vec<u8>);

impl AsRef<[u8]> for LargeBlock {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for LargeBlock {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0.len(), Ordering::Relaxed);
    }
}

/// Decompressed contents of a block of `stored` bytes, counted if they are large. `max_block_size` is
/// the limit of one block.
pub(crate) fn counted(contents: Vec<u8>, stored: usize, max_block_size: usize) -> Result<Bytes> {
    let size = contents.len();
    if size <= LARGE || size <= stored.saturating_mul(ALWAYS_JUSTIFIED_EXPANSION) {
        return Ok(contents.into());
    }
    let before = TAKEN.fetch_add(size, Ordering::Relaxed);
    let block = LargeBlock(contents);
    let limit = max_block_size.saturating_mul(BLOCKS);
    if before.saturating_add(size) > limit {
        return Err(Error::unsupported(format!(
            "the block decompresses to {size} bytes; with {before} bytes of other large blocks in \
             use, that exceeds the limit of {limit} bytes ({BLOCKS} times max_block_size or \
             --max-block-size, which you can raise)"
        )));
    }
    Ok(Bytes::from_owner(block))
}
