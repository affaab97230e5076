//! Table kinds, format versions and engines, as determined by the last bytes of a file.
//!
//! ```text
//! last 8 bytes of the file      kind
//! 57 FB 80 8B 24 75 47 DB       Legacy: LevelDB, or RocksDB format version 0
//! F7 CF F4 85 B7 41 E2 88       BlockBased: RocksDB format versions 1 and later
//! 64 95 BF 63 96 22 42 82       Plain
//! B8 13 8F 7A EB 18 34 4F       Plain, as RocksDB writes it today
//! 73 78 F1 C5 D0 89 67 92       Cuckoo
//! F0 9F AA B3 F0 9F AA B3       Pebble (the UTF-8 of one character, twice)
//! ```

use std::fmt;
use std::str::FromStr;

use sstkit_coding::{UnknownName, named_enum};

use crate::error::{Error, Result};

named_enum! {
    /// The kind of a table, determined by the magic number at the end of the file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum TableKind {
        /// A LevelDB table, or a block-based table of RocksDB format version 0. The footer is the same; the
        /// metaindex distinguishes them (see [`Engine`]).
        Legacy => "LevelDB table",
        /// RocksDB's block-based table, format version 1 or later.
        BlockBased => "RocksDB block-based table",
        /// RocksDB's PlainTable, for memory-mapped files. Recognised, not read.
        Plain => "RocksDB plain table",
        /// RocksDB's CuckooTable, for point lookups. Recognised, not read.
        Cuckoo => "RocksDB cuckoo table",
        /// A table in Pebble's own format. Recognised, not read.
        Pebble => "Pebble table",
    }

    /// The name used in messages.
    fn name;
}

impl TableKind {
    /// Length of the magic number, the last bytes of every table.
    pub const MAGIC_LENGTH: usize = 8;

    /// The kind of a file that ends with these eight bytes, if it is a known one.
    pub const fn from_magic(last_bytes: [u8; Self::MAGIC_LENGTH]) -> Option<Self> {
        // Stored little-endian. LevelDB's number is from the SHA-1 of its URL.
        match u64::from_le_bytes(last_bytes) {
            0xdb47_7524_8b80_fb57 => Some(Self::Legacy),
            0x88e2_41b7_85f4_cff7 => Some(Self::BlockBased),
            0x8242_2296_63bf_9564 | 0x4f34_18eb_7a8f_13b8 => Some(Self::Plain),
            0x9267_89d0_c5f1_7873 => Some(Self::Cuckoo),
            0xb3aa_9ff0_b3aa_9ff0 => Some(Self::Pebble),
            _ => None,
        }
    }

    /// The last eight bytes of a file of this kind; the current ones if there are two.
    pub const fn magic(self) -> [u8; Self::MAGIC_LENGTH] {
        let number: u64 = match self {
            Self::Legacy => 0xdb47_7524_8b80_fb57,
            Self::BlockBased => 0x88e2_41b7_85f4_cff7,
            Self::Plain => 0x4f34_18eb_7a8f_13b8,
            Self::Cuckoo => 0x9267_89d0_c5f1_7873,
            Self::Pebble => 0xb3aa_9ff0_b3aa_9ff0,
        };
        number.to_le_bytes()
    }

    /// The kind of a file that ends in `tail`; an error if this library does not read it.
    pub(super) fn of_readable(tail: &[u8]) -> Result<Self> {
        let Some(magic) = tail.last_chunk() else {
            return Err(Error::mismatch("too short for a table", "48 bytes or more", tail.len()));
        };
        match Self::from_magic(*magic) {
            Some(kind @ (Self::Legacy | Self::BlockBased)) => Ok(kind),
            Some(kind) => Err(Error::unsupported(format!("this is a {kind}"))),
            None => Err(Error::mismatch(
                "not a table, or truncated: unknown magic number",
                "57fb808b247547db or f7cff485b741e288",
                format_args!("{:016x}", u64::from_be_bytes(*magic)),
            )),
        }
    }
}

