//! Building a block. The [parent module](super) draws the bytes.
//!
//! One builder serves every kind of block; [`BlockFormat`] has the differences.
//!
//! ```text
//! block                  restart interval   values         keys
//! data                   16                 whole          internal; optional hash index, separation
//! index and top levels   1                  differences    internal or user keys
//! range deletions        1                  whole          internal
//! metaindex              1 (LevelDB: 16)    whole          names
//! properties             unlimited          whole          names
//! ```

use sstkit_coding::fixed::put_fixed32;
use sstkit_coding::varint::{put_varint32, varint_length};

use super::common_prefix::common_prefix;
use super::hash_index::HashIndexBuilder;
use super::uniform::looks_uniform;
use super::{HASH_INDEX, RESTART_COUNT, SEPARATED, UNIFORM, WORD};
use crate::error::{Error, Result};
use crate::raw::internal_key::InternalKey;

/// The most memory a builder keeps for the next block.
const KEPT_MEMORY: usize = 1 << 20;

/// The buffer grows by at least this many bytes.
const MIN_ROOM: usize = 1024;

/// The most bytes before a key: three lengths, and the offset of a separated value.
const MAX_HEADER: usize = 4 * 5;

#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockFormat {
    /// Entries from one restart point to the next; not 0.
    pub(crate) restart_interval: usize,
    /// Whether keys between restart points omit the prefix they share with the previous key.
    pub(crate) share_prefixes: bool,
    /// Whether a value may be stored as a difference, without its length.
    pub(crate) delta_values: bool,
    /// Whether values are stored after all keys.
    pub(crate) separated: bool,
    /// Keys per bucket of the hash index, if the block has one.
    pub(crate) hash_index: Option<f64>,
    /// The coefficient of variation below which restart keys are uniform, if that is determined.
    pub(crate) uniform_cv_threshold: Option<f64>,
    /// Keys are user keys, without sequence number and kind.
    pub(crate) user_keys: bool,
}

impl BlockFormat {
    /// Whole values next to their keys, and restart points at this interval.
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

/// A value in both forms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeltaValue<'a> {
    /// Stored where the key shares nothing.
    pub(crate) whole: &'a [u8],
    /// Stored where the key shares bytes with the previous one.
    pub(crate) difference: &'a [u8],
    /// Forces a key that shares nothing, so that the whole value is stored.
    pub(crate) force_whole: bool,
}

/// Builds blocks, one after the other.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    format: BlockFormat,
    /// Entries, or only their keys if values are separated, and room after them.
    entries: Vec<u8>,
    /// Where they end.
    end: usize,
    values: Vec<u8>,
    /// Scratch space for long headers.
    header: Vec<u8>,
    /// Scratch space for internal keys.
    encoded: Vec<u8>,
    /// Whether an entry is just lengths, key and value.
    is_plain: bool,
    restarts: Vec<u32>,
    since_restart: usize,
    last_key: Vec<u8>,
    hash_index: Option<HashIndexBuilder>,
    /// Kept to determine whether they are uniform.
    restart_keys: Vec<Vec<u8>>,
    too_large: bool,
}

impl BlockBuilder {
    pub(crate) fn new(format: BlockFormat) -> Self {
        assert!(format.restart_interval > 0, "a restart interval of 0");
        Self {
            format,
            entries: Vec::new(),
            end: 0,
            values: Vec::new(),
            header: Vec::new(),
            encoded: Vec::new(),
            is_plain: format.share_prefixes
                && !format.delta_values
                && !format.separated
                && format.hash_index.is_none()
                && format.uniform_cv_threshold.is_none(),
            restarts: vec![0],
            since_restart: 0,
            last_key: Vec::new(),
            hash_index: format.hash_index.map(HashIndexBuilder::new),
            restart_keys: Vec::new(),
            too_large: false,
        }
    }

    /// Whether the block has no entries.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// The size of the block if it ends here. The hash index is estimated as in RocksDB, because
    /// the estimate decides where blocks end.
    #[inline]
    pub(crate) fn size_estimate(&self) -> usize {
        self.end
            + self.values.len()
            + (self.restarts.len() + 1 + usize::from(self.format.separated)) * WORD
            + self.hash_index.as_ref().map_or(0, HashIndexBuilder::size_estimate)
    }

