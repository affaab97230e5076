//! A flat copy of an index for fast lookups: keys as numbers, and the handles of data blocks.
//!
//! ```text
//! keys        user0000017/a   user0000017/k   user0000391/c   user0000808/b …
//!             '------'          common to all: compared once
//!                     '------'  as a number: eight bytes, big-endian, padded with zeros
//! levels      | 017/a…                                                           | every 64th
//!             | 017/a… | …                                                       | every 8th
//!             | 017/a… | 017/k… | 391/c… | 808/b… …                              | all
//! places      | 0+4070 | 4075+4070 | …                                           handles and slot hints
//! ```
//!
//! A binary search by the keys themselves reads two or three cache lines per step, all over the
//! index. Here it is one line per level, and the upper levels stay in the processor's cache. Keys are
//! compared only where numbers are equal.
//!
//! Only for keys in bytewise order. It takes 24 bytes per data block, about as much as the index itself,
//! and building it takes a pass over the index, so it is built after [enough](FlatIndex::pays) searches.
//! `docs/decisions/0006-flat-index.md` has what it gains.

use std::cmp::Ordering;

use bytes::Bytes;

use crate::raw::{Block, BlockHandle, IndexEntries, IndexFormat, IndexKind, common_prefix, word};
use crate::reader::cache::SlotHint;
use crate::reader::open::key_space::KeySpace;

/// Words of a level per word of the level above: a cache line.
const FANOUT: usize = 8;

/// The flat index is built after one search per this many restart points.
const RESTARTS_PER_SEARCH: usize = 64;

pub(crate) struct FlatIndex {
    /// The common prefix of all restart keys.
    common: Vec<u8>,
    /// The last level has the next eight bytes of each restart key, ascending. Each level above has the
    /// first of every [`FANOUT`] words of the one below.
    levels: Vec<Vec<u64>>,
    /// One per restart point, if each is the only entry of its interval and its value is just a handle.
    places: Option<Vec<BlockLocation>>,
}

/// The handle of a data block and its slot hint.
pub(crate) struct BlockLocation {
    offset: u64,
    size: u32,
    pub(crate) hint: SlotHint,
}

impl BlockLocation {
    /// `None` for a block of 4 GiB or more.
    fn new(handle: BlockHandle) -> Option<Self> {
        let (offset, size) = (handle.offset, handle.size.try_into().ok()?);
        Some(Self { offset, size, hint: SlotHint::default() })
    }

    #[inline]
    pub(crate) fn handle(&self) -> BlockHandle {
        BlockHandle::new(self.offset, self.size.into())
    }
}

impl FlatIndex {
    /// Whether the index has been searched often enough to build one.
    pub(crate) fn pays(block: &Block<Bytes>, searches: usize) -> bool {
        searches >= block.restart_count() / RESTARTS_PER_SEARCH
    }

    /// Reads the whole index; `None` if it is corrupt or not in bytewise order.
    pub(crate) fn new(block: &Block<Bytes>, format: IndexFormat, keys: &KeySpace) -> Option<Self> {
        if !keys.is_bytewise() || block.is_empty() {
            return None;
        }
        let (first, last) = (0, block.restart_count().checked_sub(1)?);
        let first = keys.stored_user_key(format.restart_key(block, first)?, format.user_keys);
        let last = keys.stored_user_key(format.restart_key(block, last)?, format.user_keys);
        let common = &first[..common_prefix(first, last)];

        let (mut words, mut places) = (Vec::new(), Vec::new());
        let mut is_direct = matches!(format.kind, IndexKind::BinarySearch | IndexKind::HashSearch);
        let mut entries = IndexEntries::new(block.lend(), format).ok()?;
        while entries.advance().ok()? {
            if entries.restart_index() < words.len() {
                // Not the first entry of its interval.
                is_direct = false;
                continue;
            }
            let key = keys.stored_user_key(entries.key(), format.user_keys);
            let word = word(key.strip_prefix(common)?);
            if words.last().is_some_and(|&before| before > word) {
                return None;
            }
            words.push(word);
            match BlockLocation::new(entries.handle()) {
                Some(place) => places.push(place),
                None => is_direct = false,
            }
        }
        let places = is_direct.then_some(places);
        Some(Self { common: common.to_vec(), levels: levels(words), places })
    }

