//! All data blocks, entry by entry, against index and filter.

use std::sync::Arc;

use bytes::Bytes;
use sstkit_filter::{FilterLayout, HashedKey};

use super::Verification;
use crate::error::{Error, Result};
use crate::raw::{
    Block, BlockEntries, BlockHandle, BlockKind, EntryKind, HashLookup, InternalKey,
    split_preferred_seqno,
};
use crate::reader::core::Core;
use crate::reader::embedded_blobs::embedded_blobs;
use crate::reader::index_cursor::IndexCursor;

/// What properties count.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) entries: u64,
    pub(super) range_deletions: u64,
    pub(super) deletions: u64,
    pub(super) merges: u64,
    pub(super) raw_key_size: u64,
    pub(super) raw_value_size: u64,
    pub(super) data_blocks: u64,
    pub(super) blobs: u64,
    pub(super) blob_bytes: u64,
}

/// Reads all data blocks of a table.
pub(super) struct Contents<'v> {
    core: &'v Arc<Core>,
    found: &'v mut Verification,
    counts: Counts,
    blocks: Vec<(BlockKind, BlockHandle)>,
    /// The last key of the blocks before, and the separator after them.
    last_key: Option<Vec<u8>>,
    last_separator: Option<Vec<u8>>,
    /// In an index of two levels, the partition before, and its separator in the top level.
    last_partition: Option<(Vec<u8>, BlockHandle)>,
    /// Whether all entries were seen.
    complete: bool,
}

impl<'v> Contents<'v> {
    pub(super) fn new(core: &'v Arc<Core>, found: &'v mut Verification) -> Self {
        Self {
            core,
            found,
            counts: Counts::default(),
            blocks: Vec::new(),
            last_key: None,
            last_separator: None,
            last_partition: None,
            complete: true,
        }
    }

    /// What was counted, the blocks that were read, and whether that was all of them.
    pub(super) fn finish(self) -> (Counts, Vec<(BlockKind, BlockHandle)>, bool) {
        (self.counts, self.blocks, self.complete)
    }

    pub(super) fn read(&mut self) {
        if let Err(error) = self.read_all() {
            // Damage to the index: what it does not lead to cannot be found.
            self.complete = false;
            self.found.add(error);
        }
        self.count_range_deletions();
    }

    fn read_all(&mut self) -> Result<()> {
        let mut index = IndexCursor::new(self.core)?;
        let mut more = index.first()?;
        let mut end = 0;
        while more {
            let handle = index.handle();
            self.counts.data_blocks += 1;
            self.found.blocks += 1;
            if handle.offset < end {
                // Also bounds the work that a forged index could ask for.
                let error = Error::mismatch(
                    "the index does not follow the order of the file",
                    format_args!("{end} or more"),
                    handle,
                );
                return Err(self.core.blocks.locate(error, BlockKind::Data, handle.offset));
            }
            end = handle.end().unwrap_or(u64::MAX);
            self.blocks.push((BlockKind::Data, handle));
            let block = self
                .core
                .blocks
                .block_uncached(BlockKind::Data, handle)
                .and_then(|block| self.read_block(handle, block, &index));
            if let Err(error) = block {
                self.complete = false;
                self.found.add(self.core.in_data_block(error, handle));
            }
            self.last_separator = Some(index.key().to_vec());
            self.last_partition = index.partition().map(|(key, handle)| (key.to_vec(), handle));
            more = index.next()?;
        }
        Ok(())
    }

    /// An error ends the block.
    fn read_block(
        &mut self,
        handle: BlockHandle,
        block: Block<Bytes>,
        index: &IndexCursor,
    ) -> Result<()> {
        let mut entries = block.into_entries();
        let mut is_first = true;
        while entries.advance()? {
            if is_first {
                self.check_first_key(handle, entries.key(), index);
            }
            is_first = false;
            self.check_entry(handle, &entries)?;
            let last_key = self.last_key.get_or_insert_default();
            last_key.clear();
            last_key.extend_from_slice(entries.key());
        }
        if is_first {
            self.problem(handle, Error::corrupt("it has no entries"));
        }
        self.check_separator(handle, index.key());
        if let Some((separator, _)) = index.partition() {
            self.check_separator(handle, separator);
        }
        Ok(())
    }

