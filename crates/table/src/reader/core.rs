//! An open table: what all lookups and scans share.

use std::sync::Arc;

use bytes::Bytes;
use sstkit_filter::PrefixExtractor;

use super::block_reader::BlockReader;
use super::cache::Priority;
use super::filter::FilterReader;
use super::key_space::KeySpace;
use super::merge::MergeOperator;
use super::range_deletions::RangeDeletions;
use crate::error::{Error, Result};
use crate::raw::{
    Block, BlockHandle, BlockKind, Engine, Footer, IndexEntries, IndexFormat, IndexKind, MetaIndex,
    Properties,
};

/// Everything that opening a table finds out. Nothing here changes afterwards but what is loaded
/// when first needed.
pub(super) struct Core {
    pub(super) blocks: BlockReader,
    pub(super) size: u64,
    pub(super) footer: Footer,
    pub(super) engine: Engine,
    pub(super) metaindex: MetaIndex,
    pub(super) properties: Properties,
    pub(super) index: BlockHandle,
    pub(super) index_format: IndexFormat,
    /// Held outside of the cache, unless it lives there.
    pub(super) pinned_index: Option<Block<Bytes>>,
    /// Of index and filter blocks.
    pub(super) priority: Priority,
    pub(super) keys: KeySpace,
    pub(super) filter: Option<FilterReader>,
    pub(super) use_filters: bool,
    /// Of the one who asks: given, or the table's own.
    pub(super) prefix_extractor: Option<PrefixExtractor>,
    pub(super) range_deletions: RangeDeletions,
    pub(super) merge_operator: Option<Arc<dyn MergeOperator>>,
    pub(super) is_last_level: bool,
}

impl Core {
    /// The index, or its top level.
    pub(super) fn index_block(&self) -> Result<Block<Bytes>> {
        match &self.pinned_index {
            Some(index) => Ok(index.clone()),
            None => self.blocks.block(BlockKind::Index, self.index, self.priority),
        }
    }

    /// One part of a two-level index.
    pub(super) fn index_partition(&self, handle: BlockHandle) -> Result<Block<Bytes>> {
        self.blocks.block(BlockKind::IndexPartition, handle, self.priority)
    }

    pub(super) fn has_two_levels(&self) -> bool {
        self.index_format.kind == IndexKind::TwoLevel
    }

    /// The entries of an index block.
    pub(super) fn index_entries(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        block: Block<Bytes>,
    ) -> Result<IndexEntries<Bytes>> {
        IndexEntries::new(block, self.index_format)
            .map_err(|error| self.blocks.locate(error, kind, handle.offset))
    }

    /// A data block.
    pub(super) fn data_block(&self, handle: BlockHandle) -> Result<Block<Bytes>> {
        self.blocks.block(BlockKind::Data, handle, Priority::Low)
    }

    /// The filter, unless it is not to be used.
    pub(super) fn filter(&self) -> Option<&FilterReader> {
        self.filter.as_ref().filter(|_| self.use_filters)
    }

    /// The error of an operation that needs the order of the keys, if it is not known.
    pub(super) fn require_order(&self) -> Result<()> {
        self.keys.order().map(drop).map_err(|error| self.blocks.in_file(error))
    }

    pub(super) fn in_data_block(&self, error: Error, handle: BlockHandle) -> Error {
        self.blocks.locate(error, BlockKind::Data, handle.offset)
    }
}
