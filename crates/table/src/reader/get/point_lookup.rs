//! Finds a key: filter, index, data block, restart interval, entry.

use std::cmp::Ordering;

use bytes::Bytes;
use sstkit_filter::HashedKey;

use crate::error::{Error, Result};
use crate::index::index_cursor::Access;
use crate::index::position::{IndexPosition, LentIndex};
use crate::raw::{Block, BlockEntries, BlockHandle, BlockKind, EntryKind, HashLookup, InternalKey};
use crate::reader::block::block_cursor::BlockCursor;
use crate::reader::block::data_cursor;
use crate::reader::cache::SlotHint;
use crate::reader::get::fast_path::{FastGet, FastPath, get_each};
use crate::reader::get::probe::{self, BlockFilter};
use crate::reader::get::recorder::{NoRecorder, Recorder};
use crate::reader::open::core::Core;
use crate::reader::open::key_space::SeekTarget;
use crate::reader::scan::point_cursor::value_of;
use crate::reader::value::Value;

/// Passes the entries of `key` to `visit`, newest first, until it returns `false`. Returns whether
/// there were any.
#[inline]
pub(crate) fn get<R: Recorder>(
    core: &Core,
    key: &HashedKey<'_>,
    recorder: &mut R,
    visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
) -> Result<bool> {
    core.require_order()?;
    match !recorder.uses_filters() || probe::may_contain(core, key, recorder) {
        true => get_unfiltered(core, key, recorder, visit),
        false => Ok(false),
    }
}

/// Like [`get`], for a key that passed the filter.
#[inline(never)]
pub(crate) fn get_unfiltered<R: Recorder>(
    core: &Core,
    key: &HashedKey<'_>,
    recorder: &mut R,
    visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
) -> Result<bool> {
    let found = match !R::RECORDS && !recorder.pins() {
        true => FastPath::new(core).and_then(|it| Some((it, it.get(key.key())?))),
        false => None,
    };
    after_fast_path(core, key, found, recorder, visit)
}

