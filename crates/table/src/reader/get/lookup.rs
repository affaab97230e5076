//! Finding one key: filter, index, data block, restart interval, entry.

use std::borrow::Cow;
use std::cmp::Ordering;

use bytes::Bytes;
use sstkit_filter::{FilterLayout, HashedKey};

use crate::error::{Error, Result};
use crate::filter::FilterProbe;
use crate::index::position::{IndexPosition, LentIndex};
use crate::raw::{Block, BlockEntries, BlockHandle, HashLookup, InternalKey};
use crate::reader::block::cursor::BlockCursor;
use crate::reader::block::data_cursor;
use crate::reader::cache::SlotHint;
use crate::reader::open::core::Core;
use crate::reader::open::key_space::Target;
use crate::reader::scan::point_cursor::value_of;
use crate::reader::tickers::Ticker;
use crate::reader::value::Value;

/// Finds keys one after the other. Keeps the index and the last data block at hand.
pub(crate) struct Lookup<'t> {
    core: &'t Core,
    index: Option<LentIndex<'t>>,
    block: Option<(BlockHandle, BlockCursor<BlockEntries<Bytes>>)>,
}

/// What the filter said before the index was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filtered {
    /// The table does not have the key.
    No,
    /// The table may have the key.
    Maybe,
}

impl<'t> Lookup<'t> {
    pub(crate) fn new(core: &'t Core) -> Self {
        Self { core, index: None, block: None }
    }

    /// Asks the filter about one key, and counts. Filter blocks are asked later. `hashed` is the
    /// key with its hashes, if the one who asks has them.
    #[inline]
    pub(crate) fn ask_filter(core: &Core, key: &[u8], hashed: Option<&HashedKey<'_>>) -> Filtered {
        if hashed.is_none()
            && core.blocks.tickers.is_none()
            && let Some(filter) = core.filter().and_then(|it| it.filter_of_whole_keys(&core.keys))
        {
            return if filter.may_contain(key) { Filtered::Maybe } else { Filtered::No };
        }
        Self::ask_any_filter(core, key, hashed)
    }

    /// The same for all kinds of filters, and with counting.
    #[inline(never)]
    fn ask_any_filter(core: &Core, key: &[u8], hashed: Option<&HashedKey<'_>>) -> Filtered {
        let Some(filter) = core.filter().filter(|f| f.layout() != FilterLayout::Block) else {
            return Filtered::Maybe;
        };
        let Some(question) = filter.lookup_probe(key, &core.keys) else {
            return Filtered::Maybe;
        };
        let query = hash(question, hashed);
        let may = match filter.layout() {
            FilterLayout::Full => filter.may_contain_anywhere(&core.blocks, &query),
            _ => {
                let search = core.keys.newest(key);
                filter.may_contain(&core.blocks, &core.keys, &query, &search.before())
            }
        };
        count_answers(core, question, 1, u64::from(!may));
        if may { Filtered::Maybe } else { Filtered::No }
    }

    /// Shows the entries of `key` to `visit`, the newest first, until it has seen enough. Says
    /// whether there were any.
    pub(crate) fn entries(
        &mut self,
        key: &[u8],
        hashed: Option<&HashedKey<'_>>,
        mut visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<bool> {
        let core = self.core;
        let search = core.keys.newest(key);
        let target = search.before();
        let user_keys = core.index_format.user_keys;
        let mut block_filter = BlockFilter::new(core, key, hashed);

        let mut found = false;
        let mut place = IndexPosition::seek(core, &mut self.index, &target)?;
        while let Some(index) = &mut place {
            if let Some(first) = index.first_key() {
                let first = core.keys.bare(core.keys.stored_user_key(first, false));
                if core.keys.compare(first, key).is_gt() {
                    break;
                }
            }
            let handle = index.handle();
            if block_filter.may_contain(handle) {
                let block = open(core, &mut self.block, handle, index.hint())?;
                let in_block = |error: Error| core.in_data_block(error, handle);
                let mut at_entry = seek_in_block(core, block, key, &target).map_err(in_block)?;
                while at_entry {
                    let entry = core.keys.decode(block.entry().key()).map_err(in_block)?;
                    if core.keys.compare(core.keys.bare(entry.user_key), key).is_ne() {
                        break;
                    }
                    found = true;
                    if !visit(&entry, value_of(block.entry())) {
                        return Ok(true);
                    }
                    at_entry = block.next().map_err(in_block)?;
                }
                if at_entry {
                    break;
                }
            }
            // The entries of the key may go on in the next block, unless the separator is beyond.
            let separator = core.keys.bare(core.keys.stored_user_key(index.key()?, user_keys));
            if core.keys.compare(separator, key).is_gt() {
                break;
            }
            if !index.next()? {
                break;
            }
        }
        block_filter.finish();
        Ok(found)
    }
}

/// What is asked, hashed: the key may have been already, its prefix has not.
#[inline]
fn hash<'k>(question: FilterProbe<'k>, key: Option<&'k HashedKey<'k>>) -> Cow<'k, HashedKey<'k>> {
    match (question, key) {
        (FilterProbe::WholeKey(_), Some(hashed)) => Cow::Borrowed(hashed),
        _ => Cow::Owned(HashedKey::new(question.bytes())),
    }
}

