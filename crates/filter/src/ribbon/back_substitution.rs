//! Back-substitution: from the rows of the banding to the solution. From the last slot to the first,
//! every unknown follows from the 127 after it.
//!
//! The unknowns of a block are stored as 128 bits per column, with slot *t* of the block in bit *t*.
//! They are computed in place, overwriting those of the next block, of which slot *t* needs those up to
//! slot *t*:
//!
//! ```text
//!   column of the next block     x x x x x x x x x x x x     bits of slots 128.. to 255
//!   last slots are solved        x x x x x x x x y y y y     bits of slots 128.. to 135, 8.. to 15
//! ```
//!
//! At every slot, the 128 bits of a column are the 128 slots from there on, rotated. Only the row has
//! to be rotated. This is twice as fast as shifting all columns at every slot.

use crate::arch::Kernel;

use super::banding::Banding;
use super::layout::Layout;
use super::{BAND_WIDTH, MAX_COLUMNS, SEGMENT_LENGTH};

/// Slots in half a block.
const HALF: usize = u64::BITS as usize;

/// The unknowns of half a block, one word per column.
type Unknowns = [u64; MAX_COLUMNS as usize];

/// Writes the solution to `data`.
pub(super) fn back_substitute(banding: &Banding, layout: Layout, data: &mut [u8]) {
    let kernel = Kernel::best();
    let (segments, _) = data.as_chunks_mut::<SEGMENT_LENGTH>();
    let (mut low, mut high): (Unknowns, Unknowns) = Default::default();
    for block in (0..layout.num_blocks()).rev() {
        let (first, columns) = layout.block(block);
        let slots = (block * BAND_WIDTH) as usize;
        let (low, high) = (&mut low[..columns], &mut high[..columns]);
        // The slots of one half are followed by those of the other.
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
