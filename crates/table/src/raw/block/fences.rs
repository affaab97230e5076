//! Fences of a data block: offset and key of up to eight entries, spread over the block.
//!
//! ```text
//! entries    user7/a   user7/c   user7/d   user7/g   user7/k   user7/n   user7/r   …
//!            '---'                                       common to all keys of the block
//! fences     a → 0               d → 230             k → 460             r → 690
//!            the next eight bytes as a number, and the offset
//! ```
//!
//! A search by restart points incurs one cache miss after another: for the restart array, the
//! keys at restart points, the entries in between. Fences fill two cache lines and lead to
//! within a few entries of the key. A fence may be any entry, not only a restart point: its number
//! tells whether the entry is less than the key, which is all that [skipping](super::skip) needs.
//!
//! Only for keys in bytewise order. Building fences costs a pass over the block.
//! `docs/decisions/0007-fences-in-blocks.md` has what they gain.

use std::cmp::Ordering;
use std::ops::Range;

use sstkit_coding::prefetch::{CACHE_LINE, prefetch};

use super::Block;
use super::common_prefix::common_prefix;
use super::lengths::Lengths;
use super::skip::Skip;

/// Fences per block.
const COUNT: usize = 8;

/// Cache lines prefetched at once; beyond the first few the processor prefetches by itself.
const MAX_LINES: usize = 12;

/// The fences of one block. Small, because each cache line of them is a cache miss.
#[derive(Clone, Debug)]
pub(crate) struct BlockFences {
    /// Ascending. Unused ones are `u64::MAX`, which is less than no key.
    words: [u64; COUNT],
    offsets: [u16; COUNT],
    /// Bytes that all keys start with.
    common: u16,
    /// Bytes after the user key in each stored key.
    tail: u16,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sought<'b> {
    /// The first entry of the key: the bytes after the user key, and the range of the value.
    Entry { tail: &'b [u8], value: Range<usize> },
    /// The block does not contain the key, but contains greater ones.
    Nothing,
}

impl BlockFences {
    /// Reads the whole block. `tail` bytes follow the user key in each stored key. `None` if the block is
    /// corrupt, longer than 64 KiB, empty, or has separated values.
    pub(crate) fn new<B: AsRef<[u8]>>(block: &Block<B>, tail: usize) -> Option<Self> {
        let is_long = block.keys_end() > usize::from(u16::MAX);
        if block.has_separated_values() || block.is_empty() || is_long {
            return None;
        }
        let mut entries = block.entries();
        let (mut count, mut first) = (0, Vec::new());
        while entries.advance().ok()? {
            if count == 0 {
                first = entries.key().to_vec();
            }
            count += 1;
        }
        let common = common_prefix(user_key(&first, tail)?, user_key(entries.key(), tail)?);
        let start = &first[..common];

        let (mut words, mut offsets) = ([u64::MAX; COUNT], [0; COUNT]);
        let (mut entries, mut fence, mut offset) = (block.entries(), 0, 0);
        for number in 0..count {
            entries.advance().ok()?;
            if number * COUNT >= fence * count {
                // In a forged block keys in the middle may start differently; skipping relies on the
                // common prefix.
                let word = word(user_key(entries.key(), tail)?.strip_prefix(start)?);
                if fence > 0 && words[fence - 1] > word {
                    return None;
                }
                (words[fence], offsets[fence]) = (word, offset.try_into().ok()?);
                fence += 1;
            }
            offset = entries.next_offset();
        }
        let (common, tail) = (common.try_into().ok()?, tail.try_into().ok()?);
        Some(Self { words, offsets, common, tail })
    }

    /// Bytes after the user key in each stored key.
    #[inline]
    pub(crate) fn tail(&self) -> usize {
        self.tail.into()
    }

