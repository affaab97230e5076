//! Building the filter.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use crate::budget::Charge;
use crate::builder::HashEntries;
use crate::error::Result;
use crate::fast_local_bloom::FastLocalBloomBuilder;
use crate::sizing::MemorySizing;
use crate::trailer::{FilterTrailer, TRAILER_LENGTH};

use super::back_substitution::back_substitute;
use super::layout::Layout;
use super::size::{
    SMALL_SLOTS, approx_num_entries, data_length, expected_fpr, num_slots, round_down_size,
};
use super::{BAND_WIDTH, MAX_ENTRIES, banding};

/// The rounding of the size by the median first key.
const MEDIAN_BIAS: u32 = u32::MAX / 2;

/// Builds Ribbon filters with a given rate, or Bloom filters with that rate where they are better.
#[derive(Clone, Debug)]
pub(crate) struct RibbonBuilder {
    /// The reciprocal of the rate.
    one_in: f64,
    bloom: FastLocalBloomBuilder,
    sizing: Option<Arc<MemorySizing>>,
}

impl RibbonBuilder {
    pub(crate) fn new(
        one_in: f64,
        bloom: FastLocalBloomBuilder,
        sizing: Option<Arc<MemorySizing>>,
    ) -> Self {
        Self { one_in, bloom, sizing }
    }

    pub(crate) fn approx_num_entries(&self, size: usize) -> usize {
        approx_num_entries(size, self.one_in, |size| self.bloom.approx_num_entries(size))
    }

    /// Builds the filter of `entries`. There must be at least one.
    pub(crate) fn build(&self, entries: &HashEntries, charge: &mut Charge) -> Result<Vec<u8>> {
        match self.try_build(entries, charge) {
            Some(filter) => Ok(filter),
            None => self.bloom.build(entries, charge),
        }
    }

    fn try_build(&self, entries: &HashEntries, charge: &mut Charge) -> Option<Vec<u8>> {
        let keys = entries.len();
        // The first key determines the first seed tried and the rounding of the size.
        let first = entries.first()?;
        let (slots, mut size) = self.slots_and_size(keys, (first >> 32) as u32)?;
        let mut working = charge.try_split(banding::memory(slots))?;
        let (seed, banding) = banding::solve(entries, slots, first as u8, &mut working)?;
        if let Some(sizing) = &self.sizing {
            size = sizing.choose(size, |size| expected_fpr(keys, size), round_down_size);
        }
        charge.reserve(size);
        let num_blocks = slots / BAND_WIDTH;
        let mut filter = vec![0; size];
        let (data, trailer) = filter.split_last_chunk_mut().expect("the size includes the trailer");
        back_substitute(&banding, Layout::new(data.len(), num_blocks), data);
        FilterTrailer::Ribbon { seed, num_blocks }.encode_to(trailer);
        Some(filter)
    }

    /// Slots and size of a filter with `keys` keys. `None` if a Bloom filter is better.
    fn slots_and_size(&self, keys: usize, bias: u32) -> Option<(u32, usize)> {
        if keys > MAX_ENTRIES {
            return None;
        }
        let slots = num_slots(keys);
        let size = data_length(slots, self.one_in, bias) + TRAILER_LENGTH;
        let bloom_is_smaller = slots < SMALL_SLOTS && self.bloom.size(keys) < size;
        (!bloom_is_smaller).then_some((slots, size))
    }

    /// The size for `keys` keys, trailer included, rounded as for the median first key and before it is
    /// adjusted for the allocator.
    pub(crate) fn size(&self, keys: usize) -> usize {
        match self.slots_and_size(keys, MEDIAN_BIAS) {
            Some((_, size)) => size,
            None => self.bloom.size(keys),
        }
    }

    /// Expected false-positive rate of a filter with `keys` keys. The size is rounded as for the median
    /// first key.
    pub(crate) fn expected_fpr(&self, keys: usize) -> f64 {
        match self.slots_and_size(keys, MEDIAN_BIAS) {
            Some((_, size)) => expected_fpr(keys, size),
            None => self.bloom.expected_fpr(keys),
        }
    }

    /// The same, more precise if a Bloom filter is built.
    pub(crate) fn sharded_fpr(&self, keys: usize) -> f64 {
        match self.slots_and_size(keys, MEDIAN_BIAS) {
            Some((_, size)) => expected_fpr(keys, size),
            None => self.bloom.sharded_fpr(keys),
        }
    }
}
