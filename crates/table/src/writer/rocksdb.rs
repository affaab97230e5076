//! Writes a RocksDB table: entries to data blocks, and data blocks to the file.
//!
//! ```text
//! entry ---> BlockBuilder --- cut ---> compress ---> Output
//!                              |                       |
//!                              | buffered until        v
//!                              | a dictionary is    index entry
//!                              v made from them
//!                           Buffered
//! ```

use std::sync::Arc;

use super::batch::{Batch, BlockKeys, EncodedBlock};
use super::compression_pool::CompressionPool;
use super::counters::Counters;
use super::cut::CutRule;
use super::dictionary::make_dictionary;
use super::embedded_blobs;
use super::output::{Output, Written};
use crate::error::Result;
use crate::index::builder::DataBlockSpan;
use crate::options::TableOptions;
use crate::raw::{
    Block, BlockBuilder, BlockFormat, Codec, CompressionRecipe, Compressor, InternalKey, Properties,
};
use crate::writer::tail_builder::TailBuilder;

/// A page, the largest alignment of blocks.
const PAGE_SIZE: usize = 4096;

pub(crate) struct RocksDbWriter<'s> {
    output: Output<'s>,
    tail: TailBuilder,
    rule: CutRule,
    data: BlockBuilder,
    /// The first key of the open block; its builder has the last one.
    first_key: Vec<u8>,
    /// Buffer for the key after a block.
    next_key: Vec<u8>,
    stage: Stage,
    dictionary: Option<Arc<[u8]>>,
}

/// What happens to finished blocks.
enum Stage {
    /// Keys and contents wait for a dictionary.
    Buffered {
        blocks: Vec<HeldBlock>,
        bytes: u64,
    },
    Writing(Writing),
}

/// How blocks are compressed and written.
enum Writing {
    /// Each one at once.
    Inline(Box<Compressor>),
    /// Compressed by several threads, and written in order.
    Threads(Box<CompressionPool>),
}

struct HeldBlock {
    contents: Vec<u8>,
    first: Vec<u8>,
    last: Vec<u8>,
    next: Option<Vec<u8>>,
}

impl<'s> RocksDbWriter<'s> {
    pub(crate) fn new(options: &TableOptions, output: Output<'s>) -> Result<Self> {
        let stage = match options.makes_dictionary() {
            true => Stage::Buffered { blocks: Vec::new(), bytes: 0 },
            false => Stage::Writing(Writing::new(options, options.compression_recipe())?),
        };
        let format = BlockFormat {
            share_prefixes: options.blocks.use_delta_encoding,
            separated: options.blocks.separate_key_value,
            hash_index: options.blocks.hash_index.then_some(options.blocks.hash_table_util_ratio),
            ..BlockFormat::plain(options.blocks.restart_interval)
        };
        Ok(Self {
            tail: TailBuilder::new(options, &output),
            output,
            rule: CutRule::new(
                options.blocks.size,
                options.blocks.size_deviation,
                options.blocks.align,
            ),
            data: BlockBuilder::new(format),
            first_key: Vec::new(),
            next_key: Vec::new(),
            stage,
            dictionary: None,
        })
    }

    pub(crate) fn output(&self) -> &Output<'s> {
        &self.output
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.tail.counters
    }

    /// Sets a user property, in place of an earlier one of the same name.
    pub(crate) fn set_property(&mut self, name: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.tail.options.properties.set_user_property(name, value)
    }

    /// The user key of the last point entry; empty before the first.
    #[inline]
    pub(crate) fn last_key(&self) -> &[u8] {
        let key = self.data.last_key();
        &key[..key.len().saturating_sub(InternalKey::TAIL_LENGTH)]
    }

    /// Adds a point entry. The caller has checked order, kind and lengths.
    #[inline]
    pub(crate) fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        match self.tail.options.blocks.embedded_blobs {
            Some(min_size) => {
                let counters = &mut self.tail.counters;
                let (kind, value) =
                    embedded_blobs::extract(key, value, min_size, &mut self.output, counters)?;
                self.add_entry(&InternalKey { kind, ..*key }, &value)
            }
            None => self.add_entry(key, value),
        }
    }

    #[inline]
    fn add_entry(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        let key_length = key.user_key.len() + InternalKey::TAIL_LENGTH;
        if self.rule.cuts(&self.data, key_length, value.len()) {
            self.cut(Some(key))?;
        }
        if !matches!(self.stage, Stage::Buffered { .. }) {
            self.tail.key(key.user_key)?;
        }
        if self.data.is_empty() {
            self.first_key.clear();
            key.encode_to(&mut self.first_key);
        }
        self.data.add_internal(key, value);
        self.tail.count(key, value.len());
        Ok(())
    }

    pub(crate) fn add_range_deletion(&mut self, begin: &InternalKey<'_>, end: &[u8]) {
        self.tail.range_deletion(begin, end);
    }

    /// Writes the last data blocks, and the tail.
    pub(crate) fn finish(mut self) -> Result<(Properties, Written)> {
        self.cut(None)?;
        self.make_dictionary()?;
        let Self { mut output, mut tail, dictionary, stage, .. } = self;
        if let Stage::Writing(writing) = stage {
            writing.finish(&mut output, &mut tail)?;
        }
        let properties = tail.write_tail(&mut output, dictionary.as_deref())?;
        Ok((properties, output.finish()?))
    }

    /// Finishes the open block before the key `next`, or at the end of the table.
    fn cut(&mut self, next: Option<&InternalKey<'_>>) -> Result<()> {
        if self.data.is_empty() {
            return Ok(());
        }
        self.data.seal()?;
        self.next_key.clear();
        let Self { output, tail, data, first_key, next_key, stage, .. } = self;
        let next = next.map(|key| {
            key.encode_to(next_key);
            &next_key[..]
        });
        let keys = BlockKeys { first: first_key, last: data.last_key(), next };
        match stage {
            Stage::Buffered { blocks, bytes } => {
                blocks.push(HeldBlock::new(data.contents(), keys));
                *bytes += data.contents().len() as u64;
                if *bytes > tail.options.dict_buffer_limit() {
                    self.make_dictionary()?;
                }
            }
            Stage::Writing(writing) => {
                tail.counters.data_blocks += 1;
                writing.block(data.contents(), keys, output, tail)?;
            }
        }
        self.data.clear();
        Ok(())
    }

    /// Makes a dictionary from the buffered blocks, if there are any, and writes them.
    fn make_dictionary(&mut self) -> Result<()> {
        let Stage::Buffered { blocks, .. } = &mut self.stage else { return Ok(()) };
        let blocks = std::mem::take(blocks);
        let options = self.tail.options.clone();
        self.dictionary =
            make_dictionary(&options, blocks.iter().map(|block| block.contents.as_slice()));
        let recipe = CompressionRecipe {
            dictionary: self.dictionary.clone(),
            ..options.compression_recipe()
        };
        let mut writing = Writing::new(&options, recipe)?;
        for block in blocks {
            // The filter gets the keys only now: coupled partitions depend on the offsets of the
            // blocks before.
            let mut entries = Block::parse(block.contents.as_slice())?.into_entries();
            while entries.advance()? {
                self.tail.internal_key(entries.key())?;
            }
            writing.block(&block.contents, block.keys(), &mut self.output, &mut self.tail)?;
        }
        self.stage = Stage::Writing(writing);
        Ok(())
    }
}

