//! The footer: the end of the file, where reading starts.
//!
//! ```text
//! LevelDB and format version 0 (48 bytes)
//!   0                                                40        48
//!   | metaindex handle | index handle | zero padding | magic   |
//!
//! format versions 1 to 5 (53 bytes)
//!   0               1                                                41        45        53
//!   | checksum type | metaindex handle | index handle | zero padding | version | magic   |
//!
//! format versions 6 and 7 (53 bytes)
//!   0               1          5          9         13               17         33       41        45      53
//!   | checksum type | 3E007A00 | checksum | base    | metaindex size | reserved | zeros  | version | magic |
//!                     extended   of this    context                    16 bytes   8 bytes
//!                     magic      footer     checksum                   unchecked  checked
//! ```
//!
//! From version 6 on the metaindex ends where the footer starts, so the footer stores only its size,
//! and the metaindex has the index handle. The footer's checksum covers its 53 bytes with the
//! checksum field zeroed, plus the context modifier of the footer's offset.
//!
//! A real one, of a file of 1637 bytes: type 4 (XXH3), metaindex of 0x67 bytes, version 7.
//!
//! ```text
//! 04 3e007a00 a7f46ac7 b79fef50 67000000 <24 x 00> 07000000 f7cff485b741e288
//! ```

use sstkit_coding::checksum::{ChecksumType, context_modifier};
use sstkit_coding::fixed::{decode_fixed32, put_fixed32};

use super::block::Block;
use super::block_kind::BlockKind;
use super::format::{FormatVersion, TableKind};
use super::handle::BlockHandle;
use super::trailer::Trailer;
use crate::error::{Error, Result};

const LEGACY_LENGTH: usize = 48;
const LENGTH: usize = 53;

// Where fields start in the 53-byte footers, in the order of the drawing.
const CHECKSUM_TYPE: usize = 0;
const HANDLES: usize = CHECKSUM_TYPE + 1;
const EXTENDED_MAGIC: usize = HANDLES;
const CHECKSUM: usize = EXTENDED_MAGIC + EXTENDED_MAGIC_BYTES.len();
const BASE_CONTEXT: usize = CHECKSUM + 4;
const METAINDEX_SIZE: usize = BASE_CONTEXT + 4;
const RESERVED: usize = METAINDEX_SIZE + 4;
const ZEROS: usize = RESERVED + 16;
const VERSION: usize = ZEROS + 8;
const MAGIC: usize = VERSION + 4;
const _: () = assert!(MAGIC + TableKind::MAGIC_LENGTH == LENGTH);

/// Decoded as handles of an older version these are 62+0 and 122+0, which are invalid because even an
/// empty block takes eight bytes. `decode_handles` checks that, so a corrupt version number is not
/// mistaken for an older file.
const EXTENDED_MAGIC_BYTES: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];

/// The footer of a table file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footer {
    /// Whether the file has LevelDB's magic number or RocksDB's.
    pub kind: TableKind,
    /// The format version; 0 for LevelDB.
    pub version: FormatVersion,
    /// The checksum type of all blocks.
    pub checksum: ChecksumType,
    /// Makes checksums specific to this file (format version 6 and later); 0 for none.
    pub base_context_checksum: u32,
    /// Where the metaindex is.
    pub metaindex: BlockHandle,
    /// Where the index is; from format version 6 on the metaindex has it.
    pub index: Option<BlockHandle>,
    /// Where the footer starts: every block, with its trailer, ends at or before it.
    pub offset: u64,
}

impl Footer {
    /// The fewest bytes a footer takes.
    pub const MIN_LENGTH: usize = LEGACY_LENGTH;
    /// The most bytes a footer takes: what to read from the end of a file.
    pub const MAX_LENGTH: usize = LENGTH;

    /// The footer of a whole file.
    pub fn read(file: &[u8]) -> Result<Self> {
        Self::decode_from(file, file.len() as u64)
    }

