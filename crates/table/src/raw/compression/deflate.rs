//! Deflate: raw in RocksDB (which calls it zlib), with zlib's header and checksum in one LevelDB
//! dialect.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::dialect::Framing;
use super::dictionary::Dictionary;
use super::room::Room;
use super::size::{self, DeclaredSize};
use super::stream::{self, Decoder};
use crate::error::{Error, Result};

/// A match of 258 bytes can take as little as two bits.
const MAX_EXPANSION: u64 = 1032;

/// The first guess where no size is declared: blocks compress to about a third.
const USUAL_EXPANSION: usize = 4;

/// RocksDB always inflates with a window of 16 KiB, so no larger one is written.
const WRITTEN_WINDOW_BITS: u8 = 14;

pub(super) fn decompress(
    mut stored: &[u8],
    framing: Framing,
    declared: DeclaredSize,
    dictionary: Option<&Dictionary>,
    max_size: usize,
) -> Result<Vec<u8>> {
    let declared = declared.take(&mut stored)?;
    let declared = declared
        .map(|declared| size::check(declared, stored.len(), MAX_EXPANSION, max_size))
        .transpose()?;

    // A window of 32 KiB, which reads smaller ones, too.
    let mut inflater = Decompress::new(framing == Framing::Zlib);
    if let Some(dictionary) = dictionary
        && framing == Framing::Raw
    {
        inflater.set_dictionary(dictionary.bytes()).map_err(corrupt)?;
    }
    let first_guess = match declared {
        Some(size) => size.saturating_add(1),
        None => stored.len().saturating_mul(USUAL_EXPANSION),
    };
    stream::drain(&mut inflater, stored, declared, first_guess, max_size)
}

impl Decoder for Decompress {
    const NAME: &'static str = "deflate";

    fn total_in(&self) -> u64 {
        Decompress::total_in(self)
    }

    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<bool> {
        let status = self.decompress_vec(input, output, FlushDecompress::None).map_err(corrupt)?;
        Ok(status == Status::StreamEnd)
    }
}

fn corrupt(source: flate2::DecompressError) -> Error {
    Error::corrupt("zlib decompression failed").with_source(source)
}

/// Appends `contents` as raw deflate; false if that takes more than `room` bytes. Levels are zlib's, 0
/// to 9.
pub(super) fn compress(
    contents: &[u8],
    level: u32,
    dictionary: Option<&[u8]>,
    room: usize,
    out: &mut Room,
) -> Result<bool> {
    let failed = |source: flate2::CompressError| {
        Error::invalid_input("zlib compression failed").with_source(source)
    };
    let mut deflater =
        Compress::new_with_window_bits(Compression::new(level), false, WRITTEN_WINDOW_BITS);
    if let Some(dictionary) = dictionary {
        deflater.set_dictionary(dictionary).map_err(failed)?;
    }
    // The output does not grow: blocks that do not fit are stored uncompressed.
    let mut status = Status::Ok;
    out.append(room, |room| {
        status = deflater.compress(contents, room, FlushCompress::Finish).map_err(failed)?;
        Ok(usize::try_from(deflater.total_out()).unwrap_or(usize::MAX))
    })?;
    Ok(status == Status::StreamEnd)
}
