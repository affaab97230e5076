//! The bytes of a block with its fields marked: what each of them is, and what it says.
//!
//! ```text
//! stored     | contents, perhaps compressed | codec | checksum |
//! contents   | shared | non_shared | value length | key | type | sequence number | value | …
//!            | restart point | … | number of restart points |
//! ```
//!
//! Fields of the contents are ranges of the decompressed bytes. A window of the bytes is described at
//! a time, so that a block of a gigabyte does not become a page of one.

mod entries;
mod field;
mod filter;
mod footer;

use std::ops::Range;

use serde::Serialize;
use sstkit_coding::with_defaults;
use sstkit_table::Result;
use sstkit_table::raw::{Block, BlockHandle, BlockKind, Trailer};

pub use self::entries::EntryRow;
pub use self::field::Field;
use self::field::Fields;
use crate::encoding::Encoding;
use crate::inspected_table::InspectedTable;
use crate::layout;
use crate::layout_page::{BlockList, metaindex_name};
use crate::names;
use crate::verify::Problem;

/// A block, a window of its bytes, and a page of its entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BlockBytes {
    /// The file.
    pub file: String,
    /// The kind: `data`, `index`, `footer` …
    pub kind: &'static str,
    /// The name in the metaindex, if any.
    pub name: Option<String>,
    /// The offset.
    pub offset: u64,
    /// The stored size in bytes, without trailer.
    pub length: u64,
    /// The codec; `None` for the footer.
    pub compression: Option<String>,
    /// The decompressed size in bytes; `None` if the block could not be read.
    pub uncompressed: Option<u64>,
    /// The error, if it could not be read or decoded.
    pub problem: Option<Problem>,
    /// The window of the contents: its start, its bytes and its fields. The stored bytes, if the
    /// block could not be read.
    pub contents: MarkedBytes,
    /// The same window of the stored bytes of a compressed block, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<MarkedBytes>,
    /// The trailer of the block; `None` for the footer.
    pub trailer: Option<MarkedBytes>,
    /// The number of entries, if the block has entries.
    pub entries: Option<u64>,
    /// The index of the first entry of this page.
    pub entries_from: u64,
    /// The entries of this page.
    pub rows: Vec<EntryRow>,
    /// The offsets of the restart points in the contents; at most [`BlockBytes::MAX_ROWS`].
    pub restart_points: Vec<u64>,
    /// The number of restart points, if the block has entries.
    pub restarts: Option<u64>,
    /// The buckets of the hash index, if any: restart points, 254 for a collision, 255 for none.
    pub hash_index: Option<Vec<u8>>,
}

/// Bytes and their fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MarkedBytes {
    /// The offset of the first byte: in the contents, or of a trailer or footer in the file.
    pub start: u64,
    /// The bytes, in hexadecimal digits.
    pub hex: String,
    /// The fields that overlap them, by start. Not every byte belongs to a field.
    pub fields: Vec<Field>,
}

with_defaults! {
    /// What to describe of a block.
    #[derive(Clone, Copy, Debug)]
    pub struct BlockWindow {
        /// The first byte of the contents.
        pub bytes_from: u64,
        /// The number of bytes; at most [`BlockBytes::MAX_BYTES`].
        pub bytes: u64 = 8 << 10,
        /// The index of the first entry.
        pub entries_from: u64,
        /// The number of entries; at most [`BlockBytes::MAX_ROWS`].
        pub entries: u64 = 200,
        /// Whether the stored bytes of a compressed block are described, too.
        pub stored: bool,
    }
}

impl BlockBytes {
    /// The most bytes in a window.
    pub const MAX_BYTES: u64 = 64 << 10;
    /// The most entries in a page.
    pub const MAX_ROWS: u64 = 2_000;

