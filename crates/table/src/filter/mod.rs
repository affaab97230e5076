//! Reading the filter of a table.
//!
//! ```text
//! full          key ---> filter ---> index, data block
//! partitioned   key ---> top-level index ---> partition ---> index, data block
//! filter block  key ---> index ---> filter of that data block ---> data block
//! ```
//!
//! If a filter cannot be read or its policy is unknown, every probe passes.

#[cfg(feature = "write")]
pub(crate) mod builder;
#[cfg(feature = "write")]
mod hash_file;
mod rules;
pub(crate) mod seek;
mod stats;
mod view;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use sstkit_filter::{Filter, FilterLayout, HashedKey, PrefixExtractor, Registry};

use crate::error::{ErrorKind, Result};
use crate::raw::{
    Block, BlockHandle, BlockKind, IndexEntries, IndexFormat, MetaIndex, Properties, property_names,
};
use crate::reader::block::block_cursor::BlockCursor;
use crate::reader::block::reader::BlockReader;
use crate::reader::cache::{CachedBlock, Priority, SlotHint};
use crate::reader::get::recorder::{NoRecorder, Recorder};
use crate::reader::open::key_space::{KeySpace, SeekTarget};
use crate::reader::open::table_read_options::TableReadOptions;

pub use self::rules::PrefixMode;
pub(crate) use self::rules::{FilterProbe, is_reversed};
pub use self::stats::{FilterPart, TableFilterStats};
pub use self::view::TableFilter;

/// The first lookup in a table does not read a longer filter: a data block is shorter, and many
/// tables are opened for one lookup.
const LONG: u64 = 64 << 10;

/// The filter of a table: where it is, what is in it, and what it can be probed for.
pub(crate) struct FilterReader {
    layout: FilterLayout,
    policy: String,
    handle: BlockHandle,
    /// The format of the top-level index.
    index_format: IndexFormat,
    registry: Registry,
    pub(crate) has_whole_keys: bool,
    /// Whether lookups probe for them.
    pub(crate) whole_key: bool,
    /// Whether prefixes are in the filter.
    has_prefixes: bool,
    /// The extractor whose prefixes are in the filter, if it is known.
    extractor: Option<PrefixExtractor>,
    /// The extractor of the reader is a different one, or there is none.
    extractor_changed: bool,
    /// Whether the filter or its top-level index is in the block cache instead of `pinned`.
    in_cache: bool,
    priority: Priority,
    /// The last slot in the cache.
    hint: SlotHint,
    /// The inner `None` means that it is damaged.
    pinned: OnceLock<Option<CachedBlock>>,
    /// Whether a lookup did without the filter.
    was_skipped: AtomicBool,
}

impl FilterReader {
    /// The filter in the metaindex of a table, if its policy is known.
    pub(crate) fn new(
        metaindex: &MetaIndex,
        properties: &Properties,
        index_format: IndexFormat,
        options: &TableReadOptions,
    ) -> Option<Self> {
        let registry = &options.registry;
        let is_known = |layout: FilterLayout, policy: &str| match layout {
            FilterLayout::Block => registry.filter_block(policy, Bytes::new()).is_some(),
            _ => registry
                .policy(policy)
                .is_ok_and(|found| found.compatibility_name() == Some(policy)),
        };
        let (layout, policy, handle) =
            metaindex.filters().find(|&(layout, policy, _)| is_known(layout, policy))?;

        let extractor = table_extractor(properties, options);
        let extractor_changed = match (&options.prefix_extractor, &extractor) {
            (Some(given), Some(table)) => given != table,
            (_, None) => true,
            // Without an extractor of the reader, that of the table counts.
            (None, Some(_)) => false,
        };
        let is_off = |property| properties.number(property) == Some(0);
        let is_partitioned = layout == FilterLayout::Partitioned;
        Some(Self {
            layout,
            policy: policy.to_owned(),
            handle,
            index_format: index_format.of_filter_partitions(),
            registry: registry.clone(),
            has_whole_keys: !is_off(property_names::WHOLE_KEY_FILTERING),
            whole_key: options.whole_key_filtering && !is_off(property_names::WHOLE_KEY_FILTERING),
            has_prefixes: !is_off(property_names::PREFIX_FILTERING),
            extractor,
            extractor_changed,
            in_cache: options.cache_index_and_filter_blocks
                && !(is_partitioned && options.pin_top_level),
            priority: options.index_priority(),
            hint: SlotHint::default(),
            pinned: OnceLock::new(),
            was_skipped: AtomicBool::new(false),
        })
    }

