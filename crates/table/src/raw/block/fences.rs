//! BlockFences into a data block: where some of its entries are, and what their keys look like.
//!
//! ```text
//! entries    user7/a   user7/c   user7/d   user7/g   user7/k   user7/n   user7/r   …
//!            '---'                                       common to all keys of the block
//! fences  a → 0               d → 230             k → 460             r → 690
//!            eight bytes behind that as a number, and the offset
//! ```
//!
//! A search by restart points waits for memory again and again: for the tail of the block, for the
//! keys of restart points, for the entries on the way. BlockFences lie together, and lead to within a
//! few entries of what is sought. They may point to any entry, not only to restart points: the
//! number says how an entry stands to what is sought, and [skipping](super::skip) needs no more.
//!
//! Only for keys in the order of their bytes. They take as long to make as a walk through the block.

use std::cmp::Ordering;
use std::ops::Range;

use sstkit_coding::prefetch::{CACHE_LINE, prefetch};

use super::Block;
use super::builder::common_prefix;
use super::lengths::Lengths;
use super::skip::Skip;

/// How many entries are pointed to, at most.
const COUNT: usize = 8;

/// The most lines that are asked for at once: behind the next few the processor asks by itself.
const MAX_LINES: usize = 12;

/// BlockFences into one block. Small: those of all blocks in a cache are more than a processor's caches
/// hold, and each line of them is a wait.
#[derive(Clone, Debug)]
pub(crate) struct BlockFences {
    /// Ascending. Where there are fewer, the last ones are never less than anything.
    words: [u64; COUNT],
    offsets: [u16; COUNT],
    /// Bytes that all keys start with.
    common: u16,
    /// Bytes that follow the keys proper.
    tail: u16,
}

/// What a block has for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sought<'b> {
    /// The first entry of the key: what follows the key proper, and where its value is.
    Entry { tail: &'b [u8], value: Range<usize> },
    /// Nothing; greater keys follow.
    Nothing,
}

impl BlockFences {
    /// Walks through the block. `tail` bytes follow the key proper in each key. `None` if the block is
    /// damaged, longer than 64 KiB, or not of a kind that can be searched so.
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
        let common = common_prefix(proper(&first, tail)?, proper(entries.key(), tail)?);
        let start = &first[..common];

        let (mut words, mut offsets) = ([u64::MAX; COUNT], [0; COUNT]);
        let (mut entries, mut post, mut offset) = (block.entries(), 0, 0);
        for number in 0..count {
            entries.advance().ok()?;
            if number * COUNT >= post * count {
                // In a forged block it may start otherwise: what is skipped from here goes by its start.
                let word = word(proper(entries.key(), tail)?.strip_prefix(start)?);
                if post > 0 && words[post - 1] > word {
                    return None;
                }
                (words[post], offsets[post]) = (word, offset.try_into().ok()?);
                post += 1;
            }
            offset = entries.next_offset();
        }
        let (common, tail) = (common.try_into().ok()?, tail.try_into().ok()?);
        Some(Self { words, offsets, common, tail })
    }

    /// How many bytes follow the keys proper.
    #[inline]
    pub(crate) fn tail(&self) -> usize {
        self.tail.into()
    }

    /// Asks for the memory that a search for `key` will look at.
    pub(crate) fn prefetch<B: AsRef<[u8]>>(&self, block: &Block<B>, key: &[u8]) {
        let Some(rest) = key.get(self.common.into()..) else { return };
        let post = self.before(word(rest)).unwrap_or(0);
        let from = self.offsets[post].into();
        let keys = block.keys();
        // Up to the entry of the next signpost, which is looked at, too.
        let to = match self.offsets.get(post + 1) {
            None | Some(0) => keys.len(),
            Some(&next) => keys.len().min(usize::from(next) + CACHE_LINE),
        };
        prefetch(keys);
        let lines = keys.get(from..to).unwrap_or_default().chunks(CACHE_LINE);
        lines.take(MAX_LINES).for_each(prefetch);
    }

    /// Looks for `key`. `None` if it has to be sought otherwise.
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
            Some(post) => {
                let same = (self.words[post] ^ word).leading_zeros() as usize / 8;
                let sought = (key, common + same);
                Skip::after_less(entries, self.offsets[post].into(), sought, tail)?
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

    /// The last signpost to an entry that is certainly less.
    #[inline]
    fn before(&self, word: u64) -> Option<usize> {
        self.words.iter().filter(|&&it| it < word).count().checked_sub(1)
    }
}

/// The key of the first entry, which is whole.
fn first_key(entries: &[u8]) -> Option<&[u8]> {
    let Lengths { non_shared, header, .. } = Lengths::decode(entries)?;
    entries.get(header..)?.get(..non_shared)
}

/// A key without what follows the key proper.
fn proper(key: &[u8], tail: usize) -> Option<&[u8]> {
    key.get(..key.len().checked_sub(tail)?)
}

/// The first eight bytes as a number, with zeros for those that are missing: a key is less if its
/// number is.
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
        /// What is found is what a walk finds.
        #[test]
        fn the_first_entry_of_a_key(
            start in "[ab]{0,9}",
            keys in prop::collection::btree_set("[abc]{0,12}", 1..60),
            // Two entries of a key differ in what follows it.
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
                    // Beyond the block, or another start: that is left to others. And what lies
                    // behind two entries of a key that it starts with.
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

        /// Whatever the bytes are.
        #[test]
        fn noise(
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
    fn they_are_spread_over_the_entries() {
        let keys: Vec<_> = (0..80u32).map(|i| format!("user{i:04}").into_bytes()).collect();
        let block = block(&keys, 16, false);
        let fences = BlockFences::new(&block, 0).unwrap();
        assert_eq!(usize::from(fences.common), "user00".len());
        let words = (0..8).map(|i| word(format!("{:02}", 10 * i).as_bytes()));
        assert!(words.eq(fences.words));
    }

    #[test]
    fn blocks_that_have_none() {
        assert!(BlockFences::new(&block(&[], 16, false), 0).is_none());
        assert!(BlockFences::new(&block(&[b"key".to_vec()], 16, true), 0).is_none());
        assert!(BlockFences::new(&block(&[b"key".to_vec()], 16, false), 4).is_none());
        assert!(BlockFences::new(&block(&[b"b".to_vec(), b"a".to_vec()], 16, false), 0).is_none());
        let long: Vec<_> = (0..100).map(|i| vec![i; 2000]).collect();
        assert!(BlockFences::new(&block(&long, 16, false), 0).is_none());
    }

    /// In a forged block keys between the first and the last need not start as both do.
    #[test]
    fn keys_that_only_look_right() {
        let keys = ["a0", "a1", "a2", "a3", "b5", "b5x", "a8", "a9"];
        let block = block(&keys.map(|key| key.as_bytes().to_vec()), 16, false);
        let found = BlockFences::new(&block, 0).and_then(|it| it.find(&block, b"a5x"));
        assert_eq!(found, None);
    }
}
