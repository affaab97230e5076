//! What a codec byte means. It depends on the engine, the format version and, for LevelDB, the first
//! bytes of the block.
//!
//! # Byte 2 in a LevelDB table
//!
//! Google's LevelDB writes a bare zstd frame. Mojang's (the worlds of Minecraft's Bedrock edition)
//! used the same byte for a zlib stream, and byte 4 for raw deflate, before LevelDB supported zstd. The
//! first bytes distinguish them:
//!
//! ```text
//! zstd frame    28 B5 2F FD …
//! zlib stream   CM = 8 in the low half of byte 0, CINFO <= 7 in the high half,
//!               no preset dictionary (bit 5 of byte 1), and (byte 0 * 256 + byte 1) % 31 == 0
//! ```
//!
//! `28 B5` fails the last test (0x28B5 % 31 = 5), so no block is both.

use super::codec::Codec;
use super::size::DeclaredSize;
use crate::error::{Error, Result};
use crate::raw::format::{Engine, FormatVersion};

/// What surrounds deflate data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// Nothing.
    Raw,
    /// Two bytes before it, an Adler-32 after it.
    Zlib,
}

/// The encoding of a stored block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Snappy,
    Deflate(Framing, DeclaredSize),
    Bzip2(DeclaredSize),
    Lz4(DeclaredSize),
    Zstd(DeclaredSize),
}

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

impl Encoding {
    pub(super) fn of(
        engine: Engine,
        version: FormatVersion,
        codec: u8,
        stored: &[u8],
    ) -> Result<Self> {
        match engine {
            Engine::LevelDb => Self::of_leveldb(codec, stored),
            Engine::RocksDb => Self::of_rocksdb(version, codec),
        }
    }

    pub(super) fn of_rocksdb(version: FormatVersion, codec: u8) -> Result<Self> {
        let prefixed = version.has_size_prefixes();
        let or_none = if prefixed { DeclaredSize::Varint } else { DeclaredSize::None };
        let or_size_t = if prefixed { DeclaredSize::Varint } else { DeclaredSize::SizeT };
        match Codec::from_byte(codec) {
            Some(Codec::None) => Ok(Self::Plain),
            Some(Codec::Snappy) => Ok(Self::Snappy),
            Some(Codec::Zlib) => Ok(Self::Deflate(Framing::Raw, or_none)),
            Some(Codec::Bzip2) => Ok(Self::Bzip2(or_none)),
            Some(Codec::Lz4 | Codec::Lz4hc) => Ok(Self::Lz4(or_size_t)),
            // zstd was added later and always had the prefix.
            Some(Codec::Zstd | Codec::ZstdNotFinal) => Ok(Self::Zstd(DeclaredSize::Varint)),
            Some(Codec::Xpress) => Err(Error::unsupported("codec 0x06 (Xpress, Windows only)")),
            None if (0x80..0xff).contains(&codec) => Err(Error::unsupported(format!(
                "codec {codec:#04x} belongs to a custom compression manager"
            ))),
            None => Err(Error::unsupported(format!("the RocksDB codec {codec:#04x}"))),
        }
    }

    /// The feature of this crate that it needs.
    pub(super) fn feature(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Snappy => "snappy",
            Self::Deflate(..) => "zlib",
            Self::Bzip2(_) => "bzip2",
            Self::Lz4(_) => "lz4",
            Self::Zstd(_) => "zstd",
        }
    }

    /// Where the uncompressed size is.
    pub(super) fn declared_size(self) -> DeclaredSize {
        match self {
            Self::Plain | Self::Snappy => DeclaredSize::None,
            Self::Deflate(_, size) | Self::Bzip2(size) | Self::Lz4(size) | Self::Zstd(size) => size,
        }
    }

    fn of_leveldb(codec: u8, stored: &[u8]) -> Result<Self> {
        match codec {
            0 => Ok(Self::Plain),
            1 => Ok(Self::Snappy),
            2 if stored.starts_with(&ZSTD_MAGIC) => Ok(Self::Zstd(DeclaredSize::InFrame)),
            2 if is_zlib_header(stored) => Ok(Self::Deflate(Framing::Zlib, DeclaredSize::None)),
            2 => Err(Error::mismatch(
                "codec 2, but the data is neither zstd nor zlib",
                "28 b5 2f fd or a zlib header",
                format_args!("{:02x?}", &stored[..stored.len().min(4)]),
            )),
            4 => Ok(Self::Deflate(Framing::Raw, DeclaredSize::None)),
            _ => Err(Error::unsupported(format!("the LevelDB codec {codec:#04x}"))),
        }
    }
}

fn is_zlib_header(stored: &[u8]) -> bool {
    let &[cmf, flg, ..] = stored else { return false };
    cmf & 0x0f == 8
        && cmf >> 4 <= 7
        && flg & 0x20 == 0
        && u16::from_be_bytes([cmf, flg]).is_multiple_of(31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_block_is_both_zstd_and_zlib() {
        assert!(!is_zlib_header(&ZSTD_MAGIC));
        // The headers of zlib's four levels.
        for header in [[0x78, 0x01], [0x78, 0x5e], [0x78, 0x9c], [0x78, 0xda]] {
            assert!(is_zlib_header(&header));
        }
        assert!(!is_zlib_header(&[0x78]));
        assert!(!is_zlib_header(&[]));
    }

    #[test]
    fn unknown_codecs_are_unsupported() {
        for (engine, codec, text) in [
            (Engine::RocksDb, 0x06, "Xpress"),
            (Engine::RocksDb, 0x80, "0x80 belongs to a custom compression manager"),
            (Engine::RocksDb, 0xff, "0xff"),
            (Engine::RocksDb, 0x41, "0x41"),
            (Engine::LevelDb, 0x03, "LevelDB codec 0x03"),
            (Engine::LevelDb, 0x07, "LevelDB codec 0x07"),
        ] {
            let error = Encoding::of(engine, FormatVersion::V7, codec, &[]).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
