//! Iterates over the visible keys: the state of each at a sequence number and a timestamp.
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
//! If range tombstones cover many consecutive keys, older sources skip to the end of the tombstone,
//! as in RocksDB.

mod settle;

use std::borrow::Cow;
use std::fmt;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;
use crate::raw::KeyBuffer;
use crate::reader::{EmbeddedBlobBudget, ReadOptions, Value};
use crate::visibility::versions::{History, Versions};
use crate::visibility::{
    Column, Direction, InternalIterator, ReadView, Record, RecordValue, Resolver, VisibleSource,
};

/// After this many covered entries, the rest of the tombstone is skipped by a seek, which costs
/// more than a few steps.
const SKIP_AFTER: u32 = 8;

type Origin<S> = <<S as VisibleSource>::Resolver as Resolver>::Origin;

/// Moves over the visible keys of a [`VisibleSource`], in both directions.
///
/// A new iterator is unpositioned. Every move returns whether it is at a key afterwards; after an
/// error it is unpositioned. Without a position, key and value are empty.
pub struct VisibleIterator<S: VisibleSource> {
    source: S,
    options: ReadOptions,
    /// Whether the scan is restricted to older timestamps, or to keys with a prefix.
    checks_entries: bool,
    /// Whether the scan is restricted to older sequence numbers. Databases are read as of their last
    /// one, so this must not leave the fast path.
    checks_sequence: bool,
    state: State,
    /// The current key, unless it is borrowed from the entry, or the last one.
    key: KeyBuffer,
    /// The entries of the current key, unless it is borrowed from the entry.
    versions: Versions<Origin<S>>,
    /// The entries of a key when moving backward.
    history: History<Origin<S>>,
    /// The number of covered entries since the last visible key or skip.
    covered: u32,
    blobs: BlobPass,
}

/// The position of the entries relative to the current key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No current key.
    Unpositioned,
    /// At its newest entry, a plain value.
    AtEntry,
    /// At one of its entries, or after them.
    Forward,
    /// Before all of its entries.
    Backward,
}

/// Counts embedded blobs in one pass in one direction.
struct BlobPass {
    budget: EmbeddedBlobBudget,
    /// Whether those of the current key were counted.
    is_counted: AtomicBool,
    direction: Direction,
}

impl<S: VisibleSource> VisibleIterator<S> {
    /// Unpositioned, over the keys that the options select.
    pub fn open(of: &S::Of, options: &ReadOptions) -> Result<Self> {
        S::open(of, options)
    }

