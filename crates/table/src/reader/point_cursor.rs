//! Moving about in all entries of all data blocks, as stored.

use std::sync::Arc;

use bytes::Bytes;

use super::block_cursor::BlockCursor;
use super::core::Core;
use super::index_cursor::IndexCursor;
use super::key_space::Target;
use super::read_ahead::ReadAhead;
use super::value::Value;
use crate::error::Result;
use crate::raw::{BlockEntries, BlockHandle, InternalKey};

/// Moves about in the entries of a table. After an error there is no current entry.
pub(super) struct PointCursor {
    core: Arc<Core>,
    index: Option<IndexCursor>,
    block: Option<BlockCursor<BlockEntries<Bytes>>>,
    /// Of the current block, or of the last one there was.
    handle: BlockHandle,
    read_ahead: ReadAhead,
    /// Data blocks entered so far.
    pub(super) blocks_entered: u64,
}

type DataCursor = BlockCursor<BlockEntries<Bytes>>;

impl PointCursor {
    /// Nowhere yet. Reads nothing.
    pub(super) fn new(core: &Arc<Core>) -> Self {
        let core = Arc::clone(core);
        let (handle, read_ahead) = (BlockHandle::default(), ReadAhead::default());
        Self { core, index: None, block: None, handle, read_ahead, blocks_entered: 0 }
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(super) fn is_valid(&self) -> bool {
        self.block.as_ref().is_some_and(BlockCursor::is_valid)
    }

    pub(super) fn first(&mut self) -> Result<bool> {
        let more = self.index()?.first()?;
        self.enter(more, BlockCursor::first, Self::next_block)
    }

    pub(super) fn last(&mut self) -> Result<bool> {
        let more = self.index()?.last()?;
        self.enter(more, BlockCursor::last, Self::prev_block)
    }

    /// The first entry that is not less than `target`.
    pub(super) fn seek(&mut self, target: &Target<'_>) -> Result<bool> {
        let core = Arc::clone(&self.core);
        let more = self.index()?.seek(target)?;
        let compare = |key: &[u8]| core.keys.compare_entry(key, target);
        self.enter(more, |block| block.seek(compare), Self::next_block)
    }

    /// The last entry that is not greater than `target`.
    pub(super) fn seek_for_prev(&mut self, target: &Target<'_>) -> Result<bool> {
        if !self.seek(target)? {
            return self.last();
        }
        match self.core.keys.compare_entry(self.stored_key(), target).is_gt() {
            true => self.prev(),
            false => Ok(true),
        }
    }

    pub(super) fn next(&mut self) -> Result<bool> {
        match self.block.is_some() && self.in_block(BlockCursor::next)? {
            true => Ok(true),
            false => self.next_block(),
        }
    }

    pub(super) fn prev(&mut self) -> Result<bool> {
        match self.block.is_some() && self.in_block(BlockCursor::prev)? {
            true => Ok(true),
            false => self.prev_block(),
        }
    }

    /// Forgets where it was.
    pub(super) fn reset(&mut self) {
        self.block = None;
    }

    fn next_block(&mut self) -> Result<bool> {
        loop {
            self.block = None;
            if !self.index()?.next()? {
                return Ok(false);
            }
            self.open_block()?;
            if self.in_block(BlockCursor::first)? {
                return Ok(true);
            }
        }
    }

    fn prev_block(&mut self) -> Result<bool> {
        loop {
            self.block = None;
            if !self.index()?.prev()? {
                return Ok(false);
            }
            self.open_block()?;
            if self.in_block(BlockCursor::last)? {
                return Ok(true);
            }
        }
    }

    fn enter(
        &mut self,
        more: bool,
        go: impl FnOnce(&mut DataCursor) -> Result<bool>,
        on: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        self.block = None;
        if !more {
            return Ok(false);
        }
        self.open_block()?;
        if self.in_block(go)? { Ok(true) } else { on(self) }
    }

    fn index(&mut self) -> Result<&mut IndexCursor> {
        match &mut self.index {
            Some(index) => Ok(index),
            none => Ok(none.insert(IndexCursor::new(&self.core)?)),
        }
    }

    fn open_block(&mut self) -> Result<()> {
        let handle = self.index()?.handle();
        let block = self.core.blocks.data_block_ahead(handle, &mut self.read_ahead)?;
        self.blocks_entered += 1;
        self.handle = handle;
        self.block = Some(BlockCursor::new(block.into_entries()));
        Ok(())
    }

    fn in_block(&mut self, go: impl FnOnce(&mut DataCursor) -> Result<bool>) -> Result<bool> {
        let Some(block) = &mut self.block else { return Ok(false) };
        go(block).map_err(|error| {
            self.block = None;
            self.core.in_data_block(error, self.handle)
        })
    }

    /// The current key as stored; empty where there is none.
    pub(super) fn stored_key(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], |block| block.entry().key())
    }

    /// The current key, taken apart.
    pub(super) fn key(&self) -> Result<InternalKey<'_>> {
        let key = self.core.keys.decode(self.stored_key());
        key.map_err(|error| self.core.in_data_block(error, self.handle))
    }

    /// The current value as stored.
    pub(super) fn value(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], |block| block.entry().value())
    }

    /// A handle to the current value as stored.
    pub(super) fn value_handle(&self) -> Value {
        self.block.as_ref().map_or_else(Value::default, |block| value_of(block.entry()))
    }

    /// Which block and which entry of it.
    pub(super) fn place(&self) -> (BlockHandle, usize) {
        (self.handle, self.block.as_ref().map_or(0, BlockCursor::offset))
    }
}

/// A handle to the current value of a block.
pub(super) fn value_of(entries: &BlockEntries<Bytes>) -> Value {
    Value::from(entries.block().holder().slice(entries.value_range()))
}
