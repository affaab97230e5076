//! The checksum of a stored block: five algorithms, one 32-bit field.
//!
//! ```text
//!   contents[size]                       type      checksum
//! +------------------------------------+---------+-------------------+
//! | block, possibly compressed         | codec   | fixed32           |
//! +------------------------------------+---------+-------------------+
//! '------------ covered by the checksum ---------'
//! ```
//!
//! Since format version 6, the checksum also depends on the file and the offset of the block: a
//! block copied from another offset or another file fails verification. See [`context_modifier`].

use alloc::boxed::Box;
use core::hash::Hasher;

use twox_hash::{XxHash3_64, XxHash32, XxHash64};

use crate::named_enum;

named_enum! {
    /// The checksum algorithm of a file's blocks.
    ///
    /// The numbers are stored in the footer and never change.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[repr(u8)]
    #[non_exhaustive]
    pub enum ChecksumType {
        /// No checksum: the field is 0, plus the context modifier, which is still verified.
        None = 0 => "kNoChecksum",
        /// Masked CRC-32C. The only type in LevelDB and in format version 0.
        Crc32c = 1 => "kCRC32c",
        /// XXH32.
        XxHash = 2 => "kxxHash",
        /// The low half of XXH64.
        XxHash64 = 3 => "kxxHash64",
        /// The low half of XXH3 of the contents, combined with the type byte. RocksDB's default.
        #[default]
        Xxh3 = 4 => "kXXH3",
    }

    /// The name that RocksDB's tools print.
    fn name;
}

impl ChecksumType {
    /// The type stored as `byte`, or `None` if the number is unknown.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }

    /// The checksum of `contents` followed by `last_byte`, without the context modifier.
    ///
    /// For a block the last byte is its compression type; for a footer it is the last byte of
    /// the magic number.
    pub fn compute(self, contents: &[u8], last_byte: u8) -> u32 {
        match self {
            Self::None => 0,
            Self::Crc32c => mask_crc(crc32c::crc32c_append(crc32c::crc32c(contents), &[last_byte])),
            Self::XxHash => {
                let mut hasher = XxHash32::with_seed(0);
                hasher.write(contents);
                hasher.write(&[last_byte]);
                hasher.finish_32()
            }
            Self::XxHash64 => {
                let mut hasher = XxHash64::with_seed(0);
                hasher.write(contents);
                hasher.write(&[last_byte]);
                hasher.finish() as u32
            }
            Self::Xxh3 => XxHash3_64::oneshot(contents) as u32 ^ xxh3_last_byte(last_byte),
        }
    }
}

/// The checksum of a block whose end is not known: every length costs only the bytes that it adds.
///
/// ```
/// use sstkit_coding::checksum::{ChecksumType, RunningChecksum};
///
/// let mut running = RunningChecksum::new(ChecksumType::Xxh3);
/// running.update(b"all but ");
/// running.update(b"the last byte");
/// let at_once = ChecksumType::Xxh3.compute(b"all but the last byte", 4);
/// assert_eq!(running.value(4), at_once);
/// ```
#[derive(Clone)]
pub struct RunningChecksum(Running);

crate::debug_opaque!(RunningChecksum);

#[derive(Clone)]
enum Running {
    None,
    Crc32c(u32),
    XxHash(XxHash32),
    XxHash64(XxHash64),
    Xxh3(Box<XxHash3_64>),
}

impl RunningChecksum {
    /// The checksum of no contents.
    pub fn new(checksum: ChecksumType) -> Self {
        Self(match checksum {
            ChecksumType::None => Running::None,
            ChecksumType::Crc32c => Running::Crc32c(0),
            ChecksumType::XxHash => Running::XxHash(XxHash32::with_seed(0)),
            ChecksumType::XxHash64 => Running::XxHash64(XxHash64::with_seed(0)),
            ChecksumType::Xxh3 => Running::Xxh3(Box::new(XxHash3_64::new())),
        })
    }

    /// Adds to the contents.
    pub fn update(&mut self, contents: &[u8]) {
        match &mut self.0 {
            Running::None => {}
            Running::Crc32c(crc) => *crc = crc32c::crc32c_append(*crc, contents),
            Running::XxHash(hasher) => hasher.write(contents),
            Running::XxHash64(hasher) => hasher.write(contents),
            Running::Xxh3(hasher) => hasher.write(contents),
        }
    }

    /// The result of [`ChecksumType::compute`] for the contents so far and `last_byte`.
    pub fn value(&self, last_byte: u8) -> u32 {
        match &self.0 {
            Running::None => 0,
            Running::Crc32c(crc) => mask_crc(crc32c::crc32c_append(*crc, &[last_byte])),
            Running::XxHash(hasher) => {
                let mut hasher = hasher.clone();
                hasher.write(&[last_byte]);
                hasher.finish_32()
            }
            Running::XxHash64(hasher) => {
                let mut hasher = hasher.clone();
                hasher.write(&[last_byte]);
                hasher.finish() as u32
            }
            Running::Xxh3(hasher) => hasher.finish() as u32 ^ xxh3_last_byte(last_byte),
        }
    }
}

