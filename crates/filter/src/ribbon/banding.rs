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
//! the solution, do not depend on the order of the rows, so the order is chosen for speed:
//!
//! * Keys are dealt out by their slot first ([`Deal`]), since in their own order nearly every row
//!   of a large filter misses the cache.
//! * Two rows are on their way at a time. A step has to wait for the one before it; two rows take
//!   turns in waiting (0.7 times the time of one after the other; with three, registers run out).

use std::ops::Range;

use sstkit_coding::huge_pages::advise_huge_pages;

use crate::arch::{Kernel, Row};
use crate::budget::Charge;
use crate::builder::Entries;
use crate::deal::Deal;

use super::hash::{Equation, RibbonHasher};

const WORDS_PER_ROW: usize = size_of::<Row>() / size_of::<u64>();

/// Slots worked on at one time: with 20 bytes each, a share of the first-level cache.
const SLOTS_PER_RUN: u32 = 1 << 8;

/// The rows kept so far.
///
/// ```text
/// memory   | row 0       | row 1       | … | rehashed keys, dealt out |      words
///            low    high
/// ```
///
/// In one piece: an allocator such as glibc's keeps twice the largest piece that was given back for
/// the next filter, and of several pieces together less than they are. A filter takes two thirds
/// of the time where memory is at hand.
pub(super) struct Banding {
    /// Rows have 128 coefficients from the slot on, the first in the lowest bit. An empty slot has
    /// none.
    memory: Vec<u64>,
    num_slots: usize,
    results: Vec<u32>,
}

/// Bytes of banding for so many slots.
pub(super) fn memory(num_slots: u32) -> usize {
    (num_slots as usize).saturating_mul(size_of::<Row>() + size_of::<u32>())
}

/// Solves the system of all `entries` with the first seed that can, from `first_seed` on.
/// The banding itself is charged already; what else it takes is charged here.
pub(super) fn solve(
    entries: &Entries,
    num_slots: u32,
    first_seed: u8,
    charge: &mut Charge,
) -> Option<(u8, Banding)> {
    charge.reserve(entries.len() * size_of::<u64>());
    let mut banding = Banding::new(num_slots as usize, entries.len());
    let mut deal = Deal::new(num_slots.div_ceil(SLOTS_PER_RUN) as usize);
    let mut seed = first_seed;
    loop {
        let hasher = RibbonHasher::new(seed, num_slots);
        if banding.add_all(entries, &mut deal, hasher) {
            return Some((seed, banding));
        }
        seed = seed.wrapping_add(1);
        if seed == first_seed {
            return None;
        }
        banding.clear();
    }
}

/// What became of a row in one step.
enum Step {
    /// It is XORed with another, and further on.
    Onward,
    /// It has found its slot, or said nothing new.
    Settled,
    Contradiction,
}

impl Banding {
    fn new(num_slots: usize, num_keys: usize) -> Self {
        let mut memory = vec![0; num_slots * WORDS_PER_ROW + num_keys];
        advise_huge_pages(&mut memory);
        Self { memory, num_slots, results: vec![0; num_slots] }
    }

    fn clear(&mut self) {
        self.memory[..self.num_slots * WORDS_PER_ROW].fill(0);
        self.results.fill(0);
    }

    /// Rows and results of the slots in `range`.
    pub(super) fn slots(&self, range: Range<usize>) -> (&[Row], &[u32]) {
        let (rows, _) = self.memory.as_chunks();
        (&rows[range.clone()], &self.results[range])
    }

    /// Adds the equations of all keys, or stops at the first that contradicts the others.
    fn add_all(&mut self, entries: &Entries, deal: &mut Deal, hasher: RibbonHasher) -> bool {
        let (slots, keys) = self.parts();
        // Rehashed keys are in the order of their slots.
        deal.by_place(entries.chunks(), |entry| hasher.rehash(entry), |hash| hash, keys);
        Kernel::best().run(|| slots.add_all(keys, hasher))
    }

    /// All slots, and the memory behind the rows.
    fn parts(&mut self) -> (Slots<'_>, &mut [u64]) {
        let (rows, keys) = self.memory.split_at_mut(self.num_slots * WORDS_PER_ROW);
        let (rows, _) = rows.as_chunks_mut();
        // Slices of one length, so that one comparison checks both.
        let results = &mut self.results[..rows.len()];
        (Slots { rows, results }, keys)
    }
}

