//! Entries to filter bytes.

use std::sync::Arc;

use crate::aligned::AlignedBytes;
use crate::arch::Kernel;
use crate::budget::Charge;
use crate::builder::Entries;
use crate::sizing::MemorySizing;
use crate::trailer::{TRAILER_LENGTH, Trailer};

use super::{
    actual_millibits, approx_num_entries, data_length, expected_fpr, num_probes, round_down,
};

/// Blocks of more than this together are asked for ahead of their use. In a second-level cache they
/// are near enough: asking costs more than waiting.
const NEAR_LENGTH: usize = 1 << 20;

/// Builds cache-local Bloom filters of one size per key.
#[derive(Clone, Debug)]
pub(crate) struct FastLocalBloomBuilder {
    millibits_per_key: u32,
    sizing: Option<Arc<MemorySizing>>,
}

impl FastLocalBloomBuilder {
    pub(crate) fn new(millibits_per_key: u32, sizing: Option<Arc<MemorySizing>>) -> Self {
        Self { millibits_per_key, sizing }
    }

    /// The size for `keys` keys, trailer included, before any rounding for the allocator.
    pub(crate) fn size(&self, keys: usize) -> usize {
        data_length(keys, self.millibits_per_key) + TRAILER_LENGTH
    }

    pub(crate) fn approx_num_entries(&self, size: usize) -> usize {
        approx_num_entries(size, self.millibits_per_key)
    }

    /// The filter of `entries`, of which there is at least one.
    pub(crate) fn build(&self, entries: &Entries, charge: &mut Charge) -> Vec<u8> {
        let keys = entries.len();
        let mut size = self.size(keys);
        if let Some(sizing) = &self.sizing {
            let rate = |size: usize| {
                let data = size - TRAILER_LENGTH;
                expected_fpr(keys, data, self.num_probes(keys, data))
            };
            size = sizing.choose(size, rate, round_down);
        }
        charge.reserve(size);
        // While their bits are set, blocks are cache lines.
        let mut filter = AlignedBytes::zeroed(size);
        let (data, trailer) = filter.split_last_chunk_mut().expect("a size has room for a trailer");
        let num_probes = self.num_probes(keys, data.len());
        let (kernel, (blocks, _)) = (Kernel::best(), data.as_chunks_mut());
        // Hashes near each other lead to a part of it all.
        let far = size / entries.parts() > NEAR_LENGTH;
        entries.for_each_slice(|hashes| kernel.bloom_insert_all(blocks, hashes, num_probes, far));
        Trailer::FastLocalBloom { num_probes }.encode_to(trailer);
        filter.into_vec()
    }

    /// Expected false-positive rate of the filter of `keys` keys.
    pub(crate) fn expected_fpr(&self, keys: usize) -> f64 {
        let data = data_length(keys, self.millibits_per_key);
        expected_fpr(keys, data, self.num_probes(keys, data))
    }

    /// Probes by the configured bits per key; by the real ones under `optimize_filters_for_memory`.
    fn num_probes(&self, keys: usize, data_length: usize) -> u8 {
        num_probes(match self.sizing {
            None => self.millibits_per_key,
            Some(_) => actual_millibits(keys, data_length),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::arch::{Block, block_index, bloom_bits};

    use super::*;

    /// A filter that is not near, and one of so many keys that they are dealt out.
    #[test]
    #[cfg_attr(miri, ignore = "a million keys take hours there")]
    fn neither_dealing_nor_fetching_ahead_shows() {
        bits_are_those_of_each_hash(3 << 20, 4000, 3);
        bits_are_those_of_each_hash(13 << 20, 2000, 1);
    }

    fn bits_are_those_of_each_hash(count: u64, millibits: u32, num_probes: u8) {
        let hash = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entries: Entries = (1..=count).map(hash).collect();
        let builder = FastLocalBloomBuilder::new(millibits, None);
        let filter = builder.build(&entries, &mut Charge::new(None));
        let mut blocks: Vec<Block> = vec![[0; 64]; filter.len() / 64];
        for hash in (1..=count).map(hash) {
            let index = block_index(&blocks, hash);
            for bit in bloom_bits(hash, num_probes) {
                blocks[index][bit / 8] |= 1 << (bit % 8);
            }
        }
        assert!(filter[..filter.len() - TRAILER_LENGTH] == *blocks.as_flattened());
        assert_eq!(filter[filter.len() - TRAILER_LENGTH..], [0xff, 0, num_probes, 0, 0]);
    }
}
