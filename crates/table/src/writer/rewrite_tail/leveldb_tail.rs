//! A new filter for a LevelDB table.
//!
//! ```text
//! before   | data blocks | filter | metaindex | index | footer |
//! after    | data blocks | filter | metaindex | index | footer |
//!            as they are   new      new         |       new
//!                                               as it is: the data blocks have not moved
//! ```

use sstkit_filter::FilterLayout;

use super::data_copy::DataCopy;
use super::source_blocks::{SourceBlocks, check_order, locate, point};
use crate::error::{Error, Result};
use crate::filter::builder::filter_error;
use crate::options::TableOptions;
use crate::output::FinishedFile;
use crate::raw::{
    BlockKind, Codec, Footer, FormatVersion, InternalKey, MetaIndex, Properties, TableKind,
    TableView,
};
use crate::writer::Summary;
use crate::writer::output::{Output, Written};
use crate::writer::tail_builder::metaindex_key;

/// Copies the data blocks of `source`, and writes the tail.
pub(super) fn write(
    source: &TableView<'_>,
    mut output: Output<'_>,
    options: &TableOptions,
    progress: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<(Summary, Option<FinishedFile>)> {
    let mut copy = DataCopy::new(source, options, &output)?;
    let mut filter = options.filter.policy.block_builder().ok();
    let tail = if options.blocks.bare_keys { 0 } else { InternalKey::TAIL_LENGTH };
    let mut num_entries = 0;
    let mut first_key = None;
    let mut last_key: Vec<u8> = Vec::new();

    let mut blocks = SourceBlocks::new(source)?;
    while let Some(stored) = blocks.next()? {
        let handle = stored.handle;
        let located = |error| locate(source, error, handle);
        let end_of_last = copy.end();
        copy.block(&stored, &mut output)?;
        if let Some(filter) = &mut filter {
            filter.start_block(handle.offset);
        }
        let mut entries = blocks.entries(stored)?;
        let mut is_empty = true;
        while entries.advance().map_err(located)? {
            let key = entries.key();
            if !options.blocks.bare_keys {
                let key = point(key, options).map_err(located)?;
                if num_entries > 0 {
                    check_order(&options.comparator, &last_key, &key).map_err(located)?;
                }
            } else if num_entries > 0 && options.comparator.compare(&last_key, key).is_ge() {
                return Err(located(Error::corrupt("the keys are not in order")));
            }
            let user_key = &key[..key.len() - tail];
            if let Some(filter) = &mut filter {
                filter.add(user_key);
            }
            first_key.get_or_insert_with(|| user_key.to_vec());
            last_key.clear();
            last_key.extend_from_slice(key);
            num_entries += 1;
            is_empty = false;
        }
        if is_empty {
            return Err(located(Error::corrupt("a data block without entries")));
        }
        progress(copy.end() - end_of_last)?;
    }
    copy.finish(&mut output)?;
    last_key.truncate(last_key.len().saturating_sub(tail));

    let mut metaindex = MetaIndex::default();
    if let (Some(mut filter), Some(policy)) = (filter, options.filter.policy.compatibility_name()) {
        // As LevelDB does after the last block.
        filter.start_block(output.offset());
        let contents = filter.finish().map_err(filter_error)?;
        let key = metaindex_key(FilterLayout::Block, policy);
        metaindex.insert(key, output.write_block(&contents, Codec::None as u8)?);
    }
    // Too short to be compressed.
    let metaindex = metaindex.encode(options.blocks.restart_interval)?;
    let metaindex = output.write_block(&metaindex, Codec::None as u8)?;
    let index = source.stored_block(BlockKind::Index, source.index_handle())?;
    let index = output.write_block(&index.contents, index.trailer.codec)?;
    let footer = Footer {
        kind: TableKind::Legacy,
        version: FormatVersion::V0,
        checksum: options.format.checksum,
        base_context_checksum: 0,
        metaindex,
        index: Some(index),
        offset: output.offset(),
    };
    let mut bytes = Vec::new();
    footer.encode_to(&mut bytes)?;
    output.write(&bytes)?;
    let Written { size: file_size, file } = output.finish()?;
    let summary = Summary {
        file_size,
        num_entries,
        num_range_deletions: 0,
        first_key: first_key.unwrap_or_default(),
        last_key,
        properties: Properties::default(),
    };
    Ok((summary, file))
}