/// The data block at `handle`: the last one, or read now.
fn open<'b>(
    core: &Core,
    last: &'b mut Option<(BlockHandle, BlockCursor<BlockEntries<Bytes>>)>,
    handle: BlockHandle,
    hint: &SlotHint,
) -> Result<&'b mut BlockCursor<BlockEntries<Bytes>>> {
    if last.as_ref().is_some_and(|(at, _)| *at == handle)
        && let Some((_, block)) = last
    {
        return Ok(block);
    }
    let block = core.data_block(handle, hint)?;
    Ok(&mut last.insert((handle, BlockCursor::new(block.into_entries()))).1)
}

/// Goes to the first entry of `key`, or to where it would be; false if that is after the block.
pub(crate) fn seek_in_block(
    core: &Core,
    block: &mut BlockCursor<BlockEntries<Bytes>>,
    key: &[u8],
    target: &Target<'_>,
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

/// What the hash index of a block says about `key`, if it has one that may be asked.
pub(crate) fn hash_lookup(core: &Core, block: &Block<Bytes>, key: &[u8]) -> Option<HashLookup> {
    // With timestamps only the newest one would have to be known, with an order that equates
    // different bytes the hash means nothing.
    let hashed = core.keys.timestamp_size() == 0 && core.keys.equal_means_same_bytes();
    block.hash_index().filter(|_| hashed).map(|index| index.lookup(key))
}

/// The question to a filter block, if the table has one and it may be asked.
struct BlockFilter<'k, 't> {
    core: &'t Core,
    question: Option<Cow<'k, HashedKey<'k>>>,
    /// Whether a data block has passed, once one was asked about.
    passed: Option<bool>,
}

impl<'k, 't> BlockFilter<'k, 't> {
    fn new(core: &'t Core, key: &'k [u8], hashed: Option<&'k HashedKey<'k>>) -> Self {
        let question = core
            .filter()
            .filter(|filter| filter.layout() == FilterLayout::Block)
            .and_then(|filter| filter.lookup_probe(key, &core.keys))
            .map(|question| hash(question, hashed));
        Self { core, question, passed: None }
    }

    /// Asks about one data block.
    fn may_contain(&mut self, handle: BlockHandle) -> bool {
        let (Some(filter), Some(question)) = (self.core.filter(), &self.question) else {
            return true;
        };
        let may = filter.may_contain_in_block(&self.core.blocks, handle.offset, question);
        if may && self.passed != Some(true) {
            count_answers(self.core, FilterProbe::WholeKey(question.key()), 1, 0);
        }
        self.passed = Some(may || self.passed == Some(true));
        may
    }

    /// A lookup counts once, as with other filters, however many data blocks it was about: useful
    /// if none of them passed. (RocksDB counted only the useful answers of these.)
    fn finish(self) {
        if let (Some(false), Some(question)) = (self.passed, &self.question) {
            count_answers(self.core, FilterProbe::WholeKey(question.key()), 1, 1);
        }
    }
}

/// Counts `asked` questions of one kind, of which so many were answered with no.
#[inline]
pub(crate) fn count_answers(core: &Core, question: FilterProbe<'_>, asked: u64, no: u64) {
    if core.blocks.tickers.is_none() {
        return;
    }
    match question {
        FilterProbe::WholeKey(_) => {
            core.blocks.count(Ticker::BloomFilterUseful, no);
            core.blocks.count(Ticker::BloomFilterFullPositive, asked - no);
        }
        FilterProbe::Prefix(_) => {
            core.blocks.count(Ticker::BloomFilterPrefixChecked, asked);
            core.blocks.count(Ticker::BloomFilterPrefixUseful, no);
        }
    }
}

/// Counts a key of a batch that has no prefix to probe a filter of prefixes for.
pub(crate) fn count_prefixless(core: &Core, key: &[u8]) {
    if core.blocks.tickers.is_some()
        && let Some(filter) = core.filter()
        && filter.lookups_make_prefix_probes(&core.keys)
        && filter.lookup_probe(key, &core.keys).is_none()
    {
        count_answers(core, FilterProbe::Prefix(&[]), 1, 0);
    }
}

/// Counts a key that was found, be it as a deletion.
pub(crate) fn count_found(core: &Core) {
    if let Some(filter) = core.filter() {
        core.blocks.count(
            match filter.whole_key {
                true => Ticker::BloomFilterFullTruePositive,
                false => Ticker::BloomFilterPrefixTruePositive,
            },
            1,
        );
    }
}
