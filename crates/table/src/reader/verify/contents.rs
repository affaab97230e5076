//! All data blocks, entry by entry, against index and filter.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use sstkit_coding::fixed::decode_fixed64;

use super::Verification;
use super::counts::Counts;
use super::filter::BlockKeys;
use crate::error::{Error, Result};
use crate::index::cursor::IndexCursor;
use crate::key_excerpt::KeyExcerpt;
use crate::raw::{
    Block, BlockEntries, BlockHandle, BlockKind, EntryKind, HashLookup, InternalKey, KeyExpansion,
    Trailer, split_preferred_seqno,
};
use crate::reader::block::read_ahead::ReadAhead;
use crate::reader::open::core::Core;
use crate::reader::scan::embedded_blobs::embedded_blobs;

/// Reads the data blocks of a part of a table, one after another.
pub(crate) struct Contents<'v> {
    core: &'v Arc<Core>,
    pub(crate) found: Verification,
    pub(crate) counts: Counts,
    /// Those that were read.
    pub(crate) blocks: Vec<(BlockKind, BlockHandle)>,
    /// The first key, and where it is.
    pub(crate) first_key: Option<(Vec<u8>, BlockHandle)>,
    read_ahead: ReadAhead,
    /// Of the current block.
    keys: BlockKeys,
    /// The last key of the blocks before, and the separator after them.
    pub(crate) last_key: Option<Vec<u8>>,
    last_separator: Option<Vec<u8>>,
    /// In an index of two levels, the partition before, and its separator in the top level.
    last_partition: Option<(Vec<u8>, BlockHandle)>,
    /// Bytes of all embedded blobs, trailers included.
    stored_blobs: u64,
    /// Whether all entries were seen.
    pub(crate) complete: bool,
}

impl<'v> Contents<'v> {
    pub(crate) fn new(core: &'v Arc<Core>) -> Self {
        Self {
            core,
            found: Verification::default(),
            counts: Counts::default(),
            blocks: Vec::new(),
            first_key: None,
            read_ahead: ReadAhead::default(),
            keys: BlockKeys::default(),
            last_key: None,
            last_separator: None,
            last_partition: None,
            stored_blobs: 0,
            complete: true,
        }
    }

    /// Reads the blocks that begin in `part` of the file.
    #[must_use]
    pub(crate) fn read(mut self, part: &Range<u64>) -> Self {
        if let Err(error) = self.read_all(part) {
            // Damage to the index: what it does not lead to cannot be found.
            self.complete = false;
            self.found.add(error);
        }
        if part.start == 0 {
            self.count_range_deletions();
        }
        self
    }

    fn read_all(&mut self, part: &Range<u64>) -> Result<()> {
        let (mut index, mut more, mut end) = match self.index_at(part.start) {
            // Whoever reads what is before this part says so.
            Err(_) if part.start > 0 => return Ok(()),
            found => found?,
        };
        while more && index.handle().offset < part.end {
            let handle = index.handle();
            self.counts.data_blocks += 1;
            self.found.blocks += 1;
            if handle.offset < end {
                // Also bounds the work that a forged index could ask for.
                let error = Error::mismatch(
                    "the index is not in file order",
                    format_args!("{end} or more"),
                    handle,
                );
                return Err(self.core.blocks.locate(error, BlockKind::Data, handle.offset));
            }
            end = handle.end().unwrap_or(u64::MAX);
            self.counts.data_end = end;
            self.blocks.push((BlockKind::Data, handle));
            let block = self
                .core
                .blocks
                .data_block_anew(handle, &mut self.read_ahead)
                .and_then(|block| self.read_block(handle, block, &index));
            if let Err(error) = block {
                self.complete = false;
                self.found.add(self.core.in_data_block(error, handle));
            }
            self.leave(&index);
            more = index.next()?;
        }
        Ok(())
    }

    /// The index at the first block that does not begin before `start`, whether there is one, and
    /// where the block before it ends.
    fn index_at(&mut self, start: u64) -> Result<(IndexCursor, bool, u64)> {
        let mut index = IndexCursor::new(self.core)?;
        let mut more = index.first()?;
        let mut end = 0;
        while more && index.handle().offset < start {
            // Out of order: that is the end for all.
            if index.handle().offset < end {
                return Ok((index, false, end));
            }
            end = index.handle().end().unwrap_or(u64::MAX);
            self.leave(&index);
            more = index.next()?;
        }
        Ok((index, more, end))
    }

    /// Remembers the separators behind a block.
    fn leave(&mut self, index: &IndexCursor) {
        let separator = self.last_separator.get_or_insert_default();
        separator.clear();
        separator.extend_from_slice(index.key());
        self.last_partition = index.partition().map(|(key, handle)| (key.to_vec(), handle));
    }

