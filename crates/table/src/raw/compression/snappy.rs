//! Snappy's raw format: the size as a varint, then literals and copies.

use super::room::Room;
use super::size;
use crate::error::{Error, Result};

/// A copy of 64 bytes takes three.
const MAX_EXPANSION: u64 = 22;

pub(super) fn decompress(stored: &[u8], max_size: usize) -> Result<Vec<u8>> {
    let declared = snap::raw::decompress_len(stored).map_err(corrupt)?;
    let size = size::check(declared as u64, stored.len(), MAX_EXPANSION, max_size)?;
    let mut contents = size::allocate_zeroed(size)?;
    let written = snap::raw::Decoder::new().decompress(stored, &mut contents).map_err(corrupt)?;
    size::check_output(size, written)?;
    Ok(contents)
}

fn corrupt(source: snap::Error) -> Error {
    Error::corrupt("snappy decompression failed").with_source(source)
}

/// Appends `contents`, compressed.
pub(super) fn compress(
    encoder: &mut snap::raw::Encoder,
    contents: &[u8],
    out: &mut Room,
) -> Result<()> {
    out.append(snap::raw::max_compress_len(contents.len()), |room| {
        encoder
            .compress(contents, room)
            .map_err(|source| Error::invalid_input("snappy compression failed").with_source(source))
    })
}
