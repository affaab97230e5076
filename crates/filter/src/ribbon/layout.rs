//! The layout of the segments of a solution. It follows from the data length and the number of blocks.

#[cfg(not(feature = "std"))]
use crate::float::Float as _;

use super::{BAND_WIDTH, MAX_COLUMNS, SEGMENT_LENGTH};

/// The columns of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    num_blocks: u32,
    /// Columns of the later blocks. The earlier ones have one fewer.
    upper_columns: u32,
    /// The first block with that many columns.
    upper_start_block: u32,
}

impl Layout {
    /// The layout of `num_blocks` blocks, at least 2, in `data_length` bytes. A remainder below 16
    /// bytes is unused.
    pub(super) fn new(data_length: usize, num_blocks: u32) -> Self {
        let segments = (data_length / SEGMENT_LENGTH) as u64;
        let blocks = u64::from(num_blocks);
        let upper_columns = segments.div_ceil(blocks);
        if upper_columns > u64::from(MAX_COLUMNS) {
            return Self { num_blocks, upper_columns: MAX_COLUMNS, upper_start_block: 0 };
        }
        let upper_start_block = upper_columns * blocks - segments;
        Self {
            num_blocks,
            upper_columns: upper_columns as u32,
            // Below the number of blocks, because upper_columns is rounded up.
            upper_start_block: upper_start_block as u32,
        }
    }

    pub(super) fn num_blocks(self) -> u32 {
        self.num_blocks
    }

    pub(super) fn upper_columns(self) -> u32 {
        self.upper_columns
    }

    pub(super) fn upper_start_block(self) -> u32 {
        self.upper_start_block
    }

    /// The first segment and the number of columns of a block.
    #[inline]
    pub(super) fn block(self, block: u32) -> (usize, usize) {
        let first = u64::from(block) * u64::from(self.upper_columns)
            - u64::from(block.min(self.upper_start_block));
        let columns = self.upper_columns - u32::from(block < self.upper_start_block);
        (first as usize, columns as usize)
    }

    /// The false-positive rate. A row has as many bits of result as the block in which it starts has
    /// columns.
    pub(super) fn expected_fpr(self) -> f64 {
        if self.upper_columns == 0 {
            return 1.0;
        }
        let starts = self.num_blocks * BAND_WIDTH - (BAND_WIDTH - 1);
        let lower_portion =
            f64::from(self.upper_start_block) * f64::from(BAND_WIDTH) / f64::from(starts);
        let upper_rate = f64::from(self.upper_columns).exp2().recip();
        lower_portion * 2.0 * upper_rate + (1.0 - lower_portion) * upper_rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_tile_the_segments() {
        for num_blocks in [2, 3, 17, 100] {
            for segments in [0, 1, 2, 5, 16, 17, 40, 119, 3200, 3300] {
                let layout = Layout::new(segments * SEGMENT_LENGTH + 7, num_blocks);
                let mut next = 0;
                for block in 0..num_blocks {
                    let (first, columns) = layout.block(block);
                    assert_eq!(first, next);
                    next += columns;
                }
                assert_eq!(next, segments.min(32 * num_blocks as usize));
            }
        }
    }
}