    /// The footer of a file of `file_size` bytes that ends in `tail`: its last
    /// [`MAX_LENGTH`](Self::MAX_LENGTH) bytes or more, or all of a shorter file.
    pub fn decode_from(tail: &[u8], file_size: u64) -> Result<Self> {
        Self::decode(tail, file_size).map_err(|error| {
            error.in_block(BlockKind::Footer, file_size.saturating_sub(LENGTH as u64))
        })
    }

    fn decode(tail: &[u8], file_size: u64) -> Result<Self> {
        if tail.len() as u64 > file_size {
            return Err(Error::invalid_input("more bytes than the file size"));
        }
        match TableKind::of_readable(tail)? {
            TableKind::Legacy => {
                let footer: &[u8; LEGACY_LENGTH] = last_bytes(tail)?;
                let (metaindex, index) =
                    decode_handles(&footer[..LEGACY_LENGTH - TableKind::MAGIC_LENGTH])?;
                Ok(Self {
                    kind: TableKind::Legacy,
                    version: FormatVersion::V0,
                    checksum: ChecksumType::Crc32c,
                    base_context_checksum: 0,
                    metaindex,
                    index: Some(index),
                    // No underflow: the tail has 48 bytes.
                    offset: file_size - LEGACY_LENGTH as u64,
                })
            }
            _ => Self::decode_block_based(last_bytes(tail)?, file_size - LENGTH as u64),
        }
    }

    /// `last_bytes` checked that there are 53 bytes before `offset` was computed.
    fn decode_block_based(footer: &[u8; LENGTH], offset: u64) -> Result<Self> {
        let number = fixed32_at(footer, VERSION);
        let version = match FormatVersion::from_number(number) {
            // Version 0 has another magic number.
            None => return Err(Error::unsupported(format!("format version {number}"))),
            Some(FormatVersion::V0) => {
                return Err(Error::mismatch("wrong format version", "1 to 7", 0));
            }
            Some(version) => version,
        };
        let checksum = ChecksumType::from_byte(footer[CHECKSUM_TYPE]).ok_or_else(|| {
            Error::unsupported(format!("checksum type {}", footer[CHECKSUM_TYPE]))
        })?;
        let kind = TableKind::BlockBased;
        if version.has_context_checksums() {
            let (base_context_checksum, metaindex) = decode_extended(footer, checksum, offset)?;
            Ok(Self {
                kind,
                version,
                checksum,
                base_context_checksum,
                metaindex,
                index: None,
                offset,
            })
        } else {
            let (metaindex, index) = decode_handles(&footer[HANDLES..VERSION])?;
            let index = Some(index);
            Ok(Self { kind, version, checksum, base_context_checksum: 0, metaindex, index, offset })
        }
    }

    /// Appends the footer. It belongs directly after the metaindex, at [`offset`](Self::offset).
    ///
    /// # Errors
    ///
    /// If the version cannot represent it: an index handle from version 6 on or none before, a base
    /// context checksum before version 6 or none after.
    pub fn encode_to(&self, out: &mut Vec<u8>) -> Result<()> {
        let extended = self.version.has_context_checksums();
        let start = out.len();
        match (self.kind, self.index) {
            (TableKind::Legacy, Some(index)) => {
                self.encode_handles(index, LEGACY_LENGTH - TableKind::MAGIC_LENGTH, out);
                out.extend_from_slice(&self.kind.magic());
            }
            (TableKind::BlockBased, Some(index)) if !extended => {
                out.push(self.checksum as u8);
                self.encode_handles(index, VERSION - HANDLES, out);
                put_fixed32(out, self.version.number());
                out.extend_from_slice(&self.kind.magic());
            }
            (TableKind::BlockBased, None) if extended && self.base_context_checksum != 0 => {
                out.push(self.checksum as u8);
                out.extend_from_slice(&EXTENDED_MAGIC_BYTES);
                put_fixed32(out, 0);
                put_fixed32(out, self.base_context_checksum);
                let size = u32::try_from(self.metaindex.size)
                    .map_err(|_| Error::invalid_input("a metaindex block of more than 4 GiB"))?;
                put_fixed32(out, size);
                out.resize(start + VERSION, 0);
                put_fixed32(out, self.version.number());
                out.extend_from_slice(&self.kind.magic());
                let [covered @ .., last_byte] = &out[start..] else { unreachable!("53 bytes") };
                let checksum = self
                    .checksum
                    .compute(covered, *last_byte)
                    .wrapping_add(self.context_modifier(self.offset));
                out[start + CHECKSUM..start + BASE_CONTEXT]
                    .copy_from_slice(&checksum.to_le_bytes());
            }
            _ => return Err(Error::invalid_input(format!("there is no footer for {self:?}"))),
        }
        Ok(())
    }

