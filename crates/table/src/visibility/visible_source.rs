//! The interface between a visible iterator and its source.

use crate::error::Result;
use crate::reader::ReadOptions;
use crate::visibility::{InternalIterator, Resolver, UserKeys, VisibleIterator};

/// The direction of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first key to the last.
    Forward,
    /// From the last key to the first.
    Backward,
}

/// The source of a [`VisibleIterator`]: sorted entries, and the range
/// tombstones that cover some of them.
pub trait VisibleSource: Sized {
    /// The type of the table, tables or column family with the keys.
    type Of: Clone;
    /// The type of the entries.
    type Entries: InternalIterator;
    /// The type that resolves values.
    type Resolver: Resolver;

    /// An unpositioned iterator.
    fn open(of: &Self::Of, options: &ReadOptions) -> Result<VisibleIterator<Self>>;

    /// [`VisibleIterator::step_forward`], compiled as one function in the crate of the source.
    fn next(visible: &mut VisibleIterator<Self>) -> Result<bool>;

    /// [`VisibleIterator::step_backward`], compiled as one function in the crate of the source.
    fn prev(visible: &mut VisibleIterator<Self>) -> Result<bool>;

    /// The entries.
    fn entries(&self) -> &Self::Entries;

    /// The entries, to be moved.
    fn entries_mut(&mut self) -> &mut Self::Entries;

    /// The order of the keys, and their timestamp size.
    fn keys(&self) -> &UserKeys;

    /// Resolves the values of entries.
    fn resolver(&self) -> &Self::Resolver;

    /// The origin of the current entry.
    fn origin(&self) -> <Self::Resolver as Resolver>::Origin;

    /// Whether a range tombstone covers the current entry.
    fn is_covered(&mut self) -> Result<bool>;

    /// Called before a seek to `key`, or to an end of the range. Returns whether there may be any
    /// key; may probe filters. If not, the entries must be unpositioned.
    fn start_seek(
        &mut self,
        _options: &ReadOptions,
        _key: Option<&[u8]>,
        _direction: Direction,
    ) -> Result<bool> {
        Ok(true)
    }

    /// Whether the current entry has the prefix that the last seek was limited to, if any. The
    /// first entry without it ends the scan.
    #[inline]
    fn is_in_prefix(&self) -> bool {
        true
    }

    /// Called after several entries were covered, the last ones of `key`: skips the entries that a
    /// tombstone over `key` covers in older sources.
    fn skip_covered(&mut self, _key: &[u8], _direction: Direction) -> Result<()> {
        Ok(())
    }

    /// Called after a move.
    #[inline]
    fn count_move(&mut self) {}

    /// Called when the value of the current key is used.
    #[inline]
    fn count_value(&self) {}

    /// Called when there are no more keys in this direction.
    fn check_end(&self) -> Result<()> {
        Ok(())
    }
}
