//! A new tail for a RocksDB table.

use super::data_copy::DataCopy;
use super::source_blocks::{SourceBlocks, check_order, locate, point};
use crate::error::{Error, Result};
use crate::index::builder::DataBlockSpan;
use crate::index::separator::Separators;
use crate::options::TableOptions;
use crate::output::FinishedFile;
use crate::raw::property_names as names;
use crate::raw::{BlockHandle, BlockKind, Dictionary, InternalKey, TableView};
use crate::writer::Summary;
use crate::writer::output::{Output, Written};
use crate::writer::tail_builder::TailBuilder;

/// A data block whose keys were read.
struct ReadBlock {
    handle: BlockHandle,
    codec: u8,
    after_gap: bool,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    /// Its key in the index of the source as stored, if that is kept.
    separator: Option<Vec<u8>>,
}

impl ReadBlock {
    /// Adds the block to the index, when the first key of the next one is known: the index needs it,
    /// and a coupled filter needs the index entry before it gets that key.
    fn index(&self, next_key: Option<&[u8]>, end: u64, tail: &mut TailBuilder) {
        tail.counters.codec(self.codec);
        let indexed = DataBlockSpan {
            handle: self.handle,
            first_key: &self.first_key,
            last_key: &self.last_key,
            next_key,
            separator: self.separator.as_deref(),
            after_gap: self.after_gap,
        };
        tail.block_written(&indexed, end);
    }

    /// Keeps the key of the block in the index of the source, which may be a user key.
    fn keep_separator(&mut self, stored: &[u8], is_user_key: bool, separators: &Separators) {
        let user_key = &self.last_key[..self.last_key.len() - InternalKey::TAIL_LENGTH];
        self.separator = Some(match is_user_key {
            false => stored.to_vec(),
            true if stored == user_key => self.last_key.clone(),
            true => separators.first_of(stored.to_vec()),
        });
    }
}

/// Copies the data blocks of `source`, and writes the tail.
pub(super) fn write(
    source: &TableView<'_>,
    mut output: Output<'_>,
    options: &TableOptions,
    progress: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<(Summary, Option<FinishedFile>)> {
    let mut tail = TailBuilder::new(options, &output);
    let mut copy = DataCopy::new(source, options, &output)?;
    let has_user_keys = source.index_format().user_keys;
    let separators = Separators::new(options);
    let mut first_key = Vec::new();

    let mut last: Option<ReadBlock> = None;
    let mut blocks = SourceBlocks::new(source)?;
    while let Some(stored) = blocks.next()? {
        let handle = stored.handle;
        let located = |error| locate(source, error, handle);
        let end_of_last = copy.end();
        let mut block = ReadBlock {
            handle,
            codec: stored.trailer.codec,
            after_gap: copy.block(&stored, &mut output)?,
            first_key: Vec::new(),
            last_key: Vec::new(),
            separator: None,
        };
        let mut entries = blocks.entries(stored)?;
        while entries.advance().map_err(located)? {
            let key = point(entries.key(), options).map_err(located)?;
            let before = match block.first_key.is_empty() {
                true => last.as_ref().map(|block| block.last_key.as_slice()),
                false => Some(block.last_key.as_slice()),
            };
            if let Some(before) = before {
                check_order(&options.comparator, before, &key).map_err(located)?;
            }
            if block.first_key.is_empty() {
                match last.take() {
                    Some(last) => last.index(Some(entries.key()), end_of_last, &mut tail),
                    None => first_key = key.user_key.to_vec(),
                }
                block.first_key = entries.key().to_vec();
                tail.block_starts(handle.offset);
            }
            tail.internal_key(entries.key())?;
            tail.count(&key, entries.value().len());
            block.last_key.clear();
            block.last_key.extend_from_slice(entries.key());
        }
        if block.first_key.is_empty() {
            return Err(located(Error::corrupt("a data block without entries")));
        }
        if options.index.keeps_separators {
            block.keep_separator(blocks.separator(), has_user_keys, &separators);
        }
        tail.block_cut();
        tail.counters.data_blocks += 1;
        last = Some(block);
        progress(copy.end() - end_of_last)?;
    }
    copy.finish(&mut output)?;
    let mut last_key = Vec::new();
    if let Some(mut last) = last {
        last.index(None, output.offset(), &mut tail);
        last.last_key.truncate(last.last_key.len() - InternalKey::TAIL_LENGTH);
        last_key = last.last_key;
    }

    let mut ranges = source.range_deletions()?;
    while ranges.advance()? {
        tail.range_deletion(&ranges.begin()?, ranges.end());
    }
    // Blocks of plug-ins refer to data blocks, which have not moved.
    for (name, handle) in source.metaindex().iter() {
        let kind = BlockKind::of_metaindex_name(name);
        if matches!(kind, BlockKind::UserDefinedIndex | BlockKind::OtherMeta) {
            tail.taken_over.push((name.to_vec(), source.stored_block(kind, handle)?));
        }
    }
    tail.counters.embedded_blobs = source.properties().embedded_blobs();
    let number = |name: &str| source.properties().number(name).unwrap_or(0);
    tail.counters.rejected_blocks = number(names::NUM_DATA_BLOCKS_COMPRESSION_REJECTED);
    tail.counters.bypassed_blocks = number(names::NUM_DATA_BLOCKS_COMPRESSION_BYPASSED);
    let num_entries = tail.counters.entries;
    let num_range_deletions = tail.counters.range_deletions;
    let dictionary = source.dictionary()?.map(Dictionary::bytes);
    let properties = tail.write_tail(&mut output, dictionary)?;
    let Written { size: file_size, file } = output.finish()?;
    let summary =
        Summary { file_size, num_entries, num_range_deletions, first_key, last_key, properties };
    Ok((summary, file))
}