    /// Both handles, and zeros up to `length` bytes.
    fn encode_handles(&self, index: BlockHandle, length: usize, out: &mut Vec<u8>) {
        let end = out.len() + length;
        self.metaindex.encode_to(out);
        index.encode_to(out);
        out.resize(end, 0);
    }

    /// The context modifier added to the checksum of a block at `offset`.
    pub fn context_modifier(&self, offset: u64) -> u32 {
        context_modifier(self.base_context_checksum, offset)
    }
}

fn decode_handles(mut input: &[u8]) -> Result<(BlockHandle, BlockHandle)> {
    let metaindex = BlockHandle::decode_from(&mut input);
    let (metaindex, index) = metaindex
        .zip(BlockHandle::decode_from(&mut input))
        .ok_or_else(|| Error::corrupt("the metaindex or index handle is unreadable"))?;
    if metaindex.size.min(index.size) < Block::<&[u8]>::MIN_LENGTH as u64 {
        return Err(Error::mismatch(
            "the metaindex or index block is too short",
            format_args!("{} bytes or more", Block::<&[u8]>::MIN_LENGTH),
            format_args!("{metaindex} and {index}"),
        ));
    }
    Ok((metaindex, index))
}

/// The base context checksum and the metaindex handle of format versions 6 and later.
fn decode_extended(
    footer: &[u8; LENGTH],
    checksum: ChecksumType,
    offset: u64,
) -> Result<(u32, BlockHandle)> {
    let extended_magic = &footer[EXTENDED_MAGIC..CHECKSUM];
    if extended_magic != EXTENDED_MAGIC_BYTES {
        return Err(Error::mismatch(
            "wrong extended magic number",
            format_args!("{EXTENDED_MAGIC_BYTES:02x?}"),
            format_args!("{extended_magic:02x?}"),
        ));
    }
    let base = fixed32_at(footer, BASE_CONTEXT);
    if base == 0 {
        return Err(Error::mismatch("wrong base context checksum", "not 0", 0));
    }

    let stored = fixed32_at(footer, CHECKSUM);
    let mut covered = *footer;
    covered[CHECKSUM..BASE_CONTEXT].fill(0);
    let [covered @ .., last_byte] = &covered;
    let computed =
        checksum.compute(covered, *last_byte).wrapping_add(context_modifier(base, offset));
    if computed != stored {
        return Err(Error::mismatch(
            "the checksum does not match",
            format_args!("{computed:#010x}"),
            format_args!("{stored:#010x}"),
        ));
    }
    // After the checksum, to distinguish corruption from an unknown feature.
    if footer[ZEROS..VERSION].iter().any(|&byte| byte != 0) {
        return Err(Error::unsupported("the footer uses an unknown feature"));
    }

    let size = u64::from(fixed32_at(footer, METAINDEX_SIZE));
    let start = offset.checked_sub(size + Trailer::LENGTH as u64).ok_or_else(|| {
        Error::mismatch("wrong metaindex size", format_args!("{offset} or less"), size)
    })?;
    Ok((base, BlockHandle::new(start, size)))
}

fn last_bytes<const N: usize>(tail: &[u8]) -> Result<&[u8; N]> {
    tail.last_chunk().ok_or_else(|| {
        Error::mismatch("too short for a footer", format_args!("{N} bytes"), tail.len())
    })
}

