//! The tail of a RocksDB table: collected while data blocks are written, and written after them.
//!
//! ```text
//! | data blocks | filter | index | dictionary | range deletions | properties | metaindex, footer |
//!               '------------------------------- the tail ----------------------------------'
//! ```

use bytes::Bytes;
use sstkit_filter::FilterLayout;

use super::counters::Counters;
use super::output::Output;
use super::property_block::{Parts, properties};
use crate::error::Result;
use crate::filter::builder::{FilterBlocks, TableFilterBuilder};
use crate::index::builder::{
    DataBlockSpan, HashPrefixes, IndexBlockBuilder, IndexBuilder, IndexValue, Levels,
};
use crate::options::TableOptions;
use crate::raw::metaindex_names as names;
use crate::raw::{
    BlockBuilder, BlockFormat, BlockHandle, Codec, Compressor, FinishedBlock, Footer,
    FormatVersion, IndexKind, InternalKey, MetaIndex, Properties, Stored, StoredBlock, TableKind,
    Trailer,
};

/// Collects the tail of a table.
pub(crate) struct TailBuilder {
    pub(crate) options: TableOptions,
    /// Of the comparator.
    timestamp_size: usize,
    pub(crate) counters: Counters,
    filter: TableFilterBuilder,
    index: IndexBuilder,
    hash_prefixes: Option<HashPrefixes>,
    range_deletions: BlockBuilder,
    /// Meta blocks of another table that are taken over, by their names.
    pub(crate) taken_over: Vec<(Vec<u8>, StoredBlock<Bytes>)>,
    /// Where the last data block ends, with its padding.
    data_end: u64,
}

impl TailBuilder {
    pub(crate) fn new(options: &TableOptions, output: &Output<'_>) -> Self {
        let extractor = options
            .filter
            .prefix_extractor
            .as_ref()
            .filter(|_| options.index.kind == IndexKind::HashSearch);
        Self {
            timestamp_size: options.comparator.timestamp_size(),
            counters: Counters::default(),
            filter: TableFilterBuilder::new(options, output.folder()),
            index: IndexBuilder::new(options),
            hash_prefixes: extractor.cloned().map(HashPrefixes::new),
            range_deletions: BlockBuilder::new(BlockFormat::plain(1)),
            taken_over: Vec::new(),
            data_end: 0,
            options: options.clone(),
        }
    }

    /// Adds the internal key of a point entry to the filter.
    pub(crate) fn internal_key(&mut self, key: &[u8]) -> Result<()> {
        self.key(&key[..key.len() - InternalKey::TAIL_LENGTH])
    }

    /// Adds the user key of a point entry to the filter.
    #[inline]
    pub(crate) fn key(&mut self, user_key: &[u8]) -> Result<()> {
        if let Some(prefixes) = &mut self.hash_prefixes {
            prefixes.add(user_key);
        }
        let bare = &user_key[..user_key.len().saturating_sub(self.timestamp_size)];
        self.filter.add(bare, &mut self.index)
    }

    /// Counts an entry: a point, or a range tombstone with its end as the value.
    #[inline]
    pub(crate) fn count(&mut self, key: &InternalKey<'_>, value_length: usize) {
        self.counters.entry(key, value_length);
        if self.timestamp_size > 0
            && let Some((_, timestamp)) = key.split_timestamp(self.timestamp_size)
        {
            self.counters.timestamp(timestamp, &self.options.comparator);
        }
    }

    /// Starts the next data block: keys from here on are in it.
    pub(crate) fn block_cut(&mut self) {
        if let Some(prefixes) = &mut self.hash_prefixes {
            prefixes.next_block();
        }
    }

    /// Adds a data block to the index; `end` is where the next one starts.
    pub(crate) fn block_written(&mut self, block: &DataBlockSpan<'_>, end: u64) {
        self.index.add(block);
        self.data_end = end;
    }

    /// The following keys are in a data block at `offset`.
    pub(crate) fn block_starts(&mut self, offset: u64) {
        self.filter.start_block(offset);
    }

    pub(crate) fn range_deletion(&mut self, begin: &InternalKey<'_>, end: &[u8]) {
        let mut key = Vec::new();
        begin.encode_to(&mut key);
        self.range_deletions.add(&key, end);
        self.count(begin, end.len());
    }

