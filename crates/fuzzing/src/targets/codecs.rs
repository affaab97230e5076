//! Decompression, one target for each codec.
//!
//! The first byte of the input says in which dialect, and whether with a dictionary; the rest is a
//! block as stored.

use sstkit_table::raw::{Codec, Dictionary, Engine, FormatVersion, decompress};

/// What a block may decompress to.
const MAX_SIZE: usize = 1 << 20;

/// Snappy.
pub fn snappy(data: &[u8]) {
    decode(Codec::Snappy, data);
}

/// Deflate.
pub fn zlib(data: &[u8]) {
    decode(Codec::Zlib, data);
}

/// bzip2.
pub fn bzip2(data: &[u8]) {
    decode(Codec::Bzip2, data);
}

/// LZ4.
pub fn lz4(data: &[u8]) {
    decode(Codec::Lz4, data);
}

/// Zstandard.
pub fn zstd(data: &[u8]) {
    decode(Codec::Zstd, data);
}

fn decode(codec: Codec, data: &[u8]) {
    let Some((&form, stored)) = data.split_first() else { return };
    let version = FormatVersion::ALL[usize::from(form & 7)];
    let (engine, byte) = match (form & 8 != 0, codec) {
        // In LevelDB's tables zstd has another number, and others are not known.
        (true, Codec::Zstd) => (Engine::LevelDb, 2),
        (true, _) => (Engine::LevelDb, codec as u8),
        (false, _) => (Engine::RocksDb, codec as u8),
    };
    let dictionary = match form & 16 != 0 {
        true => Some(Dictionary::new(&b"a dictionary of words that repeat"[..]).expect("bytes")),
        false => None,
    };
    for max_size in [MAX_SIZE, 100] {
        if let Ok(contents) =
            decompress(engine, version, byte, stored, dictionary.as_ref(), max_size)
        {
            assert!(contents.len() <= max_size, "{} bytes", contents.len());
        }
    }
}
