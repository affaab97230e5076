//! The hash index of a data block: from a user key to its restart interval in one step.
//!
//! ```text
//! +---------------+-----------+      bucket of a user key = Hash32(key, seed 397) mod b
//! | u8 bucket[b]  | fixed16 b |      0..=253  restart interval
//! +---------------+-----------+      254      two intervals collide here: search
//!                                    255      no key of this block falls here
//! ```
//!
//! For point lookups only. An empty bucket does not say that the key is not in the table: it may
//! be in the next block, when this one's index entry is a shortened separator.

use sstkit_coding::fixed::decode_fixed16;
use sstkit_coding::hash32::{SLICE_HASH_SEED, hash32_rocksdb};

use crate::error::{Error, Result};

const COLLISION: u8 = 254;
const EMPTY: u8 = 255;

/// Blocks of this size or more have no hash index, in writers and readers alike.
const MAX_BLOCK_SIZE: usize = 1 << 16;

/// What a hash index knows about a user key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashLookup {
    /// If the block has the key, then in this restart interval.
    Restart(u8),
    /// Several intervals share the bucket.
    Collision,
    /// The block does not have the key.
    Empty,
}

/// The buckets of a block's hash index.
#[derive(Clone, Copy, Debug)]
pub struct HashIndex<'a> {
    /// Not empty.
    buckets: &'a [u8],
}

impl<'a> HashIndex<'a> {
    pub(super) fn new(buckets: &'a [u8]) -> Self {
        Self { buckets }
    }

    /// The buckets as stored.
    pub fn buckets(&self) -> &'a [u8] {
        self.buckets
    }

    /// Where `user_key` (with its timestamp, if there is one) is, if it is in the block.
    ///
    /// The interval is as stored: compare it with the number of restart points before use.
    pub fn lookup(&self, user_key: &[u8]) -> HashLookup {
        let hash = hash32_rocksdb(user_key, SLICE_HASH_SEED) as usize;
        match self.buckets[hash % self.buckets.len()] {
            COLLISION => HashLookup::Collision,
            EMPTY => HashLookup::Empty,
            restart => HashLookup::Restart(restart),
        }
    }
}

/// Takes buckets and their count off the end of `rest`; returns where the buckets end.
pub(super) fn take_buckets(rest: &mut &[u8], block_size: usize) -> Result<usize> {
    if block_size >= MAX_BLOCK_SIZE {
        return Err(Error::mismatch(
            "a hash index in a block this large",
            format_args!("less than {MAX_BLOCK_SIZE}"),
            block_size,
        ));
    }
    let (before, count) = rest.split_last_chunk().ok_or_else(super::too_short)?;
    let count = usize::from(decode_fixed16(*count));
    // `lookup` divides by the count.
    if count == 0 || count > before.len() {
        return Err(Error::mismatch(
            "wrong number of hash buckets",
            format_args!("1 to {}", before.len()),
            count,
        ));
    }
    *rest = &before[..before.len() - count];
    Ok(before.len())
}