    /// Unpositioned. `file_bytes` is the size of all tables, which limits embedded blobs.
    pub fn new(source: S, options: ReadOptions, file_bytes: u64) -> Self {
        let checks_entries = options.checks_start || options.view.timestamp.is_some();
        let checks_sequence = options.view.sequence < ReadView::default().sequence;
        Self {
            source,
            options,
            checks_entries,
            checks_sequence,
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

    /// The source.
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

    /// The timestamp of the visible version; empty if keys have none.
    pub fn timestamp(&self) -> &[u8] {
        match self.state {
            State::Unpositioned => &[],
            State::AtEntry => self.source.keys().timestamp(self.source.entries().user_key()),
            State::Forward | State::Backward => self.versions.timestamp(),
        }
    }

    /// The value of the current key; for an entity, its default column.
    #[inline]
    pub fn value(&self) -> Result<Value> {
        if self.state == State::AtEntry {
            self.source.count_value();
            return Ok(self.source.entries().value_handle());
        }
        self.resolved(Resolver::value)
    }

    /// The value of the current key, borrowed until the iterator moves. Cheaper than
    /// [`value`](Self::value) for values that are not kept: usually nothing is allocated or
    /// counted.
    ///
    /// ```no_run
    /// # use sstkit_table::Table;
    /// let mut cursor = Table::open("000011.sst")?.cursor();
    /// let (mut more, mut bytes) = (cursor.seek_to_first()?, 0);
    /// while more {
    ///     bytes += cursor.key().len() + cursor.value_bytes()?.len();
    ///     more = cursor.next()?;
    /// }
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    #[inline]
    pub fn value_bytes(&self) -> Result<Cow<'_, [u8]>> {
        match self.plain_value() {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => self.value().map(|value| Cow::Owned(value.to_vec())),
        }
    }

    /// The value of the current key if it is stored inline as a plain value: not an entity, not
    /// merge operands, not a blob.
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

    /// The columns of the current key; for a plain value, only the default column.
    pub fn columns(&self) -> Result<Vec<Column>> {
        if let Some(value) = self.entry_value() {
            return Ok(vec![Column { name: Value::default(), value }]);
        }
        self.resolved(Resolver::entity)
    }

    /// The complete record of the current key: timestamp, columns, and operands that cannot be
    /// merged. `None` if unpositioned.
    pub fn record(&self) -> Result<Option<Record>> {
        if let Some(value) = self.entry_value() {
            let (key, timestamp) = (self.key().to_vec(), self.timestamp().to_vec());
            return Ok(Some(Record { key, timestamp, value: RecordValue::Value(value) }));
        }
        self.resolved(|resolver, key, versions| resolver.record(key, versions).map(Some))
    }

    /// A handle of the value, if it is borrowed from the entry.
    fn entry_value(&self) -> Option<Value> {
        (self.state == State::AtEntry).then(|| {
            self.source.count_value();
            self.source.entries().value_handle()
        })
    }

    /// Passes the entries of the current key to `resolve`.
    fn resolved<T: Default>(
        &self,
        resolve: impl FnOnce(&S::Resolver, &[u8], &Versions<Origin<S>>) -> Result<T>,
    ) -> Result<T> {
        if self.state == State::Unpositioned {
            return Ok(T::default());
        }
        self.source.count_value();
        let resolver = self.source.resolver();
        let resolved = self.count_blobs();
        let resolved = resolved.and_then(|()| resolve(resolver, self.key.bytes(), &self.versions));
        resolved.map_err(|error| resolver.in_file(error))
    }

    /// Counts the embedded blobs of the current key, once.
    fn count_blobs(&self) -> Result<()> {
        match self.versions.base() {
            Some(base) if !self.blobs.is_counted.swap(true, Ordering::Relaxed) => {
                self.blobs.budget.spend(base.kind, &base.value)
            }
            _ => Ok(()),
        }
    }

    /// Moves to the first key.
    pub fn seek_to_first(&mut self) -> Result<bool> {
        match self.options.lower.clone() {
            Bound::Included(key) => self.seek_from(&key, true),
            Bound::Excluded(key) => self.seek_from(&key, false),
            Bound::Unbounded => {
                if !self.start(None, Direction::Forward)? {
                    return Ok(false);
                }
                self.source.entries_mut().seek_to_first()?;
                self.search_forward()
            }
        }
    }

    /// Moves to the last key.
    pub fn seek_to_last(&mut self) -> Result<bool> {
        match self.options.upper.clone() {
            Bound::Included(key) => self.seek_back_from(&key, true),
            Bound::Excluded(key) => self.seek_back_from(&key, false),
            Bound::Unbounded => {
                if !self.start(None, Direction::Backward)? {
                    return Ok(false);
                }
                self.source.entries_mut().seek_to_last()?;
                let is_valid = self.source.entries().is_valid();
                self.settle_backward(is_valid)
            }
        }
    }

    /// Moves to `key`, or to the next key if it is not found.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let compare = |bound: &[u8]| self.source.keys().compare(bound, key);
        let below = match &self.options.lower {
            Bound::Included(bound) => compare(bound).is_gt(),
            Bound::Excluded(bound) => compare(bound).is_ge(),
            Bound::Unbounded => false,
        };
        if below { self.seek_to_first() } else { self.seek_from(key, true) }
    }

