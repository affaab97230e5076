//! An open table: what all lookups and scans share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use sstkit_filter::PrefixExtractor;

use super::block_reader::BlockReader;
use super::cache::{Priority, SlotHint};
use super::filter::FilterReader;
use super::index_search::{BlockPlace, IndexSearch};
use super::key_space::{KeySpace, Target};
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
    /// Where in the cache it is otherwise.
    pub(super) index_hint: SlotHint,
    /// Through the pinned index, once it pays; `None` inside where there is none.
    pub(super) index_search: OnceLock<Option<IndexSearch>>,
    /// Searches of the index before that.
    pub(super) searches: AtomicUsize,
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
            None => {
                self.blocks.block(BlockKind::Index, self.index, self.priority, &self.index_hint)
            }
        }
    }

    /// The short cut through [`index_block`](Self::index_block), if there is one.
    pub(super) fn index_search(&self) -> Option<&IndexSearch> {
        if let Some(search) = self.index_search.get() {
            return search.as_ref();
        }
        let index = self.pinned_index.as_ref()?;
        if !IndexSearch::pays(index, self.searches.fetch_add(1, Ordering::Relaxed)) {
            return None;
        }
        let make = || IndexSearch::new(index, self.index_format, &self.keys);
        self.index_search.get_or_init(make).as_ref()
    }

    /// The entries of an index with a short cut, and the first that is not less than `target`: their
    /// number, if all are.
    pub(super) fn direct_entry(&self, target: &Target<'_>) -> Option<(&[BlockPlace], usize)> {
        let search = self.index_search()?;
        let (places, index) = (search.places()?, self.pinned_index.as_ref()?);
        let compare = |restart| {
            let key = self.index_format.restart_key(index, restart)?;
            Some(self.keys.compare_index(key, target, self.index_format.user_keys))
        };
        Some((places, search.first_not_less(target.user_key, compare)?))
    }

    /// One part of a two-level index.
    pub(super) fn index_partition(&self, handle: BlockHandle) -> Result<Block<Bytes>> {
        let hint = SlotHint::default();
        self.blocks.block(BlockKind::IndexPartition, handle, self.priority, &hint)
    }

    pub(super) fn has_two_levels(&self) -> bool {
        self.index_format.kind == IndexKind::TwoLevel
    }

    /// The entries of an index block.
    pub(super) fn index_entries<B: AsRef<[u8]>>(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        block: Block<B>,
    ) -> Result<IndexEntries<B>> {
        IndexEntries::new(block, self.index_format)
            .map_err(|error| self.blocks.locate(error, kind, handle.offset))
    }

    /// A data block. `hint` says where in the cache it may be, and then where it is.
    pub(super) fn data_block(&self, handle: BlockHandle, hint: &SlotHint) -> Result<Block<Bytes>> {
        self.blocks.block(BlockKind::Data, handle, Priority::Low, hint)
    }

    /// The filter, unless it is not to be used.
    #[inline]
    pub(super) fn filter(&self) -> Option<&FilterReader> {
        self.filter.as_ref().filter(|_| self.use_filters)
    }

    /// The error of an operation that needs the order of the keys, if it is not known.
    #[inline]
    pub(super) fn require_order(&self) -> Result<()> {
        match self.keys.order() {
            Ok(_) => Ok(()),
            Err(error) => Err(self.blocks.in_file(error)),
        }
    }

    pub(super) fn in_data_block(&self, error: Error, handle: BlockHandle) -> Error {
        self.blocks.locate(error, BlockKind::Data, handle.offset)
    }
}
