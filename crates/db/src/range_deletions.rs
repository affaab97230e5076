//! Range deletions, and which of several decides.
//!
//! ```text
//! as written    a ======== e @3          fragments   [a, c) @3
//!                   c ======== g @7                  [c, g) @7
//!
//! a point (k, q) is deleted if its fragment's number is greater than q
//! ```

use std::collections::BinaryHeap;

use crate::keys::Keys;
use crate::read_view::ReadView;

/// Keys from `start` up to `end` (exclusive), deleted at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeDeletion {
    /// The first key deleted, without timestamp.
    pub start: Vec<u8>,
    /// The first key no longer deleted, without timestamp.
    pub end: Vec<u8>,
    /// When.
    pub sequence: u64,
    /// The timestamp of the deletion; empty where keys have none.
    pub timestamp: Vec<u8>,
    /// The level of its file; `None` in the write-ahead log.
    pub level: Option<u32>,
    /// The number of its file; `None` in the write-ahead log.
    pub file: Option<u64>,
}

/// A range deletion, wherever it is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range<'a> {
    pub(crate) start: &'a [u8],
    pub(crate) end: &'a [u8],
    pub(crate) sequence: u64,
    pub(crate) timestamp: &'a [u8],
}

impl<'a> From<&'a sstkit_table::RangeTombstone> for Range<'a> {
    fn from(range: &'a sstkit_table::RangeTombstone) -> Self {
        let sstkit_table::RangeTombstone { start, end, sequence, timestamp, .. } = range;
        Self { start, end, sequence: *sequence, timestamp }
    }
}

impl<'a> From<&'a RangeDeletion> for Range<'a> {
    fn from(range: &'a RangeDeletion) -> Self {
        let RangeDeletion { start, end, sequence, timestamp, .. } = range;
        Self { start, end, sequence: *sequence, timestamp }
    }
}

/// The number of the newest deletion over `key` that the view sees, of deletions in any order.
pub(crate) fn newest_over<'a>(
    ranges: impl IntoIterator<Item = Range<'a>>,
    key: &[u8],
    view: &ReadView,
    keys: &Keys,
) -> Option<u64> {
    ranges
        .into_iter()
        .filter(|range| {
            view.sees(range.sequence, range.timestamp, keys)
                && keys.compare(range.start, key).is_le()
                && keys.compare(key, range.end).is_lt()
        })
        .map(|range| range.sequence)
        .max()
}

/// Range deletions cut into pieces that do not overlap: of several over one piece the newest
/// decides. When they were written is a number, or whatever else says which is newer.
#[derive(Debug)]
pub(crate) struct Fragments<A = u64> {
    fragments: Vec<Fragment<A>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fragment<A> {
    pub(crate) start: Vec<u8>,
    pub(crate) end: Vec<u8>,
    pub(crate) age: A,
}

impl Fragments {
    /// Of the deletions that a view sees.
    pub(crate) fn seen<'a>(
        ranges: impl IntoIterator<Item = Range<'a>>,
        view: &ReadView,
        keys: &Keys,
    ) -> Self {
        let seen = ranges
            .into_iter()
            .filter(|range| view.sees(range.sequence, range.timestamp, keys))
            .map(|range| (range.start, range.end, range.sequence));
        Self::new(seen, keys)
    }
}

impl<A: Copy + Ord> Fragments<A> {
    /// Of starts, ends and ages in any order. Deletions of nothing are left out.
    pub(crate) fn new<'a>(
        ranges: impl IntoIterator<Item = (&'a [u8], &'a [u8], A)>,
        keys: &Keys,
    ) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.retain(|(start, end, _)| keys.compare(start, end).is_lt());
        ranges.sort_by(|(a, ..), (b, ..)| keys.compare(a, b));
        Self { fragments: sweep(&ranges, keys) }
    }

    /// The fragment that `key` is in.
    pub(crate) fn over(&self, key: &[u8], keys: &Keys) -> Option<&Fragment<A>> {
        let after = self.fragments.partition_point(|it| keys.compare(&it.start, key).is_le());
        let fragment = self.fragments.get(after.checked_sub(1)?)?;
        keys.compare(key, &fragment.end).is_lt().then_some(fragment)
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Fragment<A>> {
        self.fragments.iter()
    }
}

/// Passes over all starts and ends in order, with the deletions that are open in a heap.
fn sweep<A: Copy + Ord>(ranges: &[(&[u8], &[u8], A)], keys: &Keys) -> Vec<Fragment<A>> {
    let mut bounds: Vec<&[u8]> = ranges.iter().flat_map(|&(start, end, _)| [start, end]).collect();
    bounds.sort_by(|a, b| keys.compare(a, b));
    bounds.dedup_by(|a, b| keys.compare(a, b).is_eq());

    let mut fragments: Vec<Fragment<A>> = Vec::new();
    let mut opening = ranges.iter().peekable();
    let mut open = BinaryHeap::new();
    for (&start, &end) in bounds.iter().zip(bounds.iter().skip(1)) {
        while let Some(&(_, until, age)) =
            opening.next_if(|(begin, ..)| keys.compare(begin, start).is_le())
        {
            open.push((age, until));
        }
        // The newest of those still open; older ones that have ended stay below it unseen.
        while let Some(&(_, until)) = open.peek()
            && keys.compare(until, start).is_le()
        {
            open.pop();
        }
        let Some(&(age, _)) = open.peek() else { continue };
        match fragments.last_mut() {
            Some(last) if last.age == age && keys.compare(&last.end, start).is_eq() => {
                last.end = end.to_vec();
            }
            _ => fragments.push(Fragment { start: start.to_vec(), end: end.to_vec(), age }),
        }
    }
    fragments
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sstkit_table::Comparator;

    use super::*;

    proptest! {
        #[test]
        fn each_key_has_its_newest_deletion(
            ranges in prop::collection::vec((0u8..20, 0u8..20, 0u64..9), 0..12),
            sequence in 0u64..9,
        ) {
            let keys = Keys::new(Comparator::Bytewise);
            let view = ReadView { sequence, timestamp: None };
            let bounds: Vec<_> = ranges.iter().map(|&(s, e, q)| ([s], [e], q)).collect();
            let ranges = || bounds.iter().map(|(start, end, sequence)| Range {
                start, end, sequence: *sequence, timestamp: &[],
            });
            let fragments = Fragments::seen(ranges(), &view, &keys);
            for pair in fragments.fragments.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start);
            }
            for key in 0..20u8 {
                let expected = newest_over(ranges(), &[key], &view, &keys);
                let over = |&&(start, end, at): &&([u8; 1], [u8; 1], u64)| {
                    start[0] <= key && key < end[0] && at <= sequence
                };
                let by_hand = bounds.iter().filter(over).map(|&(_, _, at)| at).max();
                prop_assert_eq!(expected, by_hand);
                let newest = fragments.over(&[key], &keys).map(|fragment| fragment.age);
                prop_assert_eq!(newest, expected, "{}", key);
            }
        }
    }
}
