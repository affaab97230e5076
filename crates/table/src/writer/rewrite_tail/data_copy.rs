//! Copying the data area of a table.
//!
//! ```text
//! | data block | blob | blob | data block | padding | data block | …
//! '--- one copy, as long as checksums mean the same in both files ---'
//! ```
//!
//! Otherwise block by block and blob by blob, contents as they are, with a new trailer.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::raw::{
    BlobIndex, BlockHandle, BlockKind, Codec, ColumnValue, EntryKind, FormatVersion, TableView,
    decode_wide_columns, property_names as names,
};
use crate::writer::output::Output;

/// More than that is not padding.
const MAX_PADDING: u64 = 4096;

/// The data area of a table, on its way.
pub(crate) struct DataCopy<'t, 'a> {
    source: &'t TableView<'a>,
    options: &'t TableOptions,
    /// Trailers can stay as they are.
    same_checksums: bool,
    /// Values between the blocks that are still to be copied, where they are copied one by one.
    blobs: BTreeSet<BlockHandle>,
    /// Where the last block ended.
    end: u64,
}

impl<'t, 'a> DataCopy<'t, 'a> {
    pub(crate) fn new(source: &'t TableView<'a>, options: &'t TableOptions) -> Result<Self> {
        let footer = source.footer();
        let same_checksums = footer.checksum == options.checksum
            && footer.base_context_checksum == options.context_checksum();
        let blobs = match same_checksums {
            true => BTreeSet::new(),
            false => embedded_blobs(source)?,
        };
        Ok(Self { source, options, same_checksums, blobs, end: 0 })
    }

    /// Copies the block at `handle` and what lies before it; its codec byte, and whether padding
    /// lies before it.
    pub(crate) fn block(
        &mut self,
        handle: BlockHandle,
        is_last: bool,
        output: &mut Output<'_>,
    ) -> Result<(u8, bool)> {
        let block = self.source.stored_block(BlockKind::Data, handle)?;
        let codec = block.trailer.codec;
        self.check_encoding(codec)
            .map_err(|error| error.in_block(BlockKind::Data, handle.offset))?;
        // The reader has seen blocks ascend, and this one end before the footer.
        let end = handle.end().ok_or_else(|| Error::corrupt("the block handle overflows"))?;
        if self.same_checksums {
            output.write(&self.source.file()[self.end as usize..end as usize])?;
        } else {
            while let Some(&blob) = self.blobs.first()
                && blob.offset < handle.offset
            {
                self.blobs.pop_first();
                self.copy_one(BlockKind::EmbeddedBlob, blob, output)?;
            }
            self.copy_one(BlockKind::Data, handle, output)?;
        }
        let gap = handle.offset != self.end;
        self.end = end;
        if is_last {
            self.pad_end(output)?;
        }
        // Where blocks are aligned, or blobs lie between them, no entry of the index relies on the
        // block before.
        let relies = !self.options.block_align && self.options.embedded_blobs.is_none();
        Ok((codec, gap && relies))
    }

    fn copy_one(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        output: &mut Output<'_>,
    ) -> Result<()> {
        let block = self.source.stored_block(kind, handle)?;
        let padding = handle.offset.checked_sub(output.offset()).ok_or_else(|| {
            Error::corrupt("it overlaps the previous block").in_block(kind, handle.offset)
        })?;
        output.pad(padding)?;
        output.write_block(block.contents, block.trailer.codec)?;
        Ok(())
    }

    /// The padding of the last block counts as data.
    fn pad_end(&self, output: &mut Output<'_>) -> Result<()> {
        let data_size = self.source.properties().number(names::DATA_SIZE).unwrap_or(0);
        match data_size.checked_sub(output.offset()) {
            Some(padding) if self.options.block_align && padding < MAX_PADDING => {
                output.pad(padding)
            }
            _ => Ok(()),
        }
    }

    /// With version 2 most codecs got a size before their data.
    fn check_encoding(&self, codec: u8) -> Result<()> {
        let version = self.source.footer().version;
        let unchanged =
            [Codec::None, Codec::Snappy, Codec::Zstd].iter().any(|same| *same as u8 == codec);
        if version >= FormatVersion::V2 || unchanged {
            return Ok(());
        }
        Err(Error::unsupported(format!(
            "codec {codec:#04x} of format version {version} has another encoding in version {}",
            self.options.format_version
        )))
    }
}

/// All values that lie between the data blocks.
fn embedded_blobs(source: &TableView<'_>) -> Result<BTreeSet<BlockHandle>> {
    let mut blobs = BTreeSet::new();
    if source.properties().embedded_blobs().is_none() {
        return Ok(blobs);
    }
    let mut insert = |blob: &BlobIndex<'_>| {
        if let BlobIndex::Stored { file: 0, offset, size, .. } = *blob {
            blobs.insert(BlockHandle::new(offset, size));
        }
    };
    let mut entries = source.entries()?;
    while entries.advance()? {
        match entries.internal_key()?.kind {
            EntryKind::BlobIndex => insert(&BlobIndex::decode_from(entries.value())?),
            EntryKind::WideColumnEntity => {
                for column in decode_wide_columns(entries.value())? {
                    if let ColumnValue::Blob(blob) = &column.value {
                        insert(blob);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(blobs)
}
