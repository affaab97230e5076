//! Index and data blocks, walked through as a lookup does.

use std::sync::Arc;

use bytes::Bytes;

use super::filter::BlockFilter;
use super::{BlockStep, DataStep, EntryStep, IntervalSearch, PartitionStep};
use crate::error::{Error, Result};
use crate::index::cursor::IndexCursor;
use crate::raw::{Block, BlockHandle, BlockKind, HashLookup, InternalKey};
use crate::reader::block::cursor::BlockCursor;
use crate::reader::get::lookup::{hash_lookup, seek_in_block};
use crate::reader::open::core::Core;
use crate::reader::open::key_space::Target;
use crate::reader::open::layout::trailer;
use crate::reader::scan::point_cursor::value_of;
use crate::visibility::{SeenEntry, Versions};

/// The data blocks that a lookup of `key` meets. `versions` gets the entries of the key.
pub(crate) fn blocks(
    core: &Arc<Core>,
    key: &[u8],
    versions: &mut Versions<()>,
) -> Result<Vec<BlockStep>> {
    let search = core.keys.newest(key);
    let target = search.before();
    let block_filter = BlockFilter::new(core, key);
    let mut index = IndexCursor::quiet(core)?;
    let mut steps = Vec::new();
    let mut more = index.seek(&target)?;
    while more {
        let mut step = index_step(core, &index);
        let is_beyond = step
            .first_key
            .as_deref()
            .is_some_and(|first| core.keys.compare(bare(core, first, false), key).is_gt());
        if !is_beyond {
            step.filter = block_filter.as_ref().and_then(|filter| filter.trace(step.handle));
        }
        let is_refused = step.filter.as_ref().is_some_and(|it| !it.filter.may_contain);
        let mut ends = is_beyond;
        if !is_beyond && !is_refused {
            let (data, is_last) = data_step(core, step.handle, key, &target, versions)?;
            step.data = Some(data);
            ends = is_last;
        }
        // The entries of the key may go on in the next block, unless the separator is beyond.
        let separator = bare(core, &step.separator, core.index_format.user_keys);
        ends |= core.keys.compare(separator, key).is_gt();
        steps.push(step);
        more = !ends && index.next()?;
    }
    Ok(steps)
}

/// The key that callers see of a stored one.
fn bare<'a>(core: &Core, stored: &'a [u8], is_user_key: bool) -> &'a [u8] {
    core.keys.bare(core.keys.stored_user_key(stored, is_user_key))
}

fn index_step(core: &Core, index: &IndexCursor) -> BlockStep {
    let partition = index.partition().map(|(separator, handle)| PartitionStep {
        separator: separator.to_vec(),
        handle,
        is_cached: core.blocks.peek(BlockKind::IndexPartition, handle).is_some(),
    });
    BlockStep {
        index_partition: partition,
        separator: index.key().to_vec(),
        first_key: index.first_key().map(<[u8]>::to_vec),
        handle: index.handle(),
        filter: None,
        data: None,
    }
}

/// Searches one data block; says also whether the lookup ends with it.
fn data_step(
    core: &Core,
    handle: BlockHandle,
    key: &[u8],
    target: &Target<'_>,
    versions: &mut Versions<()>,
) -> Result<(DataStep, bool)> {
    let in_block = |error: Error| core.in_data_block(error, handle);
    let codec = trailer(core, BlockKind::Data, handle)?.codec;
    let is_cached = core.blocks.peek(BlockKind::Data, handle).is_some();
    let block = core.blocks.block_quietly(BlockKind::Data, handle)?;
    let (search, interval) = interval(core, &block, key, target).map_err(in_block)?;
    let mut step = DataStep {
        codec,
        decoded_size: block.bytes().len(),
        is_cached,
        search,
        interval,
        intervals: block.restart_count(),
        entries: Vec::new(),
    };

    let mut cursor = BlockCursor::new(block.into_entries());
    let mut more = seek_in_block(core, &mut cursor, key, target).map_err(in_block)?;
    while more {
        let entry = core.keys.decode(cursor.entry().key()).map_err(in_block)?;
        if core.keys.compare(core.keys.bare(entry.user_key), key).is_ne() {
            return Ok((step, true));
        }
        let InternalKey { user_key, sequence, kind } = entry;
        let is_covered = core.range_deletions.covers(&entry, &core.keys);
        let value = value_of(cursor.entry());
        let (user_key, value_length) = (user_key.to_vec(), value.len());
        step.entries.push(EntryStep { user_key, sequence, kind, value_length, is_covered });
        let seen = SeenEntry { user_key: entry.user_key, sequence, kind, is_covered };
        if !versions.add(seen, || value, || (), core.keys.user_keys()) {
            return Ok((step, true));
        }
        more = cursor.next().map_err(in_block)?;
    }
    Ok((step, false))
}

/// How and which restart interval is searched first.
fn interval(
    core: &Core,
    block: &Block<Bytes>,
    key: &[u8],
    target: &Target<'_>,
) -> Result<(IntervalSearch, Option<usize>)> {
    let search = match hash_lookup(core, block, key) {
        Some(HashLookup::Empty) => return Ok((IntervalSearch::HashIndex, None)),
        Some(HashLookup::Restart(restart)) => {
            return Ok((IntervalSearch::HashIndex, Some(usize::from(restart))));
        }
        Some(HashLookup::Collision) => IntervalSearch::HashCollision,
        None => IntervalSearch::Binary,
    };
    let mut cursor = BlockCursor::new(block.clone().into_entries());
    let interval = cursor.interval_of(|stored| core.keys.compare_entry(stored, target))?;
    Ok((search, Some(interval)))
}