    /// Writes everything after the data blocks.
    pub(crate) fn write_tail(
        mut self,
        output: &mut Output<'_>,
        dictionary: Option<&[u8]>,
    ) -> Result<Properties> {
        let mut metaindex = MetaIndex::default();
        let mut parts = Parts {
            data_end: self.data_end,
            tail_start: output.offset(),
            index_has_user_keys: !self.index.needs_sequence(),
            ..Parts::default()
        };
        let filter =
            std::mem::replace(&mut self.filter, TableFilterBuilder::None).finish(&self.index)?;
        parts.filter_entries = filter.num_entries;
        self.write_filter(filter.blocks, output, &mut metaindex, &mut parts)?;

        let recipe = self.options.compression_recipe();
        let compressor = match self.options.index.compression {
            true => Some(Compressor::new(recipe)?),
            false => None,
        };
        let mut writer = IndexWriter { output, compressor, counters: &mut self.counters };
        if let Some(mut prefixes) = self.hash_prefixes {
            prefixes.flush();
            for (name, contents) in [
                (names::HASH_INDEX_METADATA, &prefixes.metadata),
                (names::HASH_INDEX_PREFIXES, &prefixes.prefixes),
            ] {
                metaindex.insert(name, writer.write(contents)?);
                parts.index_size += contents.len() as u64;
            }
        }
        let index = write_index(self.index, &self.options, &mut writer, &mut parts)?;
        parts.index_size += Trailer::LENGTH as u64;
        if self.options.format.version.has_context_checksums() {
            metaindex.insert(names::INDEX, index);
        }

        if let Some(dictionary) = dictionary {
            metaindex.insert(names::COMPRESSION_DICTIONARY, output.write_block(dictionary, 0)?);
        }
        if !self.range_deletions.is_empty() {
            let contents = self.range_deletions.finish()?.contents;
            metaindex.insert(names::RANGE_DELETION, output.write_block(&contents, 0)?);
        }
        for (name, block) in &self.taken_over {
            let handle = output.write_block(&block.contents, block.trailer.codec)?;
            metaindex.insert(name.as_slice(), handle);
        }
        let properties = properties(&self.options, &self.counters, &parts);
        metaindex.insert(names::PROPERTIES, output.write_block(&properties.encode()?, 0)?);
        write_footer(&self.options, output, &metaindex, index)?;
        Ok(properties)
    }

    fn write_filter(
        &self,
        blocks: FilterBlocks,
        output: &mut Output<'_>,
        metaindex: &mut MetaIndex,
        parts: &mut Parts,
    ) -> Result<()> {
        let (Some(layout), Some(policy)) =
            (blocks.layout(), self.options.filter.policy.compatibility_name())
        else {
            return Ok(());
        };
        let handle = match blocks {
            FilterBlocks::None => return Ok(()),
            FilterBlocks::Full(filter) | FilterBlocks::Block(filter) => {
                parts.filter_size = filter.len() as u64;
                output.write_block(&filter, 0)?
            }
            FilterBlocks::Partitioned(partitions) => {
                let needs_sequence = self.index.needs_sequence();
                let mut top = IndexBlockBuilder::top_level(&self.options, needs_sequence);
                for partition in partitions {
                    parts.filter_size += partition.filter.len() as u64;
                    let handle = output.write_block(&partition.filter, 0)?;
                    top.add(
                        &partition.key,
                        IndexValue { handle, first_key: None, after_gap: false },
                    );
                }
                let contents = top.finish(needs_sequence)?.contents;
                parts.filter_size += contents.len() as u64;
                output.write_block(&contents, 0)?
            }
        };
        metaindex.insert(metaindex_key(layout, policy), handle);
        Ok(())
    }
}

pub(crate) fn metaindex_key(layout: FilterLayout, policy: &str) -> String {
    format!("{}{policy}", layout.metaindex_prefix())
}

/// Writes blocks of the index, perhaps compressed.
struct IndexWriter<'w, 's> {
    output: &'w mut Output<'s>,
    compressor: Option<Compressor>,
    counters: &'w mut Counters,
}

impl IndexWriter<'_, '_> {
    fn write(&mut self, contents: &[u8]) -> Result<BlockHandle> {
        let (bytes, codec) = match &mut self.compressor {
            Some(compressor) => {
                let Stored { bytes, attempt } = compressor.compress(contents)?;
                (bytes, attempt.codec_byte())
            }
            None => (contents, Codec::None as u8),
        };
        self.counters.codec(codec);
        self.output.write_block(bytes, codec)
    }
}

/// Writes the index. Returns the handle of its only block or of its top level.
fn write_index(
    index: IndexBuilder,
    options: &TableOptions,
    writer: &mut IndexWriter<'_, '_>,
    parts: &mut Parts,
) -> Result<BlockHandle> {
    let needs_sequence = index.needs_sequence();
    let mut write = |block: FinishedBlock, parts: &mut Parts| {
        parts.uniform_blocks += u64::from(block.is_uniform);
        parts.index_size += block.contents.len() as u64;
        writer.write(&block.contents)
    };
    let partitions = match index.levels {
        Levels::One(block) => return write(block.finish(needs_sequence)?, parts),
        Levels::Two(partitions) => partitions.into_partitions(),
    };
    let mut top = IndexBlockBuilder::top_level(options, needs_sequence);
    let count = partitions.len() as u64;
    for (key, partition) in partitions {
        let handle = write(partition.finish(needs_sequence)?, parts)?;
        top.add(&key, IndexValue { handle, first_key: None, after_gap: false });
    }
    let top = top.finish(needs_sequence)?;
    parts.index_partitions = Some((count, top.contents.len() as u64));
    write(top, parts)
}

fn write_footer(
    options: &TableOptions,
    output: &mut Output<'_>,
    metaindex: &MetaIndex,
    index: BlockHandle,
) -> Result<()> {
    let metaindex = output.write_block(&metaindex.encode(1)?, 0)?;
    let extended = options.format.version.has_context_checksums();
    let version = options.format.version;
    let footer = Footer {
        kind: match version {
            FormatVersion::V0 => TableKind::Legacy,
            _ => TableKind::BlockBased,
        },
        version,
        checksum: options.format.checksum,
        base_context_checksum: options.context_checksum(),
        metaindex,
        index: (!extended).then_some(index),
        offset: output.offset(),
    };
    let mut bytes = Vec::new();
    footer.encode_to(&mut bytes)?;
    output.write(&bytes)
}
