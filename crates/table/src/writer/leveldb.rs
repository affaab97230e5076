//! LevelDB's table in the making.
//!
//! ```text
//! | data blocks | filter | metaindex | index | footer |
//! ```
//!
//! A block is cut after the entry that fills it, and its index entry waits for the first key of the
//! next. Metaindex and index go through the compressor, the filter does not. There are no
//! properties, so whoever reads the table must know its comparator.

use sstkit_filter::{FilterBlockBuilder, FilterLayout};

use super::cut::bursts;
use super::filter::filter_error;
use super::gathered::metaindex_key;
use super::output::Output;
use super::separator::Separators;
use crate::error::Result;
use crate::options::TableOptions;
use crate::raw::{
    BlockBuilder, BlockFormat, BlockHandle, Compressor, Footer, FormatVersion, MetaIndex, TableKind,
};

/// A table in the making.
pub(super) struct LevelDbWriter<'s> {
    options: TableOptions,
    output: Output<'s>,
    compressor: Compressor,
    separators: Separators,
    data: BlockBuilder,
    index: BlockBuilder,
    filter: Option<FilterBlockBuilder>,
    last_key: Vec<u8>,
    /// The block whose index entry waits for the next key.
    pending: Option<BlockHandle>,
}

impl<'s> LevelDbWriter<'s> {
    pub(super) fn new(options: &TableOptions, output: Output<'s>) -> Result<Self> {
        let mut filter = options.filter.block_builder();
        if let Some(filter) = &mut filter {
            filter.start_block(0);
        }
        Ok(Self {
            compressor: Compressor::new(options.compression_recipe())?,
            separators: Separators::new(&options.comparator, options.engine),
            data: BlockBuilder::new(BlockFormat::plain(options.block_restart_interval)),
            index: BlockBuilder::new(BlockFormat::plain(1)),
            filter,
            last_key: Vec::new(),
            pending: None,
            options: options.clone(),
            output,
        })
    }

    /// Adds an entry; `key` is what is stored, `user_key` what the filter knows.
    pub(super) fn add(&mut self, key: &[u8], user_key: &[u8], value: &[u8]) -> Result<()> {
        if bursts(&self.data, key.len(), value.len()) {
            self.cut()?;
        }
        if let Some(handle) = self.pending.take() {
            let separator = match self.options.bare_keys {
                true => self.separators.shortest_separator(&self.last_key, key),
                false => self.separators.between(&self.last_key, key),
            };
            self.index_entry(&separator, handle);
        }
        if let Some(filter) = &mut self.filter {
            filter.add(user_key);
        }
        self.data.add(key, value);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        if self.data.size_estimate() >= self.options.block_size {
            self.cut()?;
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<()> {
        if self.data.is_empty() {
            return Ok(());
        }
        let contents = self.data.finish()?.contents;
        self.pending = Some(self.write(&contents)?);
        if let Some(filter) = &mut self.filter {
            filter.start_block(self.output.offset());
        }
        Ok(())
    }

    /// Writes the last block and everything after it; the length of the file.
    pub(super) fn finish(mut self) -> Result<u64> {
        self.cut()?;
        let mut metaindex = MetaIndex::default();
        if let (Some(filter), Some(policy)) =
            (self.filter.take(), self.options.filter.compatibility_name())
        {
            let contents = filter.finish().map_err(filter_error)?;
            let key = metaindex_key(FilterLayout::Block, policy);
            metaindex.insert(key, self.output.write_block(&contents, 0)?);
        }
        let metaindex = metaindex.encode(self.options.block_restart_interval)?;
        let metaindex = self.write(&metaindex)?;
        if let Some(handle) = self.pending.take() {
            let successor = match self.options.bare_keys {
                true => self.separators.short_successor(&self.last_key),
                false => self.separators.after(&self.last_key),
            };
            self.index_entry(&successor, handle);
        }
        let index = self.index.finish()?.contents;
        let index = self.write(&index)?;
        let footer = Footer {
            kind: TableKind::Legacy,
            version: FormatVersion::V0,
            checksum: self.options.checksum,
            base_context_checksum: 0,
            metaindex,
            index: Some(index),
            offset: self.output.offset(),
        };
        let mut bytes = Vec::new();
        footer.encode_to(&mut bytes)?;
        self.output.write(&bytes)?;
        let size = self.output.offset();
        self.output.commit()?;
        Ok(size)
    }

    fn index_entry(&mut self, key: &[u8], handle: BlockHandle) {
        let mut value = Vec::with_capacity(BlockHandle::MAX_ENCODED_LENGTH);
        handle.encode_to(&mut value);
        self.index.add(key, &value);
    }

    fn write(&mut self, contents: &[u8]) -> Result<BlockHandle> {
        let mut compressed = Vec::new();
        let codec = self.compressor.compress(contents, &mut compressed)?.codec_byte();
        self.output.write_block(if codec == 0 { contents } else { &compressed }, codec)
    }
}
