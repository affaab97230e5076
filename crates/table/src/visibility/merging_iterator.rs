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
//!
//! ```text
//! top         a@9     c@7 d@7     d and after it     the top moves on while it stays before the
//! runner-up           g@3                            runner-up: one comparison of user keys, which
//!                                                    also tells that no other source has its key
//! ```

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
    /// Whether no other source has the user key of the current entry.
    is_alone: bool,
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
            is_alone: false,
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
        let (order, heap) = self.order();
        let valid = (0..order.sources.len()).filter(|&source| order.sources[source].is_valid());
        heap.build(valid, |a, b| order.precedes(a, b));
        self.is_alone = order.is_top_alone(heap);
    }

    /// The order of the sources, and the heap that is kept in it.
    #[inline]
    fn order(&mut self) -> (MergeOrder<'_, I>, &mut MergeHeap) {
        let Self { keys, sources, ages, heap, direction, .. } = self;
        (MergeOrder { keys, sources, ages, direction: *direction }, heap)
    }

    /// Moves the source on top and restores the heap.
    #[inline]
    fn move_top(&mut self, go: impl FnOnce(&mut I) -> Result<bool>) -> Result<bool> {
        let Some(top) = self.heap.top() else { return Ok(false) };
        match go(&mut self.sources[top]) {
            Ok(has_entry) => {
                let (order, heap) = self.order();
                let is_alone = has_entry && order.is_top_alone(heap);
                self.is_alone = is_alone || self.settle_top(has_entry);
                Ok(!self.heap.is_empty())
            }
            Err(error) => {
                self.heap.clear();
                Err(error)
            }
        }
    }

    /// After the source on top has reached its end, or a user key of another source: restores the
    /// heap. Returns whether the source that is then on top is alone with its key.
    fn settle_top(&mut self, has_entry: bool) -> bool {
        let (order, heap) = self.order();
        heap.settle_top(has_entry, |a, b| order.precedes(a, b));
        order.is_top_alone(heap)
    }

    /// Moves all sources that have the current user key to the next one.
    fn skip_user_key(&mut self, timestamp_size: usize) -> Result<bool> {
        let Some(top) = self.heap.top() else { return Ok(false) };
        let user_key = self.sources[top].user_key();
        self.key.replace(0, user_key, without_timestamp(user_key, timestamp_size).len());
        let mut more = self.move_top(|source| source.next_user_key(timestamp_size))?;
        while more && self.is_at(timestamp_size) {
            more = self.move_top(|source| source.next_user_key(timestamp_size))?;
        }
        Ok(more)
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
    direction: Direction,
}

