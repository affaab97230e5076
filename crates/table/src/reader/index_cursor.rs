//! Moving about in the index, through one level or two: one entry a data block.
//!
//! ```text
//! top level       | k3 |         | k7 |         partitions are read as they are entered
//!                   |              |
//! partitions      | k1 | k3 |    | k5 | k7 |
//!                   |    |         |    |
//! data blocks
//! ```

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;

use super::block_cursor::BlockCursor;
use super::core::Core;
use super::key_space::Target;
use crate::error::Result;
use crate::raw::{BlockHandle, BlockKind, IndexEntries};

type Level = BlockCursor<IndexEntries<Bytes>>;

/// Moves about in the index of a table. After an error there is no current entry.
pub(super) struct IndexCursor {
    core: Arc<Core>,
    /// The only level, or the upper one.
    top: Level,
    /// In an index of two levels, the partition that `top` stands at.
    partition: Option<Level>,
    /// Whether the cache is only looked into.
    is_quiet: bool,
}

impl IndexCursor {
    pub(super) fn new(core: &Arc<Core>) -> Result<Self> {
        let block = core.index_block()?;
        let top = BlockCursor::new(core.index_entries(BlockKind::Index, core.index, block)?);
        Ok(Self { core: Arc::clone(core), top, partition: None, is_quiet: false })
    }

    /// The same, but what it reads is not counted and does not go into the cache.
    pub(super) fn quiet(core: &Arc<Core>) -> Result<Self> {
        let block = match &core.pinned_index {
            Some(index) => index.clone(),
            None => core.blocks.block_quietly(BlockKind::Index, core.index)?,
        };
        let top = BlockCursor::new(core.index_entries(BlockKind::Index, core.index, block)?);
        Ok(Self { core: Arc::clone(core), top, partition: None, is_quiet: true })
    }

    pub(super) fn first(&mut self) -> Result<bool> {
        let more = self.in_top(BlockCursor::first)?;
        self.enter(more, BlockCursor::first, Self::forward)
    }

    pub(super) fn last(&mut self) -> Result<bool> {
        let more = self.in_top(BlockCursor::last)?;
        self.enter(more, BlockCursor::last, Self::backward)
    }

    /// The first entry whose key is not less than `target`. If that is in the partition where it
    /// stands already, the partition is not read again.
    pub(super) fn seek(&mut self, target: &Target<'_>) -> Result<bool> {
        let core = Arc::clone(&self.core);
        let compare = |key: &[u8]| -> Ordering {
            core.keys.compare_index(key, target, core.index_format.user_keys)
        };
        let open = self.partition.take().map(|open| (self.top.entry().handle(), open));
        let more = self.in_top(|top| top.seek(compare))?;
        if more && let Some((_, open)) = open.filter(|(at, _)| *at == self.top.entry().handle()) {
            self.partition = Some(open);
            let found = self.in_partition(|partition| partition.seek(compare))?;
            return if found { Ok(true) } else { self.forward() };
        }
        self.enter(more, |partition| partition.seek(compare), Self::forward)
    }

    pub(super) fn next(&mut self) -> Result<bool> {
        if self.partition.is_some() && self.in_partition(BlockCursor::next)? {
            return Ok(true);
        }
        self.forward()
    }

    pub(super) fn prev(&mut self) -> Result<bool> {
        if self.partition.is_some() && self.in_partition(BlockCursor::prev)? {
            return Ok(true);
        }
        self.backward()
    }

    fn forward(&mut self) -> Result<bool> {
        loop {
            // Data blocks ascend across partitions, too: a scan meets each of them once.
            let floor = self.partition.as_ref().map_or(0, |partition| partition.entry().floor());
            let more = self.in_top(BlockCursor::next)?;
            if !self.core.has_two_levels() || !more {
                return Ok(more);
            }
            self.open_partition(floor)?;
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
            self.open_partition(0)?;
            if self.in_partition(BlockCursor::last)? {
                return Ok(true);
            }
        }
    }

    /// After a move of the top level: the same move in the partition it leads to, or `on` where
    /// that leads nowhere.
    fn enter(
        &mut self,
        more: bool,
        go: impl FnOnce(&mut Level) -> Result<bool>,
        on: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        if !self.core.has_two_levels() || !more {
            return Ok(more);
        }
        self.open_partition(0)?;
        if self.in_partition(go)? { Ok(true) } else { on(self) }
    }

    /// Whatever it holds are data blocks: the depth is two, always.
    fn open_partition(&mut self, floor: u64) -> Result<()> {
        let (kind, handle) = (BlockKind::IndexPartition, self.top.entry().handle());
        let block = match self.is_quiet {
            true => self.core.blocks.block_quietly(kind, handle)?,
            false => self.core.index_partition(handle)?,
        };
        let entries = self.core.index_entries(kind, handle, block)?.after(floor);
        self.partition = Some(BlockCursor::new(entries));
        Ok(())
    }

    /// Leaves the partition: what the top level does decides where to go.
    fn in_top(&mut self, go: impl FnOnce(&mut Level) -> Result<bool>) -> Result<bool> {
        self.partition = None;
        let core = &self.core;
        go(&mut self.top)
            .map_err(|error| core.blocks.locate(error, BlockKind::Index, core.index.offset))
    }

    fn in_partition(&mut self, go: impl FnOnce(&mut Level) -> Result<bool>) -> Result<bool> {
        let offset = self.top.entry().handle().offset;
        let Some(partition) = &mut self.partition else { return Ok(false) };
        let core = &self.core;
        go(partition).map_err(|error| core.blocks.locate(error, BlockKind::IndexPartition, offset))
    }

    /// The separator of the current data block, as stored.
    pub(super) fn key(&self) -> &[u8] {
        self.bottom().entry().key()
    }

    /// Where the current data block lies.
    pub(super) fn handle(&self) -> BlockHandle {
        self.bottom().entry().handle()
    }

    /// Its first stored key, in indexes that have it.
    pub(super) fn first_key(&self) -> Option<&[u8]> {
        self.bottom().entry().first_key()
    }

    /// In an index of two levels, key and place of the current partition.
    pub(super) fn partition(&self) -> Option<(&[u8], BlockHandle)> {
        let top = self.top.entry();
        self.partition.as_ref().map(|_| (top.key(), top.handle()))
    }

    fn bottom(&self) -> &Level {
        self.partition.as_ref().unwrap_or(&self.top)
    }
}
