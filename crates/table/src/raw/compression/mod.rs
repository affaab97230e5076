//! Compressing and decompressing blocks.
//!
//! ```text
//! codec byte   RocksDB, version >= 2      RocksDB, versions 0, 1     LevelDB and relatives
//! 0            contents                   contents                   contents
//! 1  snappy    snappy                     snappy                     snappy
//! 2  zlib      size | raw deflate         raw deflate                zstd frame, or a zlib stream
//! 3  bzip2     size | bzip2 stream        bzip2 stream               -
//! 4  LZ4       size | LZ4 block           size_t | LZ4 block         raw deflate
//! 5  LZ4HC     as 4                       as 4                       -
//! 6  Xpress    Windows only: refused      refused                    -
//! 7  zstd      size | zstd frame          size | zstd frame          -
//! 40 zstd      as 7, before the zstd format was final
//! 80..FE       custom compression managers: refused
//! ```
//!
//! `size` is a varint, `size_t` eight bytes in the writer's byte order. LevelDB's column has two
//! dialects under one magic number; `dialect.rs` distinguishes them.
//!
//! # Declared sizes are untrusted
//!
//! A declared size is checked against the largest possible expansion of the codec and against a limit
//! before anything is allocated, and the output must have exactly that size. Without a declared size the
//! output grows as it is decompressed, up to the limit.
//!
//! # Features
//!
//! Each codec is a feature of the crate. Without it, its blocks are an error that names the feature.
//! zstd has two: `zstd` is the reference implementation, in C; `ruzstd` is a decoder in Rust, used if the
//! other is off.

#[cfg(feature = "bzip2")]
mod bzip2;
mod codec;
#[cfg(feature = "write")]
mod compressor;
#[cfg(feature = "zlib")]
mod deflate;
mod dialect;
mod dictionary;
#[cfg(feature = "lz4")]
mod lz4;
mod room;
// Beside the reference implementation only to be compared with it.
#[cfg(all(feature = "ruzstd", any(test, not(feature = "zstd"))))]
mod ruzstd;
mod size;
#[cfg(feature = "snappy")]
mod snappy;
#[cfg(any(feature = "zlib", feature = "bzip2"))]
mod stream;
#[cfg(feature = "zstd")]
mod zstd;

use std::borrow::Cow;

use self::dialect::Encoding;
use super::format::{Engine, FormatVersion};
use crate::error::{Error, Result};

pub use self::codec::Codec;
#[cfg(feature = "write")]
pub(crate) use self::compressor::{Attempt, CompressionRecipe, Compressor, Stored};
pub use self::dictionary::Dictionary;

/// Decompresses a block with codec byte `codec`, as written by this engine and format version. Fails if
/// the contents are longer than `max_size`.
///
/// Codecs without dictionaries ignore `dictionary`, as in the engines.
pub fn decompress<'a>(
    engine: Engine,
    version: FormatVersion,
    codec: u8,
    stored: &'a [u8],
    dictionary: Option<&Dictionary>,
    max_size: usize,
) -> Result<Cow<'a, [u8]>> {
    let contents = match Encoding::of(engine, version, codec, stored)? {
        Encoding::Plain => return Ok(Cow::Borrowed(stored)),
        #[cfg(feature = "snappy")]
        Encoding::Snappy => snappy::decompress(stored, max_size),
        #[cfg(feature = "zlib")]
        Encoding::Deflate(framing, size) => {
            deflate::decompress(stored, framing, size, dictionary, max_size)
        }
        #[cfg(feature = "bzip2")]
        Encoding::Bzip2(size) => bzip2::decompress(stored, size, max_size),
        #[cfg(feature = "lz4")]
        Encoding::Lz4(size) => lz4::decompress(stored, size, dictionary, max_size),
        #[cfg(feature = "zstd")]
        Encoding::Zstd(size) => zstd::decompress(stored, size, dictionary, max_size),
        #[cfg(all(feature = "ruzstd", not(feature = "zstd")))]
        Encoding::Zstd(size) => ruzstd::decompress(stored, size, dictionary, max_size),
        #[cfg(not(all(
            feature = "snappy",
            feature = "zlib",
            feature = "bzip2",
            feature = "lz4",
            any(feature = "zstd", feature = "ruzstd")
        )))]
        other => {
            let _unused_without_codecs = (dictionary, max_size);
            Err(left_out(other.feature()))
        }
    };
    contents.map(Cow::Owned)
}

/// The error for a codec whose feature is off.
pub(crate) fn left_out(feature: &str) -> Error {
    Error::unsupported(format!(
        "this build has no {feature} (enable the feature \"{feature}\" of sstkit-table)"
    ))
}

#[cfg(test)]
mod tests;