/// The part of an XXH3 checksum that comes from the last byte. It is mixed in by a multiplication, so
/// that it does not have to follow the contents in memory. The factor is a random prime chosen by
/// RocksDB.
const fn xxh3_last_byte(last_byte: u8) -> u32 {
    (last_byte as u32).wrapping_mul(0x6b90_83d9)
}

/// The value added to the checksum of a block at file offset `offset` (format version 6 and later).
///
/// `base` is the base context checksum in the file's footer. 0 means that the file has none.
pub const fn context_modifier(base: u32, offset: u64) -> u32 {
    if base == 0 { 0 } else { base ^ (offset as u32).wrapping_add((offset >> 32) as u32) }
}

const MASK_DELTA: u32 = 0xa282_ead8;

/// Masks a CRC for storage. Data followed by its own CRC always has the same CRC, so the plain value
/// is never stored where another CRC may cover it.
pub const fn mask_crc(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(MASK_DELTA)
}

/// The inverse of [`mask_crc`].
pub const fn unmask_crc(masked: u32) -> u32 {
    masked.wrapping_sub(MASK_DELTA).rotate_left(15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty block: one restart point, at 0.
    const EMPTY_BLOCK: [u8; 8] = [0, 0, 0, 0, 1, 0, 0, 0];

    #[test]
    fn published_values() {
        for (last_byte, expected) in [
            (0x00, [0, 0xb0a1_f2c0, 0xb6ce_cf16, 0x62db_2042, 0x9cf4_ca5b]),
            (0x04, [0, 0xc2a3_73b5, 0x6c72_ddf1, 0x80c9_521c, 0x32b6_c53f]),
        ] {
            for (checksum, expected) in ChecksumType::ALL.iter().copied().zip(expected) {
                assert_eq!(checksum.compute(&EMPTY_BLOCK, last_byte), expected, "{checksum}");
            }
        }
    }

    #[test]
    fn streaming_equals_one_shot() {
        // The streaming hashers have an internal buffer. The lengths cover its boundaries.
        for length in [0usize, 1, 15, 16, 31, 32, 33, 63, 64, 100, 1000] {
            let bytes: Vec<u8> = (0..=length).map(|i| (i * 7) as u8).collect();
            let (contents, last) = (&bytes[..length], bytes[length]);
            assert_eq!(ChecksumType::XxHash.compute(contents, last), XxHash32::oneshot(0, &bytes));
            assert_eq!(
                ChecksumType::XxHash64.compute(contents, last),
                XxHash64::oneshot(0, &bytes) as u32
            );
        }
    }

    #[test]
    fn running_checksums_are_those_of_every_length() {
        let bytes: Vec<u8> = (0..600u32).map(|i| ((i * i) >> 3) as u8).collect();
        for &checksum in ChecksumType::ALL {
            let mut running = RunningChecksum::new(checksum);
            for (length, byte) in bytes.iter().enumerate() {
                assert_eq!(running.value(*byte), checksum.compute(&bytes[..length], *byte));
                running.update(&[*byte]);
            }
        }
    }

    #[test]
    fn a_real_footer() {
        // RocksDB 11.9, format version 7: computed with a zero checksum field (bytes 5..9).
        let mut footer = [0u8; 53];
        footer[..5].copy_from_slice(&[4, 0x3e, 0, 0x7a, 0]);
        footer[9..17].copy_from_slice(&[0xb7, 0x9f, 0xef, 0x50, 0x67, 0, 0, 0]);
        footer[41] = 7;
        footer[45..].copy_from_slice(&0x88e2_41b7_85f4_cff7u64.to_le_bytes());
        let stored = ChecksumType::Xxh3
            .compute(&footer[..52], footer[52])
            .wrapping_add(context_modifier(0x50ef_9fb7, 1637 - 53));
        assert_eq!(stored, 0xc76a_f4a7);
    }

    #[test]
    fn context_depends_on_both_halves_of_the_offset() {
        assert_eq!(context_modifier(0x1234_5678, 0x1_0000_0005), 0x1234_567e);
        assert_eq!(context_modifier(0, 0x1_0000_0005), 0);
    }

    #[test]
    fn unmask_inverts_mask() {
        let crc = crc32c::crc32c(b"foo");
        assert_ne!(mask_crc(crc), crc);
        assert_eq!(unmask_crc(mask_crc(crc)), crc);
        assert_eq!(unmask_crc(unmask_crc(mask_crc(mask_crc(crc)))), crc);
    }

    #[test]
    fn unknown_types_are_rejected() {
        assert_eq!(ChecksumType::from_byte(4), Some(ChecksumType::Xxh3));
        assert_eq!(ChecksumType::from_byte(5), None);
    }
}
