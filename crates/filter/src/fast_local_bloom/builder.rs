//! Entries to filter bytes.

use std::sync::Arc;

use crate::arch::{Block, Kernel};
use crate::budget::Charge;
use crate::builder::Entries;
use crate::deal::Deal;
use crate::sizing::MemorySizing;
use crate::trailer::{TRAILER_LENGTH, Trailer};

use super::{
    actual_millibits, approx_num_entries, data_length, expected_fpr, num_probes, round_down,
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
        let mut filter = vec![0; size];
        let (data, trailer) = filter.split_last_chunk_mut().expect("a size has room for a trailer");
        let num_probes = self.num_probes(keys, data.len());
        insert_all(data.as_chunks_mut().0, entries, num_probes, charge);
        Trailer::FastLocalBloom { num_probes }.encode_to(trailer);
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

/// From this length on hashes are dealt out before their bits are set (0.6 times the time, at thirty
/// million keys); below it, waiting for cache lines that were asked for ahead costs no more.
const MIN_DEALT_LENGTH: usize = 16 << 20;

/// Bytes of filter for a run of hashes: a share of the second-level cache.
const RUN_LENGTH: usize = 1 << 17;

/// Hashes that are dealt out at one time, at least, and the share of all that they are.
const MIN_DEALT_HASHES: usize = 1 << 20;
const DEALT_SHARE: usize = 16;

/// Sets the bits of all entries; the order does not matter.
fn insert_all(blocks: &mut [Block], entries: &Entries, num_probes: u8, charge: &mut Charge) {
    let kernel = Kernel::best();
    let length = size_of_val(blocks);
    if length < MIN_DEALT_LENGTH {
        for chunk in entries.chunks() {
            kernel.bloom_insert_all(blocks, chunk, num_probes);
        }
        return;
    }
    let mut deal = Deal::new(length / RUN_LENGTH);
    let window = (entries.len() / DEALT_SHARE).max(MIN_DEALT_HASHES);
    charge.reserve(window * size_of::<u64>());
    for chunk in entries.chunks() {
        for hashes in chunk.chunks(window) {
            // The low half of a hash chooses the block.
            let dealt = deal.by_place(std::iter::once(hashes), |hash| hash, |hash| hash << 32);
            kernel.bloom_insert_all(blocks, dealt, num_probes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More hashes than are dealt out at one time, a filter that they are dealt out for.
    #[test]
    #[cfg_attr(miri, ignore = "a million keys take hours there")]
    fn dealing_does_not_show() {
        let entries: Entries =
            (1..=3 << 20).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut dealt = vec![[0; 64]; MIN_DEALT_LENGTH / 64 + 1];
        let mut direct = dealt.clone();
        insert_all(&mut dealt, &entries, 3, &mut Charge::new(None));
        for chunk in entries.chunks() {
            Kernel::Scalar.bloom_insert_all(&mut direct, chunk, 3);
        }
        assert!(dealt == direct);
    }
}
