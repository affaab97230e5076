//! Decoding a stored block: checksum first, then the codec.
//!
//! The checksum is verified before the contents are used, so a decompressor sees corrupt bytes only
//! if the checksum was forged.

use std::borrow::Cow;

use sstkit_coding::checksum::{ChecksumType, context_modifier, unmask_crc};
use sstkit_coding::with_defaults;

use super::block_kind::BlockKind;
use super::compression::{self, Dictionary};
use super::footer::Footer;
use super::format::{Engine, FormatVersion};
use super::handle::BlockHandle;
use super::patched_seqno;
use super::trailer::Trailer;
use crate::error::{Error, Result};

/// The default of [`DecodeOptions::max_block_size`]: 1 GiB.
pub const DEFAULT_MAX_BLOCK_SIZE: usize = 1 << 30;

/// A block may always decompress to this many times its stored size, whatever
/// [`DecodeOptions::max_block_size`] is: the size of the file justifies that much memory.
pub const ALWAYS_JUSTIFIED_EXPANSION: usize = 16;

with_defaults! {
    /// How blocks are read.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub struct DecodeOptions {
        /// Whether checksums are verified; on by default. Off is for inspecting corrupt files.
        pub verify_checksums: bool = true,
        /// The most bytes a block may decompress to; [`DEFAULT_MAX_BLOCK_SIZE`] by default. Blocks that
        /// decompress to at most [`ALWAYS_JUSTIFIED_EXPANSION`] times their stored size are always read,
        /// and none to more than its codec can express in that many bytes. Raise it for tables with
        /// larger values that compress very well; lower it where memory is scarce.
        pub max_block_size: usize = DEFAULT_MAX_BLOCK_SIZE,
    }
}

/// A block as it is in the file, its checksum verified (unless that is switched off).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StoredBlock<B> {
    /// What it is for.
    pub kind: BlockKind,
    /// Its position.
    pub handle: BlockHandle,
    /// Its bytes without the trailer, perhaps compressed.
    pub contents: B,
    /// Codec and checksum as stored.
    pub trailer: Trailer,
}

/// Decodes the blocks of one file.
#[derive(Clone, Debug)]
pub struct BlockDecoder {
    version: FormatVersion,
    engine: Engine,
    checksum: ChecksumType,
    base_context_checksum: u32,
    options: DecodeOptions,
}

impl BlockDecoder {
    /// The decoder of the file with this footer.
    pub fn new(footer: &Footer, engine: Engine, options: &DecodeOptions) -> Self {
        Self {
            version: footer.version,
            engine,
            checksum: footer.checksum,
            base_context_checksum: footer.base_context_checksum,
            options: options.clone(),
        }
    }