    /// The size after one more entry, by RocksDB's rough estimate: the key as if it shared nothing, a
    /// difference as half the value, and one or two lengths as a word.
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

    /// The last key; empty before the first, and kept from one block to the next.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Adds an entry. Its key follows all others in the order of the table.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        debug_assert!(!self.format.delta_values, "such values have two forms");
        self.push(key, DeltaValue { whole: value, difference: &[], force_whole: false });
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    /// Like [`add`](Self::add), but swaps the key with the previous one instead of copying it.
    #[inline]
    pub(crate) fn add_exchanged(&mut self, key: &mut Vec<u8>, value: &[u8]) {
        debug_assert!(!self.format.delta_values, "such values have two forms");
        self.push(key, DeltaValue { whole: value, difference: &[], force_whole: false });
        std::mem::swap(&mut self.last_key, key);
    }

    #[inline]
    pub(crate) fn add_internal(&mut self, key: &InternalKey<'_>, value: &[u8]) {
        if !self.add_similar(key, value) {
            let mut encoded = std::mem::take(&mut self.encoded);
            encoded.clear();
            key.encode_to(&mut encoded);
            self.add_exchanged(&mut encoded, value);
            self.encoded = encoded;
        }
    }

    /// Fast path for the most common entries: the user key is as long as the previous one and differs
    /// only in its last eight bytes, and the value is short. Returns false, without adding it, for
    /// any other entry.
    #[inline]
    fn add_similar(&mut self, key: &InternalKey<'_>, value: &[u8]) -> bool {
        const TAIL_LENGTH: usize = InternalKey::TAIL_LENGTH;
        let Some((last_user_key, last_tail)) = self.last_key.split_last_chunk_mut::<TAIL_LENGTH>()
        else {
            return false;
        };
        if !self.is_plain
            || self.since_restart == 0
            || self.since_restart >= self.format.restart_interval
            || last_user_key.len() != key.user_key.len()
        {
            return false;
        }
        let shared = common_prefix(last_user_key, key.user_key);
        let rest = key.user_key.len() - shared;
        let (Some(last_word), Some(word)) =
            (last_user_key.last_chunk_mut::<8>(), key.user_key.last_chunk::<8>())
        else {
            return false;
        };
        if !(1..=8).contains(&rest) || shared.max(rest + TAIL_LENGTH).max(value.len()) >= 128 {
            return false;
        }
        *last_word = *word;
        *last_tail = (key.sequence << 8 | key.kind as u64).to_le_bytes();
        // Only the last bytes of the last word differ.
        let word = u64::from_le_bytes(*word) >> (64 - 8 * rest);
        let tail = *last_tail;

        self.make_room(3 + 8 + TAIL_LENGTH + value.len());
        let room = &mut self.entries[self.end..];
        room[..3].copy_from_slice(&[shared as u8, (rest + TAIL_LENGTH) as u8, value.len() as u8]);
        room[3..11].copy_from_slice(&word.to_le_bytes());
        let (tail_start, value_start) = (3 + rest, 3 + rest + TAIL_LENGTH);
        room[tail_start..value_start].copy_from_slice(&tail);
        room[value_start..value_start + value.len()].copy_from_slice(value);
        self.end += value_start + value.len();
        self.since_restart += 1;
        true
    }

