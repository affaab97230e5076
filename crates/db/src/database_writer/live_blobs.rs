//! The blobs that tables refer to; all others of a blob file are garbage.
//!
//! ```text
//! blob file   key a | key b | key c | key d       4 blobs
//! tables      a ----^       c ------^             2 of them are referred to: 2 are garbage
//! ```
//!
//! RocksDB adds to the garbage what a compaction drops, and refuses to go on with a blob file that has
//! more garbage than blobs.

use std::collections::BTreeMap;

use sstkit_table::raw::{BlobIndex, EntryKind};

use super::each_blob_reference;
use crate::error::Result;
use crate::raw::{BlobFileMetaData, BlobRecord};

/// References to a blob file.
#[derive(Clone, Copy, Debug, Default)]
struct References {
    count: u64,
    /// Bytes of the records in the blob file.
    bytes: u64,
}

/// The blob files that tables refer to, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveBlobs(BTreeMap<u64, References>);

impl LiveBlobs {
    /// Adds what an entry refers to.
    pub(crate) fn add_entry(
        &mut self,
        user_key: &[u8],
        kind: EntryKind,
        value: &[u8],
    ) -> Result<()> {
        each_blob_reference(kind, value, |_, index| self.add(user_key, index))
    }

    /// Adds a reference of a key, if it is one to a blob file.
    pub(crate) fn add(&mut self, user_key: &[u8], index: &BlobIndex<'_>) {
        let &BlobIndex::Stored { file: number @ 1.., size, .. } = index else { return };
        let references = self.0.entry(number).or_default();
        references.count += 1;
        let bytes = BlobRecord::stored_length(user_key, size);
        references.bytes = references.bytes.saturating_add(bytes);
    }

    pub(crate) fn append(&mut self, other: &Self) {
        for (number, more) in &other.0 {
            let references = self.0.entry(*number).or_default();
            references.count += more.count;
            references.bytes = references.bytes.saturating_add(more.bytes);
        }
    }

    /// The numbers of the blob files, in ascending order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.keys().copied()
    }

    /// References to a blob file.
    pub(crate) fn count(&self, number: u64) -> u64 {
        self.0.get(&number).map_or(0, |it| it.count)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Sets the garbage of a blob file.
    pub(super) fn recount(&self, file: &mut BlobFileMetaData) {
        let live = self.0.get(&file.number).copied().unwrap_or_default();
        file.garbage_count = file.blob_count.saturating_sub(live.count);
        file.garbage_bytes = file.blob_bytes.saturating_sub(live.bytes);
    }
}
