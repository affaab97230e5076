//! By how much the rates of the filters exceed those of independent probes.
//!
//! Random hashes tell ([`constant_step`](crate::constant_step)). One filter has a few dozen keys, and a block
//! thousands of filters: each is probed with a few hashes, and all get the mean excess.

use super::BlockBloom;
use crate::constant_step::{RANDOM_PROBES, RandomHashes, rate_of_random_hashes};
use crate::reader::FilterKind;
use crate::stats::FilterStats;

/// Hashes that each filter is probed with, at least.
const LEAST_PROBES: usize = 32;

/// The excess of the filters of a block.
pub(super) struct Excess {
    probes: usize,
    random: RandomHashes,
    sum: f64,
    filters: u64,
}

impl Excess {
    pub(super) fn new(filters: usize) -> Self {
        let probes = (RANDOM_PROBES / 2 / filters.max(1)).max(LEAST_PROBES);
        Self { probes, random: RandomHashes::new(), sum: 0.0, filters: 0 }
    }

    /// Counts a filter.
    pub(super) fn add(&mut self, bloom: BlockBloom, filter: &[u8], stats: &FilterStats) {
        if let (true, Some(expected)) = (is_bloom(stats), stats.expected_fpr) {
            let may_contain = |hash| bloom.may_contain(filter, hash);
            self.sum +=
                rate_of_random_hashes(self.probes, &mut self.random, may_contain) - expected;
            self.filters += 1;
        }
    }

    /// Adds the mean to all rates.
    pub(super) fn correct(self, filters: &mut [FilterStats]) {
        let mean = self.sum / self.filters.max(1) as f64;
        for stats in filters.iter_mut().filter(|stats| is_bloom(stats)) {
            stats.expected_fpr = stats.expected_fpr.map(|rate| (rate + mean).clamp(0.0, 1.0));
        }
    }
}

fn is_bloom(stats: &FilterStats) -> bool {
    matches!(stats.kind, FilterKind::LevelDbBloom | FilterKind::BlockBasedBloom)
}
