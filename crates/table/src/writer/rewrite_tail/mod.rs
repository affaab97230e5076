//! A new tail for the data blocks of another table.
//!
//! ```text
//! before   | data blocks | filter | index | … | properties | metaindex | footer |
//!             |               '---------------- read, not copied -----------'
//!             v bytes as they are, same offsets
//! after    | data blocks | filter | index | … | properties | metaindex | footer |    new
//! ```
//!
//! This gives an existing table a filter of another policy, a partitioned index or a newer footer
//! without compressing anything: the data area is copied, with padding and embedded blobs. Keys are
//! read, as filter and index are made from them. One block is in memory at a time.

mod data_copy;
mod settings;

use std::cmp::Ordering;
use std::io::Write;
use std::path::Path;

use bytes::Bytes;

use self::data_copy::DataCopy;
use self::settings::settle;
use super::Summary;
use super::create_file;
use super::output::{Output, Sink, Written};
use crate::comparator::Comparator;
use crate::error::{Error, Result};
use crate::index::builder::IndexedBlock;
use crate::options::TableOptions;
use crate::output::FinishedFile;
use crate::raw::property_names as names;
use crate::raw::{Block, BlockKind, Dictionary, InternalKey, StoredBlock, TableView};
use crate::writer::tail_builder::TailBuilder;

/// Writes a table to `path` that has the data blocks of `source` byte for byte, at the same
/// offsets, and a new tail with the settings of `options`.
///
/// ```no_run
/// use sstkit_table::{Table, TableOptions, rewrite_tail};
///
/// let table = Table::open("old.sst")?;
/// let options = TableOptions::rocksdb().filter("ribbonfilter:10".parse()?);
/// rewrite_tail(table.view(), "new.sst", &options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The options for filter, index, properties, identity, format version and checksum are used. How
/// the data blocks were built (codec, restart interval, separated values) is taken from the source.
/// So are dictionary, range tombstones, global sequence number, user properties and key times, and
/// column family, merge operator and base context checksum unless the options set them.
///
/// The checksums of data blocks stay, unless their type changes, or their context: with another
/// base, or if the format version crosses 6.
///
/// # Errors
///
/// A LevelDB table; one of format version 0 or 1 with a codec whose encoding changed with version 2;
/// options with a comparator other than the source's; damage to the source.
pub fn rewrite_tail(
    source: &TableView<'_>,
    path: impl AsRef<Path>,
    options: &TableOptions,
) -> Result<Summary> {
    let path = path.as_ref();
    let options = settle(source, options)?;
    let (target, file) = create_file(path)?;
    let (summary, file) = write(source, Sink::File(file), &options)?;
    if let Some(file) = file {
        target.commit(file).map_err(|error| Error::from(error).in_file(path))?;
    }
    Ok(summary)
}

/// The same, to a sink.
///
/// # Errors
///
/// Those of [`rewrite_tail`].
pub fn rewrite_tail_to(
    source: &TableView<'_>,
    sink: impl Write + Send,
    options: &TableOptions,
) -> Result<Summary> {
    let options = settle(source, options)?;
    write(source, Sink::Writer(Box::new(sink)), &options).map(|(summary, _)| summary)
}

/// A data block whose keys were read.
struct ReadBlock {
    stored: StoredBlock<Bytes>,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
}

fn write(
    source: &TableView<'_>,
    sink: Sink<'_>,
    options: &TableOptions,
) -> Result<(Summary, Option<FinishedFile>)> {
    let mut output = Output::new(sink, options.format.checksum, options.context_checksum());
    let mut tail = TailBuilder::new(options);
    let mut copy = DataCopy::new(source, options)?;
    let mut first_key = Vec::new();

    // A block is copied when the first key of the next is known: the index needs it, and a coupled
    // filter needs the index entry before it gets that key.
    let mut last: Option<ReadBlock> = None;
    let mut index = source.index()?;
    while index.advance()? {
        let handle = index.handle();
        let in_block = |error: Error| error.in_block(BlockKind::Data, handle.offset);
        let stored = source.stored_block(BlockKind::Data, handle)?;
        let contents = source.blocks.decompress(stored.clone())?;
        let mut entries = Block::parse(contents).map_err(in_block)?.into_entries();
        let mut block = ReadBlock { stored, first_key: Vec::new(), last_key: Vec::new() };
        while entries.advance().map_err(in_block)? {
            let key = point(entries.key(), options).map_err(in_block)?;
            let before = match block.first_key.is_empty() {
                true => last.as_ref().map(|block| block.last_key.as_slice()),
                false => Some(block.last_key.as_slice()),
            };
            if let Some(before) = before {
                check_order(&options.comparator, before, &key).map_err(in_block)?;
            }
            if block.first_key.is_empty() {
                match last.take() {
                    Some(last) => {
                        copy_block(&mut copy, &last, Some(entries.key()), &mut output, &mut tail)?;
                    }
                    None => first_key = key.user_key.to_vec(),
                }
                block.first_key = entries.key().to_vec();
            }
            tail.internal_key(entries.key())?;
            tail.count(&key, entries.value().len());
            block.last_key.clear();
            block.last_key.extend_from_slice(entries.key());
        }
        if block.first_key.is_empty() {
            return Err(in_block(Error::corrupt("a data block without entries")));
        }
        tail.block_cut();
        tail.counters.data_blocks += 1;
        last = Some(block);
    }
    let mut last_key = Vec::new();
    if let Some(mut last) = last {
        copy_block(&mut copy, &last, None, &mut output, &mut tail)?;
        last.last_key.truncate(last.last_key.len() - InternalKey::TAIL_LENGTH);
        last_key = last.last_key;
    }

    let mut ranges = source.range_deletions()?;
    while ranges.advance()? {
        tail.range_deletion(&ranges.begin()?, ranges.end());
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

fn copy_block(
    copy: &mut DataCopy<'_, '_>,
    block: &ReadBlock,
    next_key: Option<&[u8]>,
    output: &mut Output<'_>,
    tail: &mut TailBuilder,
) -> Result<()> {
    let after_gap = copy.block(&block.stored, next_key.is_none(), output)?;
    tail.counters.codec(block.stored.trailer.codec);
    let indexed = IndexedBlock {
        handle: block.stored.handle,
        first_key: &block.first_key,
        last_key: &block.last_key,
        next_key,
        after_gap,
    };
    tail.block_written(&indexed, output.offset());
    Ok(())
}

/// The key of a point entry, long enough for the comparator.
fn point<'k>(key: &'k [u8], options: &TableOptions) -> Result<InternalKey<'k>> {
    let key = InternalKey::decode_from(key)?;
    if !key.kind.is_point() || key.user_key.len() < options.comparator.timestamp_size() {
        return Err(Error::corrupt(format!("{key:?} is not valid in a data block")));
    }
    Ok(key)
}

/// An index over keys out of order would find nothing.
fn check_order(comparator: &Comparator, before: &[u8], key: &InternalKey<'_>) -> Result<()> {
    let before = InternalKey::decode_from(before)?;
    let order = comparator
        .compare(before.user_key, key.user_key)
        .then_with(|| (key.sequence, key.kind).cmp(&(before.sequence, before.kind)));
    match order {
        Ordering::Less => Ok(()),
        _ => Err(Error::corrupt(format!("{key:?} does not sort after {before:?}"))),
    }
}
