//! Copying the data area of a table.
//!
//! ```text
//! | data block | blob | blob | data block | padding | data block | …
//! '--- everything as it is, if checksums mean the same in both files ---'
//! ```
//!
//! From a file to a file the system copies, in whole megabytes that follow what was read. Otherwise
//! the bytes that were read are written. If checksums change, blocks and blobs are copied one by one,
//! with new trailers.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::output::FileRange;
use crate::raw::{
    BlockHandle, BlockKind, Codec, Engine, StoredBlock, TableView, property_names as names,
};
use crate::reader::scan::embedded_blobs::embedded_blobs;
use crate::writer::output::Output;

/// Longer gaps at the end are not padding.
const MAX_PADDING: u64 = 4096;

/// Bytes of a gap that are read at once.
const PIECE: u64 = 256 << 10;

/// The system copies whole multiples of this, so that file systems can share blocks on disk.
const STEP: u64 = 1 << 20;

/// Copies the data area of a table, in the order of the file.
pub(crate) struct DataCopy<'t, 'a> {
    source: &'t TableView<'a>,
    options: &'t TableOptions,
    mode: Mode,
    /// Where the last block ended.
    end: u64,
}

enum Mode {
    /// The system copies from this file.
    BySystem {
        file: Arc<File>,
        /// Up to here.
        copied: u64,
        /// Of everything up to the last block, if the target computes one.
        crc32c: Option<u32>,
    },
    /// The bytes that were read are written.
    Unchanged,
    /// Trailers change.
    OneByOne {
        /// Values between the blocks that are still to be copied.
        blobs: BTreeSet<BlockHandle>,
    },
}

impl<'t, 'a> DataCopy<'t, 'a> {
    pub(crate) fn new(
        source: &'t TableView<'a>,
        options: &'t TableOptions,
        output: &Output<'_>,
    ) -> Result<Self> {
        let footer = source.footer();
        let same_checksums = footer.checksum == options.format.checksum
            && footer.base_context_checksum == options.context_checksum();
        let mode = match source.blocks.source.as_file() {
            _ if !same_checksums => Mode::OneByOne { blobs: all_embedded_blobs(source)? },
            // One that cannot be duplicated can still be read.
            Some(file) if output.is_file() => match file.try_clone() {
                Ok(file) => Mode::BySystem {
                    file: Arc::new(file),
                    copied: 0,
                    crc32c: output.is_checksummed().then_some(0),
                },
                Err(_) => Mode::Unchanged,
            },
            _ => Mode::Unchanged,
        };
        Ok(Self { source, options, mode, end: 0 })
    }

    /// Copies a block and what is before it. Returns whether there is padding before it.
    pub(crate) fn block(
        &mut self,
        block: &StoredBlock<Bytes>,
        output: &mut Output<'_>,
    ) -> Result<bool> {
        let &StoredBlock { kind, handle, trailer, .. } = block;
        let source = self.source;
        self.check_encoding(trailer.codec)
            .map_err(|error| source.blocks.locate(error, kind, handle.offset))?;
        // The index has made sure that blocks ascend, and that this one ends before the footer.
        let end = handle.end().ok_or_else(|| Error::corrupt("the block handle overflows"))?;
        let gap = self.end..handle.offset;
        match &mut self.mode {
            Mode::BySystem { file, copied, crc32c } => {
                if let Some(crc32c) = crc32c {
                    let mut add = |bytes: &[u8]| *crc32c = crc32c::crc32c_append(*crc32c, bytes);
                    read_gap(source, gap.start, gap.end, |bytes| {
                        add(bytes);
                        Ok(())
                    })?;
                    add(&block.contents);
                    add(&trailer.encode());
                }
                let whole = end / STEP * STEP;
                if whole > *copied {
                    copy_range(file, *copied, whole, output)?;
                    *copied = whole;
                }
            }
            Mode::Unchanged => {
                read_gap(source, gap.start, gap.end, |bytes| output.write(bytes))?;
                output.write(&block.contents)?;
                output.write(&trailer.encode())?;
            }
            Mode::OneByOne { blobs } => {
                while let Some(&blob) = blobs.first()
                    && blob.offset < handle.offset
                {
                    blobs.pop_first();
                    copy_one(&source.stored_block(BlockKind::EmbeddedBlob, blob)?, output)?;
                }
                copy_one(block, output)?;
            }
        }
        let is_after_gap = handle.offset != self.end;
        self.end = end;
        // With aligned blocks, or blobs between them, no entry of the index relies on the block
        // before.
        let relies = !self.options.blocks.align && self.options.blocks.embedded_blobs.is_none();
        Ok(is_after_gap && relies)
    }

    /// Where the last block ended.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Copies what is left of the last block, and its padding, which counts as data.
    pub(crate) fn finish(self, output: &mut Output<'_>) -> Result<()> {
        if let Mode::BySystem { file, copied, crc32c } = &self.mode {
            copy_range(file, *copied, self.end, output)?;
            if let Some(crc32c) = crc32c {
                output.set_checksum(*crc32c)?;
            }
        }
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
        let same_sizes =
            version.has_size_prefixes() == self.options.format.version.has_size_prefixes();
        let unchanged =
            [Codec::None, Codec::Snappy, Codec::Zstd].iter().any(|same| *same as u8 == codec);
        if same_sizes || unchanged || self.options.engine == Engine::LevelDb {
            return Ok(());
        }
        Err(Error::unsupported(format!(
            "codec {codec:#04x} of format version {version} has another encoding in version {}",
            self.options.format.version
        )))
    }
}

/// Has the system copy a part of a file.
fn copy_range(file: &Arc<File>, start: u64, end: u64, output: &mut Output<'_>) -> Result<()> {
    let mut start = start;
    while start < end {
        // Small enough for the address space of any machine.
        let length = (end - start).min(STEP) as usize;
        output.copy(FileRange { file: Arc::clone(file), start, length })?;
        start += length as u64;
    }
    Ok(())
}

/// Reads blobs and padding before the next block.
fn read_gap(
    source: &TableView<'_>,
    mut start: u64,
    end: u64,
    mut visit: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    while start < end {
        let length = PIECE.min(end - start);
        visit(&source.read_at(start, length as usize)?)?;
        start += length;
    }
    Ok(())
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