    /// Whether the table may contain `query`, a key or a prefix, at or after `target`. Not for filter
    /// blocks.
    pub(crate) fn may_contain(
        &self,
        blocks: &BlockReader,
        keys: &KeySpace,
        query: &HashedKey<'_>,
        target: &SeekTarget<'_>,
    ) -> bool {
        self.probe(blocks, keys, query, target, &mut NoRecorder)
    }

    /// [`may_contain`](Self::may_contain), recorded.
    pub(crate) fn probe<R: Recorder>(
        &self,
        blocks: &BlockReader,
        keys: &KeySpace,
        query: &HashedKey<'_>,
        target: &SeekTarget<'_>,
        recorder: &mut R,
    ) -> bool {
        let find = |index: &Block<Bytes>| self.partition_entry(index, keys, target, false);
        self.probe_partition(blocks, query, find, recorder)
    }

    /// Whether this lookup is the first one, and reads a data block instead of a [long](LONG) filter.
    /// Tickers count as in RocksDB, which reads filters when it opens tables, so lookups that are
    /// counted read it.
    pub(crate) fn skip_first(&self, blocks: &BlockReader) -> bool {
        self.handle.size > LONG
            && self.layout == FilterLayout::Full
            && !self.in_cache
            && self.pinned.get().is_none()
            && blocks.tickers.is_none()
            && blocks.remote.is_none()
            && !self.was_skipped.swap(true, Ordering::Relaxed)
    }

    /// The filter, if it has been read, is a full one, and is probed for whole keys.
    #[inline]
    pub(crate) fn filter_of_whole_keys(&self, keys: &KeySpace) -> Option<&Filter<Bytes>> {
        match self.pinned.get() {
            Some(Some(CachedBlock::Filter(filter)))
                if self.whole_key && keys.equal_means_same_bytes() =>
            {
                Some(filter)
            }
            _ => None,
        }
    }

    /// Whether the table may have keys with the prefix `query` at or before `target`. Before
    /// RocksDB 9.5 a partition did not have the last prefix of the one before it, so both are
    /// probed.
    pub(crate) fn may_contain_before(
        &self,
        blocks: &BlockReader,
        keys: &KeySpace,
        query: &HashedKey<'_>,
        target: &SeekTarget<'_>,
    ) -> bool {
        let before = |index: &Block<Bytes>| self.partition_entry(index, keys, target, true);
        self.may_contain(blocks, keys, query, target)
            || self.layout == FilterLayout::Partitioned
                && self.probe_partition(blocks, query, before, &mut NoRecorder)
    }

    /// Probes a full filter, or the partition that `find` finds.
    fn probe_partition<R: Recorder>(
        &self,
        blocks: &BlockReader,
        query: &HashedKey<'_>,
        find: impl FnOnce(&Block<Bytes>) -> Result<Option<BlockCursor<IndexEntries<Bytes>>>>,
        recorder: &mut R,
    ) -> bool {
        let probe = |filter: &Filter<Bytes>, recorder: &mut R| {
            recorder.filter(filter, query);
            filter.may_contain_hashed(query)
        };
        self.with_top::<R, _>(blocks, |top| match top {
            Some(CachedBlock::Filter(filter)) => probe(filter, recorder),
            Some(CachedBlock::Block(index)) => {
                let partition = find(index).and_then(|entry| {
                    let Some(entry) = entry else { return Ok(None) };
                    let (separator, handle) = (entry.entry().key(), entry.entry().handle());
                    let is_cached = || self.peek_partition(blocks, handle).is_some();
                    recorder.filter_partition(separator, handle, is_cached);
                    match R::IS_QUIET {
                        true => self.partition_quietly(blocks, handle).map(Some),
                        false => self.partition(blocks, handle).map(Some),
                    }
                });
                match partition {
                    Ok(Some(filter)) => probe(&filter, recorder),
                    // No partition before the first one, or an empty index.
                    Ok(None) => index.is_empty(),
                    Err(error) => {
                        recorder.filter_problem(|| Some(error));
                        true
                    }
                }
            }
            Some(CachedBlock::FilterBlock(_)) => true,
            None => {
                recorder.filter_problem(|| self.load(blocks, None).err());
                true
            }
        })
    }

