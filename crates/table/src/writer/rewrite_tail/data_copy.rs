//! Copying the data area of a table.
//!
//! ```text
//! | data block | blob | blob | data block | padding | data block | …
//! '--- everything as it is, if checksums mean the same in both files ---'
//! ```
//!
//! Otherwise blocks and blobs are copied one by one, with new trailers.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::raw::{
    BlockHandle, BlockKind, Codec, FormatVersion, StoredBlock, TableView, property_names as names,
};
use crate::reader::scan::embedded_blobs::embedded_blobs;
use crate::writer::output::Output;

/// Longer gaps at the end are not padding.
const MAX_PADDING: u64 = 4096;

/// Bytes of a gap that are read at once.
const PIECE: u64 = 256 << 10;

/// Copies the data area of a table, in the order of the file.
pub(crate) struct DataCopy<'t, 'a> {
    source: &'t TableView<'a>,
    options: &'t TableOptions,
    /// Trailers stay as they are.
    same_checksums: bool,
    /// Values between the blocks that are still to be copied, if they are copied one by one.
    blobs: BTreeSet<BlockHandle>,
    /// Where the last block ended.
    end: u64,
}

impl<'t, 'a> DataCopy<'t, 'a> {
    pub(crate) fn new(source: &'t TableView<'a>, options: &'t TableOptions) -> Result<Self> {
        let footer = source.footer();
        let same_checksums = footer.checksum == options.format.checksum
            && footer.base_context_checksum == options.context_checksum();
        let blobs = if same_checksums { BTreeSet::new() } else { all_embedded_blobs(source)? };
        Ok(Self { source, options, same_checksums, blobs, end: 0 })
    }

    /// Copies a block and what is before it. Returns whether there is padding before it.
    pub(crate) fn block(
        &mut self,
        block: &StoredBlock<Bytes>,
        is_last: bool,
        output: &mut Output<'_>,
    ) -> Result<bool> {
        let &StoredBlock { kind, handle, trailer, .. } = block;
        self.check_encoding(trailer.codec).map_err(|error| error.in_block(kind, handle.offset))?;
        // The index has made sure that blocks ascend, and that this one ends before the footer.
        let end = handle.end().ok_or_else(|| Error::corrupt("the block handle overflows"))?;
        if self.same_checksums {
            self.copy_gap(handle.offset, output)?;
            output.write(&block.contents)?;
            output.write(&trailer.encode())?;
        } else {
            while let Some(&blob) = self.blobs.first()
                && blob.offset < handle.offset
            {
                self.blobs.pop_first();
                copy_one(&self.source.stored_block(BlockKind::EmbeddedBlob, blob)?, output)?;
            }
            copy_one(block, output)?;
        }
        let gap = handle.offset != self.end;
        self.end = end;
        if is_last {
            self.pad_end(output)?;
        }
        // With aligned blocks, or blobs between them, no entry of the index relies on the block
        // before.
        let relies = !self.options.blocks.align && self.options.blocks.embedded_blobs.is_none();
        Ok(gap && relies)
    }

    /// Copies blobs and padding before the next block.
    fn copy_gap(&self, end: u64, output: &mut Output<'_>) -> Result<()> {
        let mut start = self.end;
        while start < end {
            let length = PIECE.min(end - start);
            output.write(&self.source.read_at(start, length as usize)?)?;
            start += length;
        }
        Ok(())
    }

    /// The padding of the last block counts as data.
    fn pad_end(&self, output: &mut Output<'_>) -> Result<()> {
        let data_size = self.source.properties().number(names::DATA_SIZE).unwrap_or(0);
        match data_size.checked_sub(output.offset()) {
            Some(padding) if self.options.blocks.align && padding < MAX_PADDING => {
                output.pad(padding)
            }
            _ => Ok(()),
        }
    }

    /// Since version 2 most codecs store the size before their data.
    fn check_encoding(&self, codec: u8) -> Result<()> {
        let version = self.source.footer().version;
        let unchanged =
            [Codec::None, Codec::Snappy, Codec::Zstd].iter().any(|same| *same as u8 == codec);
        if version >= FormatVersion::V2 || unchanged {
            return Ok(());
        }
        Err(Error::unsupported(format!(
            "codec {codec:#04x} of format version {version} has another encoding in version {}",
            self.options.format.version
        )))
    }
}

/// Copies a block or blob at its offset, with a new trailer.
fn copy_one(block: &StoredBlock<Bytes>, output: &mut Output<'_>) -> Result<()> {
    let offset = block.handle.offset;
    let padding = offset.checked_sub(output.offset()).ok_or_else(|| {
        Error::corrupt("it overlaps the previous block").in_block(block.kind, offset)
    })?;
    output.pad(padding)?;
    output.write_block(&block.contents, block.trailer.codec)?;
    Ok(())
}

/// All values between the data blocks.
fn all_embedded_blobs(source: &TableView<'_>) -> Result<BTreeSet<BlockHandle>> {
    let mut blobs = BTreeSet::new();
    if source.properties().embedded_blobs().is_none() {
        return Ok(blobs);
    }
    let mut entries = source.entries()?;
    while entries.advance()? {
        blobs.extend(embedded_blobs(entries.internal_key()?.kind, entries.value())?);
    }
    Ok(blobs)
}
