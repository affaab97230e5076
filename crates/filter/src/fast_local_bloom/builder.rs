//! Building the filter.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::aligned::AlignedBytes;
use crate::arch::Kernel;
use crate::budget::Charge;
use crate::builder::HashEntries;
use crate::error::Result;
use crate::sizing::MemorySizing;
use crate::trailer::{FilterTrailer, TRAILER_LENGTH};

use super::{
    actual_millibits, approx_num_entries, data_length, expected_fpr, num_probes, round_down,
    sharded_fpr,
};

/// Blocks are prefetched in filters larger than this. Smaller ones fit into the L2 cache, where a
/// prefetch costs more than it saves.
const NEAR_LENGTH: usize = 1 << 20;

/// Builds cache-local Bloom filters with a given number of bits per key.
#[derive(Clone, Debug)]
pub(crate) struct FastLocalBloomBuilder {
    millibits_per_key: u32,
    sizing: Option<Arc<MemorySizing>>,
}

impl FastLocalBloomBuilder {
    pub(crate) fn new(millibits_per_key: u32, sizing: Option<Arc<MemorySizing>>) -> Self {
        Self { millibits_per_key, sizing }
    }

    /// The size for `keys` keys, trailer included, before it is adjusted for the allocator.
    pub(crate) fn size(&self, keys: usize) -> usize {
        data_length(keys, self.millibits_per_key) + TRAILER_LENGTH
    }

    pub(crate) fn approx_num_entries(&self, size: usize) -> usize {
        approx_num_entries(size, self.millibits_per_key)
    }

    /// Builds the filter of `entries`. There must be at least one.
    pub(crate) fn build(&self, entries: &HashEntries, charge: &mut Charge) -> Result<Vec<u8>> {
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
        // Aligned, so that each block is one cache line while its bits are set.
        let mut filter = AlignedBytes::zeroed(size);
        let (data, trailer) = filter.split_last_chunk_mut().expect("the size includes the trailer");
        let num_probes = self.num_probes(keys, data.len());
        let (kernel, (blocks, _)) = (Kernel::best(), data.as_chunks_mut());
        let far = size > NEAR_LENGTH;
        entries.for_each_chunk(|hashes| {
            kernel.bloom_insert_all(blocks, hashes, num_probes, far);
        })?;
        FilterTrailer::FastLocalBloom { num_probes }.encode_to(trailer);
        Ok(filter.into_vec())
    }

    /// Expected false-positive rate of a filter with `keys` keys.
    pub(crate) fn expected_fpr(&self, keys: usize) -> f64 {
        let data = data_length(keys, self.millibits_per_key);
        expected_fpr(keys, data, self.num_probes(keys, data))
    }

    /// The same, summed over the Poisson distribution of the keys in the blocks.
    pub(crate) fn sharded_fpr(&self, keys: usize) -> f64 {
        let data = data_length(keys, self.millibits_per_key);
        sharded_fpr(keys, data, self.num_probes(keys, data))
    }

    /// The number of probes for the configured bits per key, or with `optimize_filters_for_memory` for
    /// the actual ones.
    fn num_probes(&self, keys: usize, data_length: usize) -> u8 {
        num_probes(match self.sizing {
            None => self.millibits_per_key,
            Some(_) => actual_millibits(keys, data_length),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::arch::{BloomBlock, block_index, bloom_bits};

    use super::*;

    /// A filter that is large enough for prefetching has the bits of each hash.
    #[test]
    #[cfg_attr(miri, ignore = "a million keys take hours under Miri")]
    fn large_filter_has_all_bits() {
        let (count, millibits, num_probes) = (3 << 20, 4000, 3);
        let hash = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entries: HashEntries = (1..=count).map(hash).collect();
        let builder = FastLocalBloomBuilder::new(millibits, None);
        let filter = builder.build(&entries, &mut Charge::new(None)).unwrap();
        let mut blocks: Vec<BloomBlock> = vec![[0; 64]; filter.len() / 64];
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