    /// Moves to `key`, or to the previous key if it is not found.
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        let compare = |bound: &[u8]| self.source.keys().compare(bound, key);
        let above = match &self.options.upper {
            Bound::Included(bound) => compare(bound).is_lt(),
            Bound::Excluded(bound) => compare(bound).is_le(),
            Bound::Unbounded => false,
        };
        if above { self.seek_to_last() } else { self.seek_back_from(key, true) }
    }

    fn seek_from(&mut self, key: &[u8], inclusive: bool) -> Result<bool> {
        if !self.start(Some(key), Direction::Forward)? {
            return Ok(false);
        }
        self.source.entries_mut().seek(key)?;
        if !inclusive {
            self.key.replace(0, key, key.len());
            self.skip_current()?;
        }
        self.search_forward()
    }

    fn seek_back_from(&mut self, key: &[u8], inclusive: bool) -> Result<bool> {
        if !self.start(Some(key), Direction::Backward)? {
            return Ok(false);
        }
        self.source.entries_mut().seek_for_prev(key)?;
        if !inclusive {
            self.key.replace(0, key, key.len());
            self.skip_current_back()?;
        }
        let is_valid = self.source.entries().is_valid();
        self.settle_backward(is_valid)
    }

    /// Resets the position. Returns `false` if the seek cannot find a key.
    fn start(&mut self, key: Option<&[u8]>, direction: Direction) -> Result<bool> {
        self.state = State::Unpositioned;
        self.covered = 0;
        self.blobs.budget.restart();
        self.options.check_timestamp(self.source.keys().comparator())?;
        self.source.start_seek(&self.options, key, direction)
    }

    /// Moves to the next key.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "keys are borrowed, an iterator gives")]
    pub fn next(&mut self) -> Result<bool> {
        S::next(self)
    }

    /// Moves to the previous key.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        S::prev(self)
    }

    /// The body of [`VisibleSource::next`].
    // The whole fast path is in this function, and inlined into the function of the source, in the
    // crate of the source. If callers in other crates inlined it, they would inline some of the
    // steps and call the others: four calls instead of one.
    #[inline(always)]
    pub fn step_forward(&mut self) -> Result<bool> {
        let can_step = self.source.entries().can_step(Direction::Forward);
        if self.state != State::AtEntry || self.source.keys().is_user_made() || !can_step {
            return self.next_by_key();
        }
        self.state = State::Unpositioned;
        let timestamp_size = self.source.keys().timestamp_size();
        let is_valid = self.source.entries_mut().next_user_key(timestamp_size)?;
        self.settle_forward(is_valid)
    }

    /// The slow path: entries are compared with the current key.
    fn next_by_key(&mut self) -> Result<bool> {
        match std::mem::replace(&mut self.state, State::Unpositioned) {
            State::Unpositioned => return Ok(false),
            State::AtEntry if self.source.entries().can_step(Direction::Forward) => {
                self.take_key();
                self.source.entries_mut().next()?;
            }
            State::Forward => {}
            state @ (State::AtEntry | State::Backward) => {
                if state == State::AtEntry {
                    self.take_key();
                }
                self.source.entries_mut().turn_forward(self.key.bytes())?;
            }
        }
        self.skip_current()?;
        self.search_forward()
    }

    /// The body of [`VisibleSource::prev`].
    #[inline(always)] // see `step_forward`
    pub fn step_backward(&mut self) -> Result<bool> {
        if self.state != State::AtEntry || !self.source.entries().can_step(Direction::Backward) {
            return self.prev_by_key();
        }
        self.state = State::Unpositioned;
        let is_valid = self.source.entries_mut().prev()?;
        self.settle_backward(is_valid)
    }

    /// The slow path; see [`next_by_key`](Self::next_by_key).
    fn prev_by_key(&mut self) -> Result<bool> {
        match std::mem::replace(&mut self.state, State::Unpositioned) {
            State::Unpositioned => return Ok(false),
            State::AtEntry => {
                self.take_key();
                self.turn_backward()?;
            }
            State::Forward => self.turn_backward()?,
            State::Backward => {}
        }
        let is_valid = self.source.entries().is_valid();
        self.settle_backward(is_valid)
    }

    /// Moves to the last entry before those of the current key.
    fn turn_backward(&mut self) -> Result<()> {
        self.source.entries_mut().turn_backward(self.key.bytes())?;
        self.skip_current_back()
    }
}

/// Without the value, which might require a read.
impl<S: VisibleSource> fmt::Debug for VisibleIterator<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_valid() {
            true => write!(f, "Cursor(\"{}\")", self.key().escape_ascii()),
            false => f.write_str("Cursor(unpositioned)"),
        }
    }
}
