//! A cursor over all entries of all data blocks, as stored.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::index::index_cursor::IndexCursor;
use crate::raw::{BlockEntries, BlockHandle, InternalKey};
use crate::reader::block::access::BlockAccess;
use crate::reader::block::data_cursor::DataCursor;
use crate::reader::block::read_ahead::ReadAhead;
use crate::reader::cache::SlotHint;
use crate::reader::open::core::Core;
use crate::reader::open::key_space::SeekTarget;
use crate::reader::value::Value;

/// Larger blocks are freed before the next one is read; the buffers of others are reused.
const LARGE: usize = 1 << 20;

/// A cursor over the entries of a table. After an error it is unpositioned.
pub(crate) struct PointCursor {
    core: Arc<Core>,
    index: Option<IndexCursor>,
    /// The current block, or the last one.
    block: Option<DataCursor>,
    /// The handle of the current block, or of the last one.
    handle: BlockHandle,
    read_ahead: ReadAhead,
    /// The cache slot where the next block may be.
    hint: SlotHint,
    access: BlockAccess,
    /// The user key that [`next_user_key`](Self::next_user_key) left at the end of a block.
    pub(crate) left_user_key: Vec<u8>,
    /// The number of data blocks entered so far.
    pub(crate) blocks_entered: u64,
}