    /// Whether the data block at `offset` may contain `query`, by a filter block.
    pub(crate) fn may_contain_in_block(
        &self,
        blocks: &BlockReader,
        offset: u64,
        query: &HashedKey<'_>,
    ) -> bool {
        self.probe_block(blocks, offset, query, &mut NoRecorder)
    }

    /// [`may_contain_in_block`](Self::may_contain_in_block), recorded.
    pub(crate) fn probe_block<R: Recorder>(
        &self,
        blocks: &BlockReader,
        offset: u64,
        query: &HashedKey<'_>,
        recorder: &mut R,
    ) -> bool {
        self.with_top::<R, _>(blocks, |top| match top {
            Some(CachedBlock::FilterBlock(filter)) => {
                recorder.filter_block(filter, offset, query);
                filter.may_contain_hashed(offset, query)
            }
            _ => true,
        })
    }

    /// Probes a full filter for many keys.
    pub(crate) fn may_contain_batch(
        &self,
        blocks: &BlockReader,
        queries: &[HashedKey<'_>],
        answers: &mut [bool],
    ) {
        self.with_top::<NoRecorder, _>(blocks, |top| match top {
            Some(CachedBlock::Filter(filter)) => filter.may_contain_hashed_batch(queries, answers),
            _ => answers.fill(true),
        });
    }

    /// Probes a partitioned filter for many keys, each with its search target. If they are sorted,
    /// each partition is fetched once.
    pub(crate) fn may_contain_by_partition(
        &self,
        blocks: &BlockReader,
        keys: &KeySpace,
        queries: &[(HashedKey<'_>, SeekTarget<'_>)],
        answers: &mut [bool],
    ) {
        self.with_top::<NoRecorder, _>(blocks, |top| {
            let Some(CachedBlock::Block(index)) = top else { return answers.fill(true) };
            let mut open: Option<(BlockHandle, Option<Filter<Bytes>>)> = None;
            for ((query, target), answer) in queries.iter().zip(answers) {
                *answer = match self.partition_entry(index, keys, target, false) {
                    Ok(Some(entry)) => {
                        let handle = entry.entry().handle();
                        let filter = match open.take_if(|(at, _)| *at == handle) {
                            Some((_, filter)) => filter,
                            None => self.partition(blocks, handle).ok(),
                        };
                        let may = filter.as_ref().is_none_or(|it| it.may_contain_hashed(query));
                        open = Some((handle, filter));
                        may
                    }
                    // The index is damaged or empty.
                    _ => true,
                };
            }
        });
    }

    #[inline]
    pub(crate) fn layout(&self) -> FilterLayout {
        self.layout
    }

    pub(crate) fn policy(&self) -> &str {
        &self.policy
    }

    pub(crate) fn handle(&self) -> BlockHandle {
        self.handle
    }

    /// Calls `then` with the filter or the top-level index, or with `None` if it cannot be read.
    #[inline]
    fn with_top<R: Recorder, T>(
        &self,
        blocks: &BlockReader,
        then: impl FnOnce(Option<&CachedBlock>) -> T,
    ) -> T {
        // Only what is not in the cache is ever pinned.
        match self.pinned.get() {
            Some(top) => then(top.as_ref()),
            None if R::IS_QUIET => then(self.peek_top(blocks).ok().as_ref()),
            None => self.with_top_elsewhere(blocks, then),
        }
    }

    /// [`with_top`](Self::with_top) where it is in the cache, or has not been read yet.
    fn with_top_elsewhere<T>(
        &self,
        blocks: &BlockReader,
        then: impl FnOnce(Option<&CachedBlock>) -> T,
    ) -> T {
        if self.in_cache {
            let load = |given| self.load(blocks, given);
            let kind = BlockKind::Filter;
            let top = blocks.cached(kind, self.handle, self.priority, &self.hint, load);
            return then(top.ok().as_ref());
        }
        match self.load(blocks, None) {
            // It may be readable the next time.
            Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::NotFound) => then(None),
            top => then(self.pinned.get_or_init(|| top.ok()).as_ref()),
        }
    }

    /// Reads the filter or the top-level index, if it is not in memory.
    pub(crate) fn load_top(&self, blocks: &BlockReader) {
        self.with_top::<NoRecorder, _>(blocks, |_| ());
    }

