//! The buffer of an evicted block, reused for the next one.
//!
//! ```text
//! block --- evicted ---> recycled buffer, one per shard --- next block is loaded ---> block
//! ```
//!
//! In a full cache each new block evicts one of about the same length. Freeing one buffer, allocating
//! another and zeroing it is a tenth of the time it takes to read a block.

use bytes::Bytes;

use super::CachedBlock;

/// Longer buffers are not kept, because kept ones are not part of the capacity.
const MAX_LENGTH: usize = 64 << 10;

/// A buffer to reuse for a block; empty if there is none.
#[derive(Default)]
pub(crate) struct RecycledBuffer(Vec<u8>);

impl RecycledBuffer {
    /// The buffer of a block, if it is not shared, not too long, and not a part of a larger buffer.
    pub(crate) fn of(block: CachedBlock) -> Option<Self> {
        let CachedBlock::Block(block) = block else { return None };
        if block.bytes().len() > MAX_LENGTH {
            return None;
        }
        let memory = Vec::from(block.into_holder().try_into_mut().ok()?);
        suits(&memory, memory.len()).then_some(Self(memory))
    }

    /// A buffer of `length` bytes with arbitrary contents.
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

/// Whether the capacity is enough for `length` bytes, and not much larger: the cache counts lengths.
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

    /// The memory is the same, the contents are the new ones.
    #[test]
    fn memory_is_reused() {
        let memory = bytes(&[7; 1000]);
        let (address, length) = (memory.as_ptr(), memory.len());
        let recycled = RecycledBuffer::of(block(memory.into())).unwrap();
        assert!(!recycled.is_empty());
        let copy = recycled.copy_of(&vec![9; length - 20]);
        assert_eq!((copy.as_ptr(), &*copy), (address, &vec![9; length - 20][..]));
    }

    #[test]
    fn shared_buffers_are_not_reused() {
        let bytes = Bytes::from(bytes(&[7; 1000]));
        let other = bytes.clone();
        assert!(RecycledBuffer::of(block(bytes)).is_none());
        assert!(other.windows(1000).any(|window| window == [7; 1000]));
    }

    /// A part of a larger buffer would keep all of it.
    #[test]
    fn parts_are_not_reused() {
        let part = bytes(&[7; 1000]);
        for (before, behind) in [(10_000, 0), (0, 10_000)] {
            let whole = [&vec![0; before], &part[..], &vec![0; behind]].concat();
            let bytes = Bytes::from(whole).slice(before..before + part.len());
            assert!(RecycledBuffer::of(block(bytes)).is_none());
        }
    }

    #[test]
    fn only_fitting_buffers_are_used() {
        for length in [0, 1, 500, 2000, 100_000] {
            let recycled = RecycledBuffer::of(block(bytes(&[7; 1000]).into())).unwrap();
            let given = recycled.bytes(length);
            assert_eq!(given, vec![0; length]);
            assert!(given.capacity() <= length + length / 32);
        }
    }

    #[test]
    fn long_buffers_are_not_kept() {
        assert!(RecycledBuffer::of(block(bytes(&[7; 60_000]).into())).is_some());
        assert!(RecycledBuffer::of(block(bytes(&[7; 70_000]).into())).is_none());
    }
}
