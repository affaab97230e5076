//! Keys for measurements, and the random generator that selects them.
//!
//! As in RocksDB's `filter_bench`: 24 bytes on average, two more or fewer, at varying alignment,
//! generated when needed so that none is loaded from memory. Keys of one filter differ in two
//! places, so that a weak hash does not look perfect.
//!
//! ```text
//! | fixed32 number | fixed32 filter + number | zeros up to the length |
//!   high bit set: in no filter
//! ```

/// Keys with numbers from here on are in no filter.
const OUTSIDE: u32 = 1 << 31;
/// Lengths vary by two bytes in both directions.
const VARIANCE: usize = 2;
/// Consecutive keys of the same length (a power of two).
const SAME_LENGTH: u32 = 32;
const ALIGNMENTS: usize = 4;
/// Room for both numbers.
pub(super) const MIN_KEY_SIZE: usize = 8 + VARIANCE;

/// Generates keys in its own buffer.
pub(super) struct KeyMaker {
    buffer: Vec<u8>,
    average: usize,
}

impl KeyMaker {
    /// Keys of `average` bytes, at least [`MIN_KEY_SIZE`].
    pub(super) fn new(average: usize) -> Self {
        let average = average.max(MIN_KEY_SIZE);
        Self { buffer: vec![0; average + VARIANCE + ALIGNMENTS], average }
    }

    /// A key in the filter, if that was built from more than `number` keys.
    #[inline]
    pub(super) fn inside(&mut self, filter: u32, number: u32) -> &[u8] {
        let start = number as usize % ALIGNMENTS;
        let turn = (number / SAME_LENGTH).wrapping_mul(0x9e37_79b1);
        let length = self.average - VARIANCE + below(turn, 2 * VARIANCE as u32 + 1) as usize;
        let key = &mut self.buffer[start..start + length];
        key[..4].copy_from_slice(&number.to_le_bytes());
        key[4..8].copy_from_slice(&filter.wrapping_add(number).to_le_bytes());
        // Clears what a key at another alignment left behind.
        let end = key.len().min(8 + ALIGNMENTS);
        key[8..end].fill(0);
        key
    }

    /// A key that is in no filter.
    #[inline]
    pub(super) fn outside(&mut self, filter: u32, number: u32) -> &[u8] {
        self.inside(filter, number | OUTSIDE)
    }
}

/// Maps 32 random bits to the range from 0 to `limit` (exclusive) without a division.
#[inline]
fn below(bits: u32, limit: u32) -> u32 {
    ((u64::from(bits) * u64::from(limit)) >> 32) as u32
}

/// A fast pseudo-random generator: SplitMix64.
#[derive(Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `limit` (exclusive).
    #[inline]
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        below((self.next() >> 32) as u32, limit)
    }

    /// True with this probability.
    #[inline]
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64) < probability
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_distinct_and_about_24_bytes() {
        let mut maker = KeyMaker::new(24);
        let mut seen = HashSet::new();
        let mut lengths = HashSet::new();
        for number in 0..10_000 {
            for key in [maker.inside(7, number).to_vec(), maker.outside(7, number).to_vec()] {
                lengths.insert(key.len());
                assert!(seen.insert(key));
            }
        }
        assert_eq!(lengths, HashSet::from([22, 23, 24, 25, 26]));
        let again = maker.inside(7, 3).to_vec();
        maker.outside(9, 8);
        assert_eq!(maker.inside(7, 3), again);
    }
}
