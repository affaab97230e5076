//! RocksDB's table in the making: from entries to data blocks, and from those to the file.
//!
//! ```text
//! entry ---> BlockBuilder --- cut ---> compress ---> Output
//!                              |                       |
//!                              | held back until       v
//!                              | a dictionary is    index entry
//!                              v made of them
//!                           HeldBack
//! ```

use std::sync::Arc;

use super::compression_pool::{CompressedBlock, CompressionPool};
use super::counters::Counters;
use super::cut::CutRule;
use super::dictionary::make_dictionary;
use super::embedded_blobs;
use super::gathered::Gathered;
use super::index::IndexedBlock;
use super::output::Output;
use crate::error::Result;
use crate::options::TableOptions;
use crate::raw::{
    Block, BlockBuilder, BlockFormat, Codec, CompressionRecipe, Compressor, InternalKey, Properties,
};

/// A page, the most that blocks are aligned to.
const PAGE_SIZE: usize = 4096;

/// A table in the making.
pub(super) struct RocksDbWriter<'s> {
    output: Output<'s>,
    gathered: Gathered,
    rule: CutRule,
    data: BlockBuilder,
    /// The first key of the open block, and the last of all.
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    /// Where the next one is put together.
    next_key: Vec<u8>,
    stage: Stage,
    dictionary: Option<Arc<[u8]>>,
}

/// What becomes of a block that is cut.
enum Stage {
    /// Its keys and contents wait for a dictionary.
    HeldBack { blocks: Vec<CutBlock>, bytes: u64 },
    /// It is compressed and written at once.
    Inline(Box<Compressor>),
    /// It is compressed by other threads and written when its turn has come.
    Threads(CompressionPool<BlockKeys>),
}

struct CutBlock {
    contents: Vec<u8>,
    keys: BlockKeys,
}

/// What the index must know of a block.
struct BlockKeys {
    first: Vec<u8>,
    last: Vec<u8>,
    next: Option<Vec<u8>>,
}

impl<'s> RocksDbWriter<'s> {
    pub(super) fn new(options: &TableOptions, output: Output<'s>) -> Result<Self> {
        let stage = match options.makes_dictionary() {
            true => Stage::HeldBack { blocks: Vec::new(), bytes: 0 },
            false => Stage::new(options, options.compression_recipe())?,
        };
        let format = BlockFormat {
            share_prefixes: options.use_delta_encoding,
            separated: options.separate_key_value_in_data_block,
            hash_index: options
                .data_block_hash_index
                .then_some(options.data_block_hash_table_util_ratio),
            ..BlockFormat::plain(options.block_restart_interval)
        };
        Ok(Self {
            output,
            gathered: Gathered::new(options),
            rule: CutRule::new(
                options.block_size,
                options.block_size_deviation,
                options.block_align,
            ),
            data: BlockBuilder::new(format),
            first_key: Vec::new(),
            last_key: Vec::new(),
            next_key: Vec::new(),
            stage,
            dictionary: None,
        })
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.gathered.counters
    }