    fn check_entry(&mut self, handle: BlockHandle, entries: &BlockEntries<Bytes>) -> Result<()> {
        let keys = &self.core.keys;
        let key = keys.decode(entries.key())?;
        if keys.is_ordered()
            && let Some(last) = &self.last_key
            && keys.compare_entries(last, entries.key()).is_ge()
        {
            let error = Error::mismatch(
                "the keys are not in order",
                format_args!("more than \"{}\"", last.escape_ascii()),
                format_args!("\"{}\"", entries.key().escape_ascii()),
            );
            self.problem(handle, error);
        }
        if let Some(index) = entries.block().hash_index() {
            let found = index.lookup(key.user_key);
            let expected = entries.restart_index();
            let is_right = match found {
                HashLookup::Restart(restart) => usize::from(restart) == expected,
                HashLookup::Collision => true,
                HashLookup::Empty => false,
            };
            if !is_right {
                let what = format!("the hash index does not lead to {key:?}");
                self.problem(handle, Error::mismatch(what, expected, format_args!("{found:?}")));
            }
        }
        if let Err(error) = self.check_value(key.kind, entries.value()) {
            self.problem(handle, error);
        }
        self.check_filter(handle, &key);

        let counts = &mut self.counts;
        counts.entries += 1;
        counts.raw_key_size += entries.key().len() as u64;
        counts.raw_value_size += entries.value().len() as u64;
        match key.kind {
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
            return Err(Error::corrupt("a value is too short for its sequence number"));
        }
        Ok(())
    }

    /// A blob in this file must be readable.
    fn check_blob(&mut self, handle: BlockHandle) -> Result<()> {
        let kind = BlockKind::EmbeddedBlob;
        self.found.blocks += 1;
        self.core.blocks.stored(kind, handle)?;
        self.blocks.push((kind, handle));
        self.counts.blobs += 1;
        self.counts.blob_bytes += handle.size;
        Ok(())
    }

    /// The filter must let every key pass, and every prefix.
    fn check_filter(&mut self, handle: BlockHandle, key: &InternalKey<'_>) {
        let core = self.core;
        let Some(filter) = core.filter.as_ref().filter(|_| core.keys.is_ordered()) else { return };
        let bare = core.keys.bare(key.user_key);
        let whole = Some(bare).filter(|_| filter.has_whole_keys);
        let prefix = match filter.layout() {
            FilterLayout::Block => None,
            _ => filter.stored_prefix(bare),
        };
        for question in [whole, prefix].into_iter().flatten() {
            let hashed = HashedKey::new(question);
            let may = match filter.layout() {
                FilterLayout::Block => {
                    filter.may_contain_in_block(&core.blocks, handle.offset, &hashed)
                }
                _ => {
                    let search = core.keys.newest(bare);
                    filter.may_contain(&core.blocks, &core.keys, &hashed, &search.before())
                }
            };
            if !may {
                let what = format!("the filter denies \"{}\" of {key:?}", question.escape_ascii());
                self.problem(handle, Error::corrupt(what));
            }
        }
    }

    /// The first key of a block lies after the separators before it, and is the one that the index
    /// knows, if it knows one.
    fn check_first_key(&mut self, handle: BlockHandle, key: &[u8], index: &IndexCursor) {
        if let Some(known) = index.first_key()
            && known != key
        {
            let known = format!("\"{}\"", known.escape_ascii());
            let what = "the first key is another than the index says";
            self.problem(
                handle,
                Error::mismatch(what, known, format_args!("\"{}\"", key.escape_ascii())),
            );
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
            .map(|separator| format!("more than \"{}\"", separator.escape_ascii()))
            .next();
        if let Some(separator) = wrong {
            let what = "the first key does not come after the separator before it";
            let key = format!("\"{}\"", key.escape_ascii());
            self.problem(handle, Error::mismatch(what, separator, key));
        }
    }

    fn check_separator(&mut self, handle: BlockHandle, separator: &[u8]) {
        self.check_separator_form(handle, separator);
        let Some(last) = self.last_key.take().filter(|_| self.core.keys.is_ordered()) else {
            return;
        };
        if self.compare_to_separator(&last, separator).is_gt() {
            let what = "the last key comes after the separator behind it";
            let separator = format!("\"{}\" or less", separator.escape_ascii());
            let found = format!("\"{}\"", last.escape_ascii());
            self.problem(handle, Error::mismatch(what, separator, found));
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
        let least = keys.timestamp_size + tail;
        if separator.len() < least {
            let what = format!("the separator \"{}\" is too short", separator.escape_ascii());
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