impl<I: InternalIterator> MergeOrder<'_, I> {
    /// Whether the entry of source `a` comes before that of `b`.
    #[inline]
    fn precedes(&self, a: usize, b: usize) -> bool {
        let (left, right) = (&self.sources[a], &self.sources[b]);
        let order = self
            .compare_keys(left.user_key(), right.user_key(), self.ages[a].cmp(&self.ages[b]))
            .then_with(|| right.sequence().cmp(&left.sequence()))
            .then_with(|| a.cmp(&b));
        self.is_first(order)
    }

    /// Whether what compares like this comes first in the direction of the merge.
    #[inline]
    fn is_first(&self, order: Ordering) -> bool {
        match self.direction {
            Direction::Forward => order == Ordering::Less,
            Direction::Backward => order == Ordering::Greater,
        }
    }

    /// Whether the user key of the source on top comes before those of all other sources. If so, the
    /// heap is in order.
    #[inline]
    fn is_top_alone(&self, heap: &mut MergeHeap) -> bool {
        let next = heap.runner_up(|a, b| self.precedes(a, b));
        let (Some(top), Some(next)) = (heap.top(), next) else { return true };
        let key = |source: usize| self.keys.bare(self.sources[source].user_key());
        self.is_first(self.keys.compare(key(top), key(next)))
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

    #[inline]
    fn next_user_key(&mut self, timestamp_size: usize) -> Result<bool> {
        match self.is_alone {
            true => self.move_top(|source| source.next_user_key(timestamp_size)),
            false => self.skip_user_key(timestamp_size),
        }
    }

    // A source with a newer entry of the same key would be the next one.
    #[inline]
    fn is_first_of_user_key(&mut self, timestamp_size: usize) -> bool {
        let Some(top) = self.heap.top() else { return false };
        self.direction == Direction::Backward
            && self.is_alone
            && self.sources[top].is_first_of_user_key(timestamp_size)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// User keys and sequence numbers, in order.
    struct Sorted {
        entries: Vec<([u8; 1], u64)>,
        at: Option<usize>,
    }

    impl Sorted {
        fn go_to(&mut self, at: Option<usize>) -> Result<bool> {
            self.at = at.filter(|&at| at < self.entries.len());
            Ok(self.at.is_some())
        }
    }

    impl InternalIterator for Sorted {
        fn is_valid(&self) -> bool {
            self.at.is_some()
        }

        fn user_key(&self) -> &[u8] {
            &self.entries[self.at.unwrap()].0
        }

        fn sequence(&self) -> u64 {
            self.entries[self.at.unwrap()].1
        }

        fn kind(&self) -> EntryKind {
            EntryKind::Value
        }

        fn value(&self) -> &[u8] {
            &[]
        }

        fn value_handle(&self) -> Value {
            Value::default()
        }

        fn next(&mut self) -> Result<bool> {
            self.go_to(self.at.map(|at| at + 1))
        }

        fn prev(&mut self) -> Result<bool> {
            self.go_to(self.at.and_then(|at| at.checked_sub(1)))
        }

        fn seek_to_first(&mut self) -> Result<bool> {
            self.go_to(Some(0))
        }

        fn seek_to_last(&mut self) -> Result<bool> {
            self.go_to(self.entries.len().checked_sub(1))
        }

        fn seek(&mut self, key: &[u8]) -> Result<bool> {
            self.go_to(Some(self.entries.partition_point(|(user_key, _)| user_key[..] < *key)))
        }

        fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
            let after = self.entries.partition_point(|(user_key, _)| user_key[..] <= *key);
            self.go_to(after.checked_sub(1))
        }

        fn is_first_of_user_key(&mut self, _: usize) -> bool {
            let at = self.at.unwrap();
            at > 0 && self.entries[at - 1].0 != self.entries[at].0
        }
    }

    proptest! {
        /// Entries in sources, newest first, of few keys, so that sources share many.
        #[test]
        fn merges_sources_that_share_keys(
            writes in prop::collection::vec((0u8..12, 0usize..5), 0..60),
            by_sequence: bool,
            start in 0u8..12,
        ) {
            let recency = if by_sequence { Recency::BySequence } else { Recency::BySource };
            let mut sorted = vec![Vec::new(); 5];
            for ((key, source), sequence) in writes.into_iter().zip(1..) {
                sorted[source].push(([key], sequence));
            }
            let mut merged = Vec::new();
            for (source, entries) in sorted.iter_mut().enumerate() {
                entries.sort_by_key(|&(key, sequence)| (key, u64::MAX - sequence));
                let age = recency.age(source);
                merged.extend(entries.iter().map(|&(key, number)| (key, age, u64::MAX - number)));
            }
            merged.sort();
            let sources = sorted.into_iter().map(|entries| Sorted { entries, at: None }).collect();
            let keys = UserKeys::new(Comparator::Bytewise);
            let mut merging = MergingIterator::new(keys, recency, sources);
            let at = |merging: &MergingIterator<Sorted>| {
                let age = recency.age(merging.source().unwrap());
                (*merging.user_key().first_chunk().unwrap(), age, u64::MAX - merging.sequence())
            };

            let mut more = merging.seek_to_first().unwrap();
            for &entry in &merged {
                prop_assert!(more);
                prop_assert_eq!(at(&merging), entry);
                more = merging.next().unwrap();
            }
            prop_assert!(!more);

            let mut newest = BTreeMap::new();
            for &entry in merged.iter().rev() {
                newest.insert(entry.0, entry);
            }
            let mut more = merging.seek(&[start]).unwrap();
            for (_, &entry) in newest.range([start]..) {
                prop_assert!(more);
                prop_assert_eq!(at(&merging), entry);
                more = merging.next_user_key(0).unwrap();
            }
            prop_assert!(!more);

            let mut more = merging.seek_for_prev(&[start]).unwrap();
            for &entry in merged.iter().rev().filter(|(key, ..)| *key <= [start]) {
                prop_assert!(more);
                prop_assert_eq!(at(&merging), entry);
                let is_newest = newest[&entry.0] == entry;
                let source = merging.source().unwrap();
                let is_known = merging.sources[source].is_first_of_user_key(0);
                // Its source knows it, and no other source has the key.
                prop_assert_eq!(merging.is_first_of_user_key(0), is_newest && is_known);
                more = merging.prev().unwrap();
            }
            prop_assert!(!more);
        }
    }
}
