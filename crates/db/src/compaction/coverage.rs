//! Range deletions of all inputs: which points they cover, and what is left of them.
//!
//! ```text
//! inputs        a ======== e @3, older table          fragments   [a, c) @3
//!                   c ======== g @7, newer table                  [c, g) @7
//!
//! a point is covered if its fragment is newer: by the sequence number, or if that is the same, by
//! the table
//! ```
//!
//! Where keys have timestamps nothing is covered for good: as of an earlier time a deleted point is
//! still there. Everything is then kept as it is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sstkit_table::Comparator;

use crate::output::PendingRange;

/// When something was written: the sequence number, and the newness of the input.
pub(super) type Age = (u64, usize);

/// A range deletion of an input.
#[derive(Clone, Debug)]
pub(super) struct InputRange {
    pub(super) range: PendingRange,
    /// The newness of its input.
    pub(super) rank: usize,
}

/// The range deletions of all inputs.
#[derive(Debug)]
pub(super) struct Coverage {
    comparator: Comparator,
    fragments: Vec<Fragment>,
}

#[derive(Debug)]
struct Fragment {
    start: Vec<u8>,
    end: Vec<u8>,
    age: Age,
}

impl Coverage {
    /// For keys without timestamps.
    pub(super) fn new(mut ranges: Vec<InputRange>, comparator: &Comparator) -> Self {
        ranges.retain(|it| comparator.compare(&it.range.start, &it.range.end).is_lt());
        ranges.sort_by(|a, b| comparator.compare(&a.range.start, &b.range.start));
        Self { fragments: fragments(&ranges, comparator), comparator: comparator.clone() }
    }

    /// Covers nothing.
    pub(super) fn nothing(comparator: &Comparator) -> Self {
        Self { comparator: comparator.clone(), fragments: Vec::new() }
    }

    /// When the newest deletion over `key` was written.
    pub(super) fn newest_over(&self, key: &[u8]) -> Option<Age> {
        if self.fragments.is_empty() {
            return None;
        }
        let compare = |a: &[u8], b: &[u8]| self.comparator.compare(a, b);
        let after = self.fragments.partition_point(|it| compare(&it.start, key).is_le());
        let fragment = self.fragments.get(after.checked_sub(1)?)?;
        compare(key, &fragment.end).is_lt().then_some(fragment.age)
    }

    /// The fragments, to be written.
    pub(super) fn ranges(&self) -> Vec<PendingRange> {
        let range = |it: &Fragment| PendingRange {
            start: it.start.clone(),
            end: it.end.clone(),
            sequence: it.age.0,
            timestamp: Vec::new(),
        };
        self.fragments.iter().map(range).collect()
    }
}

/// Passes over all starts and ends in order, with the deletions that are open in a heap.
fn fragments(ranges: &[InputRange], comparator: &Comparator) -> Vec<Fragment> {
    let compare = |a: &[u8], b: &[u8]| comparator.compare(a, b);
    let mut bounds: Vec<&[u8]> =
        ranges.iter().flat_map(|it| [&it.range.start[..], &it.range.end[..]]).collect();
    bounds.sort_by(|a, b| compare(a, b));
    bounds.dedup_by(|a, b| compare(a, b).is_eq());

    let mut fragments: Vec<Fragment> = Vec::new();
    let mut opening = ranges.iter().enumerate().peekable();
    let mut open = BinaryHeap::new();
    for (&start, &end) in bounds.iter().zip(bounds.iter().skip(1)) {
        while let Some((i, it)) = opening.next_if(|(_, it)| compare(&it.range.start, start).is_le())
        {
            open.push(((it.range.sequence, it.rank), Reverse(i)));
        }
        // The newest of those still open; older ones that have ended stay below it unseen.
        while let Some(&(_, Reverse(i))) = open.peek()
            && compare(&ranges[i].range.end, start).is_le()
        {
            open.pop();
        }
        let Some(&(age, _)) = open.peek() else { continue };
        match fragments.last_mut() {
            Some(last) if last.age == age && compare(&last.end, start).is_eq() => {
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

    use super::*;

    proptest! {
        #[test]
        fn each_key_has_its_newest_deletion(
            ranges in prop::collection::vec((0u8..20, 0u8..20, 0u64..5, 0usize..3), 0..12),
        ) {
            let input = |&(start, end, sequence, rank): &(u8, u8, u64, usize)| InputRange {
                range: PendingRange {
                    start: vec![start],
                    end: vec![end],
                    sequence,
                    timestamp: Vec::new(),
                },
                rank,
            };
            let inputs = ranges.iter().map(input).collect();
            let coverage = Coverage::new(inputs, &Comparator::Bytewise);
            for pair in coverage.fragments.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start);
            }
            for key in 0..20u8 {
                let over = ranges.iter().filter(|range| range.0 <= key && key < range.1);
                let expected = over.map(|range| (range.2, range.3)).max();
                prop_assert_eq!(coverage.newest_over(&[key]), expected, "{}", key);
            }
        }
    }
}