    /// Prefetches the entries that [`find`](Self::find) will read. Inlined, so that both search the fences
    /// once.
    #[inline(always)]
    pub(crate) fn prefetch<B: AsRef<[u8]>>(&self, block: &Block<B>, key: &[u8]) {
        let Some(rest) = key.get(self.common.into()..) else { return };
        let fence = self.before(word(rest)).unwrap_or(0);
        let from = self.offsets[fence].into();
        let keys = block.keys();
        // Including the entry at the next fence.
        let to = match self.offsets.get(fence + 1) {
            None | Some(0) => keys.len(),
            Some(&next) => keys.len().min(usize::from(next) + CACHE_LINE),
        };
        prefetch(keys);
        let lines = keys.get(from..to).unwrap_or_default().chunks(CACHE_LINE);
        lines.take(MAX_LINES).for_each(prefetch);
    }

    /// Searches for `key`. `None` if the fences cannot tell: the key lies after the block or starts
    /// differently, or the block is corrupt.
    pub(crate) fn find<'b, B: AsRef<[u8]>>(
        &self,
        block: &'b Block<B>,
        key: &'b [u8],
    ) -> Option<Sought<'b>> {
        let (common, tail) = (self.common.into(), self.tail.into());
        let (start, rest) = key.split_at_checked(common)?;
        if !first_key(block.keys())?.starts_with(start) {
            return None;
        }
        let word = word(rest);
        let entries = block.keys();
        let mut skip = match self.before(word) {
            None => Skip::new(entries, 0, key, tail),
            Some(fence) => {
                let same = (self.words[fence] ^ word).leading_zeros() as usize / 8;
                let key = (key, common + same);
                Skip::after_less(entries, self.offsets[fence].into(), key, tail)?
            }
        };
        while skip.offset < entries.len() {
            let entry = skip.entry()?;
            match entry.order {
                Ordering::Less => skip.pass(&entry),
                Ordering::Greater => return Some(Sought::Nothing),
                Ordering::Equal => {
                    let suffix = skip.offset + entry.lengths.header;
                    let value = suffix + entry.lengths.non_shared;
                    let tail = entries.get(value - tail..value)?;
                    let value = value..value.checked_add(entry.lengths.value)?;
                    return (value.end <= entries.len()).then_some(Sought::Entry { tail, value });
                }
            }
        }
        None
    }

    /// The last fence whose entry is certainly less.
    #[inline]
    fn before(&self, word: u64) -> Option<usize> {
        self.words.iter().filter(|&&it| it < word).count().checked_sub(1)
    }
}

/// The key of the first entry, which shares nothing.
fn first_key(entries: &[u8]) -> Option<&[u8]> {
    let Lengths { non_shared, header, .. } = Lengths::decode(entries)?;
    entries.get(header..)?.get(..non_shared)
}

/// A stored key without its tail.
fn user_key(key: &[u8], tail: usize) -> Option<&[u8]> {
    key.get(..key.len().checked_sub(tail)?)
}

