//! When a block ends: RocksDB's `FlushBlockBySizePolicy`, for data blocks and index partitions.
//!
//! Checked before an entry is added to a block that is not empty:
//!
//! ```text
//! size >= target                                    full
//! size > target - deviation, and size after > target    full enough
//! ```
//!
//! LevelDB checks after adding, and only the first condition.
//!
//! In both a block also ends before an entry that would make it larger than 32-bit offsets can
//! express. The engines do not check that, and write a block that cannot be read.

use crate::raw::{BlockBuilder, Trailer};

/// The largest 32-bit offset.
const MAX_BLOCK: usize = u32::MAX as usize;

/// Whether an entry of these lengths does not fit into the block, but would into an empty one.
pub(crate) fn bursts(block: &BlockBuilder, key_length: usize, value_length: usize) -> bool {
    !block.is_empty() && block.size_estimate_after(key_length, value_length) > MAX_BLOCK
}

/// Upper bound of the bytes that an entry adds to a block besides key and value, with the trailer of
/// the block: five lengths and offsets as varints or words, and a restart point.
const MAX_OVERHEAD: usize = 5 * 10 + 4 + Trailer::LENGTH;

/// When blocks end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutRule {
    target: usize,
    /// 0 switches the second condition off.
    almost_full: usize,
    /// Blocks must not outgrow the target, trailer included: RocksDB's `block_align`.
    aligned: bool,
}

impl CutRule {
    pub(crate) fn new(target: usize, deviation: u32, aligned: bool) -> Self {
        let percent = 100usize.saturating_sub(deviation as usize);
        Self { target, almost_full: target.saturating_mul(percent).div_ceil(100), aligned }
    }

    /// Whether the block ends before an entry of these lengths.
    #[inline]
    pub(crate) fn cuts(self, block: &BlockBuilder, key_length: usize, value_length: usize) -> bool {
        // Most entries are far from any limit.
        let most = block.size_estimate() + key_length + value_length + MAX_OVERHEAD;
        most > self.target.min(MAX_BLOCK) && self.cuts_near(block, key_length, value_length)
    }

    fn cuts_near(self, block: &BlockBuilder, key_length: usize, value_length: usize) -> bool {
        if block.is_empty() {
            return false;
        }
        let size = block.size_estimate();
        if size >= self.target || bursts(block, key_length, value_length) {
            return true;
        }
        if self.almost_full == 0 {
            return false;
        }
        let after = block.size_estimate_after(key_length, value_length);
        if self.aligned {
            return after + Trailer::LENGTH > self.target;
        }
        after > self.target && size > self.almost_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::BlockFormat;

    /// A block of 8 bytes and as many more as its one value has, and three lengths.
    fn block_of(size: usize) -> BlockBuilder {
        let mut block = BlockBuilder::new(BlockFormat::plain(16));
        block.add(b"", &vec![0; size - 8 - 3]);
        assert_eq!(block.size_estimate(), size);
        block
    }

    #[test]
    fn full_or_nearly() {
        let rule = CutRule::new(100, 10, false);
        assert!(!rule.cuts(&BlockBuilder::new(BlockFormat::plain(16)), 1000, 1000), "empty");
        assert!(!rule.cuts(&block_of(90), 50, 50), "not more than 90 percent");
        assert!(rule.cuts(&block_of(91), 2, 2), "91 + 2 + 4 + 1 + 2 + 1 > 100");
        assert!(!rule.cuts(&block_of(91), 1, 2), "91 + 1 + 4 + 1 + 2 + 1 = 100");
        assert!(rule.cuts(&block_of(100), 0, 0));
    }

    #[test]
    fn without_deviation_only_a_full_block_ends() {
        for deviation in [0, 100] {
            let rule = CutRule::new(100, deviation, false);
            assert!(!rule.cuts(&block_of(99), 50, 50));
            assert!(rule.cuts(&block_of(100), 0, 0));
        }
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn no_block_outgrows_32_bits() {
        let rule = CutRule::new(100, 0, false);
        assert!(rule.cuts(&block_of(20), 8, MAX_BLOCK - 30));
        assert!(!rule.cuts(&block_of(20), 8, MAX_BLOCK - 60));
        assert!(!bursts(&BlockBuilder::new(BlockFormat::plain(16)), 8, MAX_BLOCK), "empty");
    }

    #[test]
    fn aligned_blocks_have_room_for_their_trailer() {
        let rule = CutRule::new(100, 10, true);
        assert!(!rule.cuts(&block_of(50), 20, 19), "50 + 20 + 4 + 1 + 19 + 1 + 5 = 100");
        assert!(rule.cuts(&block_of(50), 20, 20));
    }
}
