//! From the rows of the banding to the solution: from the last slot to the first, every unknown
//! follows from the 127 after it.
//!
//! The unknowns of a block are what is written for it: of each column 128 bits, slot *t* of the block in
//! bit *t*. They are worked out in place, over those of the block behind, which each slot needs up to
//! the one of its own number:
//!
//! ```text
//!   column of the block behind   x x x x x x x x x x x x     bits of slots 128.. to 255
//!   its last slots are solved    x x x x x x x x y y y y     bits of slots 128.. to 135, 8.. to 15
//! ```
//!
//! So at every slot the 128 bits of a column are the 128 slots from there on, rotated, and nothing has to
//! be shifted but the row. (Twice as fast as shifting all columns at every slot.)

use std::ops::Range;

use crate::arch::Kernel;

use super::banding::{Banding, Row};
use super::layout::Layout;
use super::{BAND_WIDTH, MAX_COLUMNS, SEGMENT_LENGTH};

/// Half of a block.
const HALF: usize = u64::BITS as usize;

/// The unknowns of half a block, a column each.
type Unknowns = [u64; MAX_COLUMNS as usize];

/// Writes the solution.
pub(super) fn back_substitute(banding: &Banding, layout: Layout, data: &mut [u8]) {
    Kernel::best().run(|| solve_blocks(banding, layout, data));
}

#[inline(always)]
fn solve_blocks(banding: &Banding, layout: Layout, data: &mut [u8]) {
    let (segments, _) = data.as_chunks_mut::<SEGMENT_LENGTH>();
    let (mut low, mut high): (Unknowns, Unknowns) = Default::default();
    for block in (0..layout.num_blocks()).rev() {
        let (first, columns) = layout.block(block);
        let slots = (block * BAND_WIDTH) as usize;
        let (low, high) = (&mut low[..columns], &mut high[..columns]);
        solve_half(banding, slots + HALF..slots + 2 * HALF, high, low);
        solve_half(banding, slots..slots + HALF, low, high);
        for (segment, (&mut low, &mut high)) in
            segments[first..first + columns].iter_mut().zip(low.iter_mut().zip(high))
        {
            *segment = (u128::from(low) | u128::from(high) << u64::BITS).to_le_bytes();
        }
    }
}

/// Solves the slots of half a block. Behind them are those of the other half.
#[inline(always)]
fn solve_half(banding: &Banding, slots: Range<usize>, here: &mut [u64], behind: &[u64]) {
    let (rows, results) = banding.slots(slots);
    // With a number of columns that the compiler knows, they stay in registers: 0.7 times the time.
    // These are the numbers for 7 to 12 bits per key.
    match here.len() {
        5 => solve_columns::<5>(rows, results, here, behind),
        6 => solve_columns::<6>(rows, results, here, behind),
        7 => solve_columns::<7>(rows, results, here, behind),
        8 => solve_columns::<8>(rows, results, here, behind),
        _ => solve_slots(rows, results, here, behind),
    }
}

#[inline(always)]
fn solve_columns<const COLUMNS: usize>(
    rows: &[Row],
    results: &[u32],
    here: &mut [u64],
    behind: &[u64],
) {
    if let (Some(here), Some(behind)) = (here.first_chunk_mut(), behind.first_chunk::<COLUMNS>()) {
        let mut unknowns: [u64; COLUMNS] = *here;
        solve_slots(rows, results, &mut unknowns, behind);
        *here = unknowns;
    }
}

#[inline(always)]
fn solve_slots(rows: &[Row], results: &[u32], here: &mut [u64], behind: &[u64]) {
    for (slot, (row, &result)) in rows.iter().zip(results).enumerate().rev() {
        let [row_here, row_behind] = rotated(row, slot as u32);
        let bit = 1 << slot;
        for (column, (here, behind)) in here.iter_mut().zip(behind).enumerate() {
            *here &= !bit;
            // An empty slot has no row and no result: its unknowns are 0.
            let sum = (*here & row_here ^ behind & row_behind).count_ones() ^ result >> column;
            *here |= u64::from(sum & 1) << slot;
        }
    }
}

/// The row with its first coefficient at bit `slot` of 64.
#[inline(always)]
fn rotated(row: &Row, slot: u32) -> Row {
    let rotated = (u128::from(row[0]) | u128::from(row[1]) << u64::BITS).rotate_left(slot);
    [rotated as u64, (rotated >> u64::BITS) as u64]
}
