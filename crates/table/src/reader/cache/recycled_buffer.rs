//! The memory of a block that went, for one that comes in its place.
//!
//! ```text
//! block --- goes ---> recycled, one for each shard --- the next one is loaded ---> block
//! ```
//!
//! In a full cache each block that comes drives out another one of about its length, whose memory
//! nobody has touched for long. Giving that back and asking for other is a tenth of the time that
//! reading a block takes.

use bytes::Bytes;

use super::CachedBlock;

/// The longest that is kept: those that wait for a block are beyond the budget.
const MAX_LENGTH: usize = 64 << 10;

/// Memory that may be used for a block.
#[derive(Default)]
pub(crate) struct RecycledBuffer(Vec<u8>);

impl RecycledBuffer {
    /// What a block leaves, if nobody else holds it, and it is neither long nor a part of something
    /// larger.
    pub(crate) fn of(block: CachedBlock) -> Option<Self> {
        let CachedBlock::Block(block) = block else { return None };
        if block.bytes().len() > MAX_LENGTH {
            return None;
        }
        let memory = Vec::from(block.into_holder().try_into_mut().ok()?);
        suits(&memory, memory.len()).then_some(Self(memory))
    }

    /// So many bytes, whatever they are.
    pub(crate) fn bytes(self, length: usize) -> Vec<u8> {
        if !suits(&self.0, length) {
            return vec![0; length];
        }
        let mut memory = self.0;
        memory.resize(length, 0);
        memory
    }

    /// A copy of these bytes.
    pub(crate) fn copy_of(self, bytes: &[u8]) -> Bytes {
        let mut memory = self.bytes(bytes.len());
        memory.copy_from_slice(bytes);
        memory.into()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether memory is enough for so many bytes, and not much more: a cache counts bytes.
fn suits(memory: &Vec<u8>, length: usize) -> bool {
    let capacity = memory.capacity();
    capacity >= length && capacity - length <= length / 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{Block, BlockBuilder, BlockFormat};

    fn block(bytes: Bytes) -> CachedBlock {
        CachedBlock::Block(Block::parse(bytes).unwrap())
    }

    fn bytes(value: &[u8]) -> Vec<u8> {
        let mut builder = BlockBuilder::new(BlockFormat::plain(1));
        builder.add(b"key", value);
        builder.finish().unwrap().contents.to_vec()
    }

    /// The memory is the same, the bytes are those that were asked for.
    #[test]
    fn what_goes_is_used_again() {
        let memory = bytes(&[7; 1000]);
        let (place, length) = (memory.as_ptr(), memory.len());
        let recycled = RecycledBuffer::of(block(memory.into())).unwrap();
        assert!(!recycled.is_empty());
        let copy = recycled.copy_of(&vec![9; length - 20]);
        assert_eq!((copy.as_ptr(), &*copy), (place, &vec![9; length - 20][..]));
    }

    #[test]
    fn what_others_hold_is_left_to_them() {
        let bytes = Bytes::from(bytes(&[7; 1000]));
        let other = bytes.clone();
        assert!(RecycledBuffer::of(block(bytes)).is_none());
        assert!(other.windows(1000).any(|window| window == [7; 1000]));
    }

    /// A part of something large would keep all of it.
    #[test]
    fn parts_are_not_kept() {
        let part = bytes(&[7; 1000]);
        for (before, behind) in [(10_000, 0), (0, 10_000)] {
            let whole = [&vec![0; before], &part[..], &vec![0; behind]].concat();
            let bytes = Bytes::from(whole).slice(before..before + part.len());
            assert!(RecycledBuffer::of(block(bytes)).is_none());
        }
    }

    #[test]
    fn only_what_fits_is_used() {
        for length in [0, 1, 500, 2000, 100_000] {
            let recycled = RecycledBuffer::of(block(bytes(&[7; 1000]).into())).unwrap();
            let given = recycled.bytes(length);
            assert_eq!(given, vec![0; length]);
            assert!(given.capacity() <= length + length / 32);
        }
    }

    #[test]
    fn long_ones_are_not_kept() {
        assert!(RecycledBuffer::of(block(bytes(&[7; 60_000]).into())).is_some());
        assert!(RecycledBuffer::of(block(bytes(&[7; 70_000]).into())).is_none());
    }
}
