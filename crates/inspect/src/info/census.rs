//! Counts all entries of a table.

use std::collections::BTreeMap;

use sstkit_table::raw::{BlockHandle, BlockKind, EntryKind, InternalKey};
use sstkit_table::{Result, TableFeature};

use super::CodecShare;
use crate::inspected_table::InspectedTable;
use crate::names;
use crate::verify::Problem;

/// The contents of the data blocks and range deletions of a table.
#[derive(Default)]
pub(super) struct Census {
    pub(super) by_kind: BTreeMap<&'static str, u64>,
    /// The types of entries, without duplicates.
    pub(super) kinds: Vec<EntryKind>,
    /// Whether a data block has a hash index.
    pub(super) has_hash_index: bool,
    /// The user keys of the first and last entry.
    pub(super) first_key: Option<Vec<u8>>,
    pub(super) last_key: Option<Vec<u8>>,
    /// The smallest and largest sequence number.
    pub(super) sequences: Option<(u64, u64)>,
    codecs: BTreeMap<u8, CodecShare>,
    pub(super) problems: Vec<Problem>,
}

impl Census {
    /// Counts everything. Unreadable blocks are reported as problems, and the others are counted.
    pub(super) fn take(file: &InspectedTable) -> Result<Self> {
        let mut census = Self::default();
        let mut index = file.index()?;
        loop {
            match index.advance() {
                Ok(true) => census.read(file, BlockKind::Data, index.handle()),
                Ok(false) => break,
                Err(error) => {
                    census.problems.push(Problem::from(&error));
                    break;
                }
            }
        }
        if let Some(handle) = file.table().metaindex().range_deletions() {
            census.read(file, BlockKind::RangeDeletion, handle);
        }
        Ok(census)
    }

    /// The data blocks by codec, largest total size first.
    pub(super) fn codecs(&self) -> Vec<CodecShare> {
        let mut codecs: Vec<_> = self.codecs.values().cloned().collect();
        codecs.sort_by_key(|share| std::cmp::Reverse(share.bytes));
        codecs
    }

    /// The features that a reader of the contents must support.
    pub(super) fn features(&self) -> Vec<TableFeature> {
        let entries = self.kinds.iter().map(|&kind| TableFeature::Entry(kind));
        let hash_index = self.has_hash_index.then_some(TableFeature::DataBlockHashIndex);
        entries.chain(hash_index).collect()
    }

    fn read(&mut self, file: &InspectedTable, kind: BlockKind, handle: BlockHandle) {
        let read = self.count_block(file, kind, handle);
        if let Err(error) = read {
            self.problems.push(Problem::from(&error));
        }
    }

    fn count_block(
        &mut self,
        file: &InspectedTable,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<()> {
        let block = file.block(kind, handle)?;
        if kind == BlockKind::Data
            && let Some(trailer) = file.trailer(handle)?
        {
            let share = self.codecs.entry(trailer.codec).or_default();
            share.codec = names::codec(file.table().engine(), trailer.codec);
            share.blocks += 1;
            share.bytes += handle.size;
            share.uncompressed += block.bytes().len() as u64;
        }
        self.has_hash_index |= kind == BlockKind::Data && block.hash_index().is_some();
        let mut entries = block.into_entries();
        while entries.advance()? {
            let (user_key, stored_kind) = self.count_key(file, entries.key())?;
            *self.by_kind.entry(names::entry_kind(stored_kind)).or_default() += 1;
            if !self.kinds.contains(&stored_kind) {
                self.kinds.push(stored_kind);
            }
            if kind == BlockKind::Data {
                let bare = file.bare(user_key);
                if self.first_key.is_none() {
                    self.first_key = Some(bare.to_vec());
                }
                let last_key = self.last_key.get_or_insert_default();
                last_key.clear();
                last_key.extend_from_slice(bare);
            }
        }
        Ok(())
    }

    fn count_key<'k>(
        &mut self,
        file: &InspectedTable,
        key: &'k [u8],
    ) -> Result<(&'k [u8], EntryKind)> {
        if !file.table().has_internal_keys() {
            return Ok((key, EntryKind::Value));
        }
        let InternalKey { user_key, sequence, kind } = InternalKey::decode_from(key)?;
        let sequence = file.table().global_sequence_number().unwrap_or(sequence);
        let (smallest, largest) = self.sequences.unwrap_or((sequence, sequence));
        self.sequences = Some((smallest.min(sequence), largest.max(sequence)));
        Ok((user_key, kind))
    }
}