impl HeldBlock {
    fn new(contents: &[u8], keys: BlockKeys<'_>) -> Self {
        Self {
            contents: contents.to_vec(),
            first: keys.first.to_vec(),
            last: keys.last.to_vec(),
            next: keys.next.map(<[u8]>::to_vec),
        }
    }

    fn keys(&self) -> BlockKeys<'_> {
        BlockKeys { first: &self.first, last: &self.last, next: self.next.as_deref() }
    }
}

impl Writing {
    fn new(options: &TableOptions, recipe: CompressionRecipe) -> Result<Self> {
        // A coupled or block-based filter must know the offset of the last block before it gets the
        // next key, and blobs are written between the blocks.
        let in_step = (options.filter.partitioned && !options.filter.decoupled)
            || options.filter.is_block_based()
            || options.blocks.embedded_blobs.is_some();
        if options.compression.threads == 1 || in_step || options.compression.codec == Codec::None {
            return Ok(Self::Inline(Box::new(Compressor::new(recipe)?)));
        }
        let pool =
            CompressionPool::new(options.compression.threads, &recipe, options.format.checksum)?;
        Ok(Self::Threads(Box::new(pool)))
    }

    /// Compresses and writes a block, or hands it to the threads.
    fn block(
        &mut self,
        contents: &[u8],
        keys: BlockKeys<'_>,
        output: &mut Output<'_>,
        tail: &mut TailBuilder,
    ) -> Result<()> {
        tail.block_cut();
        match self {
            Self::Inline(compressor) => {
                let block = EncodedBlock::make(compressor, tail.options.format.checksum, contents)?;
                write_block(output, tail, keys, block)
            }
            Self::Threads(pool) => {
                if let Some(batch) = pool.take_if_full()? {
                    write_batch(output, tail, &batch)?;
                    pool.reuse(batch);
                }
                pool.submit(contents, keys)
            }
        }
    }

    /// Writes the blocks that are still being compressed.
    fn finish(self, output: &mut Output<'_>, tail: &mut TailBuilder) -> Result<()> {
        if let Self::Threads(mut pool) = self {
            while let Some(batch) = pool.take()? {
                write_batch(output, tail, &batch)?;
            }
        }
        Ok(())
    }
}

fn write_batch(output: &mut Output<'_>, tail: &mut TailBuilder, batch: &Batch) -> Result<()> {
    batch.blocks().try_for_each(|(keys, block)| write_block(output, tail, keys, block))
}

fn write_block(
    output: &mut Output<'_>,
    tail: &mut TailBuilder,
    keys: BlockKeys<'_>,
    block: EncodedBlock<'_>,
) -> Result<()> {
    let after_gap = pad_super_block(output, &tail.options, block.bytes.len() as u64)?;
    let codec = block.attempt.codec_byte();
    let handle = output.write_summed_block(block.bytes, codec, block.checksum)?;
    if tail.options.blocks.align {
        let unit = tail.options.blocks.size.min(PAGE_SIZE) as u64;
        output.pad(output.offset().next_multiple_of(unit) - output.offset())?;
    }
    tail.counters.data_block(block.attempt);
    let indexed = DataBlockSpan {
        handle,
        first_key: keys.first,
        last_key: keys.last,
        next_key: keys.next,
        separator: None,
        after_gap,
    };
    tail.block_written(&indexed, output.offset());
    tail.block_starts(output.offset());
    Ok(())
}

/// Pads so that a block of `size` bytes does not cross a boundary, if that costs little. Returns
/// whether it did.
fn pad_super_block(output: &mut Output<'_>, options: &TableOptions, size: u64) -> Result<bool> {
    let unit = options.blocks.super_block_alignment_size;
    let ratio = options.blocks.super_block_alignment_space_overhead_ratio;
    if unit == 0 || ratio == 0 {
        return Ok(false);
    }
    let start = output.offset();
    let padding = unit - start % unit;
    if start / unit == (start + size) / unit || padding >= unit / ratio {
        return Ok(false);
    }
    output.pad(padding)?;
    Ok(true)
}
