//! The data blocks of a table, in order.

use bytes::Bytes;

use super::IndexWalk;
use crate::error::{Error, Result};
use crate::raw::{Block, BlockEntries, BlockHandle, BlockKind};

/// A data block, decompressed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DataBlock {
    /// The handle.
    pub handle: BlockHandle,
    /// The contents.
    pub contents: Bytes,
}

impl DataBlock {
    /// Iterates over its entries.
    pub fn into_entries(self) -> Result<BlockEntries<Bytes>> {
        let block = Block::parse(self.contents)
            .map_err(|error| error.in_block(BlockKind::Data, self.handle.offset))?;
        Ok(block.into_entries())
    }
}

/// Iterates over the data blocks of a table in order.
///
/// A block that cannot be read does not end the iteration: the next one may be sound. Damage to
/// the index does.
#[derive(Debug)]
pub struct DataBlocks<'t, 'a> {
    index: IndexWalk<'t, 'a>,
    ended: bool,
}

impl<'t, 'a> DataBlocks<'t, 'a> {
    pub(super) fn new(index: IndexWalk<'t, 'a>) -> Self {
        Self { index, ended: false }
    }
}

impl Iterator for DataBlocks<'_, '_> {
    type Item = Result<DataBlock, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let advanced = self.index.advance();
        self.ended = !matches!(advanced, Ok(true));
        match advanced {
            Ok(true) => {
                let handle = self.index.handle();
                let contents = self.index.table().block(BlockKind::Data, handle);
                Some(contents.map(|contents| DataBlock { handle, contents }))
            }
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
