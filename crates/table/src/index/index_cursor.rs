//! A cursor over an index of one or two levels: one entry per data block.
//!
//! ```text
//! top level       | k3 |         | k7 |         partitions are read when they are entered
//!                   |              |
//! partitions      | k1 | k3 |    | k5 | k7 |
//!                   |    |         |    |
//! data blocks
//! ```

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::raw::{Block, BlockHandle, BlockKind, IndexEntries};
use crate::reader::block::block_cursor::BlockCursor;
use crate::reader::open::core::Core;
use crate::reader::open::key_space::SeekTarget;
use crate::reader::remote::windows::Windows;

type Level<B> = BlockCursor<IndexEntries<B>>;

/// A cursor over the index of a table. After an error there is no current entry.
///
/// It owns references to the table and its index block, or ([`lent`](IndexCursor::lent)) borrows both.
pub(crate) struct IndexCursor<C = Arc<Core>, B: AsRef<[u8]> = Bytes> {
    core: C,
    /// The only level, or the upper one.
    top: Level<B>,
    /// In an index of two levels, the current partition.
    partition: Option<Level<Bytes>>,
    /// Of a scan over a remote source.
    windows: Option<Box<Windows>>,
    access: Access,
    /// Whether the partition was in the cache before it was entered. Known unless access is
    /// [`Counted`](Access::Counted).
    partition_was_cached: bool,
}

/// How a partition is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Approach {
    /// The next one may be anywhere.
    Seek,
    Forward,
    Backward,
}

/// How a lookup reads blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Through the cache, and counted.
    Counted,
    /// The same, and what the cache had before is recorded.
    Recorded,
    /// From the cache, if it has them. Nothing is counted or put into the cache.
    Quiet,
}

/// The bytes of an index block. The pinned one needs no reference count.
pub(crate) enum IndexBytes<'t> {
    Pinned(&'t [u8]),
    Cached(Bytes),
}

impl AsRef<[u8]> for IndexBytes<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Pinned(bytes) => bytes,
            Self::Cached(bytes) => bytes,
        }
    }
}

impl IndexCursor {
    /// A cursor that reads ahead if the source is remote.
    pub(crate) fn new(core: &Arc<Core>) -> Result<Self> {
        Ok(Self::over(Arc::clone(core), core.index_block()?)?.reading_ahead())
    }
}

impl<'t> IndexCursor<&'t Core, IndexBytes<'t>> {
    /// A cursor that borrows the table and the pinned index block.
    pub(crate) fn lent(core: &'t Core, access: Access) -> Result<Self> {
        let block = match (&core.pinned_index, access) {
            (Some(index), _) => index.lend().map(IndexBytes::Pinned),
            (None, Access::Quiet) => {
                core.blocks.block_quietly(BlockKind::Index, core.index)?.map(IndexBytes::Cached)
            }
            (None, _) => core.index_block()?.map(IndexBytes::Cached),
        };
        Ok(Self { access, ..Self::over(core, block)? })
    }
}

impl<C: Deref<Target = Core> + Clone, B: AsRef<[u8]>> IndexCursor<C, B> {
    fn over(core: C, block: Block<B>) -> Result<Self> {
        let top = BlockCursor::new(core.index_entries(BlockKind::Index, core.index, block)?);
        let access = Access::Counted;
        Ok(Self { core, top, partition: None, windows: None, access, partition_was_cached: false })
    }

    /// The same cursor, which reads partitions ahead if the source is remote.
    pub(crate) fn reading_ahead(mut self) -> Self {
        self.windows = self.core.partition_windows();
        self
    }

    pub(crate) fn first(&mut self) -> Result<bool> {
        let more = self.in_top(BlockCursor::first)?;
        self.enter(more, Approach::Forward, BlockCursor::first, Self::forward)
    }

    pub(crate) fn last(&mut self) -> Result<bool> {
        let more = self.in_top(BlockCursor::last)?;
        self.enter(more, Approach::Backward, BlockCursor::last, Self::backward)
    }

    /// Moves to the first entry whose key is not less than `target`. Does not read the current partition
    /// again.
    pub(crate) fn seek(&mut self, target: &SeekTarget<'_>) -> Result<bool> {
        let core = self.core.clone();
        let compare = |key: &[u8]| -> Ordering {
            core.keys.compare_index(key, target, core.index_format.user_keys)
        };
        let open = self.partition.take().map(|open| (self.top.entry().handle(), open));
        let more = self.in_top(|top| match core.index_search() {
            Some(search) => top.seek_between(search.interval_of(target.user_key), compare),
            None => top.seek(compare),
        })?;
        if more && let Some((_, open)) = open.filter(|(at, _)| *at == self.top.entry().handle()) {
            self.partition = Some(open);
            let found = self.in_partition(|partition| partition.seek(compare))?;
            return if found { Ok(true) } else { self.forward() };
        }
        self.enter(more, Approach::Seek, |partition| partition.seek(compare), Self::forward)
    }

    pub(crate) fn next(&mut self) -> Result<bool> {
        if self.partition.is_some() && self.in_partition(BlockCursor::next)? {
            return Ok(true);
        }
        self.forward()
    }

