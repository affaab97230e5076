//! Compressing blocks, if that makes them small enough.
//!
//! ```text
//! RocksDB        stored compressed if   size prefix + stream <= contents * limit / 1024
//! RocksDB 6.20   stored compressed if   size prefix + stream < contents - contents / 8
//! LevelDB        stored compressed if   stream < contents - contents / 8
//! ```
//!
//! Other blocks are stored uncompressed, which also makes reading faster.
//!
//! LZ4 and LZ4HC use the same, fast encoder at every level. The format is the same, so every reader
//! accepts it, but blocks are larger than those of a real LZ4HC encoder.

use std::sync::Arc;

#[cfg(feature = "zstd")]
use zstd::bulk::Compressor as ZstdCompressor;

#[cfg(feature = "bzip2")]
use super::bzip2;
use super::codec::Codec;
#[cfg(feature = "zlib")]
use super::deflate;
use super::dialect::Encoding;
use super::left_out;
#[cfg(feature = "lz4")]
use super::lz4;
use super::room::Room;
#[cfg(feature = "snappy")]
use super::snappy;
use crate::error::{Error, Result};
use crate::raw::format::{Engine, FormatVersion};

/// Larger blocks are never compressed: the libraries use 32-bit lengths.
const MAX_CONTENTS: usize = i32::MAX as usize;

/// Blocks are not compressed if the limit leaves no more than a size prefix.
const MAX_SIZE_PREFIX: usize = 5;

/// Of 1024: a higher limit would save nothing.
const MAX_BYTES_PER_KB: u32 = 1023;

/// LevelDB's codec byte for zstd.
#[cfg(feature = "zstd")]
const LEVELDB_ZSTD: u8 = 2;

/// How to compress blocks.
#[derive(Clone, Debug)]
pub(crate) struct CompressionRecipe {
    pub(crate) engine: Engine,
    pub(crate) version: FormatVersion,
    /// Whether blocks are those of RocksDB 6.20.
    pub(crate) is_of_rocksdb6: bool,
    pub(crate) codec: Codec,
    /// In the codec's own terms; `None` for RocksDB's choice.
    pub(crate) level: Option<i32>,
    /// RocksDB's `max_compressed_bytes_per_kb`.
    pub(crate) max_bytes_per_kb: u32,
    pub(crate) dictionary: Option<Arc<[u8]>>,
}

/// The outcome of compressing a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Compressed, with the codec byte to store.
    Compressed(u8),
    /// The compressed block was not small enough.
    Rejected,
    /// Compression was not tried.
    Bypassed,
}

impl Attempt {
    /// The codec byte to store.
    pub(crate) fn codec_byte(self) -> u8 {
        match self {
            Self::Compressed(byte) => byte,
            Self::Rejected | Self::Bypassed => Codec::None as u8,
        }
    }
}

/// The bytes to store, compressed or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) attempt: Attempt,
}

/// Compresses blocks, one after the other. Each thread has its own.
pub(crate) struct Compressor {
    recipe: CompressionRecipe,
    tools: Tools,
    /// The last compressed block.
    buffer: Room,
}

/// Reusable state of the codecs. It does not carry anything from one block to the next: the same contents
/// always give the same bytes.
struct Tools {
    /// A zstd context takes hundreds of KiB.
    #[cfg(feature = "zstd")]
    zstd: Option<ZstdCompressor<'static>>,
    #[cfg(feature = "lz4")]
    lz4: lz4::Table,
    #[cfg(feature = "snappy")]
    snappy: snap::raw::Encoder,
}

impl Compressor {
    pub(crate) fn new(recipe: CompressionRecipe) -> Result<Self> {
        match recipe.codec {
            Codec::Xpress | Codec::ZstdNotFinal => {
                return Err(Error::unsupported(format!("{} cannot be written", recipe.codec)));
            }
            codec if !is_compiled(codec) => return Err(left_out(feature(codec))),
            _ => {}
        }
        let tools = Tools {
            #[cfg(feature = "zstd")]
            zstd: match recipe.codec {
                Codec::Zstd => Some(zstd_compressor(&recipe).map_err(|source| {
                    unusable("zstd initialization failed").with_source(source)
                })?),
                _ => None,
            },
            #[cfg(feature = "lz4")]
            lz4: lz4::Table::default(),
            #[cfg(feature = "snappy")]
            snappy: snap::raw::Encoder::new(),
        };
        Ok(Self { recipe, tools, buffer: Room::default() })
    }

