//! Dealing hashes out into runs that each touch a few neighbouring places of a filter.
//!
//! In the order of the keys every hash leads to another end of a filter, and where that is larger
//! than the cache, to a miss. The high bits of some part of a hash say where, so hashes are first
//! brought into runs that have them in common: counted, then each put where its run has got to.

use sstkit_coding::prefetch::prefetch;

use crate::batch::LOOK_AHEAD;

/// More runs than this cost more than the misses they save.
const MAX_RUNS: usize = 1 << 10;

/// Brings hashes into runs.
pub(crate) struct Deal {
    /// How far the high bits are to be shifted: by all 64 if there is one run.
    shift: u32,
    /// Where each run has got to.
    ends: Vec<usize>,
}

impl Deal {
    /// For at least `runs` runs, if that is not too many.
    pub(crate) fn new(runs: usize) -> Self {
        let runs = runs.clamp(1, MAX_RUNS).next_power_of_two();
        Self { shift: u64::BITS - runs.ilog2(), ends: vec![0; runs] }
    }

    /// All hashes, `rehash`ed, by the high bits of their `place`, to `dealt`, which has as many.
    pub(crate) fn by_place<'a>(
        &mut self,
        hashes: impl Iterator<Item = &'a [u64]> + Clone,
        rehash: impl Fn(u64) -> u64,
        place: impl Fn(u64) -> u64,
        dealt: &mut [u64],
    ) {
        let run = |rehashed: u64| place(rehashed).unbounded_shr(self.shift) as usize;
        self.ends.fill(0);
        for &hash in hashes.clone().flatten() {
            self.ends[run(rehash(hash))] += 1;
        }
        let mut start = 0;
        for end in &mut self.ends {
            start += std::mem::replace(end, start);
        }
        for &hash in hashes.flatten() {
            let rehashed = rehash(hash);
            let end = &mut self.ends[run(rehashed)];
            // Runs are more than a processor looks ahead in by itself.
            if let Some(ahead) = dealt.get(*end + LOOK_AHEAD) {
                prefetch(ahead);
            }
            dealt[*end] = rehashed;
            *end += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_in_order_and_whole() {
        let hashes: Vec<u64> =
            (0..5000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        for (asked, bits) in [(0, 0), (1, 0), (2, 1), (3, 2), (64, 6), (1 << 20, 10)] {
            let mut deal = Deal::new(asked);
            for hashes in [&hashes[..], &hashes[..1000]] {
                let mut dealt = vec![7; hashes.len()];
                let place = |hash: u64| hash << 7;
                deal.by_place(hashes.chunks(999), |hash| hash ^ 1, place, &mut dealt);
                let mut expected: Vec<u64> = hashes.iter().map(|hash| hash ^ 1).collect();
                expected.sort_by_key(|hash| (hash << 7).unbounded_shr(64 - bits));
                assert_eq!(dealt, expected, "{asked}");
            }
        }
    }
}