    pub(crate) fn prev(&mut self) -> Result<bool> {
        let ceiling = self.handle().offset;
        let more = if self.partition.is_some() && self.in_partition(BlockCursor::prev)? {
            true
        } else {
            self.backward()?
        };
        if more {
            self.require_below(ceiling)?;
        }
        Ok(more)
    }

    /// Requires data blocks to descend when moving backward, also across restart points and partitions,
    /// so that a scan reads each of them once.
    fn require_below(&mut self, ceiling: u64) -> Result<()> {
        let handle = self.handle();
        if handle.end().is_some_and(|end| end <= ceiling) {
            return Ok(());
        }
        let (kind, offset) = match self.partition() {
            Some((_, partition)) => (BlockKind::IndexPartition, partition.offset),
            None => (BlockKind::Index, self.core.index.offset),
        };
        let error = Error::mismatch(
            "the index is not in file order",
            format_args!("a block that ends at {ceiling} or before"),
            handle,
        );
        self.partition = None;
        self.top.leave();
        Err(self.core.blocks.locate(error, kind, offset))
    }

    fn forward(&mut self) -> Result<bool> {
        loop {
            // Data blocks ascend across partitions, so that a scan reads each of them once.
            let floor = self.partition.as_ref().map_or(0, |partition| partition.entry().floor());
            let more = self.in_top(BlockCursor::next)?;
            if !self.core.has_two_levels() || !more {
                return Ok(more);
            }
            self.open_partition(floor, Approach::Forward)?;
            if self.in_partition(BlockCursor::first)? {
                return Ok(true);
            }
        }
    }

    fn backward(&mut self) -> Result<bool> {
        loop {
            let more = self.in_top(BlockCursor::prev)?;
            if !self.core.has_two_levels() || !more {
                return Ok(more);
            }
            self.open_partition(0, Approach::Backward)?;
            if self.in_partition(BlockCursor::last)? {
                return Ok(true);
            }
        }
    }

    /// After a move of the top level: makes the same move in the partition, or calls `on` if that
    /// finds no entry.
    fn enter(
        &mut self,
        more: bool,
        approach: Approach,
        go: impl FnOnce(&mut Level<Bytes>) -> Result<bool>,
        on: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        if !self.core.has_two_levels() || !more {
            return Ok(more);
        }
        self.open_partition(0, approach)?;
        if self.in_partition(go)? { Ok(true) } else { on(self) }
    }

    /// Reads the current partition. Its entries are data blocks: the index has at most two levels.
    fn open_partition(&mut self, floor: u64, approach: Approach) -> Result<()> {
        let (kind, handle) = (BlockKind::IndexPartition, self.top.entry().handle());
        self.partition_was_cached =
            self.access != Access::Counted && self.core.blocks.peek(kind, handle).is_some();
        let block = match (self.access, &mut self.windows) {
            (Access::Quiet, _) => self.core.blocks.block_quietly(kind, handle)?,
            (_, Some(windows)) if approach != Approach::Seek => {
                let is_backward = approach == Approach::Backward;
                self.core.index_partition_ahead(handle, windows, is_backward)?
            }
            (Access::Counted | Access::Recorded, _) => self.core.index_partition(handle)?,
        };
        let entries = self.core.index_entries(kind, handle, block)?.after(floor);
        self.partition = Some(BlockCursor::new(entries));
        Ok(())
    }

    /// Moves the top level and leaves the partition.
    fn in_top(&mut self, go: impl FnOnce(&mut Level<B>) -> Result<bool>) -> Result<bool> {
        self.partition = None;
        let core = &self.core;
        go(&mut self.top)
            .map_err(|error| core.blocks.locate(error, BlockKind::Index, core.index.offset))
    }

    fn in_partition(&mut self, go: impl FnOnce(&mut Level<Bytes>) -> Result<bool>) -> Result<bool> {
        let offset = self.top.entry().handle().offset;
        let Some(partition) = &mut self.partition else { return Ok(false) };
        let core = &self.core;
        go(partition).map_err(|error| core.blocks.locate(error, BlockKind::IndexPartition, offset))
    }

    /// The separator of the current data block, as stored.
    pub(crate) fn key(&self) -> &[u8] {
        match &self.partition {
            Some(partition) => partition.entry().key(),
            None => self.top.entry().key(),
        }
    }

    pub(crate) fn handle(&self) -> BlockHandle {
        match &self.partition {
            Some(partition) => partition.entry().handle(),
            None => self.top.entry().handle(),
        }
    }

    /// Offsets of the current entry in the top level and in the partition, which identify it.
    pub(crate) fn offsets(&self) -> (usize, usize) {
        (self.top.offset(), self.partition.as_ref().map_or(0, BlockCursor::offset))
    }

    /// The first stored key of the current data block, if the index has it.
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        match &self.partition {
            Some(partition) => partition.entry().first_key(),
            None => self.top.entry().first_key(),
        }
    }

    /// Whether the current partition was in the cache before it was entered, if that is recorded.
    pub(crate) fn partition_was_cached(&self) -> bool {
        self.partition_was_cached
    }

    /// In an index of two levels, the key and handle of the current partition.
    pub(crate) fn partition(&self) -> Option<(&[u8], BlockHandle)> {
        let top = self.top.entry();
        self.partition.as_ref().map(|_| (top.key(), top.handle()))
    }
}
