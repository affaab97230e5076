//! Solving the system: elimination row by row, then back-substitution.
//!
//! Elimination keeps at most one row per slot, whose first coefficient is at that slot. A new row
//! whose slot is taken is XORed with the row there, which clears its first coefficient, and moves
//! on to its next one:
//!
//! ```text
//!   slot      5 6 7 8 9
//!   there     1 0 1 1 0 ...   result 011
//!   new       1 1 1 0 1 ...   result 101
//!   XOR         1 0 1 1 ...   result 110     now starts at slot 6, and so on
//! ```
//!
//! until it finds an empty slot, or vanishes. A vanished row with a result of zero said nothing
//! new; any other contradicts the rows before it, and the seed fails. Which slots end up taken, and
//! the solution, do not depend on the order of the rows.

use sstkit_coding::range_map::fast_range64;

use crate::budget::Charge;

use super::hash::RibbonHasher;
use super::layout::Layout;
use super::{BAND_WIDTH, MAX_COLUMNS, SEGMENT_LENGTH};

/// Slots worked on at one time: with 20 bytes each, a share of the second-level cache.
const SLOTS_PER_RUN: u32 = 1 << 13;

/// Sorting into more runs than this costs more than the misses it saves.
const MAX_RUNS: usize = 1 << 10;

/// The rows kept so far.
pub(super) struct Banding {
    rows: Vec<u128>,
    results: Vec<u32>,
}

/// Bytes of banding for so many slots.
pub(super) fn memory(num_slots: u32) -> usize {
    (num_slots as usize).saturating_mul(size_of::<u128>() + size_of::<u32>())
}

/// Solves the system of all `entries` with the first seed that can, from `first_seed` on.
/// The banding itself is charged already; what else it takes is charged here.
pub(super) fn solve(
    entries: &[u64],
    num_slots: u32,
    first_seed: u8,
    charge: &mut Charge,
) -> Option<(u8, Banding)> {
    let mut banding =
        Banding { rows: vec![0; num_slots as usize], results: vec![0; num_slots as usize] };
    let mut runs = Runs::new(entries.len(), num_slots, charge);
    let mut seed = first_seed;
    loop {
        let hasher = RibbonHasher::new(seed, num_slots);
        if banding.add_all(runs.arrange(entries, hasher), hasher) {
            return Some((seed, banding));
        }
        seed = seed.wrapping_add(1);
        if seed == first_seed {
            return None;
        }
        banding.rows.fill(0);
        banding.results.fill(0);
    }
}

impl Banding {
    /// Adds the equations of rehashed keys, or stops at the first that contradicts the others.
    fn add_all(&mut self, rehashed: impl Iterator<Item = u64>, hasher: RibbonHasher) -> bool {
        let mut rehashed = rehashed;
        rehashed.all(|hash| {
            let equation = hasher.equation(hash);
            self.add(equation.start as usize, equation.row, equation.result)
        })
    }

    #[inline]
    fn add(&mut self, start: usize, mut row: u128, mut result: u32) -> bool {
        // The last start is 127 slots before the end, so no row, nor any XOR of rows, reaches past
        // it.
        let mut slot = start;
        loop {
            let there = self.rows[slot];
            if there == 0 {
                self.rows[slot] = row;
                self.results[slot] = result;
                return true;
            }
            row ^= there;
            result ^= self.results[slot];
            if row == 0 {
                return result == 0;
            }
            let step = row.trailing_zeros();
            row >>= step;
            slot += step as usize;
        }
    }

