//! The range deletions of a table, cut into pieces that do not overlap.
//!
//! ```text
//! as stored     a ======== e @3          fragments   [a, c) @3
//!                   c ======== g @7                  [c, g) @7
//!
//! a point (k, q) is deleted if its fragment's number is greater than q
//! ```
//!
//! Of several deletions over one fragment the newest decides, so a fragment keeps only that. With
//! timestamps both numbers count, and there are [others](crate::reader::scan::timestamped_tombstones) to search.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::error::{Error, Result};
use crate::raw::{BlockHandle, BlockKind, EntryKind, InternalKey};
use crate::reader::block::reader::BlockReader;
use crate::reader::open::key_space::KeySpace;
use crate::reader::scan::timestamped_tombstones::TimestampedTombstones;

/// Sharing prefixes may save this much in a block of range deletions, and no more: in a forged one
/// a few bytes could stand for a key as long as the block, again and again. The engines share none.
const MAX_EXPANSION: usize = 16;
/// What even the smallest block may expand to.
const MIN_BUDGET: usize = 4096;

/// Keys from `start` up to `end` (exclusive), deleted at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeTombstone {
    /// The first key deleted.
    pub start: Vec<u8>,
    /// The first key no longer deleted.
    pub end: Vec<u8>,
    /// When.
    pub sequence: u64,
    /// The timestamp of the deletion; empty where keys have none.
    pub timestamp: Vec<u8>,
}

/// The range deletions of a table.
#[derive(Debug, Default)]
pub(crate) struct RangeDeletions {
    /// As stored, but without those that delete nothing, in the order of their starts.
    stored: Vec<RangeTombstone>,
    /// Without overlap, in order. Not with timestamps, nor where the order is not known.
    fragments: Vec<RangeTombstone>,
    /// With timestamps, instead of fragments.
    stamped: TimestampedTombstones,
}

impl RangeDeletions {
    /// Reads the block of a table's range deletions.
    pub(crate) fn read(
        blocks: &BlockReader,
        handle: Option<BlockHandle>,
        keys: &KeySpace,
    ) -> Result<Self> {
        let Some(handle) = handle else { return Ok(Self::default()) };
        let kind = BlockKind::RangeDeletion;
        let decode = || {
            let block = blocks.block_uncached(kind, handle)?;
            let mut budget = block.bytes().len().saturating_mul(MAX_EXPANSION).max(MIN_BUDGET);
            let mut entries = block.into_entries();
            let mut stored = Vec::new();
            while entries.advance()? {
                budget = budget
                    .checked_sub(entries.key().len() + entries.value().len())
                    .ok_or_else(|| {
                        Error::corrupt("the range tombstones expand too far by sharing prefixes")
                    })?;
                stored.push(decode(entries.key(), entries.value(), keys)?);
            }
            Ok(stored)
        };
        let stored = decode().map_err(|error| blocks.locate(error, kind, handle.offset))?;
        Ok(Self::new(stored, keys))
    }

