//! The visible keys of entries, in order: the state of each at a sequence number and a timestamp.
//!
//! ```text
//! entries    a@5 value   b@7 deletion   b@4 value   c@9 merge   c@2 value
//! visible    a                                      c
//!
//! at entry   the entries are at the newest entry of the current key, a plain value, which is
//!            borrowed from there: the fast path
//! forward    the entries are at the current key, or after it: next skips what is left of it
//! backward   the entries are before the current key: all of it has been passed, oldest first
//! ```
//!
//! Where range tombstones cover one key after another, older sources skip to the end of the
//! tombstone, as in RocksDB.

use std::borrow::Cow;
use std::fmt;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::raw::{EntryKind, KeyBuffer};
use crate::reader::{EmbeddedBlobBudget, ScanOptions, Value};
use crate::visibility::versions::{History, SeenEntry, Versions};
use crate::visibility::{
    Column, Direction, InternalIterator, Record, RecordValue, Resolver, VisibleSource,
};

/// After this many covered entries, what is left under the tombstone is skipped by a seek. A seek
/// costs more than a few steps.
const SKIP_AFTER: u32 = 8;

type Origin<S> = <<S as VisibleSource>::Resolver as Resolver>::Origin;

/// Moves over the visible keys of a [`VisibleSource`], in both directions.
///
/// A new one is unpositioned. Every move returns whether there is a key where it leads; after an
/// error there is none. Where there is no key, keys and values are empty.
pub struct VisibleIterator<S: VisibleSource> {
    source: S,
    options: ScanOptions,
    state: State,
    /// The current key, unless it is at an entry, or the last one.
    key: KeyBuffer,
    /// The entries of the current key, unless it is at an entry.
    versions: Versions<Origin<S>>,
    /// The entries of a key on the way back.
    history: History<Origin<S>>,
    /// Covered entries since a key was visible, or since the last skip.
    covered: u32,
    blobs: BlobPass,
}

/// Where the entries are, relative to the current key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is no current key.
    Unpositioned,
    /// At its newest entry, a plain value.
    AtEntry,
    /// At one of its entries, or after them.
    Forward,
    /// Before all of them.
    Backward,
}

/// The embedded blobs that a pass in one direction shows.
struct BlobPass {
    budget: EmbeddedBlobBudget,
    /// Whether those of the current key have been counted.
    is_counted: AtomicBool,
    direction: Direction,
}

impl<S: VisibleSource> VisibleIterator<S> {
    /// Unpositioned. `file_bytes` is the size of all tables, which limits embedded blobs.
    pub fn new(source: S, options: ScanOptions, file_bytes: u64) -> Self {
        Self {
            source,
            options,
            state: State::Unpositioned,
            key: KeyBuffer::default(),
            versions: Versions::default(),
            history: History::default(),
            covered: 0,
            blobs: BlobPass {
                budget: EmbeddedBlobBudget::new(file_bytes),
                is_counted: AtomicBool::new(false),
                direction: Direction::Forward,
            },
        }
    }

