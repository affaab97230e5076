//! Building a block: the way back of [`Block`](super::Block), whose module draws the bytes.
//!
//! One builder serves every kind of block; [`BlockFormat`] says what they differ in.
//!
//! ```text
//! block                  restart interval   values         keys
//! data                   16                 whole          internal, perhaps hashed, perhaps apart
//! index and top levels   1                  differences    internal or user keys
//! range deletions        1                  whole          internal
//! metaindex              1 (LevelDB: 16)    whole          names
//! properties             never again        whole          names
//! ```

use sstkit_coding::fixed::put_fixed32;
use sstkit_coding::varint::{put_varint32, varint_length};

use super::hash_index::HashIndexBuilder;
use super::uniform::looks_uniform;
use super::{HASH_INDEX, RESTART_COUNT, SEPARATED, UNIFORM, WORD};
use crate::error::{Error, Result};
use crate::raw::internal_key::InternalKey;

/// What a builder keeps of its memory from one block to the next.
const KEPT_MEMORY: usize = 1 << 20;

/// What the blocks of one kind have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockFormat {
    /// Entries from one restart point to the next; not 0.
    pub(crate) restart_interval: usize,
    /// Whether keys between restart points leave out what they share with the key before.
    pub(crate) share_prefixes: bool,
    /// Whether a value may be stored as a difference, without its length.
    pub(crate) delta_values: bool,
    /// Whether values lie behind all keys.
    pub(crate) separated: bool,
    /// Keys per bucket of the hash index, in blocks that have one.
    pub(crate) hash_index: Option<f64>,
    /// Below which variation the restart keys count as evenly spread, where that is asked for.
    pub(crate) uniform_cv_threshold: Option<f64>,
    /// Keys are user keys, without sequence number and kind.
    pub(crate) user_keys: bool,
}

impl BlockFormat {
    /// Whole values beside whole keys, restart points at this interval.
    pub(crate) const fn plain(restart_interval: usize) -> Self {
        Self {
            restart_interval,
            share_prefixes: true,
            delta_values: false,
            separated: false,
            hash_index: None,
            uniform_cv_threshold: None,
            user_keys: false,
        }
    }
}

/// A value in its two forms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeltaValue<'a> {
    /// Stored where the key shares nothing.
    pub(crate) whole: &'a [u8],
    /// Stored where the key shares something with the one before.
    pub(crate) difference: &'a [u8],
    /// Makes the key share nothing, so that the whole value is stored.
    pub(crate) force_whole: bool,
}

/// Builds one block after the other.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    format: BlockFormat,
    /// Entries, or only their keys if values are separated.
    entries: Vec<u8>,
    values: Vec<u8>,
    restarts: Vec<u32>,
    since_restart: usize,
    last_key: Vec<u8>,
    hash_index: Option<HashIndexBuilder>,
    /// Kept where they will be judged.
    restart_keys: Vec<Vec<u8>>,
    too_large: bool,
}

impl BlockBuilder {
    pub(crate) fn new(format: BlockFormat) -> Self {
        assert!(format.restart_interval > 0, "a restart interval of 0");
        Self {
            format,
            entries: Vec::new(),
            values: Vec::new(),
            restarts: vec![0],
            since_restart: 0,
            last_key: Vec::new(),
            hash_index: format.hash_index.map(HashIndexBuilder::new),
            restart_keys: Vec::new(),
            too_large: false,
        }
    }

    /// Whether nothing was added.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The size the block has if it ends here. What the hash index will take is estimated as
    /// RocksDB does, which decides where its blocks are cut.
    #[inline]
    pub(crate) fn size_estimate(&self) -> usize {
        self.entries.len()
            + self.values.len()
            + (self.restarts.len() + 1 + usize::from(self.format.separated)) * WORD
            + self.hash_index.as_ref().map_or(0, HashIndexBuilder::size_estimate)
    }

    /// The size after one more entry, in RocksDB's rough way of reckoning: the key counts as if it
    /// shared nothing, a difference as half the value, and a length or two as a word.
    pub(crate) fn size_estimate_after(&self, key_length: usize, value_length: usize) -> usize {
        let restarts = self.since_restart >= self.format.restart_interval;
        let mut size = self.size_estimate() + key_length + WORD + varint_length(key_length as u64);
        if !self.format.delta_values || restarts {
            size += value_length + varint_length(value_length as u64);
        } else {
            size += value_length / 2;
        }
        if restarts {
            size += WORD;
        }
        if self.format.separated && (restarts || self.since_restart == 0) {
            size += varint_length(self.values.len() as u64);
        }
        size
    }

    /// The key added last; empty before the first, and kept from one block to the next.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Adds an entry; its key comes after all others in whatever order the reader will use.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        debug_assert!(!self.format.delta_values, "such values have two forms");
        self.push(key, DeltaValue { whole: value, difference: &[], force_whole: false });
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    /// Adds an entry as [`add`](Self::add) does, and keeps its key in exchange for the one before.
    #[inline]
    pub(crate) fn add_exchanged(&mut self, key: &mut Vec<u8>, value: &[u8]) {
        debug_assert!(!self.format.delta_values, "such values have two forms");
        self.push(key, DeltaValue { whole: value, difference: &[], force_whole: false });
        std::mem::swap(&mut self.last_key, key);
    }

