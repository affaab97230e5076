//! The filter, asked quietly.

use bytes::Bytes;
use sstkit_filter::{FilterBlockTrace, FilterLayout, HashedKey};

use super::{FilterQuestion, FilterStep, NotAsked, PartitionStep};
use crate::error::Result;
use crate::filter::{FilterProbe, FilterReader};
use crate::raw::{Block, BlockHandle};
use crate::reader::cache::CachedBlock;
use crate::reader::open::core::Core;

/// Asks the filter about `key`; a filter block only for what it would be asked.
pub(crate) fn ask(core: &Core, key: &[u8]) -> Option<FilterStep> {
    let reader = core.filter.as_ref()?;
    let asked = reader.lookup_probe(key, &core.keys).filter(|_| core.use_filters);
    let mut step = FilterStep {
        layout: reader.layout(),
        policy: reader.policy().to_owned(),
        handle: reader.handle(),
        question: match asked {
            Some(FilterProbe::WholeKey(_)) => FilterQuestion::WholeKey,
            Some(FilterProbe::Prefix(prefix)) => FilterQuestion::Prefix(prefix.to_vec()),
            None => FilterQuestion::Nothing(reason(core, reader)),
        },
        partition: None,
        trace: None,
        problem: None,
        may_contain: true,
    };
    if let Some(question) = asked
        && let Err(error) = look(core, reader, key, &HashedKey::new(question.bytes()), &mut step)
    {
        step.problem = Some(error.to_string());
    }
    Some(step)
}

/// Why there is no question.
fn reason(core: &Core, reader: &FilterReader) -> NotAsked {
    if !core.use_filters {
        NotAsked::FiltersOff
    } else if !core.keys.equal_means_same_bytes() {
        NotAsked::EqualKeysDiffer
    } else if reader.lookups_make_prefix_probes(&core.keys) {
        NotAsked::KeyWithoutPrefix
    } else {
        NotAsked::NoSuitablePrefixes
    }
}

fn look(
    core: &Core,
    reader: &FilterReader,
    key: &[u8],
    hashed: &HashedKey<'_>,
    step: &mut FilterStep,
) -> Result<()> {
    let trace = match reader.peek_top(&core.blocks)? {
        CachedBlock::Filter(filter) => filter.trace(hashed),
        CachedBlock::Block(index) => {
            let Some((separator, handle)) = partition(core, reader, &index, key)? else {
                return Ok(());
            };
            let is_cached = reader.peek_partition(&core.blocks, handle).is_some();
            step.partition = Some(PartitionStep { separator, handle, is_cached });
            reader.partition_quietly(&core.blocks, handle)?.trace(hashed)
        }
        // Asked with the index.
        CachedBlock::FilterBlock(_) => return Ok(()),
    };
    step.may_contain = trace.may_contain;
    step.trace = Some(trace);
    Ok(())
}

/// Key and place of the partition that is for `key`.
fn partition(
    core: &Core,
    reader: &FilterReader,
    index: &Block<Bytes>,
    key: &[u8],
) -> Result<Option<(Vec<u8>, BlockHandle)>> {
    let search = core.keys.newest(key);
    let found = reader.partition_entry(index, &core.keys, &search.before(), false)?;
    Ok(found.map(|cursor| (cursor.entry().key().to_vec(), cursor.entry().handle())))
}

/// A filter block with what it is asked about the data blocks, if it is to be asked.
pub(crate) struct BlockFilter<'c, 'k> {
    core: &'c Core,
    reader: &'c FilterReader,
    hashed: HashedKey<'k>,
}

impl<'c, 'k> BlockFilter<'c, 'k> {
    pub(crate) fn new(core: &'c Core, key: &'k [u8]) -> Option<Self> {
        let reader = core.filter().filter(|it| it.layout() == FilterLayout::Block)?;
        let question = reader.lookup_probe(key, &core.keys)?;
        Some(Self { core, reader, hashed: HashedKey::new(question.bytes()) })
    }

    /// What it says about one data block; `None` if it cannot be read.
    pub(crate) fn trace(&self, handle: BlockHandle) -> Option<FilterBlockTrace> {
        match self.reader.peek_top(&self.core.blocks) {
            Ok(CachedBlock::FilterBlock(block)) => Some(block.trace(handle.offset, &self.hashed)),
            _ => None,
        }
    }
}
