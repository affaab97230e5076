//! The CRC-32C of a whole file, computed from the pieces that verification reads anyway.
//!
//! ```text
//! part 0   | data data data |                        one piece each: blocks that follow one another
//! part 1                    | data data |            extend a piece
//! tail                                    | index |
//! gaps                                  |~|       |~~~~|      read at the end, with the footer
//! ```

use bytes::Bytes;

use crate::error::Result;
use crate::raw::StoredBlock;
use crate::reader::block::reader::read_exact;
use crate::reader::open::core::Core;

/// Bytes of a gap that are read at once.
const CHUNK: u64 = 1 << 16;

/// A piece is not longer than this by more than a block, so that its length fits into a `usize`.
const MAX_PIECE: u64 = 1 << 30;

/// Checksums of pieces of a file.
#[derive(Debug, Default)]
pub(super) struct FileChecksum {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    start: u64,
    end: u64,
    crc: u32,
}

impl FileChecksum {
    pub(super) fn add(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        match self.pieces.last_mut() {
            Some(piece) if piece.end == offset && end - piece.start <= MAX_PIECE => {
                piece.crc = crc32c::crc32c_append(piece.crc, bytes);
                piece.end = end;
            }
            _ => self.pieces.push(Piece { start: offset, end, crc: crc32c::crc32c(bytes) }),
        }
    }

    pub(super) fn add_block(&mut self, block: &StoredBlock<Bytes>) {
        let offset = block.handle.offset;
        self.add(offset, &block.contents);
        self.add(offset + block.contents.len() as u64, &block.trailer.encode());
    }

    pub(super) fn append(&mut self, other: Self) {
        self.pieces.extend(other.pieces);
    }

    /// The checksum of the whole file. Reads what is not in any piece.
    pub(super) fn finish(mut self, core: &Core) -> Result<u32> {
        self.pieces.sort_by_key(|piece| piece.start);
        let (mut crc, mut end) = (0, 0);
        for piece in &self.pieces {
            // Blocks of a damaged table may overlap.
            if piece.start < end {
                continue;
            }
            crc = read_gap(core, crc, end, piece.start)?;
            crc = crc32c::crc32c_combine(crc, piece.crc, (piece.end - piece.start) as usize);
            end = piece.end;
        }
        read_gap(core, crc, end, core.size)
    }
}

fn read_gap(core: &Core, mut crc: u32, mut start: u64, end: u64) -> Result<u32> {
    while start < end {
        let length = (end - start).min(CHUNK);
        let bytes = read_exact(&*core.blocks.source, start, length as usize);
        crc = crc32c::crc32c_append(crc, &bytes.map_err(|error| core.blocks.in_file(error))?);
        start += length;
    }
    Ok(crc)
}
