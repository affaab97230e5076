//! The data blocks of a table, entry by entry, against index and filter.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use sstkit_coding::fixed::decode_fixed64;

use super::counts::{Counts, SequenceBounds};
use super::file_checksum::FileChecksum;
use super::filter_probes::KeyBatch;
use super::{KeySpan, ReferenceVisitor, Verification, VerifyProgress};
use crate::error::{Error, Result};
use crate::index::index_cursor::IndexCursor;
use crate::key_excerpt::KeyExcerpt;
use crate::raw::{
    BlobIndex, Block, BlockEntries, BlockHandle, BlockKind, EntryKind, HashLookup, InternalKey,
    KeyExpansion, Trailer, split_preferred_seqno,
};
use crate::reader::block::read_ahead::ReadAhead;
use crate::reader::open::core::Core;
use crate::reader::scan::embedded_blobs::{blob_references, in_this_file};

/// Bytes of data blocks in a [`KeySpan`]; the last block may exceed them.
const SPAN_SIZE: u64 = 8 << 20;

/// Verifies the data blocks of a part of a table in file order.
pub(super) struct DataBlockVerifier<'v, V> {
    core: &'v Arc<Core>,
    pub(super) found: Verification,
    pub(super) counts: Counts,
    pub(super) visitor: V,
    /// If wanted, of the blocks that were read.
    pub(super) checksum: Option<FileChecksum>,
    pub(super) blocks: Vec<(BlockKind, BlockHandle)>,
    pub(super) first_key: Option<(Vec<u8>, BlockHandle)>,
    read_ahead: ReadAhead,
    /// The keys that the filter has not been probed for yet, and the one before them.
    keys: KeyBatch,
    /// Where the current span ends.
    span_end: u64,
    /// Sequence numbers of the current block, as stored.
    sequences: SequenceBounds,
    /// The separator before the current block.
    last_separator: Option<Vec<u8>>,
    /// In a two-level index, the previous partition and its separator in the top level.
    last_partition: Option<(Vec<u8>, BlockHandle)>,
    /// Bytes of all embedded blobs, trailers included.
    stored_blobs: u64,
    /// Whether all entries were read.
    pub(super) complete: bool,
    progress: VerifyProgress,
}

impl<'v, V: ReferenceVisitor> DataBlockVerifier<'v, V> {
    pub(super) fn new(
        core: &'v Arc<Core>,
        visitor: V,
        checksum: Option<FileChecksum>,
        progress: VerifyProgress,
    ) -> Self {
        Self {
            core,
            found: Verification::default(),
            counts: Counts::default(),
            visitor,
            checksum,
            blocks: Vec::new(),
            first_key: None,
            read_ahead: core.blocks.new_read_ahead(0),
            keys: KeyBatch::default(),
            span_end: 0,
            sequences: SequenceBounds::default(),
            last_separator: None,
            last_partition: None,
            stored_blobs: 0,
            complete: true,
            progress,
        }
    }

    /// Verifies the blocks that start in `part` of the file.
    #[must_use]
    pub(super) fn verify(mut self, part: &Range<u64>) -> Self {
        if let Err(error) = self.verify_blocks(part) {
            // The index is damaged: blocks that it does not lead to cannot be found.
            self.complete = false;
            self.found.add(error);
        }
        if part.start == 0 {
            self.count_range_tombstones();
        }
        self
    }

    /// The last key as stored.
    pub(super) fn last_key(&self) -> Option<&[u8]> {
        self.keys.last()
    }

