//! The range deletions of a table.

use std::borrow::Cow;

use super::TableView;
use crate::error::{Error, Result};
use crate::raw::block::BlockEntries;
use crate::raw::block_kind::BlockKind;
use crate::raw::internal_key::{EntryKind, InternalKey};
use crate::raw::metaindex::names;

/// Walks through the range deletions of a table, in the order they are stored in.
#[derive(Debug)]
pub struct RangeDeletions<'a> {
    /// With the offset of the block; `None` in a table without range deletions.
    entries: Option<(u64, BlockEntries<Cow<'a, [u8]>>)>,
}

impl<'a> RangeDeletions<'a> {
    pub(super) fn new(table: &TableView<'a>) -> Result<Self> {
        let Some(handle) = table.metaindex.get(names::RANGE_DELETION) else {
            return Ok(Self { entries: None });
        };
        let block = table.parsed_block(BlockKind::RangeDeletion, handle)?;
        Ok(Self { entries: Some((handle.offset, block.into_entries())) })
    }

    /// Goes to the next one; false at the end. An error comes again.
    pub fn advance(&mut self) -> Result<bool> {
        let Some((offset, entries)) = &mut self.entries else { return Ok(false) };
        entries.advance().map_err(|error| error.in_block(BlockKind::RangeDeletion, *offset))
    }

    /// The first key deleted, with the sequence number of the deletion.
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

    /// The first user key no longer deleted.
    pub fn end(&self) -> &[u8] {
        self.entries.as_ref().map_or(&[], |(_, entries)| entries.value())
    }
}
