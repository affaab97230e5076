//! Range tombstones cut into fragments that do not overlap.
//!
//! ```text
//! as written    a ======== e @3          fragments   [a, c) @3
//!                   c ======== g @7                  [c, g) @7
//!
//! an entry (k, q) is covered if the number of the fragment over k is greater than q
//! ```
//!
//! Of several tombstones over one fragment, the newest decides, so a fragment keeps only that one.
//! With timestamps the same holds among the visible tombstones, as in RocksDB: the timestamps of a
//! key ascend with its sequence numbers.

use std::collections::BinaryHeap;

use crate::visibility::{RangeTombstone, ReadView, UserKeys};

/// Fragments of range tombstones, in order. The age is a sequence number, or another type that
/// tells which of two is newer.
#[derive(Clone, Debug)]
pub struct Fragments<A = u64> {
    fragments: Vec<Fragment<A>>,
}

/// Keys from `start` up to `end` (exclusive), and the age of the newest tombstone over them.
#[derive(Clone, PartialEq, Eq)]
pub struct Fragment<A = u64> {
    /// The first key.
    pub start: Vec<u8>,
    /// The first key after the fragment.
    pub end: Vec<u8>,
    /// The age of the newest tombstone over it.
    pub age: A,
}

sstkit_coding::debug_struct!([A: core::fmt::Debug] Fragment<A> { start: bytes, end: bytes, age });

/// Keys that no fragment contains, between two fragments. `None`: there is no such fragment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FragmentGap<'f> {
    /// The end of the fragment before.
    pub start: Option<&'f [u8]>,
    /// The start of the fragment after.
    pub end: Option<&'f [u8]>,
}

sstkit_coding::debug_struct!(FragmentGap<'_> { start: bytes, end: bytes });

impl<A> Default for Fragments<A> {
    fn default() -> Self {
        Self { fragments: Vec::new() }
    }
}

impl Fragments {
    /// The fragments of the tombstones that are visible in `view`.
    pub fn seen<'t>(
        tombstones: impl IntoIterator<Item = &'t RangeTombstone>,
        view: &ReadView,
        keys: &UserKeys,
    ) -> Self {
        let seen = tombstones
            .into_iter()
            .filter(|it| view.sees(it.sequence, &it.timestamp, keys))
            .map(|it| (&it.start[..], &it.end[..], it.sequence));
        Self::new(seen, keys)
    }
}

impl<A: Copy + Ord> Fragments<A> {
    /// The fragments of tombstones given as start, end and age, in any order. Empty ranges are
    /// ignored.
    pub fn new<'t>(
        ranges: impl IntoIterator<Item = (&'t [u8], &'t [u8], A)>,
        keys: &UserKeys,
    ) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.retain(|(start, end, _)| keys.compare(start, end).is_lt());
        ranges.sort_by(|(a, ..), (b, ..)| keys.compare(a, b));
        Self { fragments: sweep(&ranges, keys) }
    }

    /// The fragment that contains `key`.
    pub fn over(&self, key: &[u8], keys: &UserKeys) -> Option<&Fragment<A>> {
        let after = self.fragments.partition_point(|it| keys.compare(&it.start, key).is_le());
        let fragment = self.fragments.get(after.checked_sub(1)?)?;
        keys.compare(key, &fragment.end).is_lt().then_some(fragment)
    }

    /// The keys around `key` that no fragment contains. `None` if one contains `key`.
    pub fn gap(&self, key: &[u8], keys: &UserKeys) -> Option<FragmentGap<'_>> {
        let after = self.fragments.partition_point(|it| keys.compare(&it.start, key).is_le());
        let start = after.checked_sub(1).map(|before| &self.fragments[before].end[..]);
        let end = self.fragments.get(after).map(|it| &it.start[..]);
        let is_outside = start.is_none_or(|start| keys.compare(start, key).is_le());
        is_outside.then_some(FragmentGap { start, end })
    }

    /// All fragments, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Fragment<A>> {
        self.fragments.iter()
    }

    /// Whether there are no fragments.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }
}

/// Sweeps over all starts and ends in order, with the open tombstones in a heap.
fn sweep<A: Copy + Ord>(ranges: &[(&[u8], &[u8], A)], keys: &UserKeys) -> Vec<Fragment<A>> {
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
        // The newest open tombstone. Older ones that have ended stay in the heap below it.
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

    use super::*;
    use crate::comparator::Comparator;

    fn tombstone(start: u8, end: u8, sequence: u64) -> RangeTombstone {
        RangeTombstone::new([start], [end], sequence, [])
    }

    fn fragment(start: u8, end: u8, age: u64) -> Fragment {
        Fragment { start: vec![start], end: vec![end], age }
    }

    #[test]
    fn the_drawn_example() {
        let keys = UserKeys::new(Comparator::Bytewise);
        let tombstones = [tombstone(b'c', b'g', 7), tombstone(b'a', b'e', 3)];
        let expected = [fragment(b'a', b'c', 3), fragment(b'c', b'g', 7)];
        let fragments = |sequence| {
            Fragments::seen(&tombstones, &ReadView { sequence, timestamp: None }, &keys).fragments
        };
        assert_eq!(fragments(7), expected);
        assert_eq!(fragments(6), [fragment(b'a', b'e', 3)]);
    }

    proptest! {
        #[test]
        fn each_key_has_its_newest_tombstone(
            ranges in prop::collection::vec((0u8..20, 0u8..20, 0u64..9, 0u64..9), 0..12),
            sequence in 0u64..9,
            time in 0u64..9,
        ) {
            let keys = UserKeys::new(Comparator::BytewiseWithTimestamp);
            let view = ReadView { sequence, timestamp: Some(time.to_le_bytes().to_vec()) };
            let tombstones: Vec<_> = ranges
                .iter()
                .map(|&(start, end, at, time)| {
                    RangeTombstone::new([start], [end], at, time.to_le_bytes())
                })
                .collect();
            let fragments = Fragments::seen(&tombstones, &view, &keys);
            for pair in fragments.fragments.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start);
            }
            for key in 0..20u8 {
                let over = |&&(start, end, at, written): &&(u8, u8, u64, u64)| {
                    start <= key && key < end && at <= sequence && written <= time
                };
                let expected = ranges.iter().filter(over).map(|&(_, _, at, _)| at).max();
                let newest = fragments.over(&[key], &keys).map(|fragment| fragment.age);
                prop_assert_eq!(newest, expected, "{}", key);
            }
        }
    }

    /// Each covers all following ones: comparing all pairs would take 10^10 steps.
    #[test]
    fn many_that_overlap() {
        let keys = UserKeys::new(Comparator::Bytewise);
        let count = 100_000u32;
        let end = (2 * count).to_be_bytes();
        let starts: Vec<[u8; 4]> = (0..count).map(u32::to_be_bytes).collect();
        let fragments =
            Fragments::new(starts.iter().zip(0..).map(|(it, age)| (&it[..], &end[..], age)), &keys);
        for (start, age) in starts.iter().zip(0..count) {
            assert_eq!(fragments.over(start, &keys).map(|it| it.age), Some(age));
        }
    }
}