    /// Describes the block at `offset`, or the footer; `None` if no block starts there. Damage is
    /// part of the description.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn of(
        name: impl Into<String>,
        file: &InspectedTable,
        list: &BlockList,
        offset: u64,
        window: &BlockWindow,
        encoding: Encoding,
    ) -> Result<Option<Self>> {
        let mut described = Self { file: name.into(), offset, ..Self::default() };
        if offset == file.table().footer().offset {
            described.describe_footer(file)?;
            return Ok(Some(described));
        }
        let Some((kind, handle)) = list.at(offset) else { return Ok(None) };
        described.describe_block(file, kind, handle, window, encoding)?;
        Ok(Some(described))
    }

    fn describe_footer(&mut self, file: &InspectedTable) -> Result<()> {
        let footer = file.table().footer();
        let length = file.table().size() - footer.offset;
        // A footer has 53 bytes at most.
        let bytes = file.table().view().read_at(footer.offset, length as usize)?;
        self.kind = names::block_kind(BlockKind::Footer);
        self.length = length;
        self.uncompressed = Some(length);
        self.contents = MarkedBytes {
            start: footer.offset,
            hex: Encoding::Hex.encode(&bytes),
            fields: footer::fields(footer, &bytes),
        };
        Ok(())
    }

    fn describe_block(
        &mut self,
        file: &InspectedTable,
        kind: BlockKind,
        handle: BlockHandle,
        window: &BlockWindow,
        encoding: Encoding,
    ) -> Result<()> {
        self.kind = names::block_kind(kind);
        self.name = metaindex_name(file, handle).map(|name| Encoding::Escape.encode(&name));
        self.length = handle.size;
        if let Some(trailer) = file.trailer(handle)? {
            self.compression = Some(names::codec(file.table().engine(), trailer.codec));
            self.trailer = Some(trailer_bytes(file, handle, trailer));
        }
        if kind == BlockKind::EmbeddedBlob {
            self.contents = stored(file, handle, window)?;
            return Ok(());
        }
        match file.contents(kind, handle) {
            Ok(contents) => {
                self.uncompressed = Some(contents.len() as u64);
                if let Err(error) = self.mark(file, kind, handle, &contents, window, encoding) {
                    let error = error.in_block(kind, handle.offset);
                    self.problem = Some(Problem::from(&error));
                }
            }
            Err(error) => {
                self.problem = Some(Problem::from(&error.in_block(kind, handle.offset)));
                self.contents = stored(file, handle, window)?;
            }
        }
        let is_compressed = self.compression.as_deref().is_some_and(|codec| codec != "none");
        if window.stored && is_compressed && self.uncompressed.is_some() {
            self.stored = Some(stored(file, handle, window)?);
        }
        Ok(())
    }

    fn mark(
        &mut self,
        file: &InspectedTable,
        kind: BlockKind,
        handle: BlockHandle,
        contents: &bytes::Bytes,
        window: &BlockWindow,
        encoding: Encoding,
    ) -> Result<()> {
        let range = clip(window, contents.len() as u64);
        self.contents = MarkedBytes {
            start: range.start as u64,
            hex: Encoding::Hex.encode(&contents[range.clone()]),
            fields: Vec::new(),
        };
        let mut fields = Fields::within(range);
        let marked = match layout::form(file, kind, handle) {
            Some(form) => {
                let block = Block::parse(contents.clone())?;
                self.restarts = Some(block.restart_count() as u64);
                let shown = block.restart_count().min(Self::MAX_ROWS as usize);
                self.restart_points = (0..shown).map(|at| block.restart(at) as u64).collect();
                self.hash_index = block.hash_index().map(|it| it.buckets().to_vec());
                entries::mark_end(&block, &mut fields);
                let page = window.entries_from
                    ..window.entries_from.saturating_add(window.entries.min(Self::MAX_ROWS));
                self.entries_from = page.start;
                let reader = entries::Reader { file, kind, form, block, encoding, page };
                let (rows, count, result) = reader.read(&mut fields);
                self.rows = rows;
                self.entries = Some(count);
                result
            }
            None => {
                filter::mark(file, kind, handle, contents, &mut fields);
                Ok(())
            }
        };
        self.contents.fields = fields.into_sorted();
        marked
    }
}

/// A window of the bytes as they are in the file.
fn stored(file: &InspectedTable, handle: BlockHandle, window: &BlockWindow) -> Result<MarkedBytes> {
    let range = clip(window, handle.size.min(file.table().size().saturating_sub(handle.offset)));
    let length = range.len();
    let bytes = file.table().view().read_at(handle.offset + range.start as u64, length)?;
    let hex = Encoding::Hex.encode(&bytes);
    Ok(MarkedBytes { start: range.start as u64, hex, fields: Vec::new() })
}

/// The window within `length` bytes.
fn clip(window: &BlockWindow, length: u64) -> Range<usize> {
    let start = window.bytes_from.min(length);
    let end = start.saturating_add(window.bytes.min(BlockBytes::MAX_BYTES)).min(length);
    start as usize..end as usize
}

fn trailer_bytes(file: &InspectedTable, handle: BlockHandle, trailer: Trailer) -> MarkedBytes {
    let table = file.table();
    let codec = names::codec(table.engine(), trailer.codec);
    let kind = names::checksum(table.footer().checksum);
    let start = handle.offset.saturating_add(handle.size);
    MarkedBytes {
        start,
        hex: Encoding::Hex.encode(&trailer.encode()),
        fields: vec![
            Field::new(0..1, "codec", Some(codec)),
            Field::new(1..5, "checksum", Some(format!("{kind} {:#010x}", trailer.checksum))),
        ],
    }
}
