//! Reads a Ribbon filter by the formulas of `full-filters.md`.

use sstkit_coding::fixed::decode_fixed32;
use sstkit_coding::range_map::fast_range64;
use sstkit_coding::xxph3::xxph3;
use sstkit_filter::{BuildContext, Filter};

use crate::building::{build, numbers};

/// The layout of a Ribbon filter, and its bytes.
pub(super) struct Ribbon<'b> {
    bytes: &'b [u8],
    pub(super) seed: u8,
    pub(super) num_blocks: usize,
    /// Columns of the later blocks: *u* in the page.
    pub(super) columns: usize,
    /// The first of these blocks: *f* in the page.
    pub(super) first_later: usize,
}

/// The equation of a key.
pub(super) struct Equation {
    pub(super) start: usize,
    pub(super) row: u128,
    result: u32,
}

impl<'b> Ribbon<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        let (data, &[marker, seed, a, b, c]) = bytes.split_last_chunk().expect("a trailer");
        assert_eq!(marker, 0xfe, "a Ribbon");
        let num_blocks = decode_fixed32([a, b, c, 0]) as usize;
        let segments = data.len() / 16;
        let columns = segments.div_ceil(num_blocks);
        if columns > 32 {
            return Self { bytes, seed, num_blocks, columns: 32, first_later: 0 };
        }
        Self { bytes, seed, num_blocks, columns, first_later: columns * num_blocks - segments }
    }

    pub(super) fn columns(&self, block: usize) -> usize {
        self.columns - usize::from(block < self.first_later)
    }

    /// A column of a block, one bit per slot.
    pub(super) fn segment(&self, block: usize, column: usize) -> u128 {
        let at = 16 * (block * self.columns - block.min(self.first_later) + column);
        u128::from_le_bytes(*self.bytes[at..].first_chunk().expect("a segment"))
    }

    pub(super) fn equation(&self, key: &[u8]) -> Equation {
        let t = u64::from(self.seed).wrapping_mul(0xc782_19a2_3eea_dd03);
        let raw = (t ^ (t & 0xf0f0_f0f0_f0f0_f0f0) >> 4) & 0xffff_ffff;
        let g = (xxph3(key) ^ raw).wrapping_mul(0x6193_d459_236a_3a0d);
        let a = g.wrapping_mul(0xc28f_8282_2b65_0bed);
        Equation {
            start: fast_range64(g, 128 * self.num_blocks as u64 - 127) as usize,
            row: u128::from(a) << 64 | u128::from((a ^ 0xc367_844a_6e52_731d) | 1),
            result: ((a >> 32) as u32).swap_bytes(),
        }
    }

    /// For each column, the bit of the result and the product of row and solution.
    pub(super) fn sides(&self, equation: &Equation) -> Vec<(u32, u32)> {
        let columns = 0..self.columns(equation.start / 128);
        let product = |column: usize| {
            let slots = (0..128).filter(|t| equation.row >> t & 1 == 1).map(|t| equation.start + t);
            slots.fold(0, |sum, slot| {
                sum ^ (self.segment(slot / 128, column) >> (slot % 128)) as u32 & 1
            })
        };
        columns.map(|column| (equation.result >> column & 1, product(column))).collect()
    }

    fn may_contain(&self, key: &[u8]) -> bool {
        self.sides(&self.equation(key)).iter().all(|(result, product)| result == product)
    }
}

#[test]
fn probes_follow_the_formulas() {
    for (bits, count) in [("1.45", 40), ("5", 300), ("10", 700), ("10", 5000), ("64", 2000)] {
        let policy = format!("ribbonfilter:{bits}:-1");
        let bytes = build(&policy, &BuildContext::default(), numbers(count));
        let (ribbon, filter) = (Ribbon::new(&bytes), Filter::from_bytes(&bytes));
        for (i, key) in numbers(count + 3000).enumerate() {
            let answer = ribbon.may_contain(&key);
            assert_eq!(answer, filter.may_contain(&key), "{policy}, {count} keys: {i}");
            assert!(answer || i >= count as usize, "{policy}, {count} keys: {i}");
        }
    }
}
