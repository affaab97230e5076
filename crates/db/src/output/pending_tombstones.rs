//! Range tombstones that wait for the files they belong in.
//!
//! ```text
//! files           | a . . . . f | g . . . . . p | q . . .
//! range tombstone         [c =================== r)
//! is cut to               [c == g) [g ======= q) [q = r)
//! ```
//!
//! A file reaches from its first key up to the first key of the next one, so that no two overlap.

use std::collections::VecDeque;

use sstkit_table::{Comparator, RangeTombstone};

/// Range tombstones in the order of their start keys.
#[derive(Debug, Default)]
pub(crate) struct PendingTombstones {
    ranges: VecDeque<RangeTombstone>,
    /// The rest of those that were cut; all of them start at the last cut.
    cut: Vec<RangeTombstone>,
}

impl PendingTombstones {
    /// From ranges in any order. Empty ones are dropped.
    pub(crate) fn new(mut ranges: Vec<RangeTombstone>, comparator: &Comparator) -> Self {
        let compare = |a: &[u8], b: &[u8]| comparator.compare_without_timestamp(a, b);
        ranges.retain(|range| compare(&range.start, &range.end).is_lt());
        ranges
            .sort_by(|a, b| compare(&a.start, &b.start).then_with(|| b.sequence.cmp(&a.sequence)));
        Self { ranges: ranges.into(), cut: Vec::new() }
    }

    pub(super) fn insert(&mut self, range: RangeTombstone, comparator: &Comparator) {
        let at = self.ranges.partition_point(|other| {
            comparator.compare_without_timestamp(&other.start, &range.start).is_lt()
        });
        self.ranges.insert(at, range);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.cut.is_empty()
    }

    /// Removes and returns everything before `end`; with `None`, all of them.
    pub(crate) fn take_before(
        &mut self,
        end: Option<&[u8]>,
        comparator: &Comparator,
    ) -> Vec<RangeTombstone> {
        let compare = |a: &[u8], b: &[u8]| comparator.compare_without_timestamp(a, b);
        let mut taken = std::mem::take(&mut self.cut);
        let Some(end) = end else {
            taken.extend(self.ranges.drain(..));
            return taken;
        };
        while self.ranges.front().is_some_and(|range| compare(&range.start, end).is_lt()) {
            taken.extend(self.ranges.pop_front());
        }
        for range in &mut taken {
            if compare(&range.end, end).is_gt() {
                let mut rest = range.clone();
                rest.start = end.to_vec();
                self.cut.push(rest);
                range.end = end.to_vec();
            }
        }
        // What was cut at the same key before.
        taken.retain(|range| compare(&range.start, &range.end).is_lt());
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: &[u8], end: &[u8], sequence: u64) -> RangeTombstone {
        RangeTombstone::new(start, end, sequence, [])
    }

    #[test]
    fn the_drawn_example() {
        let order = Comparator::Bytewise;
        let mut pending =
            PendingTombstones::new(vec![range(b"x", b"y", 1), range(b"c", b"r", 2)], &order);
        assert_eq!(pending.take_before(Some(b"g"), &order), [range(b"c", b"g", 2)]);
        assert_eq!(pending.take_before(Some(b"g"), &order), []);
        assert_eq!(pending.take_before(Some(b"q"), &order), [range(b"g", b"q", 2)]);
        let rest = pending.take_before(None, &order);
        assert_eq!(rest, [range(b"q", b"r", 2), range(b"x", b"y", 1)]);
        assert!(pending.is_empty());
    }

    #[test]
    fn empty_ranges_and_the_other_order() {
        let order = Comparator::ReverseBytewise;
        let ranges = vec![range(b"a", b"a", 1), range(b"a", b"c", 1), range(b"m", b"b", 3)];
        let mut pending = PendingTombstones::new(ranges, &order);
        assert_eq!(pending.take_before(Some(b"f"), &order), [range(b"m", b"f", 3)]);
        assert_eq!(pending.take_before(Some(b"a"), &order), [range(b"f", b"b", 3)]);
        assert!(pending.is_empty());
    }
}