    /// Adds an entry whose value has two forms.
    pub(crate) fn add_delta(&mut self, key: &[u8], value: DeltaValue<'_>) {
        self.push(key, value);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    #[inline]
    fn push(&mut self, key: &[u8], value: DeltaValue<'_>) {
        let start = self.entries.len();
        let mut shared = 0;
        if self.since_restart >= self.format.restart_interval {
            self.restarts.push(start as u32);
            self.too_large |= start > u32::MAX as usize;
            self.since_restart = 0;
        } else if self.since_restart > 0 && self.format.share_prefixes && !value.force_whole {
            shared = common_prefix(&self.last_key, key);
        }
        let is_restart = self.since_restart == 0;
        if is_restart && self.format.uniform_cv_threshold.is_some() {
            self.restart_keys.push(key.to_vec());
        }

        let lengths = [shared as u32, (key.len() - shared) as u32];
        let stored = if self.format.delta_values {
            put_lengths(&mut self.entries, lengths);
            if shared == 0 { value.whole } else { value.difference }
        } else {
            put_lengths(&mut self.entries, [lengths[0], lengths[1], value.whole.len() as u32]);
            value.whole
        };
        if self.format.separated && is_restart {
            put_varint32(&mut self.entries, self.values.len() as u32);
            self.too_large |= self.values.len() > u32::MAX as usize;
        }
        self.entries.extend_from_slice(&key[shared..]);
        if self.format.separated { &mut self.values } else { &mut self.entries }
            .extend_from_slice(stored);

        if let Some(index) = &mut self.hash_index {
            debug_assert!(!self.format.user_keys, "hash indexes are for data blocks");
            let user_key = &key[..key.len() - InternalKey::TAIL_LENGTH];
            index.add(user_key, self.restarts.len() - 1);
        }
        self.since_restart += 1;
    }

    /// The contents of the block, which is the last one.
    ///
    /// # Errors
    ///
    /// A block that its 32-bit offsets cannot describe.
    pub(crate) fn finish(mut self) -> Result<FinishedBlock> {
        let is_uniform = self.seal()?;
        Ok(FinishedBlock { contents: self.entries, is_uniform })
    }

    /// The contents of the block, once it is [sealed](Self::seal).
    pub(crate) fn contents(&self) -> &[u8] {
        &self.entries
    }

    /// Completes the block, which takes nothing more until it is [cleared](Self::clear); whether
    /// its restart keys are evenly spread.
    ///
    /// # Errors
    ///
    /// A block that its 32-bit offsets cannot describe.
    pub(crate) fn seal(&mut self) -> Result<bool> {
        let is_uniform = self
            .format
            .uniform_cv_threshold
            .is_some_and(|limit| looks_uniform(&self.restart_keys, self.format.user_keys, limit));
        let hashed = self
            .hash_index
            .as_ref()
            .filter(|index| index.fits(self.size_estimate()))
            .map(HashIndexBuilder::encode);
        let values_start = self.entries.len();
        if self.too_large
            || values_start > u32::MAX as usize
            || self.restarts.len() > RESTART_COUNT as usize
        {
            return Err(Error::invalid_input("a block of more than 4 GiB cannot be stored"));
        }

        let contents = &mut self.entries;
        contents.append(&mut self.values);
        for &restart in &self.restarts {
            put_fixed32(contents, restart);
        }
        let mut packed = self.restarts.len() as u32;
        if let Some(hashed) = hashed {
            contents.extend_from_slice(&hashed);
            packed |= HASH_INDEX;
        }
        if self.format.separated {
            put_fixed32(contents, values_start as u32);
            packed |= SEPARATED;
        }
        if is_uniform {
            packed |= UNIFORM;
        }
        put_fixed32(contents, packed);
        Ok(is_uniform)
    }

    /// Begins the next block, in the memory of the last. All is as new, but for the last key, and a
    /// hash index that did not fit: as in RocksDB, later blocks of the same builder go without one.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.values.clear();
        // One large block shall not keep its memory.
        self.entries.shrink_to(KEPT_MEMORY);
        self.values.shrink_to(KEPT_MEMORY);
        self.restarts.truncate(1);
        self.since_restart = 0;
        self.restart_keys.clear();
        if let Some(index) = &mut self.hash_index {
            index.clear();
        }
    }
}

/// What a builder makes.
#[derive(Debug)]
pub(crate) struct FinishedBlock {
    pub(crate) contents: Vec<u8>,
    /// Whether its restart keys were found evenly spread.
    pub(crate) is_uniform: bool,
}

/// Appends lengths as varints. They are nearly always below 128, and then go in one step.
#[inline]
fn put_lengths<const N: usize>(out: &mut Vec<u8>, lengths: [u32; N]) {
    if lengths.iter().all(|&length| length < 128) {
        out.extend_from_slice(&lengths.map(|length| length as u8));
    } else {
        lengths.into_iter().for_each(|length| put_varint32(out, length));
    }
}