    /// Verifies the checksum of `stored`: the bytes of the block at `handle`, including its trailer.
    pub fn verify<'a>(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        stored: &'a [u8],
    ) -> Result<StoredBlock<&'a [u8]>> {
        let block = self.split(kind, handle, stored)?;
        if self.options.verify_checksums {
            let in_block = |error: Error| error.in_block(kind, handle.offset);
            self.verify_checksum(&block).map_err(in_block)?;
        }
        Ok(block)
    }

    /// Like [`verify`](Self::verify), without verifying the checksum.
    #[inline]
    pub(crate) fn split<'a>(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        stored: &'a [u8],
    ) -> Result<StoredBlock<&'a [u8]>> {
        let (contents, trailer) = Trailer::split(stored)
            .filter(|(contents, _)| contents.len() as u64 == handle.size)
            .ok_or_else(|| {
                let length = format!("{} + {}", handle.size, Trailer::LENGTH);
                Error::mismatch("the block is truncated", length, stored.len())
                    .in_block(kind, handle.offset)
            })?;
        Ok(StoredBlock { kind, handle, contents, trailer })
    }

    /// The contents of a stored block; borrowed if they are not compressed. Only data blocks are
    /// compressed with a dictionary.
    pub fn decompress<'a, B: AsRef<[u8]>>(
        &self,
        block: &'a StoredBlock<B>,
        dictionary: Option<&Dictionary>,
    ) -> Result<Cow<'a, [u8]>> {
        let contents = block.contents.as_ref();
        compression::decompress(
            self.engine,
            self.version,
            block.trailer.codec,
            contents,
            dictionary.filter(|_| block.kind == BlockKind::Data),
            self.max_size(contents.len()),
        )
        .map_err(|error| error.in_block(block.kind, block.handle.offset))
    }

    /// The most bytes a block of this stored size may decompress to.
    fn max_size(&self, stored: usize) -> usize {
        self.options.max_block_size.max(stored.saturating_mul(ALWAYS_JUSTIFIED_EXPANSION))
    }

    /// The most bytes a block may decompress to, as [`DecodeOptions::max_block_size`] says.
    pub fn max_block_size(&self) -> usize {
        self.options.max_block_size
    }

    /// The checksum to store for `contents` at `offset`.
    pub fn checksum(&self, contents: &[u8], codec: u8, offset: u64) -> u32 {
        let modifier = context_modifier(self.base_context_checksum, offset);
        self.checksum.compute(contents, codec).wrapping_add(modifier)
    }

    fn verify_checksum(&self, block: &StoredBlock<&[u8]>) -> Result<()> {
        let &StoredBlock { kind, handle, contents, trailer } = block;
        let computed = self.checksum(contents, trailer.codec, handle.offset);
        if computed == trailer.checksum {
            return Ok(());
        }
        if kind == BlockKind::Properties
            && let Some(original) = patched_seqno::before_patch(block)
            && self.checksum(&original, trailer.codec, handle.offset) == trailer.checksum
        {
            return Ok(());
        }
        Err(Error::mismatch(
            format!("the {} checksum does not match", self.checksum),
            self.display_checksum(computed, handle.offset),
            self.display_checksum(trailer.checksum, handle.offset),
        ))
    }

    /// A stored checksum as RocksDB's tools print it: context removed, CRC unmasked.
    fn display_checksum(&self, stored: u32, offset: u64) -> String {
        let plain = stored.wrapping_sub(context_modifier(self.base_context_checksum, offset));
        match self.checksum {
            ChecksumType::Crc32c => format!("{:#010x}", unmask_crc(plain)),
            _ => format!("{plain:#010x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::raw::format::TableKind;

    fn decoder(version: FormatVersion, checksum: ChecksumType, base: u32) -> BlockDecoder {
        let footer = Footer {
            kind: TableKind::BlockBased,
            version,
            checksum,
            base_context_checksum: base,
            metaindex: BlockHandle::default(),
            index: None,
            offset: 0,
        };
        BlockDecoder::new(&footer, Engine::RocksDb, &DecodeOptions::default())
    }

    /// The index block of a real file of format version 7, with its trailer.
    const INDEX_BLOCK: [u8; 24] = [
        0x00, 0x06, 0x6b, 0x65, 0x79, 0x30, 0x34, 0x39, 0x00, 0xf8, 0x02, 0, 0, 0, 0, 1, 0, 0, 0,
        0x00, 0x58, 0x63, 0xdb, 0x11,
    ];

    #[test]
    fn a_real_block_with_context() {
        let decoder = decoder(FormatVersion::V7, ChecksumType::Xxh3, 0x50ef_9fb7);
        let handle = BlockHandle::new(455, 19);
        let block = decoder.verify(BlockKind::Index, handle, &INDEX_BLOCK).unwrap();
        assert_eq!(block.trailer, Trailer { codec: 0, checksum: 0x11db_6358 });
        assert_eq!(*decoder.decompress(&block, None).unwrap(), INDEX_BLOCK[..19]);

        // The checksum depends on the offset.
        let moved = BlockHandle::new(456, 19);
        let error = decoder.verify(BlockKind::Index, moved, &INDEX_BLOCK).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!((error.block(), error.offset()), (Some(BlockKind::Index), Some(456)));
        assert_eq!(error.expected(), Some("0xc0ebc4e8"));
    }

    #[test]
    fn every_flipped_bit_is_an_error() {
        for (checksum, stored) in [
            (ChecksumType::Crc32c, 0xb0a1_f2c0u32),
            (ChecksumType::XxHash, 0xb6ce_cf16),
            (ChecksumType::XxHash64, 0x62db_2042),
            (ChecksumType::Xxh3, 0x9cf4_ca5b),
        ] {
            let decoder = decoder(FormatVersion::V5, checksum, 0);
            let mut bytes = vec![0, 0, 0, 0, 1, 0, 0, 0, 0];
            bytes.extend_from_slice(&stored.to_le_bytes());
            let handle = BlockHandle::new(0, 8);
            assert!(decoder.verify(BlockKind::Data, handle, &bytes).is_ok(), "{checksum}");
            for bit in 0..bytes.len() * 8 {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(decoder.verify(BlockKind::Data, handle, &bytes).is_err(), "{checksum}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn checksum_type_none_stores_zero() {
        let bytes = [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0];
        let plain = decoder(FormatVersion::V5, ChecksumType::None, 0);
        assert!(plain.verify(BlockKind::Data, BlockHandle::new(0, 8), &bytes).is_err());

        let context = decoder(FormatVersion::V6, ChecksumType::None, 1);
        assert!(context.verify(BlockKind::Data, BlockHandle::new(0, 8), &bytes).is_ok());
    }

    #[test]
    fn only_data_blocks_use_the_dictionary() {
        let decoder = decoder(FormatVersion::V7, ChecksumType::Xxh3, 1);
        let text = b"what is in the dictionary need not be in the block".as_slice();
        let dictionary = Dictionary::new(text).unwrap();
        let contents =
            [&[text.len() as u8], &*lz4_flex::block::compress_with_dict(text, text)].concat();
        let mut stored = StoredBlock {
            kind: BlockKind::Data,
            handle: BlockHandle::new(0, contents.len() as u64),
            contents,
            trailer: Trailer { codec: 4, checksum: 0 },
        };
        assert_eq!(*decoder.decompress(&stored, Some(&dictionary)).unwrap(), *text);
        stored.kind = BlockKind::Index;
        assert!(decoder.decompress(&stored, Some(&dictionary)).is_err());
    }

    #[test]
    fn a_wrong_length_is_an_error() {
        let decoder = decoder(FormatVersion::V7, ChecksumType::Xxh3, 0x50ef_9fb7);
        let handle = BlockHandle::new(455, 19);
        for length in 0..INDEX_BLOCK.len() {
            let error = decoder.verify(BlockKind::Index, handle, &INDEX_BLOCK[..length]);
            assert!(error.unwrap_err().to_string().contains("truncated"));
        }
    }
}
