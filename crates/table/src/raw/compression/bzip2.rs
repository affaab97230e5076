//! bzip2 streams.

use bzip2::{Action, Compress, Compression, Decompress, Status};

use super::room::Room;
use super::size::{self, DeclaredSize};
use super::stream::{self, Decoder};
use crate::error::{Error, Result};

/// Forty bytes of bzip2 can expand to 45 million, so no ratio is a useful bound. The output grows as it
/// is decompressed instead of being allocated as declared.
const MAX_EXPANSION: u64 = u64::MAX;

/// The first guess; the blocks of tables stay below it.
const USUAL_EXPANSION: usize = 16;

pub(super) fn decompress(
    mut stored: &[u8],
    declared: DeclaredSize,
    max_size: usize,
) -> Result<Vec<u8>> {
    let declared = declared.take(&mut stored)?;
    let declared = declared
        .map(|declared| size::check(declared, stored.len(), MAX_EXPANSION, max_size))
        .transpose()?;
    let first_guess = stored.len().saturating_mul(USUAL_EXPANSION);
    let mut decoder = Decompress::new(false);
    stream::drain(&mut decoder, stored, declared, first_guess, max_size)
}

impl Decoder for Decompress {
    const NAME: &'static str = "bzip2";

    fn total_in(&self) -> u64 {
        Decompress::total_in(self)
    }

    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<bool> {
        match self.decompress_vec(input, output) {
            Ok(Status::StreamEnd) => Ok(true),
            Ok(Status::MemNeeded) => Err(Error::unsupported("bzip2 is out of memory")),
            Ok(_) => Ok(false),
            Err(source) => Err(Error::corrupt("bzip2 decompression failed").with_source(source)),
        }
    }
}

/// Appends the compressed `contents`; false if that takes more than `room` bytes.
pub(super) fn compress(contents: &[u8], room: usize, out: &mut Room) -> Result<bool> {
    // Blocks of 100 kB, RocksDB's choice; 30 is the library's own default.
    let mut compressor = Compress::new(Compression::fast(), 30);
    let mut status = Status::Ok;
    out.append(room, |room| {
        status = compressor.compress(contents, room, Action::Finish).map_err(|source| {
            Error::invalid_input("bzip2 compression failed").with_source(source)
        })?;
        Ok(usize::try_from(compressor.total_out()).unwrap_or(usize::MAX))
    })?;
    Ok(status == Status::StreamEnd)
}