/// The same, borrowed for as long as rows are added.
struct Slots<'b> {
    rows: &'b mut [Row],
    results: &'b mut [u32],
}

impl Slots<'_> {
    #[inline(always)]
    fn add_all(mut self, rehashed: &[u64], hasher: RibbonHasher) -> bool {
        let mut equations = rehashed.iter().map(|&hash| hasher.equation(hash));
        let Some(mut a) = equations.next() else { return true };
        let Some(mut b) = equations.next() else { return self.settle(a) };
        loop {
            match self.step(&mut a) {
                Step::Onward => {}
                Step::Contradiction => return false,
                Step::Settled => match equations.next() {
                    Some(next) => a = next,
                    None => return self.settle(b),
                },
            }
            match self.step(&mut b) {
                Step::Onward => {}
                Step::Contradiction => return false,
                Step::Settled => match equations.next() {
                    Some(next) => b = next,
                    None => return self.settle(a),
                },
            }
        }
    }

    fn settle(&mut self, mut equation: Equation) -> bool {
        loop {
            match self.step(&mut equation) {
                Step::Onward => {}
                Step::Settled => return true,
                Step::Contradiction => return false,
            }
        }
    }

    #[inline(always)]
    fn step(&mut self, equation: &mut Equation) -> Step {
        // The last start is 127 slots before the end, so no row, nor any XOR of rows, reaches past
        // it.
        let slot = equation.start as usize;
        let (there, result) = (&mut self.rows[slot], &mut self.results[slot]);
        if there[0] == 0 {
            *there = [equation.low, equation.high];
            *result = equation.result;
            return Step::Settled;
        }
        equation.low ^= there[0];
        equation.high ^= there[1];
        equation.result ^= *result;
        if equation.low == 0 {
            if equation.high == 0 {
                return if equation.result == 0 { Step::Settled } else { Step::Contradiction };
            }
            (equation.low, equation.high) = (equation.high, 0);
            equation.start += u64::BITS;
            let distance = equation.low.trailing_zeros();
            equation.low >>= distance;
            equation.start += distance;
        } else {
            // At least one, as both rows had their first coefficient here.
            let distance = equation.low.trailing_zeros();
            equation.low = equation.low >> distance | equation.high << (u64::BITS - distance);
            equation.high >>= distance;
            equation.start += distance;
        }
        Step::Onward
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: u64) -> Entries {
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
            let rehashed: Vec<u64> = entries.iter().map(|entry| hasher.rehash(entry)).collect();
            Banding::new(256, 0).parts().0.add_all(&rehashed, hasher)
        };
        let solving: Vec<u8> = (0..=255).filter(|&seed| solves(seed)).collect();
        let (&first, &last) = (solving.first().unwrap(), solving.last().unwrap());
        assert!(last < 255, "some seed after the last one that solves it");
        let (found, _) = solve(&entries, 256, last + 1, &mut Charge::new(None)).unwrap();
        assert_eq!(found, first);
    }

    /// Which slots are taken does not depend on the order, and repetitions say nothing new.
    #[test]
    fn order_and_repetitions_do_not_matter() {
        let hasher = RibbonHasher::new(7, 1024);
        let mut rehashed: Vec<u64> =
            entries(950).iter().map(|entry| hasher.rehash(entry)).collect();
        let taken = |rehashed: &[u64]| {
            let mut banding = Banding::new(1024, 0);
            assert!(banding.parts().0.add_all(rehashed, hasher));
            banding.slots(0..1024).0.iter().map(|row| row[0] != 0).collect::<Vec<bool>>()
        };
        let expected = taken(&rehashed);
        assert_eq!(expected.iter().filter(|taken| **taken).count(), 950);
        rehashed.reverse();
        assert_eq!(taken(&rehashed), expected);
        rehashed.sort_unstable();
        rehashed.extend_from_within(100..200);
        assert_eq!(taken(&rehashed), expected);
        assert_eq!(taken(&[]), [false; 1024]);
    }
}