    fn verify_blocks(&mut self, part: &Range<u64>) -> Result<()> {
        let (mut index, mut more, mut end) = match self.index_at(part.start) {
            // Reported by the part before.
            Err(_) if part.start > 0 => return Ok(()),
            found => found?,
        };
        while more && index.handle().offset < part.end {
            let handle = index.handle();
            self.counts.data_blocks += 1;
            self.found.blocks += 1;
            if handle.offset < end {
                // This also bounds the work that a forged index can cause.
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
            let verified = self.read(handle).and_then(|block| self.block(handle, block, &index));
            if let Err(error) = verified {
                self.complete = false;
                self.found.add(self.core.in_data_block(error, handle));
            }
            self.remember_separators(&index);
            if !self.progress.add(handle.size) {
                self.complete = false;
                return Ok(());
            }
            more = index.next()?;
        }
        Ok(())
    }

    /// The index at the first block that does not start before `start`, whether there is one, and
    /// where the block before it ends.
    fn index_at(&mut self, start: u64) -> Result<(IndexCursor, bool, u64)> {
        let mut index = IndexCursor::new(self.core)?;
        let mut more = index.first()?;
        let mut end = 0;
        while more && index.handle().offset < start {
            // Out of order: no part continues behind this entry.
            if index.handle().offset < end {
                return Ok((index, false, end));
            }
            end = index.handle().end().unwrap_or(u64::MAX);
            self.remember_separators(&index);
            more = index.next()?;
        }
        Ok((index, more, end))
    }

    fn remember_separators(&mut self, index: &IndexCursor) {
        let separator = self.last_separator.get_or_insert_default();
        separator.clear();
        separator.extend_from_slice(index.key());
        self.last_partition = index.partition().map(|(key, handle)| (key.to_vec(), handle));
    }

    fn read(&mut self, handle: BlockHandle) -> Result<Block<Bytes>> {
        let blocks = &self.core.blocks;
        let stored = blocks.stored_ahead(handle, &mut self.read_ahead)?;
        if let Some(checksum) = &mut self.checksum {
            checksum.add_block(&stored);
        }
        blocks.parse(stored)
    }

    /// An error ends the block.
    fn block(
        &mut self,
        handle: BlockHandle,
        block: Block<Bytes>,
        index: &IndexCursor,
    ) -> Result<()> {
        let mut entries = block.into_entries();
        let read = self.entries(handle, &mut entries, index);
        self.probe_filter(handle);
        self.end_span();
        if !read? {
            self.problem(handle, Error::corrupt("it has no entries"));
        }
        self.check_separator(handle, index.key());
        if let Some((separator, _)) = index.partition() {
            self.check_separator(handle, separator);
        }
        Ok(())
    }

    /// Whether the block has entries.
    fn entries(
        &mut self,
        handle: BlockHandle,
        entries: &mut BlockEntries<Bytes>,
        index: &IndexCursor,
    ) -> Result<bool> {
        let mut expansion = KeyExpansion::of_block(entries.block().bytes().len());
        let has_hash_index = entries.block().hash_index().is_some();
        let mut is_first = true;
        while entries.advance()? {
            let stored = entries.key();
            expansion.add(stored.len())?;
            if is_first {
                self.check_first_key(handle, stored, index);
            }
            self.entry(handle, stored, entries.value())?;
            if is_first {
                self.begin_span(handle, stored);
            }
            is_first = false;
            if has_hash_index {
                self.check_hash_index(handle, entries)?;
            }
            if self.keys.push(stored) {
                self.probe_filter(handle);
            }
        }
        Ok(!is_first)
    }

    #[inline]
    fn entry(&mut self, handle: BlockHandle, stored: &[u8], value: &[u8]) -> Result<()> {
        let core = self.core;
        let keys = &core.keys;
        // Cheaper than decoding the key, which is left to the error path.
        let Some((_, kind)) = keys.tail(stored) else { return keys.decode(stored).map(drop) };
        let user_key = keys.stored_user_key(stored, false);
        let is_new_key = match self.keys.last() {
            None => {
                self.first_key = Some((stored.to_vec(), handle));
                true
            }
            Some(last) => {
                let last_user_key = keys.stored_user_key(last, false);
                let order = keys.compare_stored(last_user_key, user_key);
                let is_in_order =
                    order.is_lt() || order.is_eq() && stored_tail(last) > stored_tail(stored);
                if !is_in_order && let Some(problem) = out_of_order(core, last, stored, handle) {
                    self.found.add(problem);
                }
                match order {
                    Ordering::Less if keys.timestamp_size() == 0 => true,
                    _ => keys.bare(last_user_key) != keys.bare(user_key),
                }
            }
        };
        match kind {
            EntryKind::Deletion | EntryKind::SingleDeletion | EntryKind::DeletionWithTimestamp => {
                self.counts.deletions += 1;
            }
            EntryKind::Merge => self.counts.merges += 1,
            EntryKind::BlobIndex | EntryKind::WideColumnEntity => {
                if let Err(error) = self.check_references(kind, user_key, value) {
                    self.problem(handle, error);
                }
            }
            EntryKind::ValuePreferredSeqno if split_preferred_seqno(value).is_none() => {
                let what = "a value is shorter than its sequence number";
                self.problem(handle, Error::corrupt(what));
            }
            _ => {}
        }
        let filter = core.filter.as_ref();
        let prefix = filter.and_then(|filter| filter.stored_prefix(keys.bare(user_key)));
        let counts = &mut self.counts;
        if let Some(prefix) = prefix {
            counts.prefixes.add(prefix);
        }
        counts.entries += 1;
        counts.keys += u64::from(is_new_key);
        counts.raw_key_size += stored.len() as u64;
        counts.raw_value_size += value.len() as u64;
        if keys.internal {
            self.sequences.add(stored_tail(stored) >> 8);
        }
        Ok(())
    }

    fn check_hash_index(
        &mut self,
        handle: BlockHandle,
        entries: &BlockEntries<Bytes>,
    ) -> Result<()> {
        let (keys, stored) = (&self.core.keys, entries.key());
        let Some(index) = entries.block().hash_index() else { return Ok(()) };
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
        Ok(())
    }

    /// Probes the filter for the keys added since the last time.
    fn probe_filter(&mut self, handle: BlockHandle) {
        for denied in self.keys.denied(self.core, handle) {
            self.problem(handle, denied);
        }
        self.keys.clear();
    }

    fn check_references(&mut self, kind: EntryKind, user_key: &[u8], value: &[u8]) -> Result<()> {
        for index in blob_references(kind, value)? {
            match in_this_file(&index) {
                Some(blob) => self.check_embedded_blob(blob)?,
                None if matches!(index, BlobIndex::Stored { .. }) => {
                    self.visitor.visit(user_key, &index);
                }
                None => {}
            }
        }
        Ok(())
    }

    fn check_embedded_blob(&mut self, handle: BlockHandle) -> Result<()> {
        let kind = BlockKind::EmbeddedBlob;
        self.found.blocks += 1;
        self.counts.blobs += 1;
        self.counts.blob_bytes = self.counts.blob_bytes.saturating_add(handle.size);
        // Blobs do not share bytes. Forged references could otherwise have the same bytes read again
        // and again.
        let stored = handle.size.saturating_add(Trailer::LENGTH as u64);
        self.stored_blobs = self.stored_blobs.saturating_add(stored);
        if self.stored_blobs > self.core.size {
            let error = Error::corrupt("its blobs overlap: their total size exceeds the file size");
            return Err(self.core.blocks.locate(error, kind, handle.offset));
        }
        let stored = self.core.blocks.stored(kind, handle)?;
        if let Some(checksum) = &mut self.checksum {
            checksum.add_block(&stored);
        }
        self.blocks.push((kind, handle));
        Ok(())
    }

    /// Starts a span at the first key of a block, unless the current one is not full.
    fn begin_span(&mut self, handle: BlockHandle, stored: &[u8]) {
        if self.found.spans.is_empty() || handle.offset >= self.span_end {
            let first = self.user_key(stored).to_vec();
            let (smallest_sequence, largest_sequence) = (u64::MAX, 0);
            let last = Vec::new();
            self.found.spans.push(KeySpan { first, last, smallest_sequence, largest_sequence });
            self.span_end = handle.offset.saturating_add(SPAN_SIZE);
        }
    }

    /// Extends the current span to the last key of a block.
    fn end_span(&mut self) {
        let keys = &self.core.keys;
        let sequences = std::mem::take(&mut self.sequences);
        self.counts.point_sequences.add_all(&sequences);
        let ends = match keys.global_sequence_number {
            _ if !keys.internal => Some((0, 0)),
            Some(global) => Some((global, global)),
            None => sequences.ends(),
        };
        let (Some(span), Some((smallest, largest)), Some(last)) =
            (self.found.spans.last_mut(), ends, self.keys.last())
        else {
            return;
        };
        span.smallest_sequence = span.smallest_sequence.min(smallest);
        span.largest_sequence = span.largest_sequence.max(largest);
        span.last.clear();
        span.last.extend_from_slice(keys.bare(keys.stored_user_key(last, false)));
    }

    fn user_key<'k>(&self, stored: &'k [u8]) -> &'k [u8] {
        self.core.keys.bare(self.core.keys.stored_user_key(stored, false))
    }

    /// The first key of a block comes after the separators before it, and matches the index if that
    /// has first keys.
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
        self.check_separator_length(handle, separator);
        let Some(last) = self.keys.last().filter(|_| self.core.keys.is_ordered()) else { return };
        if self.compare_to_separator(last, separator).is_gt() {
            let what = "the last key is after the block's index key";
            let expected = format!("{} or less", KeyExcerpt(separator));
            let problem = Error::mismatch(what, expected, KeyExcerpt(last));
            self.problem(handle, problem);
        }
    }

    /// A separator has a timestamp and a sequence number where keys have them: without them, lookups
    /// cannot rely on its order.
    fn check_separator_length(&mut self, handle: BlockHandle, separator: &[u8]) {
        let keys = &self.core.keys;
        let tail = if self.core.index_format.user_keys { 0 } else { keys.tail_length() };
        let least = keys.timestamp_size() + tail;
        if separator.len() < least {
            let what = format!("the index key {} is too short", KeyExcerpt(separator));
            let expected = format!("{least} bytes or more");
            self.problem(handle, Error::mismatch(what, expected, separator.len()));
        }
    }

    fn compare_to_separator(&self, key: &[u8], separator: &[u8]) -> Ordering {
        let keys = &self.core.keys;
        match self.core.index_format.user_keys {
            true => keys.compare_stored(keys.stored_user_key(key, false), separator),
            false => keys.compare_entries(key, separator),
        }
    }

    fn count_range_tombstones(&mut self) {
        let Some(handle) = self.core.metaindex.range_deletions() else { return };
        let kind = BlockKind::RangeDeletion;
        let mut count = || -> Result<()> {
            let mut entries = self.core.blocks.block_uncached(kind, handle)?.into_entries();
            while entries.advance()? {
                if self.core.keys.internal && entries.key().len() >= InternalKey::TAIL_LENGTH {
                    self.counts.range_sequences.add(stored_tail(entries.key()) >> 8);
                }
                self.counts.range_deletions += 1;
                self.counts.raw_key_size += entries.key().len() as u64;
                self.counts.raw_value_size += entries.value().len() as u64;
            }
            Ok(())
        };
        // Damage to the block itself has been reported.
        self.complete &= count().is_ok();
    }

    fn problem(&mut self, handle: BlockHandle, error: Error) {
        self.found.add(self.core.in_data_block(error, handle));
    }
}

/// Sequence number and kind of an internal key as stored: not the global sequence number.
#[inline]
fn stored_tail(stored: &[u8]) -> u64 {
    stored.last_chunk().map_or(0, |tail| decode_fixed64(*tail))
}

/// The problem if `key`, in the block at `handle`, does not come after `last`.
pub(super) fn out_of_order(
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
