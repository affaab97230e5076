//! Moves from an entry to a visible key: usually the key of the entry, without further checks.

use std::ops::Bound;

use super::{SKIP_AFTER, State, VisibleIterator};
use crate::error::Result;
use crate::raw::EntryKind;
use crate::visibility::versions::SeenEntry;
use crate::visibility::{Direction, InternalIterator, VisibleSource};

impl<S: VisibleSource> VisibleIterator<S> {
    /// Moves from the current entry, if any, to the first visible key at or after it.
    #[inline(always)] // see `next`
    pub(super) fn settle_forward(&mut self, is_valid: bool) -> Result<bool> {
        if is_valid
            && !self.checks_entries
            && self.sees_sequence()
            && self.is_in_range(Direction::Forward)
            && self.entry_is_plain()?
        {
            return Ok(self.arrive(State::AtEntry));
        }
        self.search_forward()
    }

    /// The slow path: the current entry may not be visible, or other entries of its key are needed.
    pub(super) fn search_forward(&mut self) -> Result<bool> {
        while self.source.entries().is_valid() && self.is_in_range(Direction::Forward) {
            if !self.starts_as_wanted(self.entry_key()) {
                self.take_key();
            } else if self.sees_entry() && self.entry_is_plain()? {
                return Ok(self.arrive(State::AtEntry));
            } else {
                self.take_key();
                self.take_versions()?;
                if self.versions.is_visible() {
                    return Ok(self.arrive_with_versions(Direction::Forward));
                }
            }
            self.skip_current()?;
            self.skip_covered(Direction::Forward)?;
        }
        self.end()
    }

    /// Moves from the current entry, if any, to the last visible key at or before it.
    #[inline(always)] // see `next`
    pub(super) fn settle_backward(&mut self, is_valid: bool) -> Result<bool> {
        if !is_valid || !self.is_in_range(Direction::Backward) {
            return self.end();
        }
        if self.is_at_plain_key()? {
            return Ok(self.arrive(State::AtEntry));
        }
        self.search_backward()
    }

    /// Moving backward: whether the current entry alone determines its key.
    #[inline(always)] // see `next`
    fn is_at_plain_key(&mut self) -> Result<bool> {
        let keys = self.source.keys();
        let (timestamp_size, is_user_made) = (keys.timestamp_size(), keys.is_user_made());
        Ok(!self.checks_entries
            && self.sees_sequence()
            && !is_user_made
            && self.source.entries_mut().is_first_of_user_key(timestamp_size)
            && self.entry_is_plain()?)
    }

    /// The slow path; see [`search_forward`](Self::search_forward).
    fn search_backward(&mut self) -> Result<bool> {
        loop {
            self.take_versions_backward()?;
            if self.versions.is_visible() && self.starts_as_wanted(self.key.bytes()) {
                return Ok(self.arrive_with_versions(Direction::Backward));
            }
            self.skip_covered(Direction::Backward)?;
            if !self.source.entries().is_valid() || !self.is_in_range(Direction::Backward) {
                return self.end();
            }
            if self.is_at_plain_key()? {
                return Ok(self.arrive(State::AtEntry));
            }
        }
    }

    /// Whether the current entry, if it is visible and the newest of its key, alone determines the
    /// key: a value that no tombstone covers, with nothing to resolve.
    #[inline(always)] // see `next`
    fn entry_is_plain(&mut self) -> Result<bool> {
        Ok(self.source.entries().kind() == EntryKind::Value && !self.source.is_covered()?)
    }

    /// Whether the sequence number of the current entry is visible.
    #[inline(always)] // see `next`
    fn sees_sequence(&self) -> bool {
        !self.checks_sequence || self.source.entries().sequence() <= self.options.view.sequence
    }

    /// Whether the current entry is visible in the view.
    #[inline]
    fn sees_entry(&self) -> bool {
        let (entries, keys) = (self.source.entries(), self.source.keys());
        entries.sequence() <= self.options.view.sequence
            && (self.options.view.timestamp.is_none()
                || self.options.view.sees(0, keys.timestamp(entries.user_key()), keys))
    }

    /// Collects the entries of the current key, starting at the newest.
    fn take_versions(&mut self) -> Result<()> {
        self.versions.clear();
        while self.is_at_current() {
            if self.sees_entry() {
                let is_covered = self.count_covered()?;
                let Self { source, versions, .. } = self;
                let (entries, seen) = (source.entries(), seen(source, is_covered));
                let value = || entries.value_handle();
                if !versions.add(seen, value, || source.origin(), source.keys()) {
                    break;
                }
            }
            self.source.entries_mut().next()?;
        }
        Ok(())
    }

