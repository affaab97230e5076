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

mod bzip2;
mod codec;
mod compressor;
mod deflate;
mod dialect;
mod dictionary;
mod lz4;
mod room;
mod size;
mod snappy;
mod stream;
mod zstd;

use std::borrow::Cow;

use self::dialect::Encoding;
use super::format::{Engine, FormatVersion};
use crate::error::Result;

pub use self::codec::Codec;
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
        Encoding::Snappy => snappy::decompress(stored, max_size),
        Encoding::Deflate(framing, size) => {
            deflate::decompress(stored, framing, size, dictionary, max_size)
        }
        Encoding::Bzip2(size) => bzip2::decompress(stored, size, max_size),
        Encoding::Lz4(size) => lz4::decompress(stored, size, dictionary, max_size),
        Encoding::Zstd(size) => zstd::decompress(stored, size, dictionary, max_size),
    };
    contents.map(Cow::Owned)
}

#[cfg(test)]
mod tests;
