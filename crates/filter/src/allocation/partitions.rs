//! Partitioned filters of a level: how many partitions a policy leads to, and how large they are.
//!
//! ```text
//! decoupled   [capacity][capacity][rest]                a partition ends when it is full
//!
//! coupled     [ index ][ index ][ index ]               the index ends it first
//!             [capacity + ½ block][block][…][block]     or it is full: it ends with a data block, and
//!                                                       the next one after another block
//! ```
//!
//! With prefixes a partition has one or two entries more than its capacity: one is added at each end. A key
//! that adds its prefix and itself may fill it beyond the capacity.

use sstkit_coding::setters;

#[cfg(not(feature = "std"))]
use crate::float::Float as _;
use crate::partitioned::capacity;
use crate::policy::{BuildContext, FilterPolicy};

/// All keys but very few add two entries.
const ALL_ADD_BOTH: f64 = 0.99;

/// How the filters of a level are partitioned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilterPartitions {
    metadata_block_size: usize,
    block_size_deviation: usize,
    /// With prefixes, the share of keys that add two entries.
    prefixes: Option<f64>,
    pub(super) entry_length: u64,
    coupled: Option<CoupledPartitions>,
}

/// Partitions that end only where those of the index do.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CoupledPartitions {
    keys_of_index_partition: u64,
    keys_of_block: u64,
}

impl FilterPartitions {
    /// Partitions of about `metadata_block_size` bytes minus `block_size_deviation` percent, which end
    /// when they are full.
    pub fn new(metadata_block_size: usize, block_size_deviation: usize) -> Self {
        Self {
            metadata_block_size,
            block_size_deviation,
            prefixes: None,
            entry_length: 0,
            coupled: None,
        }
    }

    /// The partitions of one filter: how many, and how many keys each of them has. `None` if the policy
    /// builds no partitions.
    pub(super) fn of_filter(
        &self,
        keys: u64,
        policy: &FilterPolicy,
        context: &BuildContext,
    ) -> Option<[(u64, u64); 3]> {
        let size = (self.metadata_block_size, self.block_size_deviation);
        let capacity = capacity(policy, context, self.prefixes.is_some(), size).ok()?.max(1) as u64;
        Some(match self.coupled {
            None => self.decoupled(keys, capacity),
            Some(coupled) if capacity < coupled.keys_of_index_partition => {
                coupled.full_ones(keys, capacity)
            }
            Some(coupled) => {
                let count = keys as f64 / coupled.keys_of_index_partition as f64;
                let count = (count.round() as u64).max(1);
                [(count - 1, keys / count), (1, keys / count + keys % count), (0, 0)]
            }
        })
    }

    fn decoupled(&self, keys: u64, capacity: u64) -> [(u64, u64); 3] {
        let Some(both) = self.prefixes else {
            let full = keys.saturating_sub(1) / capacity;
            return [(full, capacity), (1, keys - full * capacity), (0, 0)];
        };
        // The share of partitions that a key fills beyond the capacity. If each adds two entries to one
        // prefix, none does or all do.
        let beyond = match both > ALL_ADD_BOTH {
            true => f64::from(capacity.is_multiple_of(2)),
            false => both / (1.0 + both),
        };
        // One of the entries of a partition is a prefix of the one before.
        let of_keys = (capacity as f64 + beyond - 1.0).max(1.0);
        let full = (keys.saturating_sub(1) as f64 / of_keys) as u64;
        // Beyond 2^53 keys, floating point rounds up, too.
        let rest = keys.saturating_sub((full as f64 * of_keys) as u64);
        let larger = ((full as f64 * beyond).round() as u64).min(full);
        [
            (full - larger, capacity.saturating_add(1)),
            (larger, capacity.saturating_add(2)),
            (1, rest),
        ]
    }
}

impl CoupledPartitions {
    /// Partitions that end after they are full.
    fn full_ones(self, keys: u64, capacity: u64) -> [(u64, u64); 3] {
        let large = capacity.saturating_add(self.keys_of_block / 2);
        match keys / large.saturating_add(self.keys_of_block) {
            0 => {
                let full = keys.saturating_sub(1) / large;
                [(full, large), (1, keys - full * large), (0, 0)]
            }
            pairs => [(pairs, large), (pairs, keys / pairs - large), (0, 0)],
        }
    }
}

setters! {
    impl FilterPartitions:

    /// Prefixes are added, and `both` is the share of keys that add their prefix and themselves: 0 without
    /// whole keys, 1 if all prefixes are different. Default: no prefixes.
    pub fn prefixes(mut self, both: f64) { self.prefixes = Some(both.clamp(0.0, 1.0)); }

    /// The bytes of an entry of the top-level index. Default: 0.
    pub fn entry_length(mut self, bytes: u64) { self.entry_length = bytes; }

    /// Partitions that end only where those of the index do: for how many keys of the filter an index
    /// partition suffices, and how many a data block has. Default: they end when they are full.
    pub fn coupled(mut self, keys_of_index_partition: u64, keys_of_block: u64) {
        self.coupled = Some(CoupledPartitions {
            keys_of_index_partition: keys_of_index_partition.max(1),
            keys_of_block: keys_of_block.max(1),
        });
    }
}
