//! Range deletions with timestamps: which of many covers a point.
//!
//! ```text
//! bounds     a     c     e     g          a deletion covers a point (k, q, t) if k is in its range, its
//! parts      [     )[    )[    )          number is greater than q, and its timestamp not less than t
//!
//! tree       1: [a, g)                    a ===== e @3 at 10    in 2
//!            2: [a, e)   3: [e, g)            c ===== g @7 at 5   in 5 and 3
//!            4: [a, c)  5: [c, e)
//! ```
//!
//! Neither number decides alone, so that no deletion hides another. A range is kept in the few nodes
//! of a tree over all parts that make it up, and a point asks the nodes above its part: in each, of
//! those with a greater number the largest timestamp, which is found by a search. That takes n log n to
//! make, and the square of a logarithm to ask, however the ranges overlap.

use std::cmp::Ordering;

use crate::reader::scan::range_tombstones::RangeTombstone;

/// Finds out whether one of many ranges covers a point. The ranges themselves are kept elsewhere.
#[derive(Debug, Default)]
pub(crate) struct TimestampedTombstones {
    /// All starts and ends, in order and each once: of which range, and whether it is its end.
    bounds: Vec<(u32, bool)>,
    /// A binary tree, as in a heap: the children of `i` are `2 i` and `2 i + 1`; the parts are leaves.
    nodes: Vec<Node>,
    /// Of the tree: a power of two.
    leaves: usize,
}

/// Ranges that cover all of a node: numbers descend, and with each is the range that has the largest
/// timestamp up to there.
type Node = Vec<(u64, u32)>;

impl TimestampedTombstones {
    /// Of ranges that are not empty.
    pub(crate) fn new(
        ranges: &[RangeTombstone],
        compare: impl Fn(&[u8], &[u8]) -> Ordering,
    ) -> Self {
        let Ok(count) = u32::try_from(ranges.len()) else { return Self::default() };
        let mut bounds: Vec<_> = (0..count).flat_map(|i| [(i, false), (i, true)]).collect();
        bounds.sort_by(|a, b| compare(bound(ranges, a), bound(ranges, b)));
        bounds.dedup_by(|a, b| compare(bound(ranges, a), bound(ranges, b)).is_eq());
        let leaves = bounds.len().next_power_of_two();
        let mut this = Self { bounds, nodes: vec![Node::new(); 2 * leaves], leaves };

        // By descending numbers, so that each node has them in this order.
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_by(|&a, &b| ranges[b as usize].sequence.cmp(&ranges[a as usize].sequence));
        for i in order {
            let RangeTombstone { start, end, .. } = &ranges[i as usize];
            let place = |key: &[u8]| {
                this.bounds.partition_point(|it| compare(bound(ranges, it), key).is_lt())
            };
            let (from, to) = (place(start), place(end));
            this.add(ranges, i, from, to);
        }
        this
    }

    /// Adds a range to the nodes that make up the parts from `from` up to `to`.
    fn add(&mut self, ranges: &[RangeTombstone], i: u32, from: usize, to: usize) {
        let (mut low, mut high) = (from + self.leaves, to + self.leaves);
        let mut put = |node: usize| {
            let node = &mut self.nodes[node];
            let largest = match node.last() {
                Some(&(_, best)) if timestamps(ranges, best, i).is_ge() => best,
                _ => i,
            };
            node.push((ranges[i as usize].sequence, largest));
        };
        while low < high {
            if low % 2 == 1 {
                put(low);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                put(high);
            }
            (low, high) = (low / 2, high / 2);
        }
    }

    /// Whether a point with this key, sequence number and timestamp is covered.
    pub(crate) fn covers(
        &self,
        ranges: &[RangeTombstone],
        key: &[u8],
        (sequence, timestamp): (u64, &[u8]),
        compare: impl Fn(&[u8], &[u8]) -> Ordering,
    ) -> bool {
        let after = self.bounds.partition_point(|it| compare(bound(ranges, it), key).is_le());
        let Some(part) = after.checked_sub(1) else { return false };
        let mut at = part + self.leaves;
        while at > 0 {
            let node = &self.nodes[at];
            let newer = node.partition_point(|&(number, _)| number > sequence);
            if let Some(&(_, best)) = newer.checked_sub(1).and_then(|last| node.get(last))
                && compare_timestamps(&ranges[best as usize].timestamp, timestamp).is_ge()
            {
                return true;
            }
            at /= 2;
        }
        false
    }
}

fn bound<'r>(ranges: &'r [RangeTombstone], &(i, is_end): &(u32, bool)) -> &'r [u8] {
    let range = &ranges[i as usize];
    if is_end { &range.end } else { &range.start }
}

fn timestamps(ranges: &[RangeTombstone], a: u32, b: u32) -> Ordering {
    compare_timestamps(&ranges[a as usize].timestamp, &ranges[b as usize].timestamp)
}

/// Timestamps are little-endian numbers, whatever their size.
fn compare_timestamps(a: &[u8], b: &[u8]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start: u8, end: u8, sequence: u64, timestamp: u8) -> RangeTombstone {
        let (start, end, timestamp) = (vec![start], vec![end], vec![0, timestamp]);
        RangeTombstone { start, end, sequence, timestamp }
    }

    proptest! {
        #[test]
        fn as_if_each_were_asked(
            ranges in prop::collection::vec((0u8..20, 0u8..20, 0u64..9, 0u8..9), 0..20),
        ) {
            let mut ranges: Vec<_> =
                ranges.into_iter().map(|(s, e, q, t)| range(s, e, q, t)).collect();
            ranges.retain(|range| range.start < range.end);
            let stamped = TimestampedTombstones::new(&ranges, Ord::cmp);
            for key in 0..20u8 {
                for (sequence, timestamp) in (0..9u64).flat_map(|q| (0..9u8).map(move |t| (q, t))) {
                    let expected = ranges.iter().any(|it| {
                        it.start[0] <= key
                            && key < it.end[0]
                            && it.sequence > sequence
                            && it.timestamp[1] >= timestamp
                    });
                    let at = (sequence, &[0, timestamp][..]);
                    prop_assert_eq!(stamped.covers(&ranges, &[key], at, Ord::cmp), expected);
                }
            }
        }
    }

    /// Each over all of those behind it: a walk through all would be some 10^10 steps.
    #[test]
    fn many_that_overlap() {
        let count = 100_000u32;
        let ranges: Vec<RangeTombstone> = (0..count)
            .map(|i| RangeTombstone {
                start: i.to_be_bytes().to_vec(),
                end: (2 * count).to_be_bytes().to_vec(),
                sequence: u64::from(count - i),
                timestamp: i.to_le_bytes().to_vec(),
            })
            .collect();
        let stamped = TimestampedTombstones::new(&ranges, Ord::cmp);
        for i in 0..count {
            // Only the first i have a greater number, and only the last of them such a timestamp.
            let (key, sequence) = (i.to_be_bytes(), u64::from(count - i));
            let covers = |timestamp: u32| {
                stamped.covers(&ranges, &key, (sequence, &timestamp.to_le_bytes()), Ord::cmp)
            };
            assert_eq!((covers(i), i > 0 && covers(i - 1)), (false, i > 0));
        }
    }
}