impl PointCursor {
    /// Unpositioned. Reads nothing.
    pub(crate) fn new(core: &Arc<Core>, access: BlockAccess, readahead_size: u64) -> Self {
        let read_ahead = core.blocks.new_read_ahead(readahead_size);
        Self {
            core: Arc::clone(core),
            index: None,
            block: None,
            handle: BlockHandle::default(),
            read_ahead,
            hint: SlotHint::default(),
            access,
            left_user_key: Vec::new(),
            blocks_entered: 0,
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    #[inline]
    pub(crate) fn is_valid(&self) -> bool {
        self.block.as_ref().is_some_and(DataCursor::is_valid)
    }

    pub(crate) fn first(&mut self) -> Result<bool> {
        let more = self.index()?.first()?;
        self.enter(more, DataCursor::first, Self::next_block)
    }

    pub(crate) fn last(&mut self) -> Result<bool> {
        let more = self.index()?.last()?;
        self.enter(more, DataCursor::last, Self::prev_block)
    }

    /// Moves to the first entry that is not less than `target`.
    pub(crate) fn seek(&mut self, target: &SeekTarget<'_>) -> Result<bool> {
        let core = Arc::clone(&self.core);
        let more = self.index()?.seek(target)?;
        self.enter(more, |block| block.seek(&core.keys, target), Self::next_block)
    }

    /// Moves to the last entry that is not greater than `target`.
    pub(crate) fn seek_for_prev(&mut self, target: &SeekTarget<'_>) -> Result<bool> {
        if !self.seek(target)? {
            return self.last();
        }
        match self.core.keys.compare_entry(self.stored_key(), target).is_gt() {
            true => self.prev(),
            false => Ok(true),
        }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<bool> {
        if !self.is_valid() {
            return Ok(false);
        }
        match self.in_block(DataCursor::next)? {
            true => Ok(true),
            false => self.next_block(),
        }
    }

    /// Moves to the next entry with another user key; user keys are the same only if their bytes
    /// before the timestamp are.
    #[inline(always)] // see `VisibleIterator::step_forward`
    pub(crate) fn next_user_key(&mut self, timestamp_size: usize) -> Result<bool> {
        let tail = self.core.keys.tail_length() + timestamp_size;
        // Not `in_block`: it would call the move that it is given.
        while let Some(block) = self.block.as_mut().filter(|block| block.is_valid()) {
            match block.next() {
                Ok(true) if block.entry().repeats(tail) => {}
                Ok(true) => return Ok(true),
                Ok(false) => break,
                Err(error) => return Err(self.fail(error)),
            }
        }
        self.next_user_key_in_other_block(tail)
    }

    /// The same, at the end of a block.
    fn next_user_key_in_other_block(&mut self, tail: usize) -> Result<bool> {
        let bare = |stored: &[u8]| stored.len().saturating_sub(tail);
        let Some(block) = &self.block else { return self.next_block() };
        let last = block.entry().key();
        self.left_user_key.clear();
        self.left_user_key.extend_from_slice(&last[..bare(last)]);
        let mut more = self.next_block()?;
        while more && self.stored_key()[..bare(self.stored_key())] == self.left_user_key {
            more = self.next()?;
        }
        Ok(more)
    }

    #[inline]
    pub(crate) fn prev(&mut self) -> Result<bool> {
        if !self.is_valid() {
            return Ok(false);
        }
        match self.in_block(DataCursor::prev)? {
            true => Ok(true),
            false => self.prev_block(),
        }
    }

    /// Resets the position.
    pub(crate) fn reset(&mut self) {
        if let Some(block) = &mut self.block {
            block.leave();
        }
    }

    fn next_block(&mut self) -> Result<bool> {
        loop {
            self.reset();
            if !self.index()?.next()? {
                return Ok(false);
            }
            self.hint.step(false);
            self.open_block()?;
            self.prefetch_next(false);
            if self.in_block(DataCursor::first)? {
                return Ok(true);
            }
        }
    }

    fn prev_block(&mut self) -> Result<bool> {
        loop {
            self.reset();
            if !self.index()?.prev()? {
                return Ok(false);
            }
            self.hint.step(true);
            self.open_block()?;
            self.prefetch_next(true);
            if self.in_block(DataCursor::last)? {
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
        self.reset();
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
        // Frees the memory of a large block before the next one is read.
        if self.block.as_ref().is_some_and(|it| it.entry().block().bytes().len() > LARGE) {
            self.block = None;
        }
        let (ahead, access) = (&mut self.read_ahead, self.access);
        let block = self.core.blocks.data_block_ahead(handle, &self.hint, ahead, access)?;
        self.blocks_entered += 1;
        self.handle = handle;
        match &mut self.block {
            Some(cursor) => cursor.reopen(block),
            none => *none = Some(DataCursor::new(block)),
        }
        Ok(())
    }

    /// Prefetches the next block of a scan, if it is in the cache.
    fn prefetch_next(&self, backward: bool) {
        if let Some(file) = &self.core.blocks.cache {
            file.cache.prefetch_scan(&self.hint, backward);
        }
    }

    #[inline(always)] // see `VisibleIterator::step_forward`
    fn in_block(&mut self, go: impl FnOnce(&mut DataCursor) -> Result<bool>) -> Result<bool> {
        let Some(block) = &mut self.block else { return Ok(false) };
        match go(block) {
            Err(error) => Err(self.fail(error)),
            moved => moved,
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.reset();
        self.core.in_data_block(error, self.handle)
    }

    /// The current key as stored; empty if unpositioned.
    #[inline]
    pub(crate) fn stored_key(&self) -> &[u8] {
        self.current().map_or(&[], BlockEntries::key)
    }

    /// The same, if the cursor is known to be at an entry.
    #[inline]
    pub(crate) fn stored_key_of_entry(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], |block| block.entry().key())
    }

    /// Whether the previous entry has another user key, as far as that is known without a move.
    #[inline(always)] // see `VisibleIterator::step_forward`
    pub(crate) fn is_first_of_user_key(&self, timestamp_size: usize) -> bool {
        let tail = self.core.keys.tail_length() + timestamp_size;
        let changed = self.block.as_ref().and_then(DataCursor::changed_bytes);
        changed.is_some_and(|bytes| bytes > tail)
    }

    #[inline]
    fn current(&self) -> Option<&BlockEntries<Bytes>> {
        self.block.as_ref().filter(|block| block.is_valid()).map(DataCursor::entry)
    }

    /// The current key, decoded.
    pub(crate) fn key(&self) -> Result<InternalKey<'_>> {
        let key = self.core.keys.decode(self.stored_key());
        key.map_err(|error| self.core.in_data_block(error, self.handle))
    }

    /// The current value as stored.
    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.current().map_or(&[], BlockEntries::value)
    }

    /// A handle of the value of the current entry, if the cursor is known to be at one.
    #[inline]
    pub(crate) fn value_handle(&self) -> Value {
        self.block.as_ref().map_or_else(Value::default, |block| value_of(block.entry()))
    }

    /// The block and the entry in it.
    pub(crate) fn place(&self) -> (BlockHandle, usize) {
        (self.handle, self.block.as_ref().map_or(0, DataCursor::offset))
    }

    /// The index entry of that block.
    pub(crate) fn index_offsets(&self) -> (usize, usize) {
        self.index.as_ref().map_or((0, 0), IndexCursor::offsets)
    }
}

/// A handle of the current value of a block.
#[inline]
pub(crate) fn value_of(entries: &BlockEntries<Bytes>) -> Value {
    Value::from(entries.block().holder().slice(entries.value_range()))
}
