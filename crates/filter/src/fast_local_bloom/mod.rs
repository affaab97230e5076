//! The cache-local Bloom filter of RocksDB, format version 5 and later ("FastLocalBloom").
//!
//! All bits of a key are in one block of 64 bytes, so a probe costs one cache miss.
//!
//! ```text
//!   block 0                block 1                      block m-1            trailer
//! +----------------------+----------------------+-----+----------------------+--------------+
//! | 512 bits             | 512 bits             | ... | 512 bits             | ff 00 k 00 00|
//! +----------------------+----------------------+-----+----------------------+--------------+
//!
//! h = XXPH3(key), 64 bits
//!   block  = low32(h) · m >> 32                       selects the block
//!   x      = high32(h)
//!   k times: bit = x >> 23  (nine bits: 0..512)       selects the bit
//!            x  *= 0x9e3779b9                         next state
//! ```
//!
//! Bit *p* of a block is bit *p* mod 8 of its byte *p* / 8.
//!
//! # Size and probes
//!
//! *n* keys with *mb* thousandths of a bit per key take ⌈*n·mb* / 8000⌉ bytes, at most 4 GiB - 64,
//! rounded up to whole blocks. The number of probes follows from *mb* by a table that RocksDB
//! determined by measurement ([`num_probes`]). It is below the theoretical *b* ln 2, because
//! more probes make crowded blocks worse.
//!
//! | bits per key | 2 | 5 | 8 | 10 | 12 | 14 | 16 | 20 |
//! |---|---|---|---|---|---|---|---|---|
//! | probes | 1 | 3 | 5 | 6 | 8 | 8 | 9 | 11 |
//! | rate | 39 % | 9.3 % | 2.3 % | 0.95 % | 0.40 % | 0.18 % | 0.080 % | 0.017 % |
//!
//! # Example
//!
//! `hello` and `world` with 10 bits per key: one block, six probes. XXPH3(`hello`) is
//! `a0bbc238c97657b5`. Its high half `a0bbc238` gives bit 0x141 = 321, which is bit 1 of byte 40.

mod builder;
mod reader;

pub(crate) use builder::FastLocalBloomBuilder;
pub(crate) use reader::FastLocalBloomReader;

use crate::math;
use crate::trailer::TRAILER_LENGTH;

/// Length of a block: one cache line.
pub(crate) const BLOCK_LENGTH: usize = 64;

/// Maximum data length: whole blocks below 4 GiB.
const MAX_DATA_LENGTH: u64 = 0xffff_ffc0;

/// The number of probes for a size in thousandths of a bit per key.
///
/// This is RocksDB's table, determined by measurement. It is not monotonic: 25,501 gives 12, but 25,502
/// to 26,000 give 11.
pub fn num_probes(millibits_per_key: u32) -> u8 {
    /// The upper limits for 1, 2, 3 … probes, in thousandths of a bit.
    const LIMITS: [u32; 12] =
        [2080, 3580, 5100, 6640, 8300, 10_070, 11_720, 14_001, 16_050, 18_300, 22_001, 25_501];
    const MOST_PROBES: u8 = 24;

    match LIMITS.iter().position(|&limit| millibits_per_key <= limit) {
        Some(i) => i as u8 + 1,
        None if millibits_per_key <= 50_000 => ((millibits_per_key - 1) / 2000 - 1) as u8,
        None => MOST_PROBES,
    }
}

/// The data length for `keys` keys, without the trailer.
pub(crate) fn data_length(keys: usize, millibits_per_key: u32) -> usize {
    let bytes = (keys as u64).saturating_mul(u64::from(millibits_per_key)).div_ceil(8000);
    (bytes.min(MAX_DATA_LENGTH) as usize).next_multiple_of(BLOCK_LENGTH)
}

/// Rounds `size` down to whole blocks and a trailer.
pub(crate) fn round_down(size: usize) -> usize {
    let data = size.saturating_sub(TRAILER_LENGTH).min(MAX_DATA_LENGTH as usize);
    data / BLOCK_LENGTH * BLOCK_LENGTH + TRAILER_LENGTH
}

/// The actual thousandths of a bit per key of `keys` keys in `data_length` bytes.
pub(crate) fn actual_millibits(keys: usize, data_length: usize) -> u32 {
    let millibits = data_length as u64 * 8000 / (keys as u64).max(1);
    millibits.min(u64::from(u32::MAX)) as u32
}

/// The number of keys for a filter of `size` bytes, trailer included.
pub(crate) fn approx_num_entries(size: usize, millibits_per_key: u32) -> usize {
    let Some(data) = size.checked_sub(TRAILER_LENGTH) else { return 0 };
    let blocks = (data as u64).min(MAX_DATA_LENGTH) / BLOCK_LENGTH as u64;
    (8000 * blocks * BLOCK_LENGTH as u64 / u64::from(millibits_per_key)) as usize
}

/// Expected false-positive rate of `keys` keys in `data_length` bytes (without the trailer).
pub fn expected_fpr(keys: usize, data_length: usize, num_probes: u8) -> f64 {
    rate(keys, data_length, num_probes, math::cache_local)
}

/// The same with [`math::sharded`].
pub(crate) fn sharded_fpr(keys: usize, data_length: usize, num_probes: u8) -> f64 {
    rate(keys, data_length, num_probes, math::sharded)
}

fn rate(
    keys: usize,
    data_length: usize,
    num_probes: u8,
    rate: impl Fn(f64, u32, u32) -> f64,
) -> f64 {
    let bits_per_key = 8.0 * data_length as f64 / keys as f64;
    math::union(
        rate(bits_per_key, u32::from(num_probes), math::CACHE_LINE_BITS),
        math::fingerprint(keys as u64, u64::BITS),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_follow_the_table() {
        for (millibits, expected) in [
            (1000, 1),
            (2080, 1),
            (2081, 2),
            (10_000, 6),
            (10_070, 6),
            (10_071, 7),
            (25_501, 12),
            (25_502, 11),
            (26_000, 11),
            (26_001, 12),
            (28_000, 12),
            (28_001, 13),
            (50_000, 23),
            (50_001, 24),
            (u32::MAX, 24),
        ] {
            assert_eq!(num_probes(millibits), expected, "{millibits}");
        }
    }

    #[test]
    fn sizes_are_whole_blocks() {
        assert_eq!(data_length(1, 1000), 64);
        assert_eq!(data_length(2087, 10_000), 2624);
        assert_eq!(data_length(2087, 14_000), 3712);
        // The maximum, even if n·mb would overflow.
        assert_eq!(data_length(usize::MAX, 100_000), 4_294_967_232);
    }

    #[test]
    fn capacity_of_a_partition() {
        assert_eq!(approx_num_entries(3687, 10_000), 2918);
        assert_eq!(approx_num_entries(68, 10_000), 0);
        assert_eq!(approx_num_entries(4, 10_000), 0);
    }
}