    /// An error ends the block.
    fn read_block(
        &mut self,
        handle: BlockHandle,
        block: Block<Bytes>,
        index: &IndexCursor,
    ) -> Result<()> {
        self.keys.clear();
        let mut entries = block.into_entries();
        let read = self.read_entries(handle, &mut entries, index);
        self.ask_filter(handle);
        if !read? {
            self.problem(handle, Error::corrupt("it has no entries"));
        }
        self.check_separator(handle, index.key());
        if let Some((separator, _)) = index.partition() {
            self.check_separator(handle, separator);
        }
        Ok(())
    }

    /// Whether there are any.
    fn read_entries(
        &mut self,
        handle: BlockHandle,
        entries: &mut BlockEntries<Bytes>,
        index: &IndexCursor,
    ) -> Result<bool> {
        let mut is_first = true;
        let mut expansion = KeyExpansion::of_block(entries.block().bytes().len());
        while entries.advance()? {
            expansion.add(entries.key().len())?;
            if is_first {
                self.check_first_key(handle, entries.key(), index);
            }
            is_first = false;
            self.check_entry(handle, entries)?;
            self.first_key.get_or_insert_with(|| (entries.key().to_vec(), handle));
            if self.keys.push(entries.key()) {
                self.ask_filter(handle);
            }
            let last_key = self.last_key.get_or_insert_default();
            last_key.clear();
            last_key.extend_from_slice(entries.key());
        }
        Ok(!is_first)
    }

    /// Whether the filter passes the keys read since the last time.
    fn ask_filter(&mut self, handle: BlockHandle) {
        for denied in self.keys.denied(self.core, handle) {
            self.problem(handle, denied);
        }
        self.keys.clear();
    }

    fn check_entry(&mut self, handle: BlockHandle, entries: &BlockEntries<Bytes>) -> Result<()> {
        let keys = &self.core.keys;
        let stored = entries.key();
        // Not taken apart as a whole, which would cost as much as the filter.
        let Some((_, kind)) = keys.tail(stored) else { return keys.decode(stored).map(drop) };
        if let Some(last) = &self.last_key
            && let Some(problem) = out_of_order(self.core, last, stored, handle)
        {
            self.found.add(problem);
        }
        if let Some(index) = entries.block().hash_index() {
            let found = index.lookup(keys.stored_user_key(stored, false));
            let expected = entries.restart_index();
            let is_right = match found {
                HashLookup::Restart(restart) => usize::from(restart) == expected,
                HashLookup::Collision => true,
                HashLookup::Empty => false,
            };
            if !is_right {
                let what = format!("the hash index does not find {:?}", keys.decode(stored)?);
                self.problem(handle, Error::mismatch(what, expected, format_args!("{found:?}")));
            }
        }
        if let Err(error) = self.check_value(kind, entries.value()) {
            self.problem(handle, error);
        }

        let bare = keys.bare(keys.stored_user_key(stored, false));
        let prefix = self.core.filter.as_ref().and_then(|filter| filter.stored_prefix(bare));
        let counts = &mut self.counts;
        counts.entries += 1;
        counts.keys.add(bare);
        if let Some(prefix) = prefix {
            counts.prefixes.add(prefix);
        }
        if let Some(sequence) = stored_sequence(keys.internal, stored) {
            counts.point_sequences.add(sequence);
        }
        counts.raw_key_size += entries.key().len() as u64;
        counts.raw_value_size += entries.value().len() as u64;
        match kind {
            EntryKind::Deletion | EntryKind::SingleDeletion | EntryKind::DeletionWithTimestamp => {
                counts.deletions += 1;
            }
            EntryKind::Merge => counts.merges += 1,
            _ => {}
        }
        Ok(())
    }

    fn check_value(&mut self, kind: EntryKind, value: &[u8]) -> Result<()> {
        for blob in embedded_blobs(kind, value)? {
            self.check_blob(blob)?;
        }
        if kind == EntryKind::ValuePreferredSeqno && split_preferred_seqno(value).is_none() {
            return Err(Error::corrupt("a value is shorter than its sequence number"));
        }
        Ok(())
    }

    /// A blob in this file must be readable.
    fn check_blob(&mut self, handle: BlockHandle) -> Result<()> {
        let kind = BlockKind::EmbeddedBlob;
        self.found.blocks += 1;
        self.counts.blobs += 1;
        self.counts.blob_bytes = self.counts.blob_bytes.saturating_add(handle.size);
        // Each has bytes of its own: whoever shares them would have them read again and again.
        let stored = handle.size.saturating_add(Trailer::LENGTH as u64);
        self.stored_blobs = self.stored_blobs.saturating_add(stored);
        if self.stored_blobs > self.core.size {
            let error = Error::corrupt("its blobs overlap: their total size exceeds the file size");
            return Err(self.core.blocks.locate(error, kind, handle.offset));
        }
        self.core.blocks.stored(kind, handle)?;
        self.blocks.push((kind, handle));
        Ok(())
    }

