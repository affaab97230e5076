//! Writes a LevelDB table.
//!
//! ```text
//! | data blocks | filter | metaindex | index | footer |
//! ```
//!
//! A block is finished after the entry that fills it, and its index entry waits for the first key of
//! the next. Metaindex and index are compressed, the filter is not. There are no properties, so
//! readers must know the comparator.

use sstkit_filter::{FilterBlockBuilder, FilterLayout};

use super::cut::bursts;
use super::output::{Output, Written};
use crate::error::Result;
use crate::filter::builder::filter_error;
use crate::index::separator::Separators;
use crate::options::TableOptions;
use crate::raw::{
    BlockBuilder, BlockFormat, BlockHandle, Compressor, Footer, FormatVersion, InternalKey,
    MetaIndex, Stored, TableKind,
};
use crate::writer::tail_builder::metaindex_key;

pub(crate) struct LevelDbWriter<'s> {
    options: TableOptions,
    output: Output<'s>,
    compressor: Compressor,
    separators: Separators,
    data: BlockBuilder,
    index: BlockBuilder,
    filter: Option<FilterBlockBuilder>,
    /// Buffer for the next key; the builder of data blocks has the last one.
    next_key: Vec<u8>,
    /// The block whose index entry waits for the next key.
    pending: Option<BlockHandle>,
}

impl<'s> LevelDbWriter<'s> {
    pub(crate) fn new(options: &TableOptions, output: Output<'s>) -> Result<Self> {
        let mut filter = options.filter.policy.block_builder().ok();
        if let Some(filter) = &mut filter {
            filter.start_block(0);
        }
        Ok(Self {
            compressor: Compressor::new(options.compression_recipe())?,
            separators: Separators::new(options),
            data: BlockBuilder::new(BlockFormat::plain(options.blocks.restart_interval)),
            index: BlockBuilder::new(BlockFormat::plain(1)),
            filter,
            next_key: Vec::new(),
            pending: None,
            options: options.clone(),
            output,
        })
    }

    pub(crate) fn output(&self) -> &Output<'s> {
        &self.output
    }

    /// The user key of the last entry; empty before the first.
    pub(crate) fn last_key(&self) -> &[u8] {
        let key = self.data.last_key();
        let tail = if self.options.blocks.bare_keys { 0 } else { InternalKey::TAIL_LENGTH };
        &key[..key.len().saturating_sub(tail)]
    }

    /// Adds an entry. The caller has checked order, kind and lengths.
    pub(crate) fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        let mut stored = std::mem::take(&mut self.next_key);
        stored.clear();
        match self.options.blocks.bare_keys {
            true => stored.extend_from_slice(key.user_key),
            false => key.encode_to(&mut stored),
        }
        if bursts(&self.data, stored.len(), value.len()) {
            self.cut()?;
        }
        if let Some(handle) = self.pending.take() {
            let separator = match self.options.blocks.bare_keys {
                true => self.separators.shortest_separator(self.data.last_key(), &stored),
                false => self.separators.between(self.data.last_key(), &stored),
            };
            self.index_entry(&separator, handle);
        }
        if let Some(filter) = &mut self.filter {
            filter.add(key.user_key);
        }
        self.data.add_exchanged(&mut stored, value);
        self.next_key = stored;
        if self.data.size_estimate() >= self.options.blocks.size {
            self.cut()?;
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<()> {
        if self.data.is_empty() {
            return Ok(());
        }
        self.data.seal()?;
        let contents = self.data.contents();
        self.pending = Some(write(&mut self.output, &mut self.compressor, contents)?);
        self.data.clear();
        if let Some(filter) = &mut self.filter {
            filter.start_block(self.output.offset());
        }
        Ok(())
    }

    /// Writes the last block, and the tail.
    pub(crate) fn finish(mut self) -> Result<Written> {
        self.cut()?;
        let mut metaindex = MetaIndex::default();
        if let (Some(filter), Some(policy)) =
            (self.filter.take(), self.options.filter.policy.compatibility_name())
        {
            let contents = filter.finish().map_err(filter_error)?;
            let key = metaindex_key(FilterLayout::Block, policy);
            metaindex.insert(key, self.output.write_block(&contents, 0)?);
        }
        let metaindex = metaindex.encode(self.options.blocks.restart_interval)?;
        let metaindex = write(&mut self.output, &mut self.compressor, &metaindex)?;
        if let Some(handle) = self.pending.take() {
            let successor = match self.options.blocks.bare_keys {
                true => self.separators.short_successor(self.data.last_key()),
                false => self.separators.after(self.data.last_key()),
            };
            self.index_entry(&successor, handle);
        }
        let index = self.index.finish()?.contents;
        let index = write(&mut self.output, &mut self.compressor, &index)?;
        let footer = Footer {
            kind: TableKind::Legacy,
            version: FormatVersion::V0,
            checksum: self.options.format.checksum,
            base_context_checksum: 0,
            metaindex,
            index: Some(index),
            offset: self.output.offset(),
        };
        let mut bytes = Vec::new();
        footer.encode_to(&mut bytes)?;
        self.output.write(&bytes)?;
        self.output.finish()
    }

    fn index_entry(&mut self, key: &[u8], handle: BlockHandle) {
        let mut value = Vec::with_capacity(BlockHandle::MAX_ENCODED_LENGTH);
        handle.encode_to(&mut value);
        self.index.add(key, &value);
    }
}

fn write(
    output: &mut Output<'_>,
    compressor: &mut Compressor,
    contents: &[u8],
) -> Result<BlockHandle> {
    let Stored { bytes, attempt } = compressor.compress(contents)?;
    output.write_block(bytes, attempt.codec_byte())
}
