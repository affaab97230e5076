//! Building the filter.

use alloc::vec;
use alloc::vec::Vec;

use crate::budget::Charge;
use crate::builder::HashEntries;
use crate::constant_step::{RandomHashes, excess_of_lines, memoized};
use crate::math;
use crate::trailer::{FilterTrailer, TRAILER_LENGTH};

use super::{delta, expected_fpr, num_probes};

/// The maximum number of bits, limited by 32-bit arithmetic.
const MAX_BITS: u64 = 0xffff_0000;

/// Lines of a filter that is simulated.
const SIMULATED_LINES: usize = 128;
/// What tells these filters from those of filter blocks among the simulated ones.
const LEGACY: usize = usize::MAX;

/// The cache line length that a legacy filter is built for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheLine {
    /// 64 bytes: x86 and most others.
    #[default]
    Bytes64,
    /// 128 bytes: AArch64 and POWER.
    Bytes128,
    /// 256 bytes: s390x.
    Bytes256,
}

impl CacheLine {
    /// The length in bytes.
    pub const fn length(self) -> usize {
        match self {
            Self::Bytes64 => 64,
            Self::Bytes128 => 128,
            Self::Bytes256 => 256,
        }
    }
}

/// Builds legacy filters with a given number of bits per key.
#[derive(Clone, Debug)]
pub(crate) struct LegacyBloomBuilder {
    bits_per_key: u32,
    line: CacheLine,
}

impl LegacyBloomBuilder {
    pub(crate) fn new(bits_per_key: u32, line: CacheLine) -> Self {
        Self { bits_per_key, line }
    }

    /// The size for `keys` keys, trailer included.
    pub(crate) fn size(&self, keys: usize) -> usize {
        self.num_lines(keys) as usize * self.line.length() + TRAILER_LENGTH
    }

    /// The largest number of keys whose filter has at most `size` bytes, trailer included.
    pub(crate) fn approx_num_entries(&self, size: usize) -> usize {
        let bits = (size as u64).saturating_mul(8).min(MAX_BITS);
        let mut keys = (bits / u64::from(self.bits_per_key)) as usize + 1;
        while keys >= 1 && self.size(keys) > size {
            keys -= 1;
        }
        keys
    }

    /// Builds the filter of `entries`, which are 32-bit hashes. There must be at least one.
    pub(crate) fn build(&self, entries: &HashEntries, charge: &mut Charge) -> Vec<u8> {
        charge.reserve(self.size(entries.len()));
        self.filter_of(entries.len(), entries.iter().map(|entry| entry as u32))
    }

    fn filter_of(&self, count: usize, hashes: impl Iterator<Item = u32>) -> Vec<u8> {
        let num_probes = num_probes(self.bits_per_key);
        let num_lines = self.num_lines(count);
        let line_length = self.line.length();
        let bit_mask = (8 * line_length - 1) as u32;
        let mut filter = vec![0; self.size(count)];
        let (data, trailer) = filter.split_last_chunk_mut().expect("the size includes the trailer");
        for mut hash in hashes {
            let delta = delta(hash);
            let start = (hash % num_lines) as usize * line_length;
            let line = &mut data[start..start + line_length];
            for _ in 0..num_probes {
                let bit = hash & bit_mask;
                line[(bit / 8) as usize] |= 1 << (bit % 8);
                hash = hash.wrapping_add(delta);
            }
        }
        FilterTrailer::LegacyBloom { num_probes, num_lines }.encode_to(trailer);
        filter
    }

    /// Expected false-positive rate of a filter with `keys` keys.
    pub(crate) fn expected_fpr(&self, keys: usize) -> f64 {
        expected_fpr(keys, self.size(keys) - TRAILER_LENGTH, num_probes(self.bits_per_key))
    }

    /// The same, without RocksDB's approximations, which are up to 14 % off: the sum over the distribution
    /// of keys in lines, and what the constant step of the probes adds, counted in a filter of random
    /// keys.
    pub(crate) fn simulated_fpr(&self, keys: usize) -> f64 {
        let (num_probes, line_length) = (num_probes(self.bits_per_key), self.line.length());
        let simulated = [LEGACY, line_length, self.bits_per_key as usize];
        let excess = memoized(simulated, || {
            let bits = 8 * line_length * SIMULATED_LINES;
            let hashes = RandomHashes::new().take(bits / self.bits_per_key.max(1) as usize);
            let filter = self.filter_of(hashes.len(), hashes.into_iter());
            excess_of_lines(&filter[..filter.len() - TRAILER_LENGTH], line_length, num_probes)
        });
        let bits_per_key = 8.0 * (self.size(keys) - TRAILER_LENGTH) as f64 / keys as f64;
        let rate = math::sharded(bits_per_key, num_probes.into(), 8 * line_length as u32);
        math::union((rate + excess).clamp(0.0, 1.0), math::fingerprint(keys as u64, u32::BITS))
    }

    /// Odd, so that the line and the bit in it do not depend on the same low bits of the hash.
    fn num_lines(&self, keys: usize) -> u32 {
        let bits = (keys as u64).saturating_mul(u64::from(self.bits_per_key)).min(MAX_BITS);
        let lines = bits.div_ceil(8 * self.line.length() as u64) as u32;
        lines | 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_counts_are_odd() {
        let builder = LegacyBloomBuilder::new(10, CacheLine::Bytes64);
        for keys in [1, 50, 51, 102, 103, 154, 10_000] {
            assert_eq!(builder.num_lines(keys) % 2, 1, "{keys}");
        }
        assert_eq!(builder.size(2087), 2629);
        assert_eq!(LegacyBloomBuilder::new(5, CacheLine::Bytes128).size(51), 128 + 5);
    }

    #[test]
    fn capacity_is_maximal() {
        for (bits, line) in
            [(10, CacheLine::Bytes64), (7, CacheLine::Bytes128), (1, CacheLine::Bytes256)]
        {
            let builder = LegacyBloomBuilder::new(bits, line);
            for size in [0, 5, 68, 69, 128, 3687, 100_000] {
                let keys = builder.approx_num_entries(size);
                assert!(keys == 0 || builder.size(keys) <= size);
                assert!(builder.size(keys + 1) > size);
            }
        }
        let builder = LegacyBloomBuilder::new(10, CacheLine::Bytes64);
        assert_eq!(builder.approx_num_entries(3687), 2918);
        // Sizes beyond what 32 bits can address.
        assert_eq!(builder.size(usize::MAX), 536_862_720 + 64 + 5);
        assert_eq!(builder.approx_num_entries(usize::MAX), 429_490_177);
    }
}
