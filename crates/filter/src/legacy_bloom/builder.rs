//! Building the filter.

use alloc::vec;
use alloc::vec::Vec;

use crate::budget::Charge;
use crate::builder::HashEntries;
use crate::error::Result;
use crate::trailer::{FilterTrailer, TRAILER_LENGTH};

use super::{expected_fpr, num_probes, set_bits_of_line};

/// The maximum number of bits, limited by 32-bit arithmetic.
const MAX_BITS: u64 = 0xffff_0000;

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

    pub(super) fn bits_per_key(&self) -> u32 {
        self.bits_per_key
    }

    pub(super) fn line_length(&self) -> usize {
        self.line.length()
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
    pub(crate) fn build(&self, entries: &HashEntries, charge: &mut Charge) -> Result<Vec<u8>> {
        charge.reserve(self.size(entries.len()));
        let mut filter = self.empty(entries.len());
        entries.for_each_chunk(|hashes| {
            self.insert(&mut filter, hashes.iter().map(|&entry| entry as u32));
        })?;
        Ok(filter)
    }

    pub(super) fn filter_of(&self, count: usize, hashes: impl Iterator<Item = u32>) -> Vec<u8> {
        let mut filter = self.empty(count);
        self.insert(&mut filter, hashes);
        filter
    }

    /// A filter for `count` keys, without any yet.
    fn empty(&self, count: usize) -> Vec<u8> {
        let mut filter = vec![0; self.size(count)];
        let (num_probes, num_lines) = (num_probes(self.bits_per_key), self.num_lines(count));
        let (_, trailer) = filter.split_last_chunk_mut().expect("the size includes the trailer");
        FilterTrailer::LegacyBloom { num_probes, num_lines }.encode_to(trailer);
        filter
    }

    fn insert(&self, filter: &mut [u8], hashes: impl Iterator<Item = u32>) {
        let num_probes = num_probes(self.bits_per_key);
        let (data_length, line_length) = (filter.len() - TRAILER_LENGTH, self.line.length());
        let (data, num_lines) = (&mut filter[..data_length], (data_length / line_length) as u32);
        // Not a loop: the iterator is then not called for each hash.
        hashes.for_each(|hash| {
            let start = (hash % num_lines) as usize * line_length;
            set_bits_of_line(&mut data[start..start + line_length], hash, num_probes);
        });
    }

    /// Expected false-positive rate of a filter with `keys` keys.
    pub(crate) fn expected_fpr(&self, keys: usize) -> f64 {
        expected_fpr(keys, self.size(keys) - TRAILER_LENGTH, num_probes(self.bits_per_key))
    }

    /// Whether a filter with `keys` keys has fewer bits per key than it should, as 32-bit arithmetic has no
    /// more.
    pub(super) fn is_limited(&self, keys: usize) -> bool {
        (keys as u64).saturating_mul(u64::from(self.bits_per_key)) > MAX_BITS
    }

    /// Odd, so that the line and the bit in it do not depend on the same low bits of the hash.
    pub(super) fn num_lines(&self, keys: usize) -> u32 {
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