    /// Compresses a block, if that makes it small enough.
    pub(crate) fn compress<'a>(&'a mut self, contents: &'a [u8]) -> Result<Stored<'a>> {
        let Self { recipe, tools, buffer } = self;
        if recipe.codec == Codec::None || contents.len() >= MAX_CONTENTS {
            return Ok(Stored { bytes: contents, attempt: Attempt::Bypassed });
        }
        buffer.clear();
        let attempt = match recipe.engine {
            Engine::RocksDb => tools.compress_rocksdb(recipe, contents, buffer),
            Engine::LevelDb => tools.compress_leveldb(recipe, contents, buffer),
        }?;
        let bytes = match attempt {
            Attempt::Compressed(_) => buffer.bytes(),
            Attempt::Rejected | Attempt::Bypassed => contents,
        };
        Ok(Stored { bytes, attempt })
    }
}

impl Tools {
    fn compress_rocksdb(
        &mut self,
        recipe: &CompressionRecipe,
        contents: &[u8],
        out: &mut Room,
    ) -> Result<Attempt> {
        let limit = recipe.limit(contents.len());
        if recipe.codec != Codec::Snappy {
            if limit <= MAX_SIZE_PREFIX {
                return Ok(Attempt::Bypassed);
            }
            let encoding = Encoding::of_rocksdb(recipe.version, recipe.codec as u8)?;
            out.put(&encoding.declared_size().encode(contents.len()));
        }
        let complete = match recipe.codec {
            #[cfg(feature = "snappy")]
            Codec::Snappy => snappy::compress(&mut self.snappy, contents, out).map(|()| true),
            #[cfg(feature = "zlib")]
            Codec::Zlib => {
                let room = limit.saturating_sub(out.len());
                let (level, dictionary) = (zlib_level(recipe.level), recipe.dictionary.as_deref());
                deflate::compress(contents, level, dictionary, room, out)
            }
            #[cfg(feature = "bzip2")]
            Codec::Bzip2 => bzip2::compress(contents, limit.saturating_sub(out.len()), out),
            #[cfg(feature = "lz4")]
            Codec::Lz4 | Codec::Lz4hc => {
                let dictionary = recipe.dictionary.as_deref();
                lz4::compress(&mut self.lz4, contents, dictionary, out).map(|()| true)
            }
            #[cfg(feature = "zstd")]
            Codec::Zstd => self.compress_zstd(contents, out).map(|()| true),
            codec => Err(left_out(feature(codec))),
        }?;
        Ok(match complete && out.len() <= limit {
            true => Attempt::Compressed(recipe.stored_codec() as u8),
            false => Attempt::Rejected,
        })
    }

    fn compress_leveldb(
        &mut self,
        recipe: &CompressionRecipe,
        contents: &[u8],
        out: &mut Room,
    ) -> Result<Attempt> {
        let byte: Result<u8> = match recipe.codec {
            #[cfg(feature = "snappy")]
            Codec::Snappy => {
                snappy::compress(&mut self.snappy, contents, out).map(|()| Codec::Snappy as u8)
            }
            #[cfg(feature = "zstd")]
            Codec::Zstd => self.compress_zstd(contents, out).map(|()| LEVELDB_ZSTD),
            codec => Err(left_out(feature(codec))),
        };
        let byte = byte?;
        Ok(match out.len() < contents.len() - contents.len() / 8 {
            true => Attempt::Compressed(byte),
            false => Attempt::Rejected,
        })
    }

