//! Several sorted sequences of entries as one.
//!
//! ```text
//! newest   a@9      c@7
//!          a@5 b@4      c@3   ---->   a@9 a@5 b@4 c@7 c@3 d@0
//! oldest                d@0
//! ```
//!
//! The sources are kept in a binary heap by the entry each stands at: user keys ascend, and within a
//! key the newest entry has its turn first, by the rule of [`Recency`]. Going backwards, all of that
//! is the other way round.

use std::cmp::Ordering;

use sstkit_table::raw::EntryKind;
use sstkit_table::{Comparator, Value};

use crate::error::Result;
use crate::recency::Recency;

/// Entries in the order of internal keys, forwards.
///
/// A move says whether there is an entry where it leads. After an error there is none.
pub(crate) trait SortedEntries {
    /// Whether there is a current entry. If not, what the others say means nothing.
    fn is_valid(&self) -> bool;

    /// The user key as stored, with its timestamp if there is one.
    fn user_key(&self) -> &[u8];

    /// When the entry was written.
    fn sequence(&self) -> u64;

    /// What it does to its key.
    fn kind(&self) -> EntryKind;

    /// The value as stored.
    fn value(&self) -> &[u8];

    /// A handle to the value as stored.
    fn value_handle(&self) -> Value;

    /// Goes to the next entry.
    fn next(&mut self) -> Result<bool>;
}

/// Entries that can be searched, in both directions. Keys are given without timestamps.
pub(crate) trait EntrySource: SortedEntries {
    /// Goes to the first entry.
    fn seek_to_first(&mut self) -> Result<bool>;

    /// Goes to the last entry.
    fn seek_to_last(&mut self) -> Result<bool>;

    /// Goes to the newest entry of `key`, or to the first one after it.
    fn seek(&mut self, key: &[u8]) -> Result<bool>;

    /// Goes to the oldest entry of `key`, or to the last one before it.
    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool>;

    /// Goes to the entry before.
    fn prev(&mut self) -> Result<bool>;
}

/// Implements [`SortedEntries`] for an enum: the same call on whatever cursor it is.
macro_rules! either_sorted_entries {
    ($name:ident: $($variant:ident),+) => {
        impl $crate::merging_iterator::SortedEntries for $name {
            fn is_valid(&self) -> bool {
                match self { $(Self::$variant(cursor) => cursor.is_valid()),+ }
            }

            fn user_key(&self) -> &[u8] {
                match self { $(Self::$variant(cursor) => cursor.user_key()),+ }
            }

            fn sequence(&self) -> u64 {
                match self { $(Self::$variant(cursor) => cursor.sequence()),+ }
            }

            fn kind(&self) -> sstkit_table::raw::EntryKind {
                match self { $(Self::$variant(cursor) => cursor.kind()),+ }
            }

            fn value(&self) -> &[u8] {
                match self { $(Self::$variant(cursor) => cursor.value()),+ }
            }

            fn value_handle(&self) -> sstkit_table::Value {
                match self { $(Self::$variant(cursor) => cursor.value_handle()),+ }
            }

            fn next(&mut self) -> $crate::error::Result<bool> {
                match self { $(Self::$variant(cursor) => cursor.next()),+ }
            }
        }
    };
}
pub(crate) use either_sorted_entries;

/// Several sources as one. No allocation per entry.
///
/// Who has gone in one direction begins the other one with a seek.
pub(crate) struct MergingIterator<S> {
    comparator: Comparator,
    /// The newest first.
    sources: Vec<S>,
    /// How old each of them is: entries of one age are in the order of their sequence numbers.
    ages: Vec<usize>,
    /// Numbers of the sources that stand at an entry: a heap, with the next one on top.
    heap: Vec<usize>,
    direction: Direction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl<S: SortedEntries> MergingIterator<S> {
    /// Begins where the sources stand, forwards. The source given first is the newest.
    pub(crate) fn new(comparator: Comparator, recency: Recency, sources: Vec<S>) -> Self {
        let ages = (0..sources.len()).map(|source| recency.age(source)).collect();
        Self::with_ages(comparator, ages, sources)
    }

    /// The same, with an age for each source, the smallest for the newest.
    pub(crate) fn with_ages(comparator: Comparator, ages: Vec<usize>, sources: Vec<S>) -> Self {
        debug_assert_eq!(ages.len(), sources.len());
        let (heap, direction) = (Vec::new(), Direction::Forward);
        let mut merging = Self { comparator, sources, ages, heap, direction };
        merging.build(Direction::Forward);
        merging
    }

    /// The number of the source of the current entry.
    pub(crate) fn source(&self) -> Option<usize> {
        self.heap.first().copied()
    }

    /// The sources, in the order given.
    pub(crate) fn sources(&self) -> &[S] {
        &self.sources
    }

    fn current(&self) -> Option<&S> {
        self.source().map(|i| &self.sources[i])
    }

    /// Makes a heap of all that stand at an entry.
    fn build(&mut self, direction: Direction) {
        self.direction = direction;
        self.heap.clear();
        let sources = &self.sources;
        self.heap.extend((0..sources.len()).filter(|&i| sources[i].is_valid()));
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
    }

    /// Whether the entry of source `a` has its turn before that of `b`.
    fn precedes(&self, a: usize, b: usize) -> bool {
        let (left, right) = (&self.sources[a], &self.sources[b]);
        let order = self
            .compare_keys(left.user_key(), right.user_key(), self.ages[a].cmp(&self.ages[b]))
            .then_with(|| right.sequence().cmp(&left.sequence()))
            .then_with(|| a.cmp(&b));
        match self.direction {
            Direction::Forward => order == Ordering::Less,
            Direction::Backward => order == Ordering::Greater,
        }
    }

    /// By keys, then by ages, then by timestamps: the later first.
    fn compare_keys(&self, a: &[u8], b: &[u8], ages: Ordering) -> Ordering {
        let size = self.comparator.timestamp_size();
        if size == 0 || ages.is_eq() {
            return self.comparator.compare(a, b).then(ages);
        }
        let bare = |key: &[u8]| key.len().saturating_sub(size);
        self.comparator.compare_without_timestamp(&a[..bare(a)], &b[..bare(b)]).then(ages)
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let Some(&child) = self.heap.get(left) else { return };
            let first = match self.heap.get(right) {
                Some(&other) if self.precedes(other, child) => right,
                _ => left,
            };
            if !self.precedes(self.heap[first], self.heap[at]) {
                return;
            }
            self.heap.swap(first, at);
            at = first;
        }
    }

