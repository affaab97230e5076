//! All entries of a table as stored: every version of every key.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

use sstkit_coding::debug_struct;

use crate::error::Result;
use crate::raw::{BlockHandle, EntryKind, InternalKey};
use crate::reader::block::access::BlockAccess;
use crate::reader::open::core::Core;
use crate::reader::read_options::ReadOptions;
use crate::reader::scan::point_cursor::PointCursor;
use crate::reader::value::Value;
use crate::visibility::InternalIterator;

/// An entry of a data block.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The user's key, with its timestamp if it has one.
    pub user_key: Vec<u8>,
    /// The sequence number; 0 in tables of bare user keys.
    pub sequence: u64,
    /// The kind.
    pub kind: EntryKind,
    /// The value as stored: columns and references are not resolved.
    pub value: Value,
}

debug_struct!(Entry { user_key: bytes, sequence, kind, value });

impl Entry {
    pub(crate) fn new(key: &InternalKey<'_>, value: Value) -> Self {
        let &InternalKey { user_key, sequence, kind } = key;
        Self { user_key: user_key.to_vec(), sequence, kind, value }
    }
}

/// The position of an entry in its table. Cursors of one table at the same position continue with
/// the same entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPosition {
    /// The index entry: a forged index may have several entries for one block.
    index: (usize, usize),
    block: BlockHandle,
    /// In the block.
    offset: usize,
}

/// A cursor over the entries of a table, in both directions. Borrows where [`Entries`] copies.
///
/// A new cursor is unpositioned. Every move returns whether the cursor is at an entry afterwards;
/// after an error it is unpositioned. Moving to a key that cannot be decoded is an error.
pub struct EntryCursor {
    points: PointCursor,
    /// Of the current entry as stored, decoded by the move to it.
    sequence: u64,
    kind: EntryKind,
}

impl EntryCursor {
    /// Unpositioned.
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self::over(PointCursor::new(core, BlockAccess::default(), 0))
    }

    /// Unpositioned. Reads blocks as the options say; bounds have no effect.
    pub(crate) fn with_options(core: &Arc<Core>, options: &ReadOptions) -> Self {
        Self::over(PointCursor::new(core, options.block_access(), options.readahead_size))
    }

    fn over(points: PointCursor) -> Self {
        Self { points, sequence: 0, kind: EntryKind::Value }
    }

    #[inline]
    pub(crate) fn core(&self) -> &Arc<Core> {
        self.points.core()
    }

    /// The number of data blocks entered so far.
    #[inline]
    pub(crate) fn blocks_entered(&self) -> u64 {
        self.points.blocks_entered
    }

    /// Resets the position.
    pub(crate) fn reset(&mut self) {
        self.points.reset();
    }

    /// Whether it is at an entry.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.points.is_valid()
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) -> Result<bool> {
        let moved = self.points.first();
        self.arrive(moved)
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) -> Result<bool> {
        let moved = self.points.last();
        self.arrive(moved)
    }

    /// Moves to the newest entry of `key` (without timestamp), or to the first entry after it.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let core = Arc::clone(self.points.core());
        let search = core.keys.newest(key);
        let moved = core.require_order().and_then(|()| self.points.seek(&search.before()));
        self.arrive(moved)
    }

    /// Moves to the oldest entry of `key` (without timestamp), or to the last entry before it.
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        let core = Arc::clone(self.points.core());
        let search = core.keys.oldest(key);
        let moved = core.require_order().and_then(|()| self.points.seek_for_prev(&search.after()));
        self.arrive(moved)
    }

    /// Moves to the next entry.
    #[expect(clippy::should_implement_trait, reason = "a cursor lends its keys, an iterator gives")]
    #[inline]
    pub fn next(&mut self) -> Result<bool> {
        let moved = self.points.next();
        self.arrive(moved)
    }

    /// Moves to the previous entry.
    #[inline(always)] // see `VisibleIterator::step_forward`
    pub fn prev(&mut self) -> Result<bool> {
        let moved = self.points.prev();
        self.arrive(moved)
    }

    /// After a move: decodes the key, so that the accessors cannot fail.
    #[inline(always)] // see `VisibleIterator::step_forward`
    fn arrive(&mut self, moved: Result<bool>) -> Result<bool> {
        if let Ok(true) = moved {
            match self.points.core().keys.tail(self.points.stored_key_of_entry()) {
                Some((sequence, kind)) => (self.sequence, self.kind) = (sequence, kind),
                None => return self.fail(),
            }
        } else if moved.is_err() {
            self.points.reset();
        }
        moved
    }

    /// The error for a key that cannot be decoded.
    #[cold]
    fn fail(&mut self) -> Result<bool> {
        let error = self.points.key().map(|_| false);
        self.points.reset();
        error
    }

    /// The current key; an empty one with sequence number 0 if unpositioned.
    #[inline]
    pub fn key(&self) -> InternalKey<'_> {
        let (sequence, kind) = (self.sequence(), self.kind());
        InternalKey { user_key: self.user_key(), sequence, kind }
    }

    /// The user key of the current entry, with its timestamp if it has one; empty if unpositioned.
    #[inline]
    pub fn user_key(&self) -> &[u8] {
        self.points.core().keys.stored_user_key(self.points.stored_key(), false)
    }

    /// The user key, without timestamp, that
    /// [`next_user_key`](InternalIterator::next_user_key) has left when it reached the end. The table
    /// that follows in a run may have older entries of it.
    pub fn left_user_key(&self) -> &[u8] {
        &self.points.left_user_key
    }

    /// The sequence number of the current entry; 0 in tables of bare user keys, and if
    /// unpositioned.
    #[inline]
    pub fn sequence(&self) -> u64 {
        if self.is_valid() { InternalIterator::sequence(self) } else { 0 }
    }

    /// The kind of the current entry; [`EntryKind::Value`] in tables of bare user keys, and if
    /// unpositioned.
    #[inline]
    pub fn kind(&self) -> EntryKind {
        if self.is_valid() { self.kind } else { EntryKind::Value }
    }

    /// The current value as stored; empty if unpositioned.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.points.value()
    }

    /// A handle of the current value as stored; empty if unpositioned.
    pub fn value_handle(&self) -> Value {
        if self.is_valid() { self.points.value_handle() } else { Value::default() }
    }

    /// The position of the current entry.
    pub fn position(&self) -> Option<EntryPosition> {
        let (block, offset) = self.points.place();
        let position = EntryPosition { index: self.points.index_offsets(), block, offset };
        self.is_valid().then_some(position)
    }

    /// The handle of the data block of the current entry.
    pub fn block(&self) -> Option<BlockHandle> {
        self.is_valid().then(|| self.points.place().0)
    }
}