    /// Adds a point. The caller has checked order, kind and lengths.
    pub(super) fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        match self.gathered.options.embedded_blobs {
            Some(min_size) => {
                let counters = &mut self.gathered.counters;
                let (kind, value) =
                    embedded_blobs::extract(key, value, min_size, &mut self.output, counters)?;
                self.add_entry(&InternalKey { kind, ..*key }, &value)
            }
            None => self.add_entry(key, value),
        }
    }

    fn add_entry(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        let mut encoded = std::mem::take(&mut self.next_key);
        encoded.clear();
        key.encode_to(&mut encoded);
        if self.rule.cuts(&self.data, encoded.len(), value.len()) {
            self.cut(Some(&encoded))?;
        }
        if !matches!(self.stage, Stage::HeldBack { .. }) {
            self.gathered.key(&encoded)?;
        }
        if self.data.is_empty() {
            self.first_key.clone_from(&encoded);
        }
        self.data.add(&encoded, value);
        self.next_key = std::mem::replace(&mut self.last_key, encoded);
        let Gathered { counters, options, .. } = &mut self.gathered;
        counters.entry(key, value.len(), &options.comparator);
        Ok(())
    }

    /// Adds a range deletion.
    pub(super) fn add_range_deletion(&mut self, begin: &InternalKey<'_>, end: &[u8]) {
        self.gathered.range_deletion(begin, end);
    }

    /// Writes what is left, and all that follows the data blocks.
    pub(super) fn finish(mut self) -> Result<(Properties, u64)> {
        self.cut(None)?;
        self.make_dictionary()?;
        if let Stage::Threads(pool) = &mut self.stage {
            while let Some((keys, block)) = pool.take()? {
                write_block(&mut self.output, &mut self.gathered, &keys, &block)?;
            }
        }
        let Self { mut output, gathered, dictionary, .. } = self;
        let properties = gathered.write_tail(&mut output, dictionary.as_deref())?;
        let size = output.offset();
        output.commit()?;
        Ok((properties, size))
    }

    /// Ends the open block before the key `next`, or at the end of the table.
    fn cut(&mut self, next: Option<&[u8]>) -> Result<()> {
        if self.data.is_empty() {
            return Ok(());
        }
        let contents = self.data.finish()?.contents;
        let keys = BlockKeys {
            first: self.first_key.clone(),
            last: self.last_key.clone(),
            next: next.map(<[u8]>::to_vec),
        };
        let block = CutBlock { contents, keys };
        let Stage::HeldBack { blocks, bytes } = &mut self.stage else {
            self.gathered.counters.data_blocks += 1;
            return self.emit(block);
        };
        *bytes += block.contents.len() as u64;
        blocks.push(block);
        if *bytes > self.gathered.options.dict_buffer_limit() {
            self.make_dictionary()?;
        }
        Ok(())
    }

    /// Compresses and writes a block, or has it compressed.
    fn emit(&mut self, CutBlock { contents, keys }: CutBlock) -> Result<()> {
        self.gathered.block_cut();
        let checksum = self.gathered.options.checksum;
        match &mut self.stage {
            Stage::HeldBack { .. } => unreachable!("nothing is written before there is a stage"),
            Stage::Inline(compressor) => {
                let block = CompressedBlock::make(compressor, checksum, contents)?;
                write_block(&mut self.output, &mut self.gathered, &keys, &block)
            }
            Stage::Threads(pool) => {
                if pool.is_full()
                    && let Some((keys, block)) = pool.take()?
                {
                    write_block(&mut self.output, &mut self.gathered, &keys, &block)?;
                }
                pool.submit(keys, contents)
            }
        }
    }

    /// Makes a dictionary of the blocks held back, if there are any, and lets them go.
    fn make_dictionary(&mut self) -> Result<()> {
        let Stage::HeldBack { blocks, .. } = &mut self.stage else { return Ok(()) };
        let blocks = std::mem::take(blocks);
        let options = self.gathered.options.clone();
        self.dictionary =
            make_dictionary(&options, blocks.iter().map(|block| block.contents.as_slice()));
        let recipe = CompressionRecipe {
            dictionary: self.dictionary.clone(),
            ..options.compression_recipe()
        };
        self.stage = Stage::new(&options, recipe)?;
        for block in blocks {
            // The filter, too, sees the keys only now: where partitions are coupled, they depend
            // on where the blocks before have come to lie.
            let mut entries = Block::parse(block.contents.as_slice())?.into_entries();
            while entries.advance()? {
                self.gathered.key(entries.key())?;
            }
            self.emit(block)?;
        }
        Ok(())
    }
}

impl Stage {
    fn new(options: &TableOptions, recipe: CompressionRecipe) -> Result<Self> {
        // A coupled filter must know where the last block lies before it sees the next key, and
        // blobs go to the file between the blocks.
        let in_step = (options.partition_filters && !options.decouple_partitioned_filters)
            || options.embedded_blobs.is_some();
        if options.threads == 1 || in_step || options.compression == Codec::None {
            return Ok(Self::Inline(Box::new(Compressor::new(recipe)?)));
        }
        Ok(Self::Threads(CompressionPool::new(options.threads, &recipe, options.checksum)?))
    }
}

fn write_block(
    output: &mut Output<'_>,
    gathered: &mut Gathered,
    keys: &BlockKeys,
    block: &CompressedBlock,
) -> Result<()> {
    let after_gap = pad_super_block(output, &gathered.options, block.stored.len() as u64)?;
    let codec = block.attempt.codec_byte();
    let handle = output.write_summed_block(&block.stored, codec, block.checksum)?;
    if gathered.options.block_align {
        let unit = gathered.options.block_size.min(PAGE_SIZE) as u64;
        output.pad(output.offset().next_multiple_of(unit) - output.offset())?;
    }
    gathered.counters.data_block(block.attempt);
    let indexed = IndexedBlock {
        handle,
        first_key: &keys.first,
        last_key: &keys.last,
        next_key: keys.next.as_deref(),
        after_gap,
    };
    gathered.block_written(&indexed, output.offset());
    Ok(())
}

/// Pads so that a block of `size` bytes does not straddle a boundary, if that costs little; whether
/// it did.
fn pad_super_block(output: &mut Output<'_>, options: &TableOptions, size: u64) -> Result<bool> {
    let unit = options.super_block_alignment_size;
    let ratio = options.super_block_alignment_space_overhead_ratio;
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
