//! From an entry to a key that is visible: mostly that of the entry, and nothing else is looked at.

use std::ops::Bound;

use super::{Cursor, CursorState};
use crate::error::Result;
use crate::raw::EntryKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl Cursor {
    /// From where the entries stand to the first visible key at or after it.
    #[inline(always)] // see `Cursor::next`
    pub(crate) fn settle_forward(&mut self) -> Result<bool> {
        if self.points.is_valid()
            && self.entry_is_plain()?
            && self.is_in_range(Direction::Forward)
            && !self.options.checks_start
        {
            return self.arrive(CursorState::AtEntry);
        }
        self.search_forward()
    }

    /// The same, where it may be another one than that of the entry.
    fn search_forward(&mut self) -> Result<bool> {
        while self.points.is_valid() {
            let is_plain = self.entry_is_plain()?;
            if !self.is_in_range(Direction::Forward) {
                break;
            }
            let starts_so = self.starts_as_wanted(self.user_key());
            if is_plain && starts_so {
                return self.arrive(CursorState::AtEntry);
            }
            if !starts_so {
                self.take_key();
            } else if self.gather_forward()? {
                self.meet_blobs(Direction::Forward);
                return self.arrive(CursorState::Forward);
            }
            self.skip_current()?;
        }
        self.arrive(CursorState::Unpositioned)
    }

    /// From where the entries stand to the last visible key at or before it.
    #[inline]
    pub(crate) fn settle_backward(&mut self) -> Result<bool> {
        while self.points.is_valid() {
            let is_plain = self.entry_is_plain()?;
            if !self.is_in_range(Direction::Backward) {
                break;
            }
            if is_plain && !self.options.checks_start && self.entry_before_is_another() {
                return self.arrive(CursorState::AtEntry);
            }
            if self.gather_backward()? && self.starts_as_wanted(self.key.bytes()) {
                self.meet_blobs(Direction::Backward);
                return self.arrive(CursorState::Backward);
            }
        }
        self.arrive(CursorState::Unpositioned)
    }

    /// Whether the current entry, as the newest of its key, is all that matters of it: a value with
    /// nothing to be resolved, and no range deletions that might cover it.
    #[inline]
    fn entry_is_plain(&self) -> Result<bool> {
        let core = self.points.core();
        match core.keys.tail(self.points.stored_key()) {
            Some((_, kind)) => Ok(kind == EntryKind::Value && core.range_deletions.is_empty()),
            // Its error says what is wrong.
            None => self.points.key().map(|_| false),
        }
    }

    /// Whether the entry before the current one is known to be of another key.
    #[inline]
    fn entry_before_is_another(&self) -> bool {
        let keys = &self.points.core().keys;
        self.points.stored_key_before().is_some_and(|before| {
            let before = keys.bare(keys.stored_user_key(before, false));
            !keys.is_same(before, self.user_key())
        })
    }

    /// Takes the key of the current entry, and what its entries add up to, the newest first.
    fn gather_forward(&mut self) -> Result<bool> {
        self.take_key();
        self.versions.clear();
        loop {
            let (kind, is_covered) = self.entry_state()?;
            let value = self.points.value_handle();
            if !self.versions.add(kind, is_covered, value)
                || !self.points.next()?
                || !self.is_at_current()?
            {
                return Ok(self.versions.is_visible());
            }
        }
    }

    /// The same from the oldest on. What is newer and no operand hides all that came before.
    fn gather_backward(&mut self) -> Result<bool> {
        self.take_key();
        let mut oldest_first = std::mem::take(&mut self.oldest_first);
        loop {
            let (kind, is_covered) = self.entry_state()?;
            if kind != EntryKind::Merge || is_covered {
                oldest_first.clear();
            }
            oldest_first.push((kind, is_covered, self.points.value_handle()));
            if !self.points.prev()? || !self.is_at_current()? {
                break;
            }
            if self.points.core().keys.is_user_made() {
                // Of bytes that mean the same key, those of the newest entry are shown.
                self.take_key();
            }
        }
        self.versions.clear();
        for (kind, is_covered, value) in oldest_first.drain(..).rev() {
            self.versions.add(kind, is_covered, value);
        }
        self.oldest_first = oldest_first;
        Ok(self.versions.is_visible())
    }

    /// At a key that may have embedded blobs. Who turns round comes by the same ones again.
    fn meet_blobs(&mut self, direction: Direction) {
        *self.blobs.is_counted.get_mut() = false;
        let backward = direction == Direction::Backward;
        if std::mem::replace(&mut self.blobs.backward, backward) != backward {
            self.blobs.budget.restart();
        }
    }

    #[inline]
    fn arrive(&mut self, state: CursorState) -> Result<bool> {
        self.state = state;
        self.seek.count_data(self.points.core(), self.points.blocks_entered);
        Ok(state != CursorState::Unpositioned)
    }

    /// Past what is left of the current key.
    #[inline]
    pub(crate) fn skip_current(&mut self) -> Result<()> {
        while self.points.is_valid() && self.is_at_current()? {
            self.points.next()?;
        }
        Ok(())
    }

    /// Makes the key of the current entry, which has been taken apart once, the current key.
    #[inline]
    pub(crate) fn take_key(&mut self) {
        let (stored, length) = (self.points.stored_key(), self.user_key().len());
        self.key.replace(0, stored, length);
    }

    /// The user's key of the current entry, which has been taken apart once.
    #[inline]
    pub(crate) fn user_key(&self) -> &[u8] {
        let keys = &self.points.core().keys;
        keys.bare(keys.stored_user_key(self.points.stored_key(), false))
    }

    /// The user's key of the current entry.
    pub(crate) fn entry_key(&self) -> Result<&[u8]> {
        Ok(self.points.core().keys.bare(self.points.key()?.user_key))
    }

    /// Whether the current entry is one of the current key.
    #[inline]
    pub(crate) fn is_at_current(&self) -> Result<bool> {
        let keys = &self.points.core().keys;
        if !keys.is_same(self.user_key(), self.key.bytes()) {
            // Whoever takes it for another key takes it apart.
            return Ok(false);
        }
        self.points.key().map(|_| true)
    }

    /// Kind of the current entry, and whether a range deletion covers it.
    fn entry_state(&self) -> Result<(EntryKind, bool)> {
        let key = self.points.key()?;
        let core = self.points.core();
        Ok((key.kind, core.range_deletions.covers(&key, &core.keys)))
    }

    /// Whether a key starts with what all keys of the scan start with, where the range does not see to
    /// that.
    fn starts_as_wanted(&self, key: &[u8]) -> bool {
        let start = self.options.starts_with.as_deref().filter(|_| self.options.checks_start);
        start.is_none_or(|start| key.starts_with(start))
    }

    /// Whether the key of the current entry is one to be shown. Keys are met in order, so that the
    /// first one that is not ends the scan.
    #[inline]
    fn is_in_range(&self, direction: Direction) -> bool {
        let bound = match direction {
            Direction::Forward => &self.options.upper,
            Direction::Backward => &self.options.lower,
        };
        if self.prefix.is_none() && matches!(bound, Bound::Unbounded) {
            return true;
        }
        self.is_within(direction)
    }

    /// The same, where there is something to compare with.
    fn is_within(&self, direction: Direction) -> bool {
        let core = self.points.core();
        let compare = |bound: &[u8]| core.keys.compare(self.user_key(), bound);
        let in_bounds = match direction {
            Direction::Forward => match &self.options.upper {
                Bound::Included(bound) => compare(bound).is_le(),
                Bound::Excluded(bound) => compare(bound).is_lt(),
                Bound::Unbounded => true,
            },
            Direction::Backward => match &self.options.lower {
                Bound::Included(bound) => compare(bound).is_ge(),
                Bound::Excluded(bound) => compare(bound).is_gt(),
                Bound::Unbounded => true,
            },
        };
        in_bounds
            && self.prefix.as_deref().is_none_or(|prefix| {
                let extractor = core.prefix_extractor.as_ref();
                extractor.and_then(|it| it.prefix(self.user_key())) == Some(prefix)
            })
    }
}