    /// The data blocks, one per restart point, if the index has nothing else.
    pub(crate) fn places(&self) -> Option<&[BlockLocation]> {
        self.places.as_deref()
    }

    /// Bounds, both inclusive, of the last restart point whose key is less than `key` (of the first one, if
    /// there is none).
    pub(crate) fn interval_of(&self, key: &[u8]) -> (usize, usize) {
        let (less, not_greater) = self.bounds(key);
        (less.saturating_sub(1), not_greater.saturating_sub(1))
    }

    /// The first restart point whose key is not less than `key`, or their number. `compare` compares
    /// the key of a restart point with it, where numbers are equal.
    pub(crate) fn first_not_less(
        &self,
        key: &[u8],
        compare: impl Fn(usize) -> Option<Ordering>,
    ) -> Option<usize> {
        let (mut low, mut high) = self.bounds(key);
        while low < high {
            let middle = low + (high - low) / 2;
            if compare(middle)?.is_lt() { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }

    /// Lower and upper bound of the number of keys that are less than `key`.
    fn bounds(&self, key: &[u8]) -> (usize, usize) {
        let words = self.levels.last().map_or(&[][..], Vec::as_slice);
        let Some(rest) = key.strip_prefix(self.common.as_slice()) else {
            // Less than all keys or greater than all of them.
            let count = if key < self.common.as_slice() { 0 } else { words.len() };
            return (count, count);
        };
        let word = word(rest);
        let (mut from, mut less) = (0, 0);
        for (level, words) in self.levels.iter().enumerate() {
            let end = if level == 0 { words.len() } else { words.len().min(from + FANOUT) };
            less = from + words[from..end].iter().filter(|&&it| it < word).count();
            // Descend from the last word that is less.
            from = less.saturating_sub(1) * FANOUT;
        }
        let equal = match words.get(less) {
            Some(&it) if it == word => words[less..].partition_point(|&it| it == word),
            _ => 0,
        };
        (less, less + equal)
    }
}

/// The levels above `words`, the shortest first.
fn levels(words: Vec<u64>) -> Vec<Vec<u64>> {
    let mut levels = vec![words];
    while let Some(last) = levels.last()
        && last.len() > FANOUT
    {
        let above = last.iter().step_by(FANOUT).copied().collect();
        levels.push(above);
    }
    levels.reverse();
    levels
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flat_index(keys: &[Vec<u8>]) -> FlatIndex {
        let common = common_prefix(&keys[0], &keys[keys.len() - 1]);
        let words = keys.iter().map(|key| word(&key[common..])).collect();
        FlatIndex { common: keys[0][..common].to_vec(), levels: levels(words), places: None }
    }

    proptest! {
        #[test]
        fn agrees_with_a_binary_search_by_keys(
            start in "[ab]{0,3}",
            keys in prop::collection::btree_set("[abc]{0,12}", 1..300),
            sought in "[abcd]{0,14}",
            with_start: bool,
        ) {
            let keys: Vec<_> =
                keys.iter().map(|key| [&start, key.as_str()].concat().into_bytes()).collect();
            let sought = if with_start { [start, sought].concat() } else { sought }.into_bytes();
            let index = flat_index(&keys);
            let expected = keys.partition_point(|key| *key < sought);
            let found = index.first_not_less(&sought, |place| Some(keys[place].cmp(&sought)));
            prop_assert_eq!(found, Some(expected));
            let (low, high) = index.interval_of(&sought);
            let expected = expected.saturating_sub(1);
            prop_assert!(low <= expected && expected <= high && high < keys.len());
        }
    }

    #[test]
    fn different_words_need_no_keys() {
        let keys: Vec<_> = (0..1000).map(|i| format!("user{i:08}").into_bytes()).collect();
        let index = flat_index(&keys);
        for (i, key) in keys.iter().enumerate() {
            let (low, high) = index.interval_of(key);
            assert!(low + 1 == i.max(1) && high <= i, "{i}: {low} {high}");
            let after = [key.as_slice(), b"x"].concat();
            assert_eq!(index.interval_of(&after), (i, i));
        }
    }
}