    /// Collects the entries of the key of the current entry, starting at the oldest.
    fn take_versions_backward(&mut self) -> Result<()> {
        self.take_key();
        self.versions.clear();
        self.history.clear();
        while self.is_at_current() {
            if self.sees_entry() {
                let is_covered = self.count_covered()?;
                let Self { source, history, .. } = self;
                let (value, seen) = (source.entries().value_handle(), seen(source, is_covered));
                history.add(seen, value, || source.origin(), source.keys());
            }
            if self.source.keys().is_user_made() {
                // Of different bytes for the same key, those of the newest entry are shown.
                self.take_key();
            }
            self.source.entries_mut().prev()?;
        }
        if self.history.is_contradicted() {
            self.source.entries_mut().turn_forward(self.key.bytes())?;
            self.take_versions()?;
            self.turn_backward()
        } else {
            self.history.drain_into(&mut self.versions, self.source.keys());
            Ok(())
        }
    }

    /// Whether a tombstone covers the current entry. Counts it.
    fn count_covered(&mut self) -> Result<bool> {
        let is_covered = self.source.is_covered()?;
        self.covered = self.covered.saturating_add(u32::from(is_covered));
        Ok(is_covered)
    }

    /// After several covered entries: skips the entries that the tombstone over the current key
    /// covers in older sources.
    fn skip_covered(&mut self, direction: Direction) -> Result<()> {
        if self.covered < SKIP_AFTER {
            return Ok(());
        }
        self.covered = 0;
        self.source.skip_covered(self.key.bytes(), direction)
    }

    /// At a key that may have embedded blobs. After a change of direction they are counted again.
    fn arrive_with_versions(&mut self, direction: Direction) -> bool {
        *self.blobs.is_counted.get_mut() = false;
        if std::mem::replace(&mut self.blobs.direction, direction) != direction {
            self.blobs.budget.restart();
        }
        self.arrive(match direction {
            Direction::Forward => State::Forward,
            Direction::Backward => State::Backward,
        })
    }

    #[inline]
    fn arrive(&mut self, state: State) -> bool {
        (self.state, self.covered) = (state, 0);
        self.source.count_move();
        true
    }

    fn end(&mut self) -> Result<bool> {
        self.source.count_move();
        self.source.check_end()?;
        Ok(false)
    }

    /// Skips the remaining entries of the current key.
    #[inline]
    pub(super) fn skip_current(&mut self) -> Result<()> {
        while self.is_at_current() {
            self.source.entries_mut().next()?;
        }
        Ok(())
    }

    /// Skips backward over all entries after the current key, and its own.
    pub(super) fn skip_current_back(&mut self) -> Result<()> {
        while self.is_at_current() {
            self.source.entries_mut().prev()?;
        }
        Ok(())
    }

    /// Whether the current entry belongs to the current key.
    #[inline]
    fn is_at_current(&self) -> bool {
        self.source.entries().is_valid()
            && self.source.keys().is_same(self.entry_key(), self.key.bytes())
    }

    /// Sets the current key to that of the current entry.
    #[inline]
    pub(super) fn take_key(&mut self) {
        let user_key = self.source.entries().user_key();
        self.key.replace(0, user_key, self.source.keys().bare(user_key).len());
    }

    /// The key of the current entry, without timestamp.
    #[inline(always)] // see `next`
    pub(super) fn entry_key(&self) -> &[u8] {
        self.source.keys().bare(self.source.entries().user_key())
    }

    /// Whether a key has the prefix of the scan, if the range does not ensure that.
    fn starts_as_wanted(&self, key: &[u8]) -> bool {
        let start = self.options.starts_with.as_deref().filter(|_| self.options.checks_start);
        start.is_none_or(|start| key.starts_with(start))
    }

    /// Whether the key of the current entry is in the range of the scan. Keys are visited in order,
    /// so the first one outside ends the scan.
    #[inline]
    fn is_in_range(&self, direction: Direction) -> bool {
        let bound = match direction {
            Direction::Forward => &self.options.upper,
            Direction::Backward => &self.options.lower,
        };
        (matches!(bound, Bound::Unbounded) || self.is_within(bound, direction))
            && self.source.is_in_prefix()
    }

    fn is_within(&self, bound: &Bound<Vec<u8>>, direction: Direction) -> bool {
        let (Bound::Included(key) | Bound::Excluded(key)) = bound else { return true };
        let order = self.source.keys().compare(self.entry_key(), key);
        let order = if direction == Direction::Forward { order } else { order.reverse() };
        order.is_lt() || order.is_eq() && matches!(bound, Bound::Included(_))
    }
}

/// The current entry of a source.
fn seen<S: VisibleSource>(source: &S, is_covered: bool) -> SeenEntry<'_> {
    let entries = source.entries();
    let (user_key, sequence, kind) = (entries.user_key(), entries.sequence(), entries.kind());
    SeenEntry { user_key, sequence, kind, is_covered }
}
