//! Entries to filter bytes.

use std::sync::Arc;

use crate::budget::Charge;
use crate::fast_local_bloom::FastLocalBloomBuilder;
use crate::sizing::MemorySizing;
use crate::trailer::{TRAILER_LENGTH, Trailer};

use super::layout::Layout;
use super::size::{
    SMALL_SLOTS, approx_num_entries, data_length, expected_fpr, num_slots, round_down_size,
};
use super::{BAND_WIDTH, MAX_ENTRIES, banding};

/// Builds Ribbon filters of one rate, or Bloom filters of that rate where those are better.
#[derive(Clone, Debug)]
pub(crate) struct RibbonBuilder {
    /// The rate is one in so many.
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

    /// The filter of `entries`, of which there is at least one.
    pub(crate) fn build(&self, entries: &[u64], charge: &Charge) -> Vec<u8> {
        self.try_build(entries, charge).unwrap_or_else(|| self.bloom.build(entries))
    }

    fn try_build(&self, entries: &[u64], charge: &Charge) -> Option<Vec<u8>> {
        let keys = entries.len();
        if keys > MAX_ENTRIES {
            return None;
        }
        // The first key decides the seed that is tried first, and how the size is rounded.
        let first = *entries.first()?;
        let slots = num_slots(keys);
        let mut size = data_length(slots, self.one_in, (first >> 32) as u32) + TRAILER_LENGTH;
        if slots < SMALL_SLOTS && self.bloom.size(keys) < size {
            return None;
        }
        let _banding = charge.try_split(banding::memory(slots))?;
        let (seed, banding) = banding::solve(entries, slots, first as u8)?;
        if let Some(sizing) = &self.sizing {
            size = sizing.choose(size, |size| expected_fpr(keys, size), round_down_size);
        }
        let num_blocks = slots / BAND_WIDTH;
        let mut filter = vec![0; size];
        let (data, trailer) = filter.split_at_mut(size - TRAILER_LENGTH);
        banding.back_substitute(Layout::new(data.len(), num_blocks), data);
        trailer.copy_from_slice(&Trailer::Ribbon { seed, num_blocks }.encode());
        Some(filter)
    }
}