fn fixed32_at(footer: &[u8; LENGTH], at: usize) -> u32 {
    decode_fixed32([footer[at], footer[at + 1], footer[at + 2], footer[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn footer_v7() -> [u8; LENGTH] {
        let mut footer = [0; LENGTH];
        footer[..17].copy_from_slice(&[
            0x04, 0x3e, 0x00, 0x7a, 0x00, 0xa7, 0xf4, 0x6a, 0xc7, 0xb7, 0x9f, 0xef, 0x50, 0x67, 0,
            0, 0,
        ]);
        footer[VERSION] = 7;
        footer[MAGIC..].copy_from_slice(&0x88e2_41b7_85f4_cff7u64.to_le_bytes());
        footer
    }

    #[test]
    fn the_constants_are_those_of_the_drawing() {
        assert_eq!(
            [CHECKSUM, BASE_CONTEXT, METAINDEX_SIZE, RESERVED, ZEROS, VERSION, MAGIC, MAGIC + 8],
            [5, 9, 13, 17, 33, 41, 45, LENGTH]
        );
    }

    #[test]
    fn a_real_footer_of_version_7() {
        let footer = Footer::decode_from(&footer_v7(), 1637).unwrap();
        assert_eq!(footer.version, FormatVersion::V7);
        assert_eq!(footer.checksum, ChecksumType::Xxh3);
        assert_eq!(footer.base_context_checksum, 0x50ef_9fb7);
        assert_eq!(footer.metaindex, BlockHandle::new(1476, 103));
        assert_eq!(footer.index, None);
        assert_eq!(footer.offset, 1584);
        assert_eq!(footer.context_modifier(455), 0x50ef_9e70);
        let mut again = Vec::new();
        footer.encode_to(&mut again).unwrap();
        assert_eq!(again, footer_v7());
    }

    #[test]
    fn a_real_footer_of_version_5() {
        let mut bytes = [0; LENGTH];
        bytes[..7].copy_from_slice(&[0x04, 0xba, 0x0b, 0x50, 0xc7, 0x03, 0x13]);
        bytes[VERSION] = 5;
        bytes[MAGIC..].copy_from_slice(&0x88e2_41b7_85f4_cff7u64.to_le_bytes());
        let footer = Footer::decode_from(&bytes, 1604).unwrap();
        assert_eq!(footer.version, FormatVersion::V5);
        assert_eq!(footer.checksum, ChecksumType::Xxh3);
        assert_eq!(footer.metaindex, BlockHandle::new(1466, 80));
        assert_eq!(footer.index, Some(BlockHandle::new(455, 19)));
        let mut again = Vec::new();
        footer.encode_to(&mut again).unwrap();
        assert_eq!(again, bytes);
    }

    #[test]
    fn invalid_footers_are_not_encoded() {
        let footer = Footer::decode_from(&footer_v7(), 1637).unwrap();
        let with_index = Footer { index: Some(footer.metaindex), ..footer.clone() };
        let without_base = Footer { base_context_checksum: 0, ..footer.clone() };
        let older = Footer { version: FormatVersion::V5, ..footer.clone() };
        let plain = Footer { kind: TableKind::Plain, ..footer };
        for footer in [with_index, without_base, older, plain] {
            assert!(footer.encode_to(&mut Vec::new()).is_err(), "{footer:?}");
        }
    }

    #[test]
    fn every_flipped_bit_of_version_7_is_an_error() {
        for bit in 0..LENGTH * 8 {
            let mut bytes = footer_v7();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Footer::decode_from(&bytes, 1637).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_footer_at_another_offset_is_an_error() {
        assert!(Footer::decode_from(&footer_v7(), 1638).is_err());
    }

    #[test]
    fn newer_versions_are_unsupported_not_corrupt() {
        let mut bytes = footer_v7();
        bytes[VERSION] = 8;
        let error = Footer::decode_from(&bytes, 1637).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("format version 8"), "{error}");

        let mut bytes = footer_v7();
        bytes[CHECKSUM_TYPE] = 5;
        let error = Footer::decode_from(&bytes, 1637).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn shorter_tails_are_errors() {
        let footer = footer_v7();
        for cut in 1..LENGTH {
            let tail = &footer[cut..];
            assert!(Footer::decode_from(tail, tail.len() as u64).is_err());
        }
        assert!(Footer::decode_from(&[], 0).is_err());
        assert_eq!(Footer::decode_from(&footer, 52).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
