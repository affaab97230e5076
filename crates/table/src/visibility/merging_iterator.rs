//! Merges several sorted sources of entries.
//!
//! ```text
//! newest   a@9      c@7
//!          a@5 b@4      c@3   ---->   a@9 a@5 b@4 c@7 c@3 d@0
//! oldest                d@0
//! ```
//!
//! A binary heap contains the sources by their current entries: user keys ascend, and within a key
//! the newest entry comes first, as [`Recency`] defines. Backward, the order is reversed.

use std::cmp::Ordering;

use crate::comparator::Comparator;
use crate::error::Result;
use crate::raw::{EntryKind, KeyBuffer};
use crate::reader::Value;
use crate::visibility::internal_iterator::without_timestamp;
use crate::visibility::{Direction, InternalIterator, MergeHeap, Recency, UserKeys};

/// Merges several sorted sources of entries, without an allocation per entry.
///
/// A change of direction requires a seek.
pub struct MergingIterator<I> {
    keys: UserKeys,
    /// Newest first.
    sources: Vec<I>,
    /// The age of each source. Entries of sources of the same age are ordered by sequence number.
    ages: Vec<usize>,
    /// The sources that are at an entry.
    heap: MergeHeap,
    direction: Direction,
    /// A buffer for the user key that is skipped.
    key: KeyBuffer,
}

sstkit_coding::debug_opaque!([I] MergingIterator<I>);

impl<I: InternalIterator> MergingIterator<I> {
    /// Starts at the current entries of the sources, moving forward. The first source is the
    /// newest.
    pub fn new(keys: UserKeys, recency: Recency, sources: Vec<I>) -> Self {
        let ages = (0..sources.len()).map(|source| recency.age(source)).collect();
        Self::with_ages(keys, ages, sources)
    }

    /// Like [`new`](Self::new), with an age for each source; the newest has the smallest.
    pub fn with_ages(keys: UserKeys, ages: Vec<usize>, sources: Vec<I>) -> Self {
        debug_assert_eq!(ages.len(), sources.len());
        let mut merging = Self {
            keys,
            sources,
            ages,
            heap: MergeHeap::default(),
            direction: Direction::Forward,
            key: KeyBuffer::default(),
        };
        merging.build(Direction::Forward);
        merging
    }

    /// The index of the source of the current entry.
    #[inline]
    pub fn source(&self) -> Option<usize> {
        self.heap.top()
    }

    /// The sources, in the order given.
    #[inline]
    pub fn sources(&self) -> &[I] {
        &self.sources
    }

    #[inline]
    fn current(&self) -> Option<&I> {
        self.heap.top().map(|source| &self.sources[source])
    }

    /// Whether the current user key is the skipped one.
    #[inline]
    fn is_at(&self, timestamp_size: usize) -> bool {
        let (now, left) = (without_timestamp(self.user_key(), timestamp_size), self.key.bytes());
        now.len() == left.len() && Comparator::Bytewise.compare(now, left).is_eq()
    }

    fn build(&mut self, direction: Direction) {
        self.direction = direction;
        let Self { keys, sources, ages, heap, .. } = self;
        let order = MergeOrder { keys, sources, ages };
        let valid = (0..sources.len()).filter(|&source| sources[source].is_valid());
        heap.build(valid, |a, b| order.precedes(a, b, direction));
    }

    /// Moves the source on top and restores the heap.
    #[inline]
    fn move_top(&mut self, go: impl FnOnce(&mut I) -> Result<bool>) -> Result<bool> {
        let Self { keys, sources, ages, heap, direction, .. } = self;
        let Some(top) = heap.top() else { return Ok(false) };
        match go(&mut sources[top]) {
            Ok(has_entry) => {
                let order = MergeOrder { keys, sources, ages };
                heap.settle_top(has_entry, |a, b| order.precedes(a, b, *direction));
                Ok(!heap.is_empty())
            }
            Err(error) => {
                heap.clear();
                Err(error)
            }
        }
    }

    /// Moves all sources.
    fn seek_all(
        &mut self,
        direction: Direction,
        mut go: impl FnMut(&mut I) -> Result<bool>,
    ) -> Result<bool> {
        self.heap.clear();
        for source in &mut self.sources {
            go(source)?;
        }
        self.build(direction);
        Ok(self.is_valid())
    }

