//! Entries to filter bytes.

use std::sync::Arc;

use crate::arch;
use crate::budget::Charge;
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
    pub(crate) fn build(&self, entries: &[u64], charge: &mut Charge) -> Vec<u8> {
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
        arch::bloom_insert_all(data.as_chunks_mut().0, entries, num_probes);
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
