//! The hash index of a data block: maps a user key to its restart interval.
//!
//! ```text
//! +---------------+-----------+      bucket of a user key = Hash32(key, seed 397) mod b
//! | u8 bucket[b]  | fixed16 b |      0..=253  restart interval
//! +---------------+-----------+      254      two intervals collide here: search
//!                                    255      no key of this block has this bucket
//! ```
//!
//! For point lookups only. An empty bucket does not mean that the table does not contain the key: it
//! may be in the next block, if the separator in the index was shortened.

use sstkit_coding::fixed::decode_fixed16;
#[cfg(feature = "write")]
use sstkit_coding::fixed::put_fixed16;
use sstkit_coding::hash32::{SLICE_HASH_SEED, hash32_rocksdb};

use crate::error::{Error, Result};

const COLLISION: u8 = 254;
const EMPTY: u8 = 255;
/// The largest restart interval a bucket can hold.
#[cfg(feature = "write")]
const MAX_RESTART: usize = 253;

/// Blocks of this size or more have no hash index.
const MAX_BLOCK_SIZE: usize = 1 << 16;

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashLookup {
    /// The key can only be in this restart interval.
    Restart(u8),
    /// Several intervals share the bucket.
    Collision,
    /// The block does not contain the key.
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

    /// Where `user_key` (including its timestamp, if any) can be.
    ///
    /// The interval is as stored: check it against the number of restart points before use.
    pub fn lookup(&self, user_key: &[u8]) -> HashLookup {
        let hash = hash32_rocksdb(user_key, SLICE_HASH_SEED) as usize;
        match self.buckets[hash % self.buckets.len()] {
            COLLISION => HashLookup::Collision,
            EMPTY => HashLookup::Empty,
            restart => HashLookup::Restart(restart),
        }
    }
}

/// Splits buckets and their count off the end of `rest`. Returns where the buckets end.
pub(super) fn take_buckets(rest: &mut &[u8], block_size: usize) -> Result<usize> {
    if block_size >= MAX_BLOCK_SIZE {
        return Err(Error::mismatch(
            "the block is too large for a hash index",
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

/// Builds the hash indexes of data blocks.
#[cfg(feature = "write")]
#[derive(Debug)]
pub(super) struct HashIndexBuilder {
    buckets_per_key: f64,
    /// Grows by `buckets_per_key` with each key. A sum, not a product, as in RocksDB: rounding may
    /// make a difference of one bucket.
    bucket_count: f64,
    /// Hashes and restart intervals.
    keys: Vec<(u32, u8)>,
    /// Too many intervals for a bucket: no index for this block and all later ones.
    overflown: bool,
}

#[cfg(feature = "write")]
impl HashIndexBuilder {
    /// A builder of indexes with `keys_per_bucket` keys per bucket.
    pub(super) fn new(keys_per_bucket: f64) -> Self {
        let buckets_per_key = 1.0 / keys_per_bucket;
        Self { buckets_per_key, bucket_count: 0.0, keys: Vec::new(), overflown: false }
    }

    pub(super) fn add(&mut self, user_key: &[u8], restart: usize) {
        if self.overflown || restart > MAX_RESTART {
            self.overflown = true;
            return;
        }
        self.keys.push((hash32_rocksdb(user_key, SLICE_HASH_SEED), restart as u8));
        self.bucket_count += self.buckets_per_key;
    }

    /// Bytes of the index.
    pub(super) fn size_estimate(&self) -> usize {
        if self.overflown { 0 } else { usize::from(self.odd_bucket_count()) + size_of::<u16>() }
    }

    /// Whether a block of this size, including the index, gets the index.
    pub(super) fn fits(&self, block_size: usize) -> bool {
        !self.overflown && block_size <= MAX_BLOCK_SIZE
    }

    /// Odd, because the hash is poorly distributed modulo powers of two. The count is truncated to 16
    /// bits, as in RocksDB, not clamped.
    fn odd_bucket_count(&self) -> u16 {
        self.bucket_count as u64 as u16 | 1
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let count = self.odd_bucket_count();
        let mut buckets = vec![EMPTY; usize::from(count)];
        for &(hash, restart) in &self.keys {
            let bucket = &mut buckets[(hash % u32::from(count)) as usize];
            *bucket = match *bucket {
                EMPTY => restart,
                same if same == restart => restart,
                _ => COLLISION,
            };
        }
        put_fixed16(&mut buckets, count);
        buckets
    }

    /// Drops the keys, but stays overflown.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.bucket_count = 0.0;
    }
}