/// Like [`get_unfiltered`], with the result of the fast path, if there is one.
#[inline]
fn after_fast_path<R: Recorder>(
    core: &Core,
    key: &HashedKey<'_>,
    found: Option<(FastPath<'_>, FastGet)>,
    recorder: &mut R,
    mut visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
) -> Result<bool> {
    let mut is_visited = false;
    if let Some((fast_path, FastGet { entry, block_length })) = found {
        let is_found = entry.is_some();
        is_visited = entry.is_some_and(|(sequence, value)| {
            visit(&InternalKey { user_key: key.key(), sequence, kind: EntryKind::Value }, value)
        });
        if !is_visited {
            fast_path.count(block_length, is_found && recorder.uses_filters());
            return Ok(is_found);
        }
    }
    // If older entries are needed, the newest one was visited already.
    PointLookup::new(core, recorder)
        .get(key, |entry, value| std::mem::take(&mut is_visited) || visit(entry, value))
}

/// Looks up several keys, each in a table: first probes the filters of all of them, then overlaps the
/// cache misses of those that passed. Passes the entries of each key with its number to `visit`, like
/// [`get`].
pub(crate) fn get_batch<'t>(
    lookups: &[(&'t Core, &HashedKey<'_>)],
    mut visit: impl FnMut(usize, &InternalKey<'_>, Value) -> bool,
) -> Result<()> {
    for (core, key) in lookups {
        core.require_order()?;
        probe::prefetch(core, key);
    }
    let passes = |&number: &usize| {
        let (core, key) = lookups[number];
        probe::may_contain(core, key, &mut NoRecorder)
    };
    let wanted: Vec<usize> = (0..lookups.len()).filter(passes).collect();
    let fast_path = |number: usize| {
        let (core, key): (&'t Core, _) = lookups[number];
        (FastPath::new(core), key.key())
    };
    get_each(&wanted, fast_path, |number, found| {
        let (core, key) = lookups[number];
        let found = found.and_then(|found| Some((FastPath::new(core)?, found)));
        let visit = |entry: &InternalKey<'_>, value| visit(number, entry, value);
        after_fast_path(core, key, found, &mut NoRecorder, visit).map(drop)
    })
}

/// Looks up keys that passed the filter, one by one. Keeps the index cursor and the last data
/// block.
pub(crate) struct PointLookup<'t, 'r, R> {
    core: &'t Core,
    index: Option<LentIndex<'t>>,
    block: Option<(BlockHandle, DataCursor)>,
    recorder: &'r mut R,
}

type DataCursor = BlockCursor<BlockEntries<Bytes>>;

impl<'t, 'r, R: Recorder> PointLookup<'t, 'r, R> {
    pub(crate) fn new(core: &'t Core, recorder: &'r mut R) -> Self {
        Self { core, index: None, block: None, recorder }
    }

    /// Passes the entries of `key` to `visit`, newest first, until it returns `false`. Returns
    /// whether there were any.
    pub(crate) fn get(
        &mut self,
        key: &HashedKey<'_>,
        visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<bool> {
        let mut filter_block = BlockFilter::new(self.core, key, self.recorder.uses_filters());
        let found = self.search(key.key(), &mut filter_block, visit)?;
        filter_block.finish::<R>();
        if found
            && !R::IS_QUIET
            && self.recorder.uses_filters()
            && let Some(ticker) = probe::true_positive(self.core)
        {
            self.core.blocks.count(ticker, 1);
        }
        Ok(found)
    }

    fn search(
        &mut self,
        key: &[u8],
        filter_block: &mut BlockFilter<'_, '_>,
        mut visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<bool> {
        let Self { core, index, block: last, recorder } = self;
        let core = *core;
        let search = core.keys.newest(key);
        let target = search.before();
        let user_keys = core.index_format.user_keys;
        let access = match (R::RECORDS, R::IS_QUIET) {
            (_, true) => Access::Quiet,
            (true, _) => Access::Recorded,
            _ => Access::Counted,
        };

        let (mut found, mut is_visiting) = (false, true);
        let mut position = IndexPosition::seek(core, index, &target, access)?;
        while let Some(index) = &mut position {
            recorder.index_entry(index)?;
            if let Some(first) = index.first_key() {
                let first = core.keys.bare(core.keys.stored_user_key(first, false));
                if core.keys.compare(first, key).is_gt() {
                    break;
                }
            }
            let handle = index.handle();
            if filter_block.may_contain(handle, *recorder) {
                let in_block = |error: Error| core.in_data_block(error, handle);
                let block = open(core, last, handle, index.hint(), *recorder)?;
                recorder.search(core, block.entry().block(), key, &target).map_err(in_block)?;
                let mut at_entry = seek_in_block(core, block, key, &target).map_err(in_block)?;
                while at_entry {
                    let entry = core.keys.decode(block.entry().key()).map_err(in_block)?;
                    if core.keys.compare(core.keys.bare(entry.user_key), key).is_ne() {
                        break;
                    }
                    found = true;
                    let value = value_of(block.entry());
                    let is_recording = recorder.entry(core, &entry, &value);
                    is_visiting = is_visiting && visit(&entry, value);
                    if !is_visiting && !is_recording {
                        return Ok(true);
                    }
                    at_entry = block.next().map_err(in_block)?;
                }
                if at_entry {
                    break;
                }
            }
            // Entries of the key may continue in the next block, unless the separator is greater.
            let separator = core.keys.bare(core.keys.stored_user_key(index.key()?, user_keys));
            if core.keys.compare(separator, key).is_gt() || !index.next()? {
                break;
            }
        }
        Ok(found)
    }
}

/// The data block at `handle`: the last one, or read now.
fn open<'b, R: Recorder>(
    core: &Core,
    last: &'b mut Option<(BlockHandle, DataCursor)>,
    handle: BlockHandle,
    hint: &SlotHint,
    recorder: &mut R,
) -> Result<&'b mut DataCursor> {
    if last.as_ref().is_some_and(|(at, _)| *at == handle)
        && let Some((_, block)) = last
    {
        return Ok(block);
    }
    recorder.data_block(core, handle)?;
    let block = match R::IS_QUIET {
        true => core.blocks.block_quietly(BlockKind::Data, handle)?,
        false => core.blocks.data_block(handle, hint, recorder.block_access())?,
    };
    Ok(&mut last.insert((handle, BlockCursor::new(block.into_entries()))).1)
}

/// Moves to the first entry of `key`, or to its insertion point; `false` if that is after the
/// block.
fn seek_in_block(
    core: &Core,
    block: &mut DataCursor,
    key: &[u8],
    target: &SeekTarget<'_>,
) -> Result<bool> {
    let compare = |stored: &[u8]| -> Ordering { core.keys.compare_entry(stored, target) };
    match hash_lookup(core, block.entry().block(), key) {
        None | Some(HashLookup::Collision) => data_cursor::seek(block, &core.keys, target),
        Some(HashLookup::Empty) => Ok(false),
        Some(HashLookup::Restart(restart)) => {
            let restart = usize::from(restart);
            let count = block.entry().block().restart_count();
            if restart >= count {
                return Err(Error::mismatch(
                    "the hash index points beyond the last restart point",
                    format_args!("less than {count}"),
                    restart,
                ));
            }
            block.seek_in_interval(restart, compare)
        }
    }
}

/// The result of the hash index of a block for `key`, if usable.
pub(crate) fn hash_lookup(core: &Core, block: &Block<Bytes>, key: &[u8]) -> Option<HashLookup> {
    // The hashes are of bytes, including timestamps: useless if keys with different bytes are
    // equal.
    let is_usable = core.keys.timestamp_size() == 0 && core.keys.equal_means_same_bytes();
    block.hash_index().filter(|_| is_usable).map(|index| index.lookup(key))
}
