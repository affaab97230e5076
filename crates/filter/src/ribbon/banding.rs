//! Gaussian elimination, row by row.
//!
//! Elimination keeps at most one row per slot, whose first coefficient is at that slot. If the slot of a
//! new row is taken, the row is XORed with the one there, which clears its first coefficient, and
//! moves to the slot of its next one:
//!
//! ```text
//!   slot      5 6 7 8 9
//!   existing  1 0 1 1 0 ...   result 011
//!   new       1 1 1 0 1 ...   result 101
//!   XOR         1 0 1 1 ...   result 110     now starts at slot 6, and so on
//! ```
//!
//! until it finds an empty slot or becomes zero. A zero row with a zero result is redundant. Any other
//! result contradicts the previous rows, and the seed fails. The set of taken slots and the solution do
//! not depend on the order of the rows, so the order is chosen for speed:
//!
//! * Keys are first partitioned by slot ([`RadixPartitioner`]), because in their original order nearly
//!   every row of a large filter misses the cache.
//! * Two rows are processed at a time. Each step depends on the previous one, and the steps of two rows
//!   overlap. This takes 0.7 times as long as one row at a time. With three, registers run out.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use sstkit_coding::huge_pages::advise_huge_pages;

use crate::arch::{Kernel, Row};
use crate::budget::Charge;
use crate::builder::HashEntries;

use super::hash::{Equation, RibbonHasher};
use super::radix_partitioner::RadixPartitioner;

const WORDS_PER_ROW: usize = size_of::<Row>() / size_of::<u64>();

/// Slots per run of partitioned keys. With 20 bytes each they fit into the L1 cache.
const SLOTS_PER_RUN: u32 = 1 << 8;

/// The rows kept so far.
///
/// ```text
/// memory   | row 0       | row 1       | … | rehashed keys, partitioned |    words
///            low    high
/// ```
///
/// One allocation: glibc's allocator retains up to twice the largest freed block for reuse, which is
/// not enough for several blocks of this size. Reusing memory takes two thirds of the time.
pub(super) struct Banding {
    /// Rows of 128 coefficients from the slot on, the first in the lowest bit. The row of an empty slot
    /// is zero. The partitioned keys are at the end.
    memory: Vec<u64>,
    num_slots: usize,
    results: Vec<u32>,
}

/// The size of the banding in bytes.
pub(super) fn memory(num_slots: u32) -> usize {
    (num_slots as usize).saturating_mul(size_of::<Row>() + size_of::<u32>())
}

/// Solves the system of all `entries` with the first seed that has a solution, from `first_seed` on.
/// The caller has charged the banding. The partitioned keys are charged here.
pub(super) fn solve(
    entries: &HashEntries,
    num_slots: u32,
    first_seed: u8,
    charge: &mut Charge,
) -> Option<(u8, Banding)> {
    charge.reserve(entries.len() * size_of::<u64>());
    let mut banding = Banding::new(num_slots as usize, entries.len());
    let mut partitioner = RadixPartitioner::new(num_slots.div_ceil(SLOTS_PER_RUN) as usize);
    let mut seed = first_seed;
    loop {
        let hasher = RibbonHasher::new(seed, num_slots);
        if banding.add_all(entries, &mut partitioner, hasher) {
            return Some((seed, banding));
        }
        seed = seed.wrapping_add(1);
        if seed == first_seed {
            return None;
        }
        banding.clear();
    }
}

/// The result of one elimination step.
enum Step {
    /// The row was XORed with another and moved on.
    Onward,
    /// The row is stored in its slot, or is redundant.
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

    /// Adds the equations of all keys. Returns `false` at the first contradiction.
    fn add_all(
        &mut self,
        entries: &HashEntries,
        partitioner: &mut RadixPartitioner,
        hasher: RibbonHasher,
    ) -> bool {
        let (slots, keys) = self.parts();
        // The order of rehashed keys is that of their slots.
        partitioner.partition(entries.chunks(), |entry| hasher.rehash(entry), keys);
        Kernel::best().run(|| slots.add_all(keys, hasher))
    }

    /// The slots, and the memory for partitioned keys.
    fn parts(&mut self) -> (Slots<'_>, &mut [u64]) {
        let (rows, keys) = self.memory.split_at_mut(self.num_slots * WORDS_PER_ROW);
        let (rows, _) = rows.as_chunks_mut();
        // Slices of equal length, so that one bounds check covers both.
        let results = &mut self.results[..rows.len()];
        (Slots { rows, results }, keys)
    }
}

/// The banding, borrowed while rows are added.
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
        // The last start is 127 slots before the end, so no row and no XOR of rows reaches past the
        // end.
        let slot = equation.start as usize;
        let (existing, result) = (&mut self.rows[slot], &mut self.results[slot]);
        if existing[0] == 0 {
            *existing = [equation.low, equation.high];
            *result = equation.result;
            return Step::Settled;
        }
        equation.low ^= existing[0];
        equation.high ^= existing[1];
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
            // At least 1, because both rows had their first coefficient here.
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

    fn entries(count: u64) -> HashEntries {
        (1..=count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
    }

    /// With far more keys than slots, every seed fails.
    #[test]
    fn all_seeds_are_tried_once() {
        assert!(solve(&entries(600), 256, 255, &mut Charge::new(None)).is_none());
    }

    /// With nearly as many keys as slots, most seeds fail. The search wraps around from 255 to 0.
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
        assert!(last < 255, "some seed after the last one with a solution fails");
        let (found, _) = solve(&entries, 256, last + 1, &mut Charge::new(None)).unwrap();
        assert_eq!(found, first);
    }

    /// The set of taken slots does not depend on the order, and duplicates are redundant.
    #[test]
    fn order_and_duplicates_do_not_matter() {
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
