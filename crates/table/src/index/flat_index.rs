//! A short cut through an index: its keys as numbers, side by side, and its data blocks.
//!
//! ```text
//! keys        user0000017/a   user0000017/k   user0000391/c   user0000808/b …
//!             '---------'       common to all: compared once
//!                      '------'  as a number: eight bytes, big-endian, zeros at the end
//! levels      | 17/a…                                                            | every 64th
//!             | 17/a…  | …                                                       | every 8th
//!             | 17/a…  | 17/k…  | 91/c…  | 08/b…  …                              | all
//! places      | 0+4070 | 4075+4070 | …                                           handles, and hints
//! ```
//!
//! A search by the keys themselves fetches two or three cache lines for each halving, from all over
//! the index: an index over millions of entries has more lines than a processor's cache. Here it is
//! one line a level, and the upper levels stay in the cache. Where numbers are equal the keys decide,
//! among those alone.
//!
//! Only for keys in the order of their bytes: elsewhere the first bytes say nothing. It takes 24
//! bytes for each data block, about what the index itself does, and as long to make as a walk
//! through the index, so it is made when there have been [enough](FlatIndex::pays) searches.

use std::cmp::Ordering;
use std::ops::Range;

use bytes::Bytes;
use sstkit_coding::prefetch::{CACHE_LINE, prefetch};

use crate::raw::{Block, BlockHandle, IndexEntries, IndexFormat, IndexKind, common_prefix, word};
use crate::reader::cache::SlotHint;
use crate::reader::open::key_space::KeySpace;

/// Words of a level for each word of the level above: a cache line.
const FANOUT: usize = 8;

/// Restart points of an index for each search before it is worth while.
const RESTARTS_PER_SEARCH: usize = 64;

/// The keys of an index as numbers.
pub(crate) struct FlatIndex {
    /// What all restart keys start with.
    common: Vec<u8>,
    /// What follows in each of them, ascending: the last level. Each level above has the first of
    /// every [`FANOUT`] words of the one below.
    levels: Vec<Vec<u64>>,
    /// One for each restart point, if each is an entry of its own and all of it is a handle.
    places: Option<Vec<BlockLocation>>,
}

/// Where a data block lies in the file, and where in the cache it may be.
pub(crate) struct BlockLocation {
    offset: u64,
    size: u32,
    pub(crate) hint: SlotHint,
}

impl BlockLocation {
    /// `None` for a block of more than four gibibytes.
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
    /// Whether an index has been searched often enough to make one.
    pub(crate) fn pays(block: &Block<Bytes>, searches: usize) -> bool {
        searches >= block.restart_count() / RESTARTS_PER_SEARCH
    }

    /// Walks through the index; `None` if it is damaged, or not in the order of bytes.
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
                // Not the first of its interval.
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

    /// The data blocks, one for each restart point, where that is all there is.
    pub(crate) fn places(&self) -> Option<&[BlockLocation]> {
        self.places.as_deref()
    }

    /// Where the last restart point is whose key is less than `key`: between the two given, both
    /// inclusive. (The first, if there is none.)
    pub(crate) fn interval_of(&self, key: &[u8]) -> (usize, usize) {
        let (less, not_greater) = self.bounds(key);
        (less.saturating_sub(1), not_greater.saturating_sub(1))
    }

    /// The first restart point that is not `Less` than `key`, or their number. `compare` says how
    /// the key of a restart point stands to it, where that must be known.
    pub(crate) fn first_not_less(
        &self,
        key: &[u8],
        compare: impl Fn(usize) -> Option<Ordering>,
    ) -> Option<usize> {
        let (mut low, mut high) = self.bounds(key);
        while low < high {
            let middle = low + (high - low) / 2;
            match compare(middle)?.is_lt() {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Some(low)
    }

    /// Asks for the memory of places of which one will be needed: to wait for it together with that
    /// of the words.
    #[inline]
    fn prefetch_places(&self, range: Range<usize>) {
        let places = self.places.as_ref().and_then(|places| places.get(range));
        const PER_LINE: usize = CACHE_LINE / size_of::<BlockLocation>();
        places.into_iter().flat_map(|it| it.iter().step_by(PER_LINE)).for_each(prefetch);
    }

    /// How many keys are less than `key`, at least and at most.
    fn bounds(&self, key: &[u8]) -> (usize, usize) {
        let words = self.levels.last().map_or(&[][..], Vec::as_slice);
        let Some(rest) = key.strip_prefix(self.common.as_slice()) else {
            // Before all keys or after all of them.
            let count = if key < self.common.as_slice() { 0 } else { words.len() };
            return (count, count);
        };
        let word = word(rest);
        let (mut from, mut less) = (0, 0);
        for (level, words) in self.levels.iter().enumerate() {
            let end = if level == 0 { words.len() } else { words.len().min(from + FANOUT) };
            if level + 1 == self.levels.len() {
                self.prefetch_places(from..end);
            }
            less = from + words[from..end].iter().filter(|&&it| it < word).count();
            // The last one that is less leads on: what follows its node is not.
            from = less.saturating_sub(1) * FANOUT;
        }
        let equal = match words.get(less) {
            Some(&it) if it == word => words[less..].partition_point(|&it| it == word),
            _ => 0,
        };
        (less, less + equal)
    }
}

/// The levels over some words, the shortest first.
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

    fn search(keys: &[Vec<u8>]) -> FlatIndex {
        let common = common_prefix(&keys[0], &keys[keys.len() - 1]);
        let words = keys.iter().map(|key| word(&key[common..])).collect();
        FlatIndex { common: keys[0][..common].to_vec(), levels: levels(words), places: None }
    }

    proptest! {
        #[test]
        fn the_bounds_hold_what_is_sought(
            start in "[ab]{0,3}",
            keys in prop::collection::btree_set("[abc]{0,12}", 1..300),
            sought in "[abcd]{0,14}",
            with_start: bool,
        ) {
            let keys: Vec<_> =
                keys.iter().map(|key| [&start, key.as_str()].concat().into_bytes()).collect();
            let sought = if with_start { [start, sought].concat() } else { sought }.into_bytes();
            let search = search(&keys);
            let expected = keys.partition_point(|key| *key < sought);
            let found = search.first_not_less(&sought, |place| Some(keys[place].cmp(&sought)));
            prop_assert_eq!(found, Some(expected));
            let (low, high) = search.interval_of(&sought);
            let expected = expected.saturating_sub(1);
            prop_assert!(low <= expected && expected <= high && high < keys.len());
        }
    }

    #[test]
    fn different_words_need_no_keys() {
        let keys: Vec<_> = (0..1000).map(|i| format!("user{i:08}").into_bytes()).collect();
        let search = search(&keys);
        for (i, key) in keys.iter().enumerate() {
            let (low, high) = search.interval_of(key);
            assert!(low + 1 == i.max(1) && high <= i, "{i}: {low} {high}");
            let after = [key.as_slice(), b"x"].concat();
            assert_eq!(search.interval_of(&after), (i, i));
        }
    }
}
