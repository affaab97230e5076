//! Range deletions, as one view sees them.
//!
//! ```text
//! as written    a ======== e @3          fragments   [a, c) @3
//!                   c ======== g @7                  [c, g) @7
//!
//! a point (k, q) is deleted if its fragment's number is greater than q
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::keys::Keys;
use crate::view::View;

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
    view: &View,
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

/// Range deletions that a view sees, cut into pieces that do not overlap: of several over one piece
/// the newest decides.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    fragments: Vec<Fragment>,
}

#[derive(Debug, PartialEq, Eq)]
struct Fragment {
    start: Vec<u8>,
    end: Vec<u8>,
    sequence: u64,
}

impl Fragments {
    pub(crate) fn new<'a>(
        ranges: impl IntoIterator<Item = Range<'a>>,
        view: &View,
        keys: &Keys,
    ) -> Self {
        let mut ranges: Vec<Range<'a>> = ranges
            .into_iter()
            .filter(|range| {
                view.sees(range.sequence, range.timestamp, keys)
                    && keys.compare(range.start, range.end).is_lt()
            })
            .collect();
        ranges.sort_by(|a, b| keys.compare(a.start, b.start));
        Self { fragments: sweep(&ranges, keys) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// The number of the newest deletion over `key`.
    pub(crate) fn newest_over(&self, key: &[u8], keys: &Keys) -> Option<u64> {
        let after = self.fragments.partition_point(|f| keys.compare(&f.start, key).is_le());
        let fragment = self.fragments.get(after.checked_sub(1)?)?;
        keys.compare(key, &fragment.end).is_lt().then_some(fragment.sequence)
    }
}

/// Passes over all starts and ends in order, with the deletions that are open in a heap.
fn sweep(ranges: &[Range<'_>], keys: &Keys) -> Vec<Fragment> {
    let mut bounds: Vec<&[u8]> = ranges.iter().flat_map(|it| [it.start, it.end]).collect();
    bounds.sort_by(|a, b| keys.compare(a, b));
    bounds.dedup_by(|a, b| keys.compare(a, b).is_eq());

    let mut fragments: Vec<Fragment> = Vec::new();
    let mut opening = ranges.iter().enumerate().peekable();
    let mut open = BinaryHeap::new();
    for (&start, &end) in bounds.iter().zip(bounds.iter().skip(1)) {
        while let Some((i, range)) =
            opening.next_if(|(_, range)| keys.compare(range.start, start).is_le())
        {
            open.push((range.sequence, Reverse(i)));
        }
        // The newest of those still open; older ones that have ended stay below it unseen.
        while let Some(&(_, Reverse(i))) = open.peek()
            && keys.compare(ranges[i].end, start).is_le()
        {
            open.pop();
        }
        let Some(&(sequence, _)) = open.peek() else { continue };
        match fragments.last_mut() {
            Some(last) if last.sequence == sequence && keys.compare(&last.end, start).is_eq() => {
                last.end = end.to_vec();
            }
            _ => fragments.push(Fragment { start: start.to_vec(), end: end.to_vec(), sequence }),
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
            let view = View { sequence, timestamp: None };
            let bounds: Vec<_> = ranges.iter().map(|&(s, e, q)| ([s], [e], q)).collect();
            let ranges = || bounds.iter().map(|(start, end, sequence)| Range {
                start, end, sequence: *sequence, timestamp: &[],
            });
            let fragments = Fragments::new(ranges(), &view, &keys);
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
                prop_assert_eq!(fragments.newest_over(&[key], &keys), expected, "{}", key);
            }
        }
    }
}