    /// Adds an entry whose value may be stored as a difference.
    pub(crate) fn add_delta(&mut self, key: &[u8], value: DeltaValue<'_>) {
        self.push(key, value);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    #[inline]
    fn push(&mut self, key: &[u8], value: DeltaValue<'_>) {
        let mut shared = 0;
        if self.since_restart >= self.format.restart_interval {
            self.restarts.push(self.end as u32);
            self.too_large |= self.end > u32::MAX as usize;
            self.since_restart = 0;
        } else if self.since_restart > 0 && self.format.share_prefixes && !value.force_whole {
            shared = common_prefix(&self.last_key, key);
        }
        let is_restart = self.since_restart == 0;
        if is_restart && self.format.uniform_cv_threshold.is_some() {
            self.restart_keys.push(key.to_vec());
        }

        let stored = match self.format.delta_values && shared > 0 {
            true => value.difference,
            false => value.whole,
        };
        let key_rest = &key[shared..];
        let beside = if self.format.separated { &[] } else { stored };
        self.make_room(MAX_HEADER + key_rest.len() + beside.len());
        self.put_header(is_restart, shared, key_rest.len(), stored.len());
        self.put(key_rest);
        self.put(beside);
        if self.format.separated {
            self.values.extend_from_slice(stored);
        }

        if let Some(index) = &mut self.hash_index {
            debug_assert!(!self.format.user_keys, "hash indexes are for data blocks");
            let user_key = &key[..key.len() - InternalKey::TAIL_LENGTH];
            index.add(user_key, self.restarts.len() - 1);
        }
        self.since_restart += 1;
    }

    #[inline]
    fn make_room(&mut self, length: usize) {
        if self.entries.len() - self.end < length {
            self.grow(length);
        }
    }

    #[cold]
    fn grow(&mut self, length: usize) {
        // Growing by a quarter: large buffers are remapped, not copied, and the new part is zeroed.
        let more = length.max(self.entries.len() / 4).max(MIN_ROOM);
        let length = self.end + more;
        self.entries.resize(length, 0);
    }

    /// Appends the header of an entry. There is room.
    #[inline]
    fn put_header(&mut self, is_restart: bool, shared: usize, non_shared: usize, value: usize) {
        let has_place = self.format.separated && is_restart;
        // Lengths are nearly always below 128, and then take a single store.
        if (shared | non_shared | value) < 128
            && !has_place
            && let Some(room) = self.entries[self.end..].first_chunk_mut()
        {
            *room = [shared as u8, non_shared as u8, value as u8, 0];
            self.end += if self.format.delta_values { 2 } else { 3 };
            return;
        }
        let mut header = std::mem::take(&mut self.header);
        header.clear();
        put_varint32(&mut header, shared as u32);
        put_varint32(&mut header, non_shared as u32);
        if !self.format.delta_values {
            put_varint32(&mut header, value as u32);
        }
        if has_place {
            put_varint32(&mut header, self.values.len() as u32);
            self.too_large |= self.values.len() > u32::MAX as usize;
        }
        self.put(&header);
        self.header = header;
    }

    /// Appends bytes. There is room.
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.entries[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Completes the last block and returns its contents.
    ///
    /// # Errors
    ///
    /// If the block is too large for 32-bit offsets.
    pub(crate) fn finish(mut self) -> Result<FinishedBlock> {
        let is_uniform = self.seal()?;
        self.entries.truncate(self.end);
        Ok(FinishedBlock { contents: self.entries, is_uniform })
    }

    /// The contents of the block, once it is [sealed](Self::seal).
    pub(crate) fn contents(&self) -> &[u8] {
        &self.entries[..self.end]
    }

    /// Completes the block. Nothing can be added until it is [cleared](Self::clear). Returns whether
    /// its restart keys are uniform.
    ///
    /// # Errors
    ///
    /// If the block is too large for 32-bit offsets.
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
        let values_start = self.end;
        if self.too_large
            || values_start > u32::MAX as usize
            || self.restarts.len() > RESTART_COUNT as usize
        {
            return Err(Error::invalid_input("a block of more than 4 GiB cannot be stored"));
        }

        let contents = &mut self.values;
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
        let rest = std::mem::take(contents);
        self.make_room(rest.len());
        self.put(&rest);
        self.values = rest;
        Ok(is_uniform)
    }

    /// Starts the next block and reuses the memory. The last key is kept. After a hash index that did not
    /// fit, later blocks have none, as in RocksDB.
    pub(crate) fn clear(&mut self) {
        self.end = 0;
        self.values.clear();
        // Do not keep the memory of a large block.
        self.entries.truncate(KEPT_MEMORY);
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

#[derive(Debug)]
pub(crate) struct FinishedBlock {
    pub(crate) contents: Vec<u8>,
    /// Whether its restart keys are uniform.
    pub(crate) is_uniform: bool,
}

#[cfg(test)]
mod tests;
