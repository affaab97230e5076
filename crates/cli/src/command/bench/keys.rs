//! Keys to measure with, and numbers to draw them by.
//!
//! As in RocksDB's `filter_bench`: 24 bytes on average and two more or fewer, at changing
//! alignment, made as they are needed so that none has to be fetched from memory. Keys of one
//! filter differ in two places, lest a weak hash look perfect.
//!
//! ```text
//! | fixed32 number | fixed32 filter + number | zeros up to the length |
//!   high bit set: in no filter
//! ```

/// Numbers from here on are of keys that are in no filter.
const OUTSIDE: u32 = 1 << 31;
/// Lengths vary by two to either side.
const VARIANCE: usize = 2;
/// So many keys in a row have the same length (a power of two).
const SAME_LENGTH: u32 = 32;
const ALIGNMENTS: usize = 4;
/// Both numbers must fit.
pub(super) const MIN_KEY_SIZE: usize = 8 + VARIANCE;

/// Makes keys in a buffer of its own.
pub(super) struct KeyMaker {
    buffer: Vec<u8>,
    average: usize,
}

impl KeyMaker {
    /// Keys of `average` bytes, [`MIN_KEY_SIZE`] at least.
    pub(super) fn new(average: usize) -> Self {
        let average = average.max(MIN_KEY_SIZE);
        Self { buffer: vec![0; average + VARIANCE + ALIGNMENTS], average }
    }

    /// A key that is in the filter, if it was built from more than `number` keys.
    #[inline]
    pub(super) fn inside(&mut self, filter: u32, number: u32) -> &[u8] {
        let start = number as usize % ALIGNMENTS;
        let turn = (number / SAME_LENGTH).wrapping_mul(0x9e37_79b1);
        let length = self.average - VARIANCE + below(turn, 2 * VARIANCE as u32 + 1) as usize;
        let key = &mut self.buffer[start..start + length];
        key[..4].copy_from_slice(&number.to_le_bytes());
        key[4..8].copy_from_slice(&filter.wrapping_add(number).to_le_bytes());
        // What another alignment has left behind.
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

/// Maps 32 random bits to 0 up to `limit`, without a division.
#[inline]
fn below(bits: u32, limit: u32) -> u32 {
    ((u64::from(bits) * u64::from(limit)) >> 32) as u32
}

/// A quick source of numbers that look random: SplitMix64.
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

    /// From 0 up to `limit`.
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