    #[cfg(feature = "zstd")]
    fn compress_zstd(&mut self, contents: &[u8], out: &mut Room) -> Result<()> {
        let zstd = self.zstd.as_mut().ok_or_else(|| unusable("the codec is not prepared"))?;
        out.append(zstd::zstd_safe::compress_bound(contents.len()), |room| {
            zstd.compress_to_buffer(contents, room)
                .map_err(|source| unusable("zstd compression failed").with_source(source))
        })
    }
}

impl CompressionRecipe {
    /// The largest size of a block of RocksDB that is stored compressed.
    fn limit(&self, contents: usize) -> usize {
        if self.is_of_rocksdb6 {
            return (contents - contents / 8).saturating_sub(1);
        }
        let per_kb = u64::from(self.max_bytes_per_kb.min(MAX_BYTES_PER_KB));
        ((per_kb * contents as u64) >> 10) as usize
    }

    /// As in RocksDB, the level decides between the codec bytes of LZ4 and LZ4HC.
    pub(crate) fn stored_codec(&self) -> Codec {
        match (self.codec, self.level) {
            (Codec::Lz4 | Codec::Lz4hc, Some(level)) if level <= 0 => Codec::Lz4,
            (Codec::Lz4 | Codec::Lz4hc, Some(_)) => Codec::Lz4hc,
            (codec, _) => codec,
        }
    }
}

#[cfg(feature = "zstd")]
fn zstd_compressor(recipe: &CompressionRecipe) -> std::io::Result<ZstdCompressor<'static>> {
    let default = match recipe.engine {
        Engine::RocksDb => 3,
        Engine::LevelDb => 1,
    };
    let level = match recipe.level {
        None => default,
        // As in RocksDB, where 0 is between 1 and -1; for the library it means the default.
        Some(0) if recipe.engine == Engine::RocksDb => -1,
        Some(level) => level,
    };
    match &recipe.dictionary {
        Some(dictionary) => ZstdCompressor::with_dictionary(level, dictionary),
        None => ZstdCompressor::new(level),
    }
}

/// The feature of this crate that a codec needs.
fn feature(codec: Codec) -> &'static str {
    Encoding::of_rocksdb(FormatVersion::V7, codec as u8).map_or("", Encoding::feature)
}

fn is_compiled(codec: Codec) -> bool {
    match feature(codec) {
        "snappy" => cfg!(feature = "snappy"),
        "zlib" => cfg!(feature = "zlib"),
        "bzip2" => cfg!(feature = "bzip2"),
        "lz4" => cfg!(feature = "lz4"),
        "zstd" => cfg!(feature = "zstd"),
        _ => true,
    }
}

/// zlib's levels, clamped to 0 to 9; negative ones mean the default, 6.
#[cfg(feature = "zlib")]
fn zlib_level(level: Option<i32>) -> u32 {
    match level {
        None | Some(i32::MIN..=-1) => 6,
        Some(level) => level.min(9) as u32,
    }
}

