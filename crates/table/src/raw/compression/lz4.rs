//! LZ4's block format. Tables do not use frames.

use lz4_flex::block::{
    CompressTable, compress_into, compress_into_with_dict, compress_into_with_table,
    decompress_into, decompress_into_with_dict, get_maximum_output_size,
};

use super::dictionary::Dictionary;
use super::room::Room;
use super::size::{self, DeclaredSize};
use crate::error::{Error, Result};

/// Each further byte of a match length adds at most 255.
const MAX_EXPANSION: u64 = 255;

pub(super) fn decompress(
    mut stored: &[u8],
    declared: DeclaredSize,
    dictionary: Option<&Dictionary>,
    max_size: usize,
) -> Result<Vec<u8>> {
    let Some(declared) = declared.take(&mut stored)? else {
        // The block format does not contain the size.
        return Err(Error::corrupt("the LZ4 data has no size"));
    };
    let size = size::check(declared, stored.len(), MAX_EXPANSION, max_size)?;
    let mut contents = size::allocate_zeroed(size)?;
    let written = match dictionary {
        Some(dictionary) => decompress_into_with_dict(stored, &mut contents, dictionary.bytes()),
        None => decompress_into(stored, &mut contents),
    }
    .map_err(|source| Error::corrupt("LZ4 decompression failed").with_source(source))?;
    size::check_output(size, written)?;
    Ok(contents)
}

/// The hash table of the encoder, created when first needed.
#[derive(Default)]
pub(super) struct Table(Option<CompressTable>);

/// Blocks below this size share a table with 16-bit positions. Larger ones get a new table: a shared
/// one would grow and then compress the next blocks differently.
const SMALL: usize = u16::MAX as usize;

/// Appends the compressed `contents`. The encoder has one level.
pub(super) fn compress(
    table: &mut Table,
    contents: &[u8],
    dictionary: Option<&[u8]>,
    out: &mut Room,
) -> Result<()> {
    out.append(get_maximum_output_size(contents.len()), |room| {
        match dictionary {
            Some(dictionary) => compress_into_with_dict(contents, room, dictionary),
            None if contents.len() < SMALL => {
                let table = table.0.get_or_insert_with(CompressTable::small);
                compress_into_with_table(contents, room, table)
            }
            None => compress_into(contents, room),
        }
        .map_err(|source| Error::invalid_input("LZ4 compression failed").with_source(source))
    })
}
