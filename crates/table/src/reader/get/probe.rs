//! Filter probes for one key, and their counters.

use std::borrow::Cow;

use bytes::Bytes;
use sstkit_filter::{Filter, FilterLayout, HashedKey};

use crate::filter::{FilterProbe, FilterReader};
use crate::raw::BlockHandle;
use crate::reader::get::recorder::{NoRecorder, Recorder};
use crate::reader::open::core::Core;
use crate::reader::tickers::Ticker;

/// Whether the table may have `key`, according to a full or partitioned filter. Filter blocks are
/// probed later, for each data block.
#[inline]
pub(crate) fn may_contain<R: Recorder>(core: &Core, key: &HashedKey<'_>, recorder: &mut R) -> bool {
    let in_full = |filter: &Filter<Bytes>| filter.may_contain_hashed(key);
    match may_contain_in_full::<R>(core, in_full) {
        Some(may) => may,
        None => may_contain_in_any(core, key, recorder),
    }
}

/// Like [`may_contain`], for a key that is not hashed yet. Usually the filter is a full one in
/// memory, which needs only a hash in a register.
#[inline]
pub(crate) fn may_contain_key(core: &Core, key: &[u8]) -> bool {
    match may_contain_in_full::<NoRecorder>(core, |filter| filter.may_contain(key)) {
        Some(may) => may,
        None => may_contain_in_any(core, &HashedKey::new(key), &mut NoRecorder),
    }
}

/// The fast path: a full filter of whole keys that is in memory. `None` if the table has none.
#[inline]
fn may_contain_in_full<R: Recorder>(
    core: &Core,
    may_contain: impl FnOnce(&Filter<Bytes>) -> bool,
) -> Option<bool> {
    if R::RECORDS {
        return None;
    }
    let filter = core.filter().and_then(|it| it.filter_of_whole_keys(&core.keys))?;
    let may = may_contain(filter);
    core.blocks.count(whole_key_ticker(may), 1);
    Some(may)
}

/// Prefetches what the fast path of [`may_contain`] reads.
#[inline]
pub(crate) fn prefetch(core: &Core, key: &HashedKey<'_>) {
    if let Some(filter) = core.filter().and_then(|it| it.filter_of_whole_keys(&core.keys)) {
        filter.prefetch(key);
    }
}

/// [`may_contain`] for all kinds of filters.
#[inline(never)]
fn may_contain_in_any<R: Recorder>(core: &Core, key: &HashedKey<'_>, recorder: &mut R) -> bool {
    recorder.start(core, key.key());
    let Some(filter) = core.filter().filter(|it| it.layout() != FilterLayout::Block) else {
        return true;
    };
    if !R::RECORDS && filter.skip_first(&core.blocks) {
        return true;
    }
    let Some(probe) = filter.lookup_probe(key.key(), &core.keys) else { return true };
    let search = core.keys.newest(key.key());
    let (query, target) = (query(probe, key), search.before());
    let may = filter.probe(&core.blocks, &core.keys, &query, &target, recorder);
    if !R::IS_QUIET {
        count_probes(core, probe, 1, u64::from(!may));
    }
    may
}

/// The hash to probe for: that of the key is known, that of its prefix is not.
#[inline]
fn query<'k>(probe: FilterProbe<'k>, key: &'k HashedKey<'k>) -> Cow<'k, HashedKey<'k>> {
    match probe {
        FilterProbe::WholeKey(_) => Cow::Borrowed(key),
        FilterProbe::Prefix(prefix) => Cow::Owned(HashedKey::new(prefix)),
    }
}

/// A filter block, and the probe.
pub(crate) struct BlockFilter<'k, 't> {
    core: &'t Core,
    /// `None` if the table has no filter block, or it cannot be probed.
    query: Option<(&'t FilterReader, Cow<'k, HashedKey<'k>>)>,
    /// Whether a data block has passed, if any was probed.
    passed: Option<bool>,
}

impl<'k, 't> BlockFilter<'k, 't> {
    #[inline]
    pub(crate) fn new(core: &'t Core, key: &'k HashedKey<'k>, is_used: bool) -> Self {
        let is_probed = |filter: &&FilterReader| is_used && filter.layout() == FilterLayout::Block;
        let query = core.filter().filter(is_probed).and_then(|filter| {
            Some((filter, query(filter.lookup_probe(key.key(), &core.keys)?, key)))
        });
        Self { core, query, passed: None }
    }

    /// Whether the data block at `handle` may have the key.
    pub(crate) fn may_contain<R: Recorder>(
        &mut self,
        handle: BlockHandle,
        recorder: &mut R,
    ) -> bool {
        let Some((filter, query)) = &self.query else { return true };
        let may = filter.probe_block(&self.core.blocks, handle.offset, query, recorder);
        if !R::IS_QUIET && may && self.passed != Some(true) {
            self.core.blocks.count(whole_key_ticker(true), 1);
        }
        self.passed = Some(may || self.passed == Some(true));
        may
    }

    /// Counts a lookup once, as with other filters, regardless of the number of data blocks: useful
    /// if none passed. (RocksDB counted only the useful answers.)
    pub(crate) fn finish<R: Recorder>(self) {
        if !R::IS_QUIET && self.passed == Some(false) {
            self.core.blocks.count(whole_key_ticker(false), 1);
        }
    }
}

#[inline]
fn whole_key_ticker(may: bool) -> Ticker {
    if may { Ticker::BloomFilterFullPositive } else { Ticker::BloomFilterUseful }
}

/// Counts `probes` probes of one kind, `negative` of them with the answer no.
pub(crate) fn count_probes(core: &Core, probe: FilterProbe<'_>, probes: u64, negative: u64) {
    match probe {
        FilterProbe::WholeKey(_) => {
            core.blocks.count(whole_key_ticker(false), negative);
            core.blocks.count(whole_key_ticker(true), probes - negative);
        }
        FilterProbe::Prefix(_) => {
            core.blocks.count(Ticker::BloomFilterPrefixChecked, probes);
            core.blocks.count(Ticker::BloomFilterPrefixUseful, negative);
        }
    }
}

/// Counts a key of a batch that has no prefix, if the filter has only prefixes.
pub(crate) fn count_prefixless(core: &Core, key: &[u8]) {
    if core.blocks.tickers.is_some()
        && let Some(filter) = core.filter()
        && filter.lookups_probe_prefixes(&core.keys)
        && filter.lookup_probe(key, &core.keys).is_none()
    {
        count_probes(core, FilterProbe::Prefix(&[]), 1, 0);
    }
}

/// The ticker for a key that was found, possibly as a deletion; `None` without a filter.
pub(crate) fn true_positive(core: &Core) -> Option<Ticker> {
    core.filter().map(|filter| match filter.whole_key {
        true => Ticker::BloomFilterFullTruePositive,
        false => Ticker::BloomFilterPrefixTruePositive,
    })
}
