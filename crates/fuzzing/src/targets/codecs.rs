//! Decompression, one target for each codec.
//!
//! ```text
//! input    | u8 form | u16 length, dictionary, if bit 4 of the form is set | a block as stored |
//! ```
//!
//! Bits 0 to 2 of the form are the format version, bit 3 says that it is LevelDB's.

use sstkit_coding::fixed::get_fixed16;
use sstkit_table::raw::{Codec, Dictionary, Engine, FormatVersion, decompress};

/// What a block may decompress to.
const MAX_SIZE: usize = 1 << 20;

/// The bit of the form that says that there is a dictionary.
pub(crate) const WITH_DICTIONARY: u8 = 16;

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

/// An empty one is an error, and then the block is read without.
fn take_dictionary(data: &mut &[u8]) -> Option<Dictionary> {
    let length = usize::from(get_fixed16(data)?);
    let (dictionary, stored) = data.split_at(length.min(data.len()));
    *data = stored;
    Dictionary::new(dictionary).ok()
}

/// Whether there is a block that can be read.
pub(crate) fn decode(codec: Codec, data: &[u8]) -> bool {
    let Some((&form, mut stored)) = data.split_first() else { return false };
    let version = FormatVersion::ALL[usize::from(form & 7)];
    let (engine, byte) = match (form & 8 != 0, codec) {
        // In LevelDB's tables zstd has another number, and others are not known.
        (true, Codec::Zstd) => (Engine::LevelDb, 2),
        (true, _) => (Engine::LevelDb, codec as u8),
        (false, _) => (Engine::RocksDb, codec as u8),
    };
    let dictionary = match form & WITH_DICTIONARY != 0 {
        true => take_dictionary(&mut stored),
        false => None,
    };
    let mut is_readable = false;
    for max_size in [100, MAX_SIZE] {
        let read = decompress(engine, version, byte, stored, dictionary.as_ref(), max_size);
        is_readable = read.is_ok();
        if let Ok(contents) = read {
            assert!(contents.len() <= max_size, "{} bytes", contents.len());
        }
    }
    is_readable
}
