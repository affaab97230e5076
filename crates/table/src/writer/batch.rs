//! Blocks that one thread compresses together.
//!
//! ```text
//! contents   | block 0 | block 1       | block 2 | …       before compression
//! stored     | block 0 | block 1 | block 2 | …             after compression
//! keys       | first | last | next | first | last | …      of each block
//! ```
//!
//! A thread is woken for a batch, not for each block, and the memory of a batch is reused.

use sstkit_coding::checksum::ChecksumType;

use crate::error::Result;
use crate::raw::{Attempt, Compressor, Stored};

/// Bytes of a full batch: some dozens of blocks, which fit into the cache of a core in both forms.
const FULL: usize = 128 << 10;

/// The internal keys of a block that the index needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockKeys<'a> {
    pub(crate) first: &'a [u8],
    pub(crate) last: &'a [u8],
    /// The first key of the next block, unless this is the last.
    pub(crate) next: Option<&'a [u8]>,
}

/// A block ready to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncodedBlock<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) attempt: Attempt,
    /// Without context, which depends on the offset of the block.
    pub(crate) checksum: u32,
}

impl<'a> EncodedBlock<'a> {
    pub(crate) fn make(
        compressor: &'a mut Compressor,
        checksum: ChecksumType,
        contents: &'a [u8],
    ) -> Result<Self> {
        let Stored { bytes, attempt } = compressor.compress(contents)?;
        let checksum = checksum.compute(bytes, attempt.codec_byte());
        Ok(Self { bytes, attempt, checksum })
    }
}

/// Blocks that are compressed together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    contents: Vec<u8>,
    stored: Vec<u8>,
    keys: Vec<u8>,
    cut: Vec<Cut>,
    compressed: Vec<Compressed>,
}

/// Where the parts of a block end.
#[derive(Debug)]
struct Cut {
    contents: usize,
    first: usize,
    last: usize,
    next: Option<usize>,
}

#[derive(Debug)]
struct Compressed {
    stored: usize,
    attempt: Attempt,
    checksum: u32,
}

impl Batch {
    pub(crate) fn push(&mut self, contents: &[u8], keys: BlockKeys<'_>) {
        self.contents.extend_from_slice(contents);
        let mut key = |key: &[u8]| {
            self.keys.extend_from_slice(key);
            self.keys.len()
        };
        let (first, last, next) = (key(keys.first), key(keys.last), keys.next.map(key));
        self.cut.push(Cut { contents: self.contents.len(), first, last, next });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cut.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.contents.len() >= FULL
    }

    /// Compresses all blocks.
    pub(crate) fn compress(
        &mut self,
        compressor: &mut Compressor,
        checksum: ChecksumType,
    ) -> Result<()> {
        let mut start = 0;
        for cut in &self.cut {
            let contents = &self.contents[start..cut.contents];
            let block = EncodedBlock::make(compressor, checksum, contents)?;
            self.stored.extend_from_slice(block.bytes);
            let EncodedBlock { attempt, checksum, .. } = block;
            self.compressed.push(Compressed { stored: self.stored.len(), attempt, checksum });
            start = cut.contents;
        }
        Ok(())
    }

    /// The blocks, once they are compressed.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (BlockKeys<'_>, EncodedBlock<'_>)> {
        let (mut key_start, mut start) = (0, 0);
        self.cut.iter().zip(&self.compressed).map(move |(cut, block)| {
            let keys = BlockKeys {
                first: &self.keys[key_start..cut.first],
                last: &self.keys[cut.first..cut.last],
                next: cut.next.map(|next| &self.keys[cut.last..next]),
            };
            key_start = cut.next.unwrap_or(cut.last);
            let bytes = &self.stored[start..block.stored];
            start = block.stored;
            let &Compressed { attempt, checksum, .. } = block;
            (keys, EncodedBlock { bytes, attempt, checksum })
        })
    }

    /// Empties it for other blocks.
    pub(crate) fn clear(&mut self) {
        for bytes in [&mut self.contents, &mut self.stored, &mut self.keys] {
            bytes.clear();
            // Do not keep the memory of one large block.
            bytes.shrink_to(2 * FULL);
        }
        self.cut.clear();
        self.compressed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TableOptions;

    #[test]
    fn blocks_come_back_with_their_keys() {
        let mut compressor = Compressor::new(TableOptions::rocksdb().compression_recipe()).unwrap();
        let mut batch = Batch::default();
        for _ in 0..2 {
            for i in 0..5u8 {
                let (first, last, next) = ([i; 1], [i; 2], [i; 3]);
                let next = (i < 4).then_some(&next[..]);
                batch.push(&vec![i; 1000], BlockKeys { first: &first, last: &last, next });
            }
            batch.compress(&mut compressor, ChecksumType::Xxh3).unwrap();
            assert_eq!(batch.blocks().count(), 5);
            for (i, (keys, block)) in (0..5u8).zip(batch.blocks()) {
                assert_eq!((keys.first, keys.last), (&[i; 1][..], &[i; 2][..]));
                assert_eq!(keys.next, (i < 4).then_some(&[i; 3][..]));
                let contents = [i; 1000];
                let stored = compressor.compress(&contents).unwrap();
                assert_eq!((block.bytes, block.attempt), (stored.bytes, stored.attempt));
            }
            batch.clear();
            assert!(batch.is_empty());
        }
    }
}
