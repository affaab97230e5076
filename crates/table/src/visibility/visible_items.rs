//! Iterators over visible keys, from both ends until they meet.

use std::fmt;
use std::iter::FusedIterator;

use crate::error::Result;
use crate::reader::{ReadOptions, Value};
use crate::visibility::{Direction, Record, VisibleIterator, VisibleSource};

/// Iterates over visible keys in both directions: over keys and values, over [`Record`]s, or over
/// keys and their timestamps.
///
/// An error ends it. It keeps the files it needs open, and may outlive the table or database.
pub struct VisibleItems<S: VisibleSource, T = (Vec<u8>, Value)> {
    of: S::Of,
    options: ReadOptions,
    item: fn(&VisibleIterator<S>) -> Result<Option<T>>,
    front: Option<VisibleIterator<S>>,
    back: Option<VisibleIterator<S>>,
    has_ended: bool,
}

impl<S: VisibleSource> VisibleItems<S> {
    /// Iterates over the keys that the options select. Nothing is read yet.
    pub fn new(of: &S::Of, options: ReadOptions) -> Self {
        Self {
            of: of.clone(),
            options,
            item: |at| Ok(Some((at.key().to_vec(), at.value()?))),
            front: None,
            back: None,
            has_ended: false,
        }
    }

    /// Iterates over the same keys, from the current position, with complete records: timestamps,
    /// columns, and operands that cannot be merged.
    pub fn records(self) -> VisibleItems<S, Record> {
        self.with_item(VisibleIterator::record)
    }

    /// Iterates over the same keys and their timestamps, from the current position. Values are not
    /// read.
    pub fn keys(self) -> VisibleItems<S, (Vec<u8>, Vec<u8>)> {
        self.with_item(|at| Ok(Some((at.key().to_vec(), at.timestamp().to_vec()))))
    }

    fn with_item<T>(
        self,
        item: fn(&VisibleIterator<S>) -> Result<Option<T>>,
    ) -> VisibleItems<S, T> {
        let Self { of, options, front, back, has_ended, .. } = self;
        VisibleItems { of, options, item, front, back, has_ended }
    }
}

impl<S: VisibleSource, T> VisibleItems<S, T> {
    /// Moves in this direction, forward from the front, backward from the back, and returns the
    /// item of the next key.
    fn take(&mut self, direction: Direction) -> Option<Result<T>> {
        if self.has_ended {
            return None;
        }
        let item = self.item;
        let taken = self.advance(direction).and_then(|at| at.map_or(Ok(None), item)).transpose();
        self.has_ended = !matches!(taken, Some(Ok(_)));
        taken
    }

    fn advance(&mut self, direction: Direction) -> Result<Option<&VisibleIterator<S>>> {
        let (this, other) = match direction {
            Direction::Forward => (&mut self.front, &self.back),
            Direction::Backward => (&mut self.back, &self.front),
        };
        let open = || S::open(&self.of, &self.options);
        let more = match (&mut *this, direction) {
            (Some(visible), Direction::Forward) => visible.next()?,
            (Some(visible), Direction::Backward) => visible.prev()?,
            (none, Direction::Forward) => none.insert(open()?).seek_to_first()?,
            (none, Direction::Backward) => none.insert(open()?).seek_to_last()?,
        };
        let Some(visible) = this.as_ref().filter(|_| more) else { return Ok(None) };
        // Both ends move over the same keys, so they meet at a key that the other end has returned.
        if other.as_ref().is_some_and(|other| {
            let keys = visible.source().keys();
            other.is_valid() && keys.compare(other.key(), visible.key()).is_eq()
        }) {
            visible.source().check_end()?;
            return Ok(None);
        }
        Ok(Some(visible))
    }
}

impl<S: VisibleSource, T> Iterator for VisibleItems<S, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take(Direction::Forward)
    }
}

impl<S: VisibleSource, T> DoubleEndedIterator for VisibleItems<S, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.take(Direction::Backward)
    }
}

impl<S: VisibleSource, T> FusedIterator for VisibleItems<S, T> {}

impl<S: VisibleSource, T> fmt::Debug for VisibleItems<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VisibleItems").field("options", &self.options).finish_non_exhaustive()
    }
}