    /// The filter or the top-level index in these contents, or read from the file.
    fn load(&self, blocks: &BlockReader, given: Option<Bytes>) -> Result<CachedBlock> {
        let kind = BlockKind::Filter;
        if self.layout == FilterLayout::Partitioned {
            let index = match given {
                Some(contents) => blocks.entries(kind, self.handle, contents),
                None => blocks.block_uncached(kind, self.handle),
            };
            return index.map(CachedBlock::Block);
        }
        let contents = given.map_or_else(|| blocks.filter_contents(kind, self.handle), Ok)?;
        if self.layout == FilterLayout::Block
            && let Some(filter) = self.registry.filter_block(&self.policy, contents.clone())
        {
            return Ok(CachedBlock::FilterBlock(filter));
        }
        // No engine writes an empty filter block, and all treat it as "may contain anything".
        Ok(CachedBlock::Filter(match contents.is_empty() {
            true => Filter::unknown(contents),
            false => self.registry.filter(&self.policy, contents),
        }))
    }

    /// The entry of the partition that covers `target`: the first whose key is not less, or the
    /// last. Or the one before it, if there is one.
    pub(crate) fn partition_entry(
        &self,
        index: &Block<Bytes>,
        keys: &KeySpace,
        target: &SeekTarget<'_>,
        before: bool,
    ) -> Result<Option<BlockCursor<IndexEntries<Bytes>>>> {
        let mut cursor = BlockCursor::new(IndexEntries::new(index.clone(), self.index_format)?);
        let user_keys = self.index_format.user_keys;
        let found =
            cursor.seek(|key| keys.compare_index(key, target, user_keys))? || cursor.last()?;
        let found = found && (!before || cursor.prev()?);
        Ok(found.then_some(cursor))
    }

    /// One partition, through the cache.
    fn partition(&self, blocks: &BlockReader, handle: BlockHandle) -> Result<Filter<Bytes>> {
        if handle.size == 0 {
            // An empty partition contains nothing and does not have to be read.
            return Ok(Filter::from_bytes(Bytes::new()));
        }
        let kind = BlockKind::FilterPartition;
        let load = |given| self.load_partition(blocks, handle, given).map(CachedBlock::Filter);
        match blocks.cached(kind, handle, self.priority, &SlotHint::default(), load)? {
            CachedBlock::Filter(filter) => Ok(filter),
            // Only filters are cached under this kind.
            _ => Ok(Filter::unknown(Bytes::new())),
        }
    }

    fn load_partition(
        &self,
        blocks: &BlockReader,
        handle: BlockHandle,
        given: Option<Bytes>,
    ) -> Result<Filter<Bytes>> {
        let kind = BlockKind::FilterPartition;
        let contents = given.map_or_else(|| blocks.filter_contents(kind, handle), Ok)?;
        Ok(self.registry.filter(&self.policy, contents))
    }

    /// The filter or the top-level index, without tickers and without filling the cache.
    pub(crate) fn peek_top(&self, blocks: &BlockReader) -> Result<CachedBlock> {
        let pinned = self.pinned.get().and_then(Option::as_ref).cloned();
        match pinned.or_else(|| blocks.peek(BlockKind::Filter, self.handle)) {
            Some(top) => Ok(top),
            None => self.load(blocks, None),
        }
    }

    /// A partition, if it is in the cache. Without tickers.
    pub(crate) fn peek_partition(
        &self,
        blocks: &BlockReader,
        handle: BlockHandle,
    ) -> Option<Filter<Bytes>> {
        match blocks.peek(BlockKind::FilterPartition, handle)? {
            CachedBlock::Filter(filter) => Some(filter),
            _ => None,
        }
    }

    /// One partition, from the cache if possible. Without tickers and without filling the cache.
    pub(crate) fn partition_quietly(
        &self,
        blocks: &BlockReader,
        handle: BlockHandle,
    ) -> Result<Filter<Bytes>> {
        match self.peek_partition(blocks, handle) {
            Some(filter) => Ok(filter),
            // An empty partition, as above.
            None if handle.size == 0 => Ok(Filter::from_bytes(Bytes::new())),
            None => self.load_partition(blocks, handle, None),
        }
    }
}

pub(crate) fn table_extractor(
    properties: &Properties,
    options: &TableReadOptions,
) -> Option<PrefixExtractor> {
    let name = properties.get(property_names::PREFIX_EXTRACTOR_NAME)?;
    let name = std::str::from_utf8(name).ok()?;
    let given = options.prefix_extractor.as_ref().filter(|given| given.name() == name);
    given.cloned().or_else(|| options.registry.extractor(name).ok())
}