    /// Writes the solution: from the last slot to the first, every unknown follows from the 127
    /// after it.
    ///
    /// For each column the 128 unknowns from the current slot on are kept in one integer, lowest
    /// bit first.
    pub(super) fn back_substitute(&self, layout: Layout, data: &mut [u8]) {
        let (segments, _) = data.as_chunks_mut::<SEGMENT_LENGTH>();
        let mut state = [0u128; MAX_COLUMNS as usize];
        for block in (0..layout.num_blocks()).rev() {
            let (first, columns) = layout.block(block);
            let state = &mut state[..columns];
            let slots = (block * BAND_WIDTH) as usize..((block + 1) * BAND_WIDTH) as usize;
            let rows = self.rows[slots.clone()].iter().zip(&self.results[slots]).rev();
            for (&row, &result) in rows {
                for (column, unknowns) in state.iter_mut().enumerate() {
                    let shifted = *unknowns << 1;
                    // An empty slot has no row and no result: its unknowns are 0.
                    let bit = parity(shifted & row) ^ (result >> column & 1);
                    *unknowns = shifted | u128::from(bit);
                }
            }
            for (segment, unknowns) in segments[first..first + columns].iter_mut().zip(state) {
                *segment = unknowns.to_le_bytes();
            }
        }
    }
}

/// 1 if an odd number of bits is set.
#[inline]
pub(super) fn parity(bits: u128) -> u32 {
    (bits as u64 ^ (bits >> 64) as u64).count_ones() & 1
}

/// Brings the keys into runs that each touch a few neighbouring slots.
///
/// In the order of the keys every row lands on a random slot, and for more than a few ten thousand
/// keys nearly every one of them misses the cache. Since the result does not depend on the order,
/// the keys are first dealt out by the high bits of their rehashed value, which are the high bits
/// of their slot.
struct Runs {
    num_runs: u64,
    /// Rehashed keys, run by run.
    dealt: Vec<u64>,
}

impl Runs {
    fn new(entries: usize, num_slots: u32, charge: &mut Charge) -> Self {
        let num_runs = (num_slots.div_ceil(SLOTS_PER_RUN) as usize).min(MAX_RUNS);
        let mut dealt = Vec::new();
        if num_runs > 1 {
            charge.reserve(entries * size_of::<u64>());
            dealt.resize(entries, 0);
        }
        Self { num_runs: num_runs as u64, dealt }
    }

    fn arrange(&mut self, entries: &[u64], hasher: RibbonHasher) -> impl Iterator<Item = u64> {
        let run = |rehashed: u64| fast_range64(rehashed, self.num_runs) as usize;
        if self.num_runs > 1 {
            let mut ends = vec![0usize; self.num_runs as usize + 1];
            for &entry in entries {
                ends[run(hasher.rehash(entry)) + 1] += 1;
            }
            for i in 1..ends.len() {
                ends[i] += ends[i - 1];
            }
            for &entry in entries {
                let rehashed = hasher.rehash(entry);
                let next = &mut ends[run(rehashed)];
                self.dealt[*next] = rehashed;
                *next += 1;
            }
        }
        let direct = if self.num_runs > 1 { &[][..] } else { entries };
        direct.iter().map(move |&entry| hasher.rehash(entry)).chain(self.dealt.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: u64) -> Vec<u64> {
        (1..=count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
    }

    /// Far more keys than slots: some row contradicts the others whatever the seed.
    #[test]
    fn all_seeds_are_tried_once() {
        assert!(solve(&entries(600), 256, 255, &mut Charge::new(None)).is_none());
    }

    /// So many keys that nearly every seed fails: the search goes on from 255 to 0.
    #[test]
    fn seeds_wrap_around() {
        let entries = entries(256 - 1);
        let solves = |seed: u8| {
            let hasher = RibbonHasher::new(seed, 256);
            let mut banding = Banding { rows: vec![0; 256], results: vec![0; 256] };
            let rehashed = entries.iter().map(|&entry| hasher.rehash(entry));
            banding.add_all(rehashed, hasher)
        };
        let solving: Vec<u8> = (0..=255).filter(|&seed| solves(seed)).collect();
        let (&first, &last) = (solving.first().unwrap(), solving.last().unwrap());
        assert!(last < 255, "some seed after the last one that solves it");
        let (found, _) = solve(&entries, 256, last + 1, &mut Charge::new(None)).unwrap();
        assert_eq!(found, first);
    }
}