impl InternalIterator for EntryCursor {
    #[inline]
    fn is_valid(&self) -> bool {
        self.points.is_valid()
    }

    #[inline(always)] // see `VisibleIterator::step_forward`
    fn user_key(&self) -> &[u8] {
        self.points.core().keys.stored_user_key(self.points.stored_key_of_entry(), false)
    }

    #[inline]
    fn sequence(&self) -> u64 {
        self.points.core().keys.sequence(self.sequence)
    }

    #[inline]
    fn kind(&self) -> EntryKind {
        self.kind
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.points.value()
    }

    #[inline]
    fn value_handle(&self) -> Value {
        self.points.value_handle()
    }

    #[inline]
    fn next(&mut self) -> Result<bool> {
        Self::next(self)
    }

    #[inline(always)] // see `VisibleIterator::step_forward`
    fn prev(&mut self) -> Result<bool> {
        Self::prev(self)
    }

    fn seek_to_first(&mut self) -> Result<bool> {
        Self::seek_to_first(self)
    }

    fn seek_to_last(&mut self) -> Result<bool> {
        Self::seek_to_last(self)
    }

    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        Self::seek(self, key)
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        Self::seek_for_prev(self, key)
    }

    #[inline(always)] // see `VisibleIterator::step_forward`
    fn next_user_key(&mut self, timestamp_size: usize) -> Result<bool> {
        let moved = self.points.next_user_key(timestamp_size);
        self.arrive(moved)
    }

    #[inline(always)] // see `VisibleIterator::step_forward`
    fn is_first_of_user_key(&mut self, timestamp_size: usize) -> bool {
        self.points.is_first_of_user_key(timestamp_size)
    }

    // Steps instead of a search: the order may be unknown.
    fn turn_forward(&mut self, _: &[u8]) -> Result<bool> {
        if self.is_valid() { self.next() } else { self.seek_to_first() }
    }

    fn turn_backward(&mut self, key: &[u8]) -> Result<bool> {
        let core = Arc::clone(self.core());
        let keys = core.keys.user_keys();
        let mut more = self.is_valid() || self.seek_to_last()?;
        while more && !keys.is_same(keys.bare(Self::user_key(self)), key) {
            more = self.prev()?;
        }
        Ok(more)
    }
}

impl fmt::Debug for EntryCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_valid() {
            true => write!(f, "EntryCursor({:?})", self.key()),
            false => f.write_str("EntryCursor(unpositioned)"),
        }
    }
}

/// Iterates over the entries of a [`Table`](crate::Table), in both directions: by key, then newest
/// first. An error ends it.
pub struct Entries {
    core: Arc<Core>,
    front: Option<PointCursor>,
    back: Option<PointCursor>,
    ended: bool,
}

impl Entries {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self { core: Arc::clone(core), front: None, back: None, ended: false }
    }

    fn take(&mut self, forward: bool) -> Option<Result<Entry>> {
        if self.ended {
            return None;
        }
        let taken = self.advance(forward).transpose();
        self.ended = !matches!(taken, Some(Ok(_)));
        taken
    }

    /// The next entry at one end, unless the other end has returned it.
    fn advance(&mut self, forward: bool) -> Result<Option<Entry>> {
        let Self { core, front, back, .. } = self;
        let (this, other) = if forward { (front, back) } else { (back, front) };
        let is_new = this.is_none();
        let this = this.get_or_insert_with(|| PointCursor::new(core, BlockAccess::default(), 0));
        let more = match (is_new, forward) {
            (true, true) => this.first()?,
            (true, false) => this.last()?,
            (false, true) => this.next()?,
            (false, false) => this.prev()?,
        };
        match more && other.as_ref().is_none_or(|other| other.place() != this.place()) {
            true => Ok(Some(Entry::new(&this.key()?, this.value_handle()))),
            false => Ok(None),
        }
    }
}

impl Iterator for Entries {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take(true)
    }
}

impl DoubleEndedIterator for Entries {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.take(false)
    }
}

impl FusedIterator for Entries {}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entries").field("ended", &self.ended).finish_non_exhaustive()
    }
}