/// RocksDB's `format_version`. LevelDB's tables count as version 0.
///
/// The numbers are stored in the footer and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
#[non_exhaustive]
pub enum FormatVersion {
    /// LevelDB's footer; CRC-32C always.
    V0 = 0,
    /// Adds the checksum type and the version itself to the footer.
    V1 = 1,
    /// Adds a size before zlib, bzip2 and LZ4 data; requires the index type property.
    V2 = 2,
    /// Adds index keys without sequence numbers.
    V3 = 3,
    /// Adds delta-encoded index values.
    V4 = 4,
    /// Adds the cache-local Bloom filter and Ribbon filters.
    V5 = 5,
    /// Adds checksums of the footer and of a block's place; moves the index handle to the metaindex.
    V6 = 6,
    /// Adds the compression manager's name, custom and mixed codecs.
    V7 = 7,
}

impl FormatVersion {
    /// All versions, in the order of their numbers.
    pub const ALL: &'static [Self] =
        &[Self::V0, Self::V1, Self::V2, Self::V3, Self::V4, Self::V5, Self::V6, Self::V7];

    /// The version stored as `number`, if this library knows it.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|version| version.number() == number)
    }

    /// The number stored in the footer.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// From version 6 on, checksums depend on the offset of the block, and the footer has a checksum.
    pub fn has_context_checksums(self) -> bool {
        self >= Self::V6
    }

    /// From version 2 on, compressed data of all codecs but snappy starts with the uncompressed size.
    pub fn has_size_prefixes(self) -> bool {
        self >= Self::V2
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

/// From the number.
impl FromStr for FormatVersion {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let expected = &["0", "1", "2", "3", "4", "5", "6", "7"];
        let known = text.parse().ok().and_then(Self::from_number);
        known.ok_or_else(|| UnknownName::new(text, expected))
    }
}

named_enum! {
    /// The engine that wrote a table. It determines the meaning of codec bytes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Engine {
        /// LevelDB or a relative of it. Such tables have no properties.
        LevelDb => "LevelDB",
        /// RocksDB.
        RocksDb => "RocksDB",
    }

    /// The name used in messages.
    fn name;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn unsupported_kinds_are_named() {
        for (bytes, name) in [
            ([0x64, 0x95, 0xbf, 0x63, 0x96, 0x22, 0x42, 0x82], "RocksDB plain table"),
            ([0xb8, 0x13, 0x8f, 0x7a, 0xeb, 0x18, 0x34, 0x4f], "RocksDB plain table"),
            ([0x73, 0x78, 0xf1, 0xc5, 0xd0, 0x89, 0x67, 0x92], "RocksDB cuckoo table"),
            ([0xf0, 0x9f, 0xaa, 0xb3, 0xf0, 0x9f, 0xaa, 0xb3], "Pebble table"),
        ] {
            let error = TableKind::of_readable(&bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn magic_numbers_round_trip() {
        use TableKind::{BlockBased, Cuckoo, Legacy, Pebble, Plain};
        for kind in [Legacy, BlockBased, Plain, Cuckoo, Pebble] {
            assert_eq!(TableKind::from_magic(kind.magic()), Some(kind));
        }
    }

    #[test]
    fn other_files_are_corrupt() {
        for bytes in [&b"not a table at all"[..], b"short", b""] {
            assert_eq!(TableKind::of_readable(bytes).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn versions_are_their_numbers() {
        for (number, version) in (0u32..).zip(FormatVersion::ALL.iter().copied()) {
            assert_eq!(version.number(), number);
            assert_eq!(FormatVersion::from_number(number), Some(version));
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        let error = "8".parse::<FormatVersion>().unwrap_err().to_string();
        let expected: Vec<_> = FormatVersion::ALL.iter().map(FormatVersion::to_string).collect();
        assert!(error.ends_with(&format!("one of: {}", expected.join(", "))), "{error}");
        assert!("five".parse::<FormatVersion>().is_err());
        assert_eq!(FormatVersion::from_number(8), None);
    }
}
