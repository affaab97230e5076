//! What a visible iterator reads.

use crate::reader::ScanOptions;
use crate::visibility::{InternalIterator, Resolver, UserKeys};

/// A direction of movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first key to the last.
    Forward,
    /// From the last key to the first.
    Backward,
}

/// What a [`VisibleIterator`](super::VisibleIterator) reads: sorted entries, and the range tombstones
/// that cover some of them.
pub trait VisibleSource {
    /// The error of a move.
    type Error: From<crate::Error>;
    /// The entries.
    type Entries: InternalIterator<Error = Self::Error>;
    /// What resolves the values of entries.
    type Resolver: Resolver<Error = Self::Error>;

    /// The entries.
    fn entries(&self) -> &Self::Entries;

    /// The entries, to move in them.
    fn entries_mut(&mut self) -> &mut Self::Entries;

    /// The order of the keys, and their timestamps.
    fn keys(&self) -> &UserKeys;

    /// What resolves the values of entries.
    fn resolver(&self) -> &Self::Resolver;

    /// Where the current entry comes from.
    fn origin(&self) -> <Self::Resolver as Resolver>::Origin;

    /// Whether a range tombstone covers the current entry.
    fn is_covered(&mut self) -> Result<bool, Self::Error>;

    /// A seek to `key`, or to an end of the range, starts: whether there may be anything. May probe
    /// filters. The entries must be unpositioned if it is refused.
    fn start_seek(
        &mut self,
        _options: &ScanOptions,
        _key: Option<&[u8]>,
        _direction: Direction,
    ) -> Result<bool, Self::Error> {
        Ok(true)
    }

    /// Whether the current entry has the prefix that the last seek was limited to, if it was. The
    /// first one that has not ends the scan.
    #[inline]
    fn is_in_prefix(&self) -> bool {
        true
    }

    /// After several entries of the sources were covered, the last ones those of `key`: skips what
    /// a tombstone over `key` covers in older sources.
    fn skip_covered(&mut self, _key: &[u8], _direction: Direction) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A move has ended, at a key or not.
    #[inline]
    fn count_move(&mut self) {}

    /// The value of the current key is used.
    #[inline]
    fn count_value(&self) {}

    /// There are no more keys in this direction.
    fn check_end(&self) -> Result<(), Self::Error> {
        Ok(())
    }
}
