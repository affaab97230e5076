//! The recorder that creates a [`LookupTrace`].

use bytes::Bytes;
use sstkit_filter::{Filter, FilterBlock, HashedKey};

use super::{
    BlockStep, DataStep, EntryStep, FilterStep, IntervalSearch, LookupAnswer, LookupTrace,
    NotProbed, PartitionStep, ProbedFor,
};
use crate::error::{Error, Result};
use crate::filter::{FilterProbe, FilterReader};
use crate::index::position::IndexPosition;
use crate::raw::{Block, BlockHandle, BlockKind, HashLookup, InternalKey};
use crate::reader::block::block_cursor::BlockCursor;
use crate::reader::get::point_lookup::hash_lookup;
use crate::reader::get::recorder::Recorder;
use crate::reader::open::core::Core;
use crate::reader::open::key_space::SeekTarget;
use crate::reader::open::layout::trailer;
use crate::reader::value::Value;
use crate::visibility::{Resolver, SeenEntry, Versions};

/// Records all steps of a lookup. With `QUIET`, nothing is counted and the cache is unchanged.
pub(crate) struct TraceRecorder<'k, const QUIET: bool> {
    trace: LookupTrace,
    /// Asked before each data block, of which one key may have any number.
    keep_going: &'k dyn Fn() -> bool,
    /// The entries of the key that determine its value in the newest view of this table.
    versions: Versions<()>,
}

impl<'k, const QUIET: bool> TraceRecorder<'k, QUIET> {
    /// A recorder that ends the lookup with an error when `keep_going` returns false.
    pub(crate) fn new(keep_going: &'k dyn Fn() -> bool) -> Self {
        let trace = LookupTrace {
            filter: None,
            blocks: Vec::new(),
            range_deletion: None,
            answer: LookupAnswer::Filtered,
        };
        Self { trace, keep_going, versions: Versions::default() }
    }

    /// The trace of a finished lookup of `key`.
    pub(crate) fn finish(mut self, core: &Core, key: &[u8]) -> LookupTrace {
        let blocks = &self.trace.blocks;
        let is_rejected =
            |step: &BlockStep| step.filter.as_ref().is_some_and(|it| !it.filter.may_contain);
        let has_entries =
            |step: &BlockStep| step.data.as_ref().is_some_and(|it| !it.entries.is_empty());
        self.trace.answer = match self.versions.is_visible() {
            true => match core.value(key, &self.versions) {
                Ok(value) => LookupAnswer::Value(value),
                Err(error) => LookupAnswer::Unresolved(core.blocks.in_file(error).to_string()),
            },
            false if self.trace.filter.as_ref().is_some_and(|it| !it.may_contain) => {
                LookupAnswer::Filtered
            }
            false if blocks.iter().any(has_entries) => LookupAnswer::Deleted,
            false if !blocks.is_empty() && blocks.iter().all(is_rejected) => LookupAnswer::Filtered,
            false => LookupAnswer::NotFound,
        };
        self.trace
    }

    fn data(&mut self) -> Option<&mut DataStep> {
        self.trace.blocks.last_mut()?.data.as_mut()
    }
}