#[cfg(feature = "zstd")]
fn unusable(what: &str) -> Error {
    Error::invalid_input(what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::compression::{Dictionary, decompress};

    const CODECS: [Codec; 6] =
        [Codec::Snappy, Codec::Zlib, Codec::Bzip2, Codec::Lz4, Codec::Lz4hc, Codec::Zstd];

    fn recipe(engine: Engine, codec: Codec) -> CompressionRecipe {
        CompressionRecipe {
            engine,
            version: FormatVersion::V7,
            is_of_rocksdb6: false,
            codec,
            level: None,
            max_bytes_per_kb: 896,
            dictionary: None,
        }
    }

    fn text(length: usize) -> Vec<u8> {
        (0..)
            .flat_map(|i: u32| format!("entry {} of a block; ", i * i).into_bytes())
            .take(length)
            .collect()
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1u64;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(length)
        .collect()
    }

    #[test]
    fn every_codec_round_trips() {
        let dictionary: Arc<[u8]> = text(3000).into();
        for codec in CODECS {
            for with_dictionary in [false, true] {
                let dictionary = with_dictionary.then(|| Arc::clone(&dictionary));
                let read = dictionary.as_ref().map(|bytes| Dictionary::new(&**bytes).unwrap());
                for version in [FormatVersion::V7, FormatVersion::V1] {
                    let mut compressor = Compressor::new(CompressionRecipe {
                        version,
                        dictionary: dictionary.clone(),
                        ..recipe(Engine::RocksDb, codec)
                    })
                    .unwrap();
                    for contents in [text(4000), text(100_000), vec![0; 60_000]] {
                        let Stored { bytes, attempt } = compressor.compress(&contents).unwrap();
                        assert_eq!(attempt, Attempt::Compressed(codec as u8), "{codec}");
                        let engine = Engine::RocksDb;
                        let byte = attempt.codec_byte();
                        let again =
                            decompress(engine, version, byte, bytes, read.as_ref(), 1 << 20);
                        assert!(*again.unwrap() == contents, "{codec} {version}");
                    }
                }
            }
        }
    }

    #[test]
    fn leveldb_writes_a_bare_frame() {
        for (codec, byte) in [(Codec::Snappy, 1), (Codec::Zstd, 2)] {
            let mut compressor = Compressor::new(recipe(Engine::LevelDb, codec)).unwrap();
            let contents = text(4000);
            let Stored { bytes, attempt } = compressor.compress(&contents).unwrap();
            assert_eq!(attempt, Attempt::Compressed(byte));
            let version = FormatVersion::V0;
            let again = decompress(Engine::LevelDb, version, byte, bytes, None, 1 << 20);
            assert!(*again.unwrap() == contents);
        }
    }

    #[test]
    fn incompressible_blocks_are_stored_uncompressed() {
        for engine in [Engine::RocksDb, Engine::LevelDb] {
            for codec in CODECS {
                if engine == Engine::LevelDb && !matches!(codec, Codec::Snappy | Codec::Zstd) {
                    continue;
                }
                let mut compressor = Compressor::new(recipe(engine, codec)).unwrap();
                let contents = noise(4000);
                let stored = compressor.compress(&contents).unwrap();
                assert_eq!(stored.attempt, Attempt::Rejected, "{codec}");
                assert!(stored.bytes == contents, "{codec}");
            }
        }
    }

    #[test]
    fn output_does_not_depend_on_earlier_blocks() {
        let contents = text(4000);
        for codec in CODECS {
            let mut fresh = Compressor::new(recipe(Engine::RocksDb, codec)).unwrap();
            let expected = fresh.compress(&contents).unwrap().bytes.to_vec();
            let mut used = Compressor::new(recipe(Engine::RocksDb, codec)).unwrap();
            for before in [text(100_000), noise(300), vec![7; 70_000]] {
                used.compress(&before).unwrap();
                assert!(used.compress(&contents).unwrap().bytes == expected, "{codec}");
            }
        }
    }

    fn attempt(compressor: &mut Compressor, contents: &[u8]) -> Attempt {
        compressor.compress(contents).unwrap().attempt
    }

    #[test]
    fn tiny_blocks_are_bypassed() {
        let mut compressor = Compressor::new(recipe(Engine::RocksDb, Codec::Lz4)).unwrap();
        assert_eq!(attempt(&mut compressor, &[0; 6]), Attempt::Bypassed);
        assert_eq!(attempt(&mut compressor, &[0; 8]), Attempt::Rejected);
        let mut compressor = Compressor::new(recipe(Engine::RocksDb, Codec::None)).unwrap();
        assert_eq!(attempt(&mut compressor, &text(100)), Attempt::Bypassed);
    }

    #[test]
    fn the_level_decides_between_lz4_and_lz4hc() {
        for (codec, level, stored) in [
            (Codec::Lz4, None, Codec::Lz4),
            (Codec::Lz4, Some(1), Codec::Lz4hc),
            (Codec::Lz4hc, None, Codec::Lz4hc),
            (Codec::Lz4hc, Some(0), Codec::Lz4),
            (Codec::Zstd, Some(0), Codec::Zstd),
        ] {
            let recipe = CompressionRecipe { level, ..recipe(Engine::RocksDb, codec) };
            assert_eq!(recipe.stored_codec(), stored);
        }
    }
}
