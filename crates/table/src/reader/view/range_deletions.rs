//! The range tombstones of a table.

use bytes::Bytes;

use super::TableView;
use crate::error::{Error, Result};
use crate::raw::{BlockEntries, BlockKind, EntryKind, InternalKey};

/// Iterates over the range tombstones of a table, in stored order.
#[derive(Debug)]
pub struct RangeDeletions {
    /// With the offset of the block; `None` in a table without range tombstones.
    entries: Option<(u64, BlockEntries<Bytes>)>,
}

impl RangeDeletions {
    pub(super) fn new(table: &TableView<'_>) -> Result<Self> {
        let Some(handle) = table.metaindex.range_deletions() else {
            return Ok(Self { entries: None });
        };
        let block = table.parsed_block(BlockKind::RangeDeletion, handle)?;
        Ok(Self { entries: Some((handle.offset, block.into_entries())) })
    }

    /// Moves to the next one; false at the end. After an error, the next call returns it again.
    pub fn advance(&mut self) -> Result<bool> {
        let Some((offset, entries)) = &mut self.entries else { return Ok(false) };
        entries.advance().map_err(|error| error.in_block(BlockKind::RangeDeletion, *offset))
    }

    /// The first deleted key, with the sequence number of the tombstone.
    pub fn begin(&self) -> Result<InternalKey<'_>> {
        let (offset, key) = match &self.entries {
            Some((offset, entries)) => (*offset, entries.key()),
            None => (0, &[][..]),
        };
        InternalKey::decode_from(key)
            .and_then(|key| match key.kind {
                EntryKind::RangeDeletion => Ok(key),
                _ => {
                    Err(Error::corrupt(format!("{key:?} is not valid in the range deletion block")))
                }
            })
            .map_err(|error| error.in_block(BlockKind::RangeDeletion, offset))
    }

    /// The first user key that is not deleted.
    pub fn end(&self) -> &[u8] {
        self.entries.as_ref().map_or(&[], |(_, entries)| entries.value())
    }
}
