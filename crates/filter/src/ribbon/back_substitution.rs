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

use crate::arch::Kernel;

use super::banding::Banding;
use super::layout::Layout;
use super::{BAND_WIDTH, MAX_COLUMNS, SEGMENT_LENGTH};

/// Half of a block.
const HALF: usize = u64::BITS as usize;

/// The unknowns of half a block, a column each.
type Unknowns = [u64; MAX_COLUMNS as usize];

/// Writes the solution.
pub(super) fn back_substitute(banding: &Banding, layout: Layout, data: &mut [u8]) {
    let kernel = Kernel::best();
    let (segments, _) = data.as_chunks_mut::<SEGMENT_LENGTH>();
    let (mut low, mut high): (Unknowns, Unknowns) = Default::default();
    for block in (0..layout.num_blocks()).rev() {
        let (first, columns) = layout.block(block);
        let slots = (block * BAND_WIDTH) as usize;
        let (low, high) = (&mut low[..columns], &mut high[..columns]);
        // Behind the slots of one half are those of the other.
        let (rows, results) = banding.slots(slots + HALF..slots + 2 * HALF);
        kernel.ribbon_solve(rows, results, high, low);
        let (rows, results) = banding.slots(slots..slots + HALF);
        kernel.ribbon_solve(rows, results, low, high);
        for (segment, (&mut low, &mut high)) in
            segments[first..first + columns].iter_mut().zip(low.iter_mut().zip(high))
        {
            *segment = (u128::from(low) | u128::from(high) << u64::BITS).to_le_bytes();
        }
    }
}
