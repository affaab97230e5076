//! Entries to filter bytes.

use std::sync::Arc;

use crate::arch::Kernel;
use crate::budget::Charge;
use crate::builder::Entries;
use crate::sizing::MemorySizing;
use crate::trailer::{TRAILER_LENGTH, Trailer};

use super::{
    BLOCK_LENGTH, actual_millibits, approx_num_entries, data_length, expected_fpr, num_probes,
    round_down,
};

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
        // While their bits are set, blocks are cache lines; then they move to where memory begins.
        let mut filter = vec![0; size + BLOCK_LENGTH];
        let start = filter.as_ptr().align_offset(BLOCK_LENGTH).min(BLOCK_LENGTH);
        let (data, trailer) = filter[start..start + size]
            .split_last_chunk_mut()
            .expect("a size has room for a trailer");
        let num_probes = self.num_probes(keys, data.len());
        let (kernel, (blocks, _)) = (Kernel::best(), data.as_chunks_mut());
        entries.chunks().for_each(|hashes| kernel.bloom_insert_all(blocks, hashes, num_probes));
        Trailer::FastLocalBloom { num_probes }.encode_to(trailer);
        filter.copy_within(start..start + size, 0);
        filter.truncate(size);
        filter
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

    /// A filter of more entries than are kept in their order, and too large to be near: its bits are
    /// those of each hash.
    #[test]
    #[cfg_attr(miri, ignore = "a million keys take hours there")]
    fn neither_dealing_nor_fetching_ahead_shows() {
        let hash = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entries: Entries = (1..=3 << 20).map(hash).collect();
        let filter = FastLocalBloomBuilder::new(4000, None).build(&entries, &mut Charge::new(None));
        let mut blocks: Vec<Block> = vec![[0; 64]; filter.len() / 64];
        for hash in (1..=3 << 20).map(hash) {
            let index = block_index(&blocks, hash);
            for bit in bloom_bits(hash, 3) {
                blocks[index][bit / 8] |= 1 << (bit % 8);
            }
        }
        assert!(filter[..filter.len() - TRAILER_LENGTH] == *blocks.as_flattened());
        assert_eq!(filter[filter.len() - TRAILER_LENGTH..], [0xff, 0, 3, 0, 0]);
    }
}