/// The first eight bytes as a big-endian number, padded with zeros: a key whose number is less is less.
#[inline]
pub(crate) fn word(bytes: &[u8]) -> u64 {
    if let Some(word) = bytes.first_chunk() {
        return u64::from_be_bytes(*word);
    }
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::builder::{BlockBuilder, BlockFormat};
    use super::*;

    fn block(keys: &[Vec<u8>], restart_interval: usize, separated: bool) -> Block<Vec<u8>> {
        let format = BlockFormat { separated, ..BlockFormat::plain(restart_interval) };
        let mut builder = BlockBuilder::new(format);
        keys.iter().for_each(|key| builder.add(key, &key[..key.len() / 2]));
        Block::parse(builder.finish().unwrap().contents).unwrap()
    }

    proptest! {
        /// The result is that of a linear search.
        #[test]
        fn finds_the_first_entry_of_a_key(
            start in "[ab]{0,9}",
            keys in prop::collection::btree_set("[abc]{0,12}", 1..60),
            // Two entries of a key differ in their tails.
            tail in prop_oneof![Just(0usize), Just(2)],
            twice in any::<prop::sample::Index>(),
            interval in 1usize..20,
            sought in "[abcd]{0,14}",
        ) {
            let mut stored = Vec::new();
            for (number, key) in keys.iter().enumerate() {
                let key = [&start, key.as_str()].concat().into_bytes();
                stored.push([key.as_slice(), &b"ab"[..tail]].concat());
                if tail > 0 && twice.index(keys.len()) == number {
                    stored.push([key.as_slice(), b"ac"].concat());
                }
            }
            let block = block(&stored, interval, false);
            let fences = BlockFences::new(&block, tail).unwrap();
            let others = [sought.clone(), [start.as_str(), &sought].concat()];
            let all = keys.iter().map(|key| [start.as_str(), key].concat()).chain(others);
            for key in all.map(String::into_bytes) {
                fences.prefetch(&block, &key);
                let first = stored.iter().find(|it| it[..it.len() - tail] >= key[..]);
                let expected = first.map(|it| (it[..it.len() - tail] == key).then_some(it));
                match (fences.find(&block, &key), expected) {
                    // After the block, or with another start. Or after two entries of a key that it
                    // starts with.
                    (None, None) => {}
                    (None, Some(_)) => {
                        let common = &stored[0][..fences.common.into()];
                        prop_assert!(tail > 0 || !key.starts_with(common));
                    }
                    (Some(Sought::Nothing), Some(None)) => {}
                    (Some(Sought::Entry { tail: end, value }), Some(Some(it))) => {
                        prop_assert_eq!(end, &it[it.len() - tail..]);
                        prop_assert_eq!(&block.bytes()[value], &it[..it.len() / 2]);
                    }
                    (found, expected) => prop_assert!(false, "{found:?}, not {expected:?}"),
                }
            }
        }

        /// Corrupt blocks do not panic.
        #[test]
        fn corrupt_blocks_do_not_panic(
            keys in prop::collection::btree_set("[ab]{0,6}", 1..40),
            noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
            sought in "[abc]{0,7}",
            tail in 0usize..3,
        ) {
            let keys: Vec<_> = keys.into_iter().map(String::into_bytes).collect();
            let mut bytes = block(&keys, 8, false).bytes().to_vec();
            for (place, byte) in noise {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if let Ok(block) = Block::parse(bytes)
                && let Some(fences) = BlockFences::new(&block, tail)
            {
                fences.prefetch(&block, sought.as_bytes());
                fences.find(&block, sought.as_bytes());
            }
        }
    }

    #[test]
    fn fences_are_spread_over_the_entries() {
        let keys: Vec<_> = (0..80u32).map(|i| format!("user{i:04}").into_bytes()).collect();
        let block = block(&keys, 16, false);
        let fences = BlockFences::new(&block, 0).unwrap();
        assert_eq!(usize::from(fences.common), "user00".len());
        let words = (0..8).map(|i| word(format!("{:02}", 10 * i).as_bytes()));
        assert!(words.eq(fences.words));
    }

    #[test]
    fn some_blocks_have_no_fences() {
        assert!(BlockFences::new(&block(&[], 16, false), 0).is_none());
        assert!(BlockFences::new(&block(&[b"key".to_vec()], 16, true), 0).is_none());
        assert!(BlockFences::new(&block(&[b"key".to_vec()], 16, false), 4).is_none());
        assert!(BlockFences::new(&block(&[b"b".to_vec(), b"a".to_vec()], 16, false), 0).is_none());
        let long: Vec<_> = (0..100).map(|i| vec![i; 2000]).collect();
        assert!(BlockFences::new(&block(&long, 16, false), 0).is_none());
    }

    /// In a forged block keys in the middle need not share the prefix of the first and the last.
    #[test]
    fn forged_keys_are_not_found() {
        let keys = ["a0", "a1", "a2", "a3", "b5", "b5x", "a8", "a9"];
        let block = block(&keys.map(|key| key.as_bytes().to_vec()), 16, false);
        let found = BlockFences::new(&block, 0).and_then(|it| it.find(&block, b"a5x"));
        assert_eq!(found, None);
    }
}