    /// What is read.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Whether it is at a key.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.state != State::Unpositioned
    }

    /// The current key, without its timestamp if it has one.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match self.state {
            State::Unpositioned => &[],
            State::AtEntry => self.entry_key(),
            State::Forward | State::Backward => self.key.bytes(),
        }
    }

    /// The timestamp of the visible version; empty where keys have none.
    pub fn timestamp(&self) -> &[u8] {
        match self.state {
            State::Unpositioned => &[],
            State::AtEntry => self.source.keys().timestamp(self.source.entries().user_key()),
            State::Forward | State::Backward => self.versions.timestamp(),
        }
    }

    /// The value of the current key, of an entity its default column.
    #[inline]
    pub fn value(&self) -> Result<Value, S::Error> {
        if self.state == State::AtEntry {
            self.source.count_value();
            return Ok(self.source.entries().value_handle());
        }
        self.resolved(Resolver::value)
    }

    /// The value of the current key, borrowed if it is a plain one.
    #[inline]
    pub fn value_bytes(&self) -> Result<Cow<'_, [u8]>, S::Error> {
        match self.plain_value() {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => self.value().map(|value| Cow::Owned(value.to_vec())),
        }
    }

    /// The value of the current key, if it is stored as it is: neither an entity nor operands to
    /// merge, nor a value in another place.
    #[inline]
    pub fn plain_value(&self) -> Option<&[u8]> {
        let value = match self.state {
            State::Unpositioned => return None,
            State::AtEntry => self.source.entries().value(),
            State::Forward | State::Backward => self.versions.plain_value()?,
        };
        self.source.count_value();
        Some(value)
    }

    /// The columns of the current key: of a plain value the default column alone.
    pub fn columns(&self) -> Result<Vec<Column>, S::Error> {
        if let Some(value) = self.entry_value() {
            return Ok(vec![Column { name: Value::default(), value }]);
        }
        self.resolved(Resolver::entity)
    }

    /// Everything about the current key; `None` where there is none.
    pub fn record(&self) -> Result<Option<Record>, S::Error> {
        if let Some(value) = self.entry_value() {
            let (key, timestamp) = (self.key().to_vec(), self.timestamp().to_vec());
            return Ok(Some(Record { key, timestamp, value: RecordValue::Value(value) }));
        }
        self.resolved(|resolver, key, versions| resolver.record(key, versions).map(Some))
    }

    /// A handle to the value, if it is at an entry.
    fn entry_value(&self) -> Option<Value> {
        (self.state == State::AtEntry).then(|| {
            self.source.count_value();
            self.source.entries().value_handle()
        })
    }

    /// What `resolve` makes of the entries of the current key.
    fn resolved<T: Default>(
        &self,
        resolve: impl FnOnce(&S::Resolver, &[u8], &Versions<Origin<S>>) -> Result<T, S::Error>,
    ) -> Result<T, S::Error> {
        if self.state == State::Unpositioned {
            return Ok(T::default());
        }
        self.source.count_value();
        let resolver = self.source.resolver();
        let resolved = match self.count_blobs() {
            Ok(()) => resolve(resolver, self.key.bytes(), &self.versions),
            Err(error) => Err(error.into()),
        };
        resolved.map_err(|error| resolver.in_file(error))
    }

    /// Counts the embedded blobs of the current key, once.
    fn count_blobs(&self) -> crate::Result<()> {
        match self.versions.base() {
            Some(base) if !self.blobs.is_counted.swap(true, Ordering::Relaxed) => {
                self.blobs.budget.spend(base.kind, &base.value)
            }
            _ => Ok(()),
        }
    }

    /// Moves to the first key.
    pub fn seek_to_first(&mut self) -> Result<bool, S::Error> {
        match self.options.lower.clone() {
            Bound::Included(key) => self.seek_from(&key, true),
            Bound::Excluded(key) => self.seek_from(&key, false),
            Bound::Unbounded => {
                if !self.start(None, Direction::Forward)? {
                    return Ok(false);
                }
                self.source.entries_mut().seek_to_first()?;
                self.settle_forward()
            }
        }
    }

    /// Moves to the last key.
    pub fn seek_to_last(&mut self) -> Result<bool, S::Error> {
        match self.options.upper.clone() {
            Bound::Included(key) => self.seek_back_from(&key, true),
            Bound::Excluded(key) => self.seek_back_from(&key, false),
            Bound::Unbounded => {
                if !self.start(None, Direction::Backward)? {
                    return Ok(false);
                }
                self.source.entries_mut().seek_to_last()?;
                self.settle_backward()
            }
        }
    }

    /// Moves to `key`, or if it is not found to the next one after it.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool, S::Error> {
        let compare = |bound: &[u8]| self.source.keys().compare(bound, key);
        let below = match &self.options.lower {
            Bound::Included(bound) => compare(bound).is_gt(),
            Bound::Excluded(bound) => compare(bound).is_ge(),
            Bound::Unbounded => false,
        };
        if below { self.seek_to_first() } else { self.seek_from(key, true) }
    }

    /// Moves to `key`, or if it is not found to the last one before it.
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool, S::Error> {
        let compare = |bound: &[u8]| self.source.keys().compare(bound, key);
        let above = match &self.options.upper {
            Bound::Included(bound) => compare(bound).is_lt(),
            Bound::Excluded(bound) => compare(bound).is_le(),
            Bound::Unbounded => false,
        };
        if above { self.seek_to_last() } else { self.seek_back_from(key, true) }
    }

    fn seek_from(&mut self, key: &[u8], inclusive: bool) -> Result<bool, S::Error> {
        if !self.start(Some(key), Direction::Forward)? {
            return Ok(false);
        }
        self.source.entries_mut().seek(key)?;
        if !inclusive {
            self.key.replace(0, key, key.len());
            self.skip_current()?;
        }
        self.settle_forward()
    }

    fn seek_back_from(&mut self, key: &[u8], inclusive: bool) -> Result<bool, S::Error> {
        if !self.start(Some(key), Direction::Backward)? {
            return Ok(false);
        }
        self.source.entries_mut().seek_for_prev(key)?;
        if !inclusive {
            self.key.replace(0, key, key.len());
            self.skip_current_back()?;
        }
        self.settle_backward()
    }

    /// Forgets the position. False if there cannot be a key where the seek leads.
    fn start(&mut self, key: Option<&[u8]>, direction: Direction) -> Result<bool, S::Error> {
        self.state = State::Unpositioned;
        self.covered = 0;
        self.blobs.budget.restart();
        self.source.start_seek(&self.options, key, direction)
    }

    /// Moves to the next key.
    // All steps of the fast path are in this one function, and so in the one that calls it. If
    // callers in other crates inlined it, they would inline some of the steps and call the others:
    // four calls instead of one.
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "keys are borrowed, an iterator gives")]
    pub fn next(&mut self) -> Result<bool, S::Error> {
        if self.state != State::AtEntry || self.source.keys().is_user_made() {
            return self.next_by_key();
        }
        self.state = State::Unpositioned;
        let timestamp_size = self.source.keys().timestamp_size();
        self.source.entries_mut().next_user_key(timestamp_size)?;
        self.settle_forward()
    }

    /// The slow path: entries are compared with the current key.
    fn next_by_key(&mut self) -> Result<bool, S::Error> {
        match std::mem::replace(&mut self.state, State::Unpositioned) {
            State::Unpositioned => return Ok(false),
            State::AtEntry => {
                self.take_key();
                self.source.entries_mut().next()?;
            }
            State::Forward => {}
            State::Backward => {
                self.source.entries_mut().turn_forward(self.key.bytes())?;
            }
        }
        self.skip_current()?;
        self.settle_forward()
    }

    /// Moves to the previous key.
    #[inline]
    pub fn prev(&mut self) -> Result<bool, S::Error> {
        match std::mem::replace(&mut self.state, State::Unpositioned) {
            State::Unpositioned => return Ok(false),
            State::AtEntry if S::Entries::CAN_TURN => {
                self.source.entries_mut().prev()?;
            }
            State::AtEntry => {
                self.take_key();
                self.turn_backward()?;
            }
            State::Forward => self.turn_backward()?,
            State::Backward => {}
        }
        self.settle_backward()
    }

    /// Moves to the last entry before those of the current key.
    fn turn_backward(&mut self) -> Result<(), S::Error> {
        self.source.entries_mut().turn_backward(self.key.bytes())?;
        self.skip_current_back()
    }

    /// From the current entry to the first visible key at or after it.
    #[inline(always)] // see `next`
    fn settle_forward(&mut self) -> Result<bool, S::Error> {
        if self.source.entries().is_valid()
            && !self.options.checks_start
            && self.is_in_range(Direction::Forward)
            && self.entry_is_plain()?
        {
            return Ok(self.arrive(State::AtEntry));
        }
        self.search_forward()
    }

    /// The slow path: the current entry may not be visible, or not be all that matters of its key.
    fn search_forward(&mut self) -> Result<bool, S::Error> {
        while self.source.entries().is_valid() && self.is_in_range(Direction::Forward) {
            if !self.starts_as_wanted(self.entry_key()) {
                self.take_key();
            } else if self.entry_is_plain()? {
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

    /// From the current entry to the last visible key at or before it.
    #[inline]
    fn settle_backward(&mut self) -> Result<bool, S::Error> {
        while self.source.entries().is_valid() && self.is_in_range(Direction::Backward) {
            if !self.options.checks_start && self.is_only_entry_of_key() && self.entry_is_plain()? {
                return Ok(self.arrive(State::AtEntry));
            }
            self.take_versions_backward()?;
            if self.versions.is_visible() && self.starts_as_wanted(self.key.bytes()) {
                return Ok(self.arrive_with_versions(Direction::Backward));
            }
            self.skip_covered(Direction::Backward)?;
        }
        self.end()
    }

    /// Whether the current entry, as the newest of its key, is all that matters of it: a visible
    /// value with nothing to resolve.
    #[inline]
    fn entry_is_plain(&mut self) -> Result<bool, S::Error> {
        Ok(self.source.entries().kind() == EntryKind::Value
            && self.sees_entry()
            && !self.source.is_covered()?)
    }

    /// Whether the current entry was written before what is read as of.
    #[inline]
    fn sees_entry(&self) -> bool {
        let (entries, keys) = (self.source.entries(), self.source.keys());
        entries.sequence() <= self.options.view.sequence
            && (self.options.view.timestamp.is_none()
                || self.options.view.sees(0, keys.timestamp(entries.user_key()), keys))
    }

    /// Moving backward: whether the previous entry is known to be of another key.
    #[inline]
    fn is_only_entry_of_key(&self) -> bool {
        let keys = self.source.keys();
        let previous = self.source.entries().previous_user_key();
        previous.is_some_and(|previous| !keys.is_same(keys.bare(previous), self.entry_key()))
    }

    /// Takes the entries of the current key, the newest of which is the current one.
    fn take_versions(&mut self) -> Result<(), S::Error> {
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

    /// Takes the key of the current entry, and its entries from the oldest on.
    fn take_versions_backward(&mut self) -> Result<(), S::Error> {
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
                // Of bytes that mean the same key, those of the newest entry are shown.
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

    /// Whether a tombstone covers the current entry, which is counted.
    fn count_covered(&mut self) -> Result<bool, S::Error> {
        let is_covered = self.source.is_covered()?;
        self.covered = self.covered.saturating_add(u32::from(is_covered));
        Ok(is_covered)
    }

    /// After several covered entries: past what the tombstone over the current key covers in older
    /// sources.
    fn skip_covered(&mut self, direction: Direction) -> Result<(), S::Error> {
        if self.covered < SKIP_AFTER {
            return Ok(());
        }
        self.covered = 0;
        self.source.skip_covered(self.key.bytes(), direction)
    }

    /// At a key that may have embedded blobs. After a change of direction they are met again.
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

    fn end(&mut self) -> Result<bool, S::Error> {
        self.source.count_move();
        self.source.check_end()?;
        Ok(false)
    }

    /// Skips what is left of the current key.
    #[inline]
    fn skip_current(&mut self) -> Result<(), S::Error> {
        while self.is_at_current() {
            self.source.entries_mut().next()?;
        }
        Ok(())
    }

    /// Skips backward past all entries after the current key, and its own.
    fn skip_current_back(&mut self) -> Result<(), S::Error> {
        while self.is_at_current() {
            self.source.entries_mut().prev()?;
        }
        Ok(())
    }

    /// Whether the current entry is one of the current key.
    #[inline]
    fn is_at_current(&self) -> bool {
        self.source.entries().is_valid()
            && self.source.keys().is_same(self.entry_key(), self.key.bytes())
    }

    /// Makes the key of the current entry the current key.
    #[inline]
    fn take_key(&mut self) {
        let user_key = self.source.entries().user_key();
        self.key.replace(0, user_key, self.source.keys().bare(user_key).len());
    }

    /// The key of the current entry, without timestamp.
    #[inline]
    fn entry_key(&self) -> &[u8] {
        self.source.keys().bare(self.source.entries().user_key())
    }

    /// Whether a key starts with what all keys of the scan start with, where the range does not
    /// ensure that.
    fn starts_as_wanted(&self, key: &[u8]) -> bool {
        let start = self.options.starts_with.as_deref().filter(|_| self.options.checks_start);
        start.is_none_or(|start| key.starts_with(start))
    }

    /// Whether the key of the current entry is in the range of the scan. Keys are met in order, so
    /// that the first one that is not ends the scan.
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

/// Without the value, which might have to be read.
impl<S: VisibleSource> fmt::Debug for VisibleIterator<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_valid() {
            true => write!(f, "Cursor(\"{}\")", self.key().escape_ascii()),
            false => f.write_str("Cursor(unpositioned)"),
        }
    }
}