    fn new(mut stored: Vec<RangeTombstone>, keys: &KeySpace) -> Self {
        if !keys.is_ordered() {
            return Self { stored, ..Self::default() };
        }
        stored.retain(|range| keys.compare(&range.start, &range.end).is_lt());
        stored.sort_by(|a, b| {
            keys.compare(&a.start, &b.start).then_with(|| b.sequence.cmp(&a.sequence))
        });
        let compare = |a: &[u8], b: &[u8]| keys.compare(a, b);
        let (fragments, stamped) = match keys.timestamp_size {
            0 => (fragments(&stored, compare), TimestampedTombstones::default()),
            _ => (Vec::new(), TimestampedTombstones::new(&stored, compare)),
        };
        Self { stored, fragments, stamped }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    pub(crate) fn stored(&self) -> &[RangeTombstone] {
        &self.stored
    }

    pub(crate) fn fragments(&self) -> &[RangeTombstone] {
        &self.fragments
    }

    /// The newest deletion over `key`.
    pub(crate) fn newest_over(&self, key: &[u8], keys: &KeySpace) -> Option<u64> {
        let after = self.fragments.partition_point(|f| keys.compare(&f.start, key).is_le());
        let fragment = self.fragments.get(after.checked_sub(1)?)?;
        keys.compare(key, &fragment.end).is_lt().then_some(fragment.sequence)
    }

    /// Whether a point is deleted.
    pub(crate) fn covers(&self, point: &InternalKey<'_>, keys: &KeySpace) -> bool {
        if self.stored.is_empty() {
            return false;
        }
        let key = keys.bare(point.user_key);
        if keys.timestamp_size == 0 {
            return self.newest_over(key, keys).is_some_and(|newest| newest > point.sequence);
        }
        let at = (point.sequence, keys.timestamp(point.user_key));
        self.stamped.covers(&self.stored, key, at, |a, b| keys.compare(a, b))
    }
}

fn decode(key: &[u8], end: &[u8], keys: &KeySpace) -> Result<RangeTombstone> {
    let begin = InternalKey::decode_from(key)?;
    if begin.kind != EntryKind::RangeDeletion {
        return Err(Error::corrupt(format!("{begin:?} is not valid in the range deletion block")));
    }
    Ok(RangeTombstone {
        start: keys.bare(begin.user_key).to_vec(),
        end: keys.bare(end).to_vec(),
        sequence: keys.global_sequence_number.unwrap_or(begin.sequence),
        timestamp: keys.timestamp(begin.user_key).to_vec(),
    })
}

/// Sweeps over all starts and ends in order, with the deletions that are open in a heap.
fn fragments(
    stored: &[RangeTombstone],
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
) -> Vec<RangeTombstone> {
    let mut bounds: Vec<&[u8]> =
        stored.iter().flat_map(|range| [&range.start[..], &range.end[..]]).collect();
    bounds.sort_by(|a, b| compare(a, b));
    bounds.dedup_by(|a, b| compare(a, b).is_eq());

    let mut fragments: Vec<RangeTombstone> = Vec::new();
    let mut opening = stored.iter().enumerate().peekable();
    let mut open = BinaryHeap::new();
    for (start, end) in bounds.iter().zip(bounds.iter().skip(1)) {
        while let Some((i, range)) =
            opening.next_if(|(_, range)| compare(&range.start, start).is_le())
        {
            open.push((range.sequence, Reverse(i)));
        }
        // The newest of those still open; older ones that have ended stay below it unseen.
        while let Some(&(sequence, Reverse(i))) = open.peek() {
            if compare(&stored[i].end, start).is_le() {
                open.pop();
                continue;
            }
            match fragments.last_mut() {
                Some(last) if last.sequence == sequence && compare(&last.end, start).is_eq() => {
                    last.end = end.to_vec();
                }
                _ => fragments.push(RangeTombstone {
                    start: start.to_vec(),
                    end: end.to_vec(),
                    sequence,
                    timestamp: Vec::new(),
                }),
            }
            break;
        }
    }
    fragments
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start: u8, end: u8, sequence: u64) -> RangeTombstone {
        RangeTombstone { start: vec![start], end: vec![end], sequence, timestamp: Vec::new() }
    }

    fn sorted(mut ranges: Vec<RangeTombstone>) -> Vec<RangeTombstone> {
        ranges.retain(|range| range.start < range.end);
        ranges.sort_by(|a, b| a.start.cmp(&b.start));
        ranges
    }

    #[test]
    fn the_drawn_example() {
        let stored = [range(b'a', b'e', 3), range(b'c', b'g', 7)];
        let expected = [range(b'a', b'c', 3), range(b'c', b'g', 7)];
        assert_eq!(fragments(&stored, Ord::cmp), expected);
    }

    proptest! {
        #[test]
        fn each_key_has_its_newest_deletion(
            ranges in prop::collection::vec((0u8..20, 0u8..20, 0u64..9), 0..12),
        ) {
            let stored = sorted(ranges.into_iter().map(|(s, e, q)| range(s, e, q)).collect());
            let fragments = fragments(&stored, Ord::cmp);
            for pair in fragments.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start);
            }
            for key in 0..20u8 {
                let over = |range: &&RangeTombstone| range.start[0] <= key && key < range.end[0];
                let expected = stored.iter().filter(over).map(|range| range.sequence).max();
                let found = fragments.iter().find(over).map(|range| range.sequence);
                prop_assert_eq!(found, expected, "{}", key);
            }
        }
    }
}