impl<const QUIET: bool> Recorder for TraceRecorder<'_, QUIET> {
    const IS_QUIET: bool = QUIET;

    fn start(&mut self, core: &Core, key: &[u8]) {
        self.trace.filter = core.filter.as_ref().map(|reader| filter_step(core, reader, key));
        self.trace.range_deletion = core.range_deletions.newest_over(key, &core.keys);
    }

    fn filter_partition(
        &mut self,
        separator: &[u8],
        handle: BlockHandle,
        is_cached: impl FnOnce() -> bool,
    ) {
        if let Some(step) = &mut self.trace.filter {
            let (separator, is_cached) = (separator.to_vec(), is_cached());
            step.partition = Some(PartitionStep { separator, handle, is_cached });
        }
    }

    fn filter(&mut self, filter: &Filter<Bytes>, query: &HashedKey<'_>) {
        if let Some(step) = &mut self.trace.filter {
            let trace = filter.trace(query);
            step.may_contain = trace.may_contain;
            step.trace = Some(trace);
        }
    }

    fn filter_problem(&mut self, error: impl FnOnce() -> Option<Error>) {
        if let Some(step) = &mut self.trace.filter {
            step.problem = error().map(|error| error.to_string());
        }
    }

    fn index_entry(&mut self, index: &IndexPosition<'_, '_>) -> Result<()> {
        if !(self.keep_going)() {
            return Err(Error::cancelled());
        }
        let partition = index.partition().map(|(separator, handle, is_cached)| PartitionStep {
            separator: separator.to_vec(),
            handle,
            is_cached,
        });
        self.trace.blocks.push(BlockStep {
            index_partition: partition,
            separator: index.key()?.to_vec(),
            first_key: index.first_key().map(<[u8]>::to_vec),
            handle: index.handle(),
            filter: None,
            data: None,
        });
        Ok(())
    }

    fn filter_block(&mut self, filter: &FilterBlock<Bytes>, offset: u64, query: &HashedKey<'_>) {
        if let Some(step) = self.trace.blocks.last_mut() {
            step.filter = Some(filter.trace(offset, query));
        }
    }

    fn data_block(&mut self, core: &Core, handle: BlockHandle) -> Result<()> {
        let codec = trailer(core, BlockKind::Data, handle)?.codec;
        let is_cached = core.blocks.peek(BlockKind::Data, handle).is_some();
        if let Some(step) = self.trace.blocks.last_mut() {
            step.data = Some(DataStep {
                codec,
                decoded_size: 0,
                is_cached,
                search: IntervalSearch::Binary,
                interval: None,
                intervals: 0,
                entries: Vec::new(),
            });
        }
        Ok(())
    }

    fn search(
        &mut self,
        core: &Core,
        block: &Block<Bytes>,
        key: &[u8],
        target: &SeekTarget<'_>,
    ) -> Result<()> {
        let Some(step) = self.data() else { return Ok(()) };
        (step.search, step.interval) = interval(core, block, key, target)?;
        step.decoded_size = block.bytes().len();
        step.intervals = block.restart_count();
        Ok(())
    }

    fn entry(&mut self, core: &Core, entry: &InternalKey<'_>, value: &Value) -> bool {
        if self.versions.is_decided() {
            return false;
        }
        let &InternalKey { user_key, sequence, kind } = entry;
        let is_covered = core.range_deletions.covers(entry, &core.keys);
        let seen = SeenEntry { user_key, sequence, kind, is_covered };
        let (user_key, value_length) = (user_key.to_vec(), value.len());
        if let Some(step) = self.data() {
            step.entries.push(EntryStep { user_key, sequence, kind, value_length, is_covered });
        }
        self.versions.add(seen, || value.clone(), || (), core.keys.user_keys())
    }
}

/// The filter before it is probed.
fn filter_step(core: &Core, reader: &FilterReader, key: &[u8]) -> FilterStep {
    let probe = reader.lookup_probe(key, &core.keys).filter(|_| core.use_filters);
    FilterStep {
        layout: reader.layout(),
        policy: reader.policy().to_owned(),
        handle: reader.handle(),
        probed_for: match probe {
            Some(FilterProbe::WholeKey(_)) => ProbedFor::WholeKey,
            Some(FilterProbe::Prefix(prefix)) => ProbedFor::Prefix(prefix.to_vec()),
            None => ProbedFor::Nothing(reason(core, reader)),
        },
        partition: None,
        trace: None,
        problem: None,
        may_contain: true,
    }
}

/// The reason why the filter is not probed.
fn reason(core: &Core, reader: &FilterReader) -> NotProbed {
    if !core.use_filters {
        NotProbed::FiltersOff
    } else if !core.keys.equal_means_same_bytes() {
        NotProbed::EqualKeysDiffer
    } else if reader.lookups_probe_prefixes(&core.keys) {
        NotProbed::KeyWithoutPrefix
    } else {
        NotProbed::NoSuitablePrefixes
    }
}

/// The restart interval that is searched first, and how it was found.
fn interval(
    core: &Core,
    block: &Block<Bytes>,
    key: &[u8],
    target: &SeekTarget<'_>,
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
