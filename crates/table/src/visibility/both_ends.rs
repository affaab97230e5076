//! Iterates over visible keys from both ends, until they meet.

use crate::visibility::{Direction, VisibleIterator, VisibleSource};

/// Two iterators over the same keys, one from each end: the basis of a double-ended iterator. An
/// error ends it.
pub struct BothEnds<S: VisibleSource> {
    front: Option<VisibleIterator<S>>,
    back: Option<VisibleIterator<S>>,
    has_ended: bool,
}

impl<S: VisibleSource> Default for BothEnds<S> {
    fn default() -> Self {
        Self { front: None, back: None, has_ended: false }
    }
}

impl<S: VisibleSource> BothEnds<S> {
    /// Moves in this direction, forward from the front, backward from the back, and returns the
    /// result of `show` for the next key. `open` creates the iterator of an end on first use.
    pub fn take<T>(
        &mut self,
        direction: Direction,
        open: impl FnOnce() -> Result<VisibleIterator<S>, S::Error>,
        show: impl FnOnce(&VisibleIterator<S>) -> Result<T, S::Error>,
    ) -> Option<Result<T, S::Error>> {
        if self.has_ended {
            return None;
        }
        let taken = match self.advance(direction, open) {
            Ok(Some(visible)) => Some(show(visible)),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        };
        self.has_ended = !matches!(taken, Some(Ok(_)));
        taken
    }

    fn advance(
        &mut self,
        direction: Direction,
        open: impl FnOnce() -> Result<VisibleIterator<S>, S::Error>,
    ) -> Result<Option<&VisibleIterator<S>>, S::Error> {
        let (this, other) = match direction {
            Direction::Forward => (&mut self.front, &self.back),
            Direction::Backward => (&mut self.back, &self.front),
        };
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