/// Bytes that both start with.
#[inline]
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    // Eight at a time: keys of a table share much.
    let mut same = 0;
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        let difference = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if difference != 0 {
            // The first byte is the lowest.
            return same + difference.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    same + a[same..].iter().zip(&b[same..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::super::Block;
    use super::*;

    fn builder(format: BlockFormat) -> BlockBuilder {
        BlockBuilder::new(format)
    }

    #[test]
    fn an_empty_block_has_one_restart() {
        let block = builder(BlockFormat::plain(16)).finish().unwrap();
        assert_eq!(block.contents, [0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn the_drawn_example() {
        let mut block = builder(BlockFormat::plain(16));
        block.add(b"key000\x01\0\0\0\0\0\0\0", &[7; 22]);
        block.add(b"key001\x01\0\0\0\0\0\0\0", &[8; 22]);
        let estimate = block.size_estimate();
        block.seal().unwrap();
        let contents = block.contents();
        assert_eq!(contents.len(), estimate);
        assert_eq!(&contents[..3], [0x00, 0x0e, 0x16]);
        assert_eq!(&contents[39..43], [0x05, 0x09, 0x16, 0x31]);
        block.clear();
        assert!(block.is_empty());
    }

    #[test]
    fn a_builder_that_was_used_builds_the_same() {
        for (restart_interval, share_prefixes) in [(1, true), (3, true), (3, false)] {
            let format = BlockFormat { share_prefixes, ..BlockFormat::plain(restart_interval) };
            let key = |i: u32| format!("key{i:05}\x01\0\0\0\0\0\0\0").into_bytes();
            let mut fresh = builder(format);
            (0..10).for_each(|i| fresh.add(&key(i), b"value"));
            let mut used = builder(format);
            used.add_exchanged(&mut key(0), &[7; 200]);
            used.seal().unwrap();
            used.clear();
            for i in 0..10 {
                let mut exchanged = key(i);
                used.add_exchanged(&mut exchanged, b"value");
                assert_eq!(used.last_key(), key(i));
                assert_eq!(exchanged, key(i.saturating_sub(1)), "the one before");
            }
            used.seal().unwrap();
            assert_eq!(used.contents(), fresh.finish().unwrap().contents);
        }
    }

    #[test]
    fn every_format_is_read_back() {
        for (restart_interval, share_prefixes, separated, hash_index) in [
            (1, true, false, None),
            (3, true, false, Some(0.75)),
            (16, false, false, None),
            (4, true, true, Some(0.5)),
            (1, false, true, None),
        ] {
            let mut block = builder(BlockFormat {
                restart_interval,
                share_prefixes,
                separated,
                hash_index,
                ..BlockFormat::plain(1)
            });
            for i in 0..50u32 {
                let key = format!("key{:05}\x01\0\0\0\0\0\0\0", i * i);
                block.add(key.as_bytes(), format!("value{i}").as_bytes());
            }
            let estimate = block.size_estimate();
            let contents = block.finish().unwrap().contents;
            assert_eq!(contents.len(), estimate);
            let block = Block::parse(&contents).unwrap();
            assert_eq!(block.restart_count(), 50usize.div_ceil(restart_interval));
            assert_eq!(block.has_separated_values(), separated);
            assert_eq!(block.hash_index().is_some(), hash_index.is_some());
            let mut entries = block.entries();
            for i in 0..50u32 {
                assert!(entries.advance().unwrap());
                assert!(entries.key().starts_with(format!("key{:05}", i * i).as_bytes()));
                assert_eq!(entries.value(), format!("value{i}").as_bytes());
            }
            assert!(!entries.advance().unwrap());
        }
    }

    #[test]
    fn a_hash_index_that_overflows_is_gone_for_good() {
        let format = BlockFormat { hash_index: Some(0.75), ..BlockFormat::plain(1) };
        for (intervals, has_index) in [(254, true), (255, false)] {
            let mut block = builder(format);
            for i in 0..intervals {
                block.add(format!("key{i:05}\x01\0\0\0\0\0\0\0").as_bytes(), b"");
            }
            block.seal().unwrap();
            assert_eq!(Block::parse(block.contents()).unwrap().hash_index().is_some(), has_index);
            block.clear();
            block.add(b"key\x01\0\0\0\0\0\0\0", b"");
            let next = block.finish().unwrap().contents;
            assert_eq!(Block::parse(&next).unwrap().hash_index().is_some(), has_index);
        }
    }

    #[test]
    fn common_prefixes() {
        let key: Vec<u8> = (0..30).collect();
        for length in 0..30 {
            let mut other = key.clone();
            other[length] ^= 0x80;
            assert_eq!(common_prefix(&key, &other), length);
            assert_eq!(common_prefix(&key, &key[..length]), length);
            other[length..].fill(0xff);
            assert_eq!(common_prefix(&other, &key), length);
        }
    }
}
