//! Radix partitioning of hashes.
//!
//! In the order of the keys, each hash belongs to a random slot, and if the banding is larger than the
//! cache, to a cache miss. The high bits of a rehashed key are those of its slot. Partitioning by them
//! yields runs of hashes with neighboring slots: one pass counts the hashes of each run, a second one
//! copies each hash to its run.

use alloc::vec;
use alloc::vec::Vec;

use sstkit_coding::prefetch::prefetch;

use crate::batch::LOOK_AHEAD;

/// More runs than this cost more than the cache misses they save.
const MAX_RUNS: usize = 1 << 10;

/// Partitions hashes by their high bits.
pub(super) struct RadixPartitioner {
    /// The number of low bits to drop. 64 if there is one run.
    shift: u32,
    /// The end of each run so far.
    ends: Vec<usize>,
}

impl RadixPartitioner {
    /// Creates a partitioner with at least `runs` runs, limited to [`MAX_RUNS`].
    pub(super) fn new(runs: usize) -> Self {
        let runs = runs.clamp(1, MAX_RUNS).next_power_of_two();
        Self { shift: u64::BITS - runs.ilog2(), ends: vec![0; runs] }
    }

    /// Writes the `rehash` of each hash to `partitioned`, ordered by run. The lengths must be equal.
    pub(super) fn partition<'a>(
        &mut self,
        hashes: impl Iterator<Item = &'a [u64]> + Clone,
        rehash: impl Fn(u64) -> u64,
        partitioned: &mut [u64],
    ) {
        let run = |rehashed: u64| rehashed.unbounded_shr(self.shift) as usize;
        self.ends.fill(0);
        for &hash in hashes.clone().flatten() {
            self.ends[run(rehash(hash))] += 1;
        }
        let mut start = 0;
        for end in &mut self.ends {
            start += core::mem::replace(end, start);
        }
        for &hash in hashes.flatten() {
            let rehashed = rehash(hash);
            let end = &mut self.ends[run(rehashed)];
            // There are more runs than the hardware prefetcher tracks.
            if let Some(ahead) = partitioned.get(*end + LOOK_AHEAD) {
                prefetch(ahead);
            }
            partitioned[*end] = rehashed;
            *end += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_ordered_and_complete() {
        let hashes: Vec<u64> =
            (0..5000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        for (runs, bits) in [(0, 0), (1, 0), (2, 1), (3, 2), (64, 6), (1 << 20, 10)] {
            let mut partitioner = RadixPartitioner::new(runs);
            for hashes in [&hashes[..], &hashes[..1000]] {
                let mut partitioned = vec![7; hashes.len()];
                let rehash = |hash: u64| hash.rotate_left(7);
                partitioner.partition(hashes.chunks(999), rehash, &mut partitioned);
                let mut expected: Vec<u64> = hashes.iter().map(|&hash| rehash(hash)).collect();
                expected.sort_by_key(|hash| hash.unbounded_shr(64 - bits));
                assert_eq!(partitioned, expected, "{runs}");
            }
        }
    }
}
