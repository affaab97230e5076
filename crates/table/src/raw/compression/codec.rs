//! RocksDB's compression types.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A codec, by the byte RocksDB stores in block trailers. LevelDB's bytes agree on 0 and 1 only.
///
/// The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Codec {
    /// Not compressed.
    None = 0x00,
    /// Snappy.
    Snappy = 0x01,
    /// Raw deflate, despite the name.
    Zlib = 0x02,
    /// bzip2.
    Bzip2 = 0x03,
    /// LZ4's block format.
    Lz4 = 0x04,
    /// The same format, written by a slower encoder.
    Lz4hc = 0x05,
    /// Windows only. Recognised, not read.
    Xpress = 0x06,
    /// Zstandard.
    Zstd = 0x07,
    /// Zstandard, before its format was final; same bytes.
    ZstdNotFinal = 0x40,
}

impl Codec {
    /// All codecs, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Snappy,
        Self::Zlib,
        Self::Bzip2,
        Self::Lz4,
        Self::Lz4hc,
        Self::Xpress,
        Self::Zstd,
        Self::ZstdNotFinal,
    ];

    /// The codec stored as `byte` by RocksDB.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&codec| codec as u8 == byte)
    }

    /// The name in the property `rocksdb.compression` (up to format version 6).
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NoCompression",
            Self::Snappy => "Snappy",
            Self::Zlib => "Zlib",
            Self::Bzip2 => "BZip2",
            Self::Lz4 => "LZ4",
            Self::Lz4hc => "LZ4HC",
            Self::Xpress => "Xpress",
            Self::Zstd => "ZSTD",
            Self::ZstdNotFinal => "ZSTDNotFinal",
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads RocksDB's [names](Codec::name), in upper or lower case, and `none`.
///
/// ```
/// use sstkit_table::raw::Codec;
///
/// assert_eq!("zstd".parse::<Codec>()?, Codec::Zstd);
/// assert_eq!("LZ4HC".parse::<Codec>()?, Codec::Lz4hc);
/// # Ok::<(), sstkit_table::Error>(())
/// ```
impl FromStr for Codec {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if name.eq_ignore_ascii_case("none") {
            return Ok(Self::None);
        }
        let codec = Self::ALL.into_iter().find(|codec| codec.name().eq_ignore_ascii_case(name));
        codec.ok_or_else(|| Error::invalid_input(format!("unknown codec {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for codec in Codec::ALL {
            let name = codec.to_string();
            assert_eq!(name.parse::<Codec>().unwrap(), codec);
            assert_eq!(name.to_lowercase().parse::<Codec>().unwrap(), codec);
        }
        assert_eq!("none".parse::<Codec>().unwrap(), Codec::None);
        assert!("gzip".parse::<Codec>().is_err());
    }
}
