//! All entries of a table, across its data blocks.

use bytes::Bytes;

use super::DataBlocks;
use crate::error::{Error, Result};
use crate::raw::{BlockEntries, BlockHandle, BlockKind, InternalKey};

/// Iterates over all entries of all data blocks of a table.
#[derive(Debug)]
pub struct PointEntries<'t, 'a> {
    blocks: DataBlocks<'t, 'a>,
    current: Option<(BlockHandle, BlockEntries<Bytes>)>,
}

impl<'t, 'a> PointEntries<'t, 'a> {
    pub(super) fn new(blocks: DataBlocks<'t, 'a>) -> Self {
        Self { blocks, current: None }
    }

    /// Moves to the next entry; `false` at the end. After an error it continues with the next data
    /// block, if that can be found.
    pub fn advance(&mut self) -> Result<bool> {
        loop {
            if let Some((handle, entries)) = &mut self.current {
                match entries.advance() {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(error) => {
                        let error = error.in_block(BlockKind::Data, handle.offset);
                        self.current = None;
                        return Err(error);
                    }
                }
            }
            self.current = None;
            let Some(block) = self.blocks.next().transpose()? else { return Ok(false) };
            self.current = Some((block.handle, block.into_entries()?));
        }
    }

    /// The key of the current entry as stored; empty if there is none.
    ///
    /// In tables of databases it is an internal key. LevelDB's tables may contain any keys.
    pub fn key(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |(_, entries)| entries.key())
    }

    /// The value of the current entry as stored; empty if there is none.
    pub fn value(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |(_, entries)| entries.value())
    }

    /// The current key, decoded. A kind that does not belong in data blocks is an error.
    pub fn internal_key(&self) -> Result<InternalKey<'_>> {
        let key = InternalKey::decode_from(self.key()).and_then(|key| match key.kind.is_point() {
            true => Ok(key),
            false => Err(Error::corrupt(format!("{key:?} is not valid in a data block"))),
        });
        key.map_err(|error| match self.block() {
            Some(handle) => error.in_block(BlockKind::Data, handle.offset),
            None => error,
        })
    }

    /// The block of the current entry.
    pub fn block(&self) -> Option<BlockHandle> {
        self.current.as_ref().map(|(handle, _)| *handle)
    }
}