    /// The first key of a block lies after the separators before it, and is the one that the index
    /// knows, if it knows one.
    fn check_first_key(&mut self, handle: BlockHandle, key: &[u8], index: &IndexCursor) {
        if let Some(known) = index.first_key()
            && known != key
        {
            let what = "the first key does not match the index";
            self.problem(handle, Error::mismatch(what, KeyExcerpt(known), KeyExcerpt(key)));
        }
        if !self.core.keys.is_ordered() {
            return;
        }
        // Where a partition ends, the top level has a separator of its own.
        let partition = index.partition().map(|(_, handle)| handle);
        let last_partition =
            self.last_partition.as_ref().filter(|(_, last)| Some(*last) != partition);
        let separators = self.last_separator.iter().chain(last_partition.map(|(key, _)| key));
        let wrong = separators
            .filter(|separator| self.compare_to_separator(key, separator).is_le())
            .map(|separator| format!("more than {}", KeyExcerpt(separator)))
            .next();
        if let Some(separator) = wrong {
            let what = "the first key is not after the preceding index key";
            self.problem(handle, Error::mismatch(what, separator, KeyExcerpt(key)));
        }
    }

    fn check_separator(&mut self, handle: BlockHandle, separator: &[u8]) {
        self.check_separator_form(handle, separator);
        let Some(last) = self.last_key.take().filter(|_| self.core.keys.is_ordered()) else {
            return;
        };
        if self.compare_to_separator(&last, separator).is_gt() {
            let what = "the last key is after the block's index key";
            let separator = format!("{} or less", KeyExcerpt(separator));
            self.problem(handle, Error::mismatch(what, separator, KeyExcerpt(&last)));
        }
        self.last_key = Some(last);
    }

    /// A separator has all that is compared: among keys without a timestamp or a sequence number
    /// there is no order that lookups could rely on.
    fn check_separator_form(&mut self, handle: BlockHandle, separator: &[u8]) {
        let keys = &self.core.keys;
        let tail = match keys.internal && !self.core.index_format.user_keys {
            true => InternalKey::TAIL_LENGTH,
            false => 0,
        };
        let least = keys.timestamp_size() + tail;
        if separator.len() < least {
            let what = format!("the index key {} is too short", KeyExcerpt(separator));
            let expected = format!("{least} bytes or more");
            self.problem(handle, Error::mismatch(what, expected, separator.len()));
        }
    }

    fn compare_to_separator(&self, key: &[u8], separator: &[u8]) -> std::cmp::Ordering {
        let keys = &self.core.keys;
        match self.core.index_format.user_keys {
            true => keys.compare_stored(keys.stored_user_key(key, false), separator),
            false => keys.compare_entries(key, separator),
        }
    }

    fn count_range_deletions(&mut self) {
        let Some(handle) = self.core.metaindex.range_deletions() else { return };
        let kind = BlockKind::RangeDeletion;
        let mut count = || -> Result<()> {
            let mut entries = self.core.blocks.block_uncached(kind, handle)?.into_entries();
            while entries.advance()? {
                if let Some(sequence) = stored_sequence(self.core.keys.internal, entries.key()) {
                    self.counts.range_sequences.add(sequence);
                }
                self.counts.range_deletions += 1;
                self.counts.raw_key_size += entries.key().len() as u64;
                self.counts.raw_value_size += entries.value().len() as u64;
            }
            Ok(())
        };
        // The block itself has been reported already.
        self.complete &= count().is_ok();
    }

    fn problem(&mut self, handle: BlockHandle, error: Error) {
        self.found.add(self.core.in_data_block(error, handle));
    }
}

/// The sequence number of a stored key as it is in the file: not the global one.
fn stored_sequence(internal: bool, stored: &[u8]) -> Option<u64> {
    let (_, tail) = stored.split_last_chunk::<{ InternalKey::TAIL_LENGTH }>()?;
    internal.then(|| decode_fixed64(*tail) >> 8)
}

/// What is wrong if `key`, in the block at `handle`, does not come after `last`.
pub(crate) fn out_of_order(
    core: &Core,
    last: &[u8],
    key: &[u8],
    handle: BlockHandle,
) -> Option<Error> {
    if !core.keys.is_ordered() || core.keys.compare_entries(last, key).is_lt() {
        return None;
    }
    let error = Error::mismatch(
        "the keys are not in order",
        format_args!("more than {}", KeyExcerpt(last)),
        KeyExcerpt(key),
    );
    Some(core.in_data_block(error, handle))
}