    /// Skips all entries before `key` (moving backward: after it) of the sources from index `first`
    /// on.
    pub fn skip_to(&mut self, first: usize, key: &[u8]) -> Result<bool> {
        let direction = self.direction;
        let Self { keys, sources, heap, .. } = self;
        heap.clear();
        for source in sources.iter_mut().skip(first).filter(|source| source.is_valid()) {
            match (direction, keys.compare(keys.bare(source.user_key()), key)) {
                (Direction::Forward, Ordering::Less) => source.seek(key)?,
                (Direction::Backward, Ordering::Greater) => source.seek_for_prev(key)?,
                _ => true,
            };
        }
        self.build(direction);
        Ok(self.is_valid())
    }
}

/// The order in which the entries of the sources are merged.
struct MergeOrder<'a, I> {
    keys: &'a UserKeys,
    sources: &'a [I],
    ages: &'a [usize],
}

impl<I: InternalIterator> MergeOrder<'_, I> {
    /// Whether the entry of source `a` comes before that of `b`.
    #[inline]
    fn precedes(&self, a: usize, b: usize, direction: Direction) -> bool {
        let (left, right) = (&self.sources[a], &self.sources[b]);
        let order = self
            .compare_keys(left.user_key(), right.user_key(), self.ages[a].cmp(&self.ages[b]))
            .then_with(|| right.sequence().cmp(&left.sequence()))
            .then_with(|| a.cmp(&b));
        match direction {
            Direction::Forward => order == Ordering::Less,
            Direction::Backward => order == Ordering::Greater,
        }
    }

    /// By key, then by age, then by timestamp, later ones first.
    #[inline]
    fn compare_keys(&self, a: &[u8], b: &[u8], ages: Ordering) -> Ordering {
        if self.keys.timestamp_size() == 0 {
            return self.keys.compare(a, b).then(ages);
        }
        if ages.is_eq() {
            return self.keys.compare_stored(a, b);
        }
        self.keys.compare(self.keys.bare(a), self.keys.bare(b)).then(ages)
    }
}

impl<I: InternalIterator> InternalIterator for MergingIterator<I> {
    #[inline]
    fn is_valid(&self) -> bool {
        !self.heap.is_empty()
    }

    #[inline]
    fn can_step(&self, direction: Direction) -> bool {
        self.direction == direction
    }

    #[inline]
    fn user_key(&self) -> &[u8] {
        self.current().map_or(&[], I::user_key)
    }

    #[inline]
    fn sequence(&self) -> u64 {
        self.current().map_or(0, I::sequence)
    }

    #[inline]
    fn kind(&self) -> EntryKind {
        self.current().map_or(EntryKind::Value, I::kind)
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.current().map_or(&[], I::value)
    }

    fn value_handle(&self) -> Value {
        self.current().map_or_else(Value::default, I::value_handle)
    }

    fn next(&mut self) -> Result<bool> {
        debug_assert_eq!(self.direction, Direction::Forward);
        self.move_top(I::next)
    }

    fn prev(&mut self) -> Result<bool> {
        debug_assert_eq!(self.direction, Direction::Backward);
        self.move_top(I::prev)
    }

    fn seek_to_first(&mut self) -> Result<bool> {
        self.seek_all(Direction::Forward, I::seek_to_first)
    }

    fn seek_to_last(&mut self) -> Result<bool> {
        self.seek_all(Direction::Backward, I::seek_to_last)
    }

    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.seek_all(Direction::Forward, |source| source.seek(key))
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        self.seek_all(Direction::Backward, |source| source.seek_for_prev(key))
    }

    fn next_user_key(&mut self, timestamp_size: usize) -> Result<bool> {
        let Some(top) = self.heap.top() else { return Ok(false) };
        let user_key = self.sources[top].user_key();
        self.key.replace(0, user_key, without_timestamp(user_key, timestamp_size).len());
        let mut more = self.move_top(|source| source.next_user_key(timestamp_size))?;
        // Other sources may have the same key.
        while more && self.is_at(timestamp_size) {
            more = self.move_top(|source| source.next_user_key(timestamp_size))?;
        }
        Ok(more)
    }

    #[inline]
    fn is_first_of_user_key(&mut self, timestamp_size: usize) -> bool {
        let Self { keys, sources, ages, heap, direction, .. } = self;
        let Some(top) = heap.top() else { return false };
        if *direction != Direction::Backward || !sources[top].is_first_of_user_key(timestamp_size) {
            return false;
        }
        // A source with a newer entry of the same key would be the next one.
        let order = MergeOrder { keys, sources, ages };
        let Some(next) = heap.runner_up(|a, b| order.precedes(a, b, *direction)) else {
            return true;
        };
        let key = |source: usize| without_timestamp(sources[source].user_key(), timestamp_size);
        key(top) != key(next)
    }
}
