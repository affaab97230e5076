//! The state of an open table that all lookups and scans share.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use sstkit_filter::PrefixExtractor;

use crate::error::{Error, Result};
use crate::filter::FilterReader;
use crate::index::flat_index::{BlockLocation, FlatIndex};
use crate::raw::{Block, BlockHandle, BlockKind, IndexEntries, IndexKind, TableView};
use crate::reader::cache::{Priority, SlotHint};
use crate::reader::open::key_space::{KeySpace, SeekTarget};
use crate::reader::remote::windows::Windows;
use crate::reader::scan::merge_operator::MergeOperator;
use crate::visibility::range_tombstones::RangeTombstones;

/// The state of an open table: the [view](TableView), to which it derefs, and what lookups and
/// scans need besides. Only lazily loaded parts change after opening.
pub struct Core {
    pub(crate) view: TableView<'static>,
    /// The index, if it is not in the block cache.
    pub(crate) pinned_index: Option<Block<Bytes>>,
    /// Otherwise, the cache slot where it may be.
    pub(crate) index_hint: SlotHint,
    /// The flat index over the pinned index, built once it pays off; `None` inside if it cannot be
    /// built.
    pub(crate) index_search: OnceLock<Option<FlatIndex>>,
    /// The number of index searches before that.
    pub(crate) searches: AtomicUsize,
    /// The cache priority of index and filter blocks.
    pub(crate) priority: Priority,
    pub(crate) keys: KeySpace,
    pub(crate) filter: Option<FilterReader>,
    pub(crate) use_filters: bool,
    /// The prefix extractor of the reader: as given, or that of the table.
    pub(crate) prefix_extractor: Option<PrefixExtractor>,
    pub(crate) range_deletions: RangeTombstones,
    pub(crate) merge_operator: Option<Arc<dyn MergeOperator>>,
    pub(crate) is_last_level: bool,
}

sstkit_coding::debug_opaque!(Core);

impl Deref for Core {
    type Target = TableView<'static>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.view
    }
}

impl Core {
    /// The index, or its top level.
    pub(crate) fn index_block(&self) -> Result<Block<Bytes>> {
        match &self.pinned_index {
            Some(index) => Ok(index.clone()),
            None => {
                self.blocks.block(BlockKind::Index, self.index, self.priority, &self.index_hint)
            }
        }
    }

    /// The flat index over [`index_block`](Self::index_block), if there is one.
    pub(crate) fn index_search(&self) -> Option<&FlatIndex> {
        if let Some(search) = self.index_search.get() {
            return search.as_ref();
        }
        let index = self.pinned_index.as_ref()?;
        if !FlatIndex::pays(index, self.searches.fetch_add(1, Ordering::Relaxed)) {
            return None;
        }
        let make = || FlatIndex::new(index, self.index_format, &self.keys);
        self.index_search.get_or_init(make).as_ref()
    }

    /// The entries of the flat index, and the position of the first that is not less than `target`:
    /// their number if all are less.
    pub(crate) fn direct_entry(
        &self,
        target: &SeekTarget<'_>,
    ) -> Option<(&[BlockLocation], usize)> {
        let search = self.index_search()?;
        let (places, index) = (search.places()?, self.pinned_index.as_ref()?);
        let compare = |restart| {
            let key = self.index_format.restart_key(index, restart)?;
            Some(self.keys.compare_index(key, target, self.index_format.user_keys))
        };
        Some((places, search.first_not_less(target.user_key, compare)?))
    }

    /// One partition of a two-level index.
    pub(crate) fn index_partition(&self, handle: BlockHandle) -> Result<Block<Bytes>> {
        let hint = SlotHint::default();
        self.blocks.block(BlockKind::IndexPartition, handle, self.priority, &hint)
    }

    /// Windows over the partitions of the index, if it has any and the source is read in windows.
    pub(crate) fn partition_windows(&self) -> Option<Box<Windows>> {
        match self.has_two_levels() {
            true => self.blocks.new_windows(0).map(Box::new),
            false => None,
        }
    }

    /// The same partition, read together with those that a scan needs next.
    pub(crate) fn index_partition_ahead(
        &self,
        handle: BlockHandle,
        windows: &mut Windows,
        is_backward: bool,
    ) -> Result<Block<Bytes>> {
        let load = || {
            let limit = self.end_of_partitions(handle.offset);
            self.blocks.index_partition_in(windows, handle, is_backward, limit)
        };
        let block = (BlockKind::IndexPartition, handle);
        self.blocks.cached_entries(block, self.priority, &SlotHint::default(), load)
    }

    pub(crate) fn has_two_levels(&self) -> bool {
        self.index_format.kind == IndexKind::TwoLevel
    }

    pub(crate) fn index_entries<B: AsRef<[u8]>>(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        block: Block<B>,
    ) -> Result<IndexEntries<B>> {
        self.view.entries_of_index(kind, handle, block)
    }

    /// The filter, if it is used.
    #[inline]
    pub(crate) fn filter(&self) -> Option<&FilterReader> {
        self.filter.as_ref().filter(|_| self.use_filters)
    }

    /// Fails if the comparator is unknown, for operations that need it.
    #[inline]
    pub(crate) fn require_order(&self) -> Result<()> {
        match self.keys.order() {
            Ok(_) => Ok(()),
            Err(error) => Err(self.blocks.in_file(error)),
        }
    }

    pub(crate) fn in_data_block(&self, error: Error, handle: BlockHandle) -> Error {
        self.blocks.locate(error, BlockKind::Data, handle.offset)
    }
}