    /// Puts the source on top, which has moved, into its new place.
    fn settle_top(&mut self, moved: Result<bool>) -> Result<bool> {
        match moved {
            Ok(true) => {}
            Ok(false) => {
                self.heap.swap_remove(0);
            }
            Err(error) => {
                self.heap.clear();
                return Err(error);
            }
        }
        self.sift_down(0);
        Ok(!self.heap.is_empty())
    }
}

impl<S: SortedEntries> SortedEntries for MergingIterator<S> {
    fn is_valid(&self) -> bool {
        !self.heap.is_empty()
    }

    fn user_key(&self) -> &[u8] {
        self.current().map_or(&[], S::user_key)
    }

    fn sequence(&self) -> u64 {
        self.current().map_or(0, S::sequence)
    }

    fn kind(&self) -> EntryKind {
        self.current().map_or(EntryKind::Value, S::kind)
    }

    fn value(&self) -> &[u8] {
        self.current().map_or(&[], S::value)
    }

    fn value_handle(&self) -> Value {
        self.current().map_or_else(Value::default, S::value_handle)
    }

    fn next(&mut self) -> Result<bool> {
        debug_assert_eq!(self.direction, Direction::Forward);
        let Some(top) = self.source() else { return Ok(false) };
        let moved = self.sources[top].next();
        self.settle_top(moved)
    }
}

impl<S: EntrySource> MergingIterator<S> {
    /// Moves all sources at once.
    fn seek_all(
        &mut self,
        direction: Direction,
        mut go: impl FnMut(&mut S) -> Result<bool>,
    ) -> Result<bool> {
        self.heap.clear();
        for source in &mut self.sources {
            go(source)?;
        }
        self.build(direction);
        Ok(self.is_valid())
    }

    /// Passes over all entries before `key` (backwards: behind it) of the sources from number
    /// `first` on.
    pub(crate) fn skip_to(&mut self, first: usize, key: &[u8]) -> Result<bool> {
        let direction = self.direction;
        let Self { comparator, sources, heap, .. } = self;
        heap.clear();
        let size = comparator.timestamp_size();
        for source in sources.iter_mut().skip(first).filter(|source| source.is_valid()) {
            let user_key = source.user_key();
            let bare = &user_key[..user_key.len().saturating_sub(size)];
            match (direction, comparator.compare_without_timestamp(bare, key)) {
                (Direction::Forward, Ordering::Less) => source.seek(key)?,
                (Direction::Backward, Ordering::Greater) => source.seek_for_prev(key)?,
                _ => true,
            };
        }
        self.build(direction);
        Ok(self.is_valid())
    }
}

impl<S: EntrySource> EntrySource for MergingIterator<S> {
    fn seek_to_first(&mut self) -> Result<bool> {
        self.seek_all(Direction::Forward, S::seek_to_first)
    }

    fn seek_to_last(&mut self) -> Result<bool> {
        self.seek_all(Direction::Backward, S::seek_to_last)
    }

    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.seek_all(Direction::Forward, |source| source.seek(key))
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        self.seek_all(Direction::Backward, |source| source.seek_for_prev(key))
    }

    fn prev(&mut self) -> Result<bool> {
        debug_assert_eq!(self.direction, Direction::Backward);
        let Some(top) = self.source() else { return Ok(false) };
        let moved = self.sources[top].prev();
        self.settle_top(moved)
    }
}
