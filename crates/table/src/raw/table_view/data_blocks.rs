//! The data blocks of a table, one after the other.

use std::borrow::Cow;

use super::IndexWalk;
use crate::error::{Error, Result};
use crate::raw::block::{Block, BlockEntries};
use crate::raw::block_kind::BlockKind;
use crate::raw::handle::BlockHandle;

/// A data block, decompressed.
#[derive(Clone, Debug)]
pub struct DataBlock<'a> {
    /// Where it lies.
    pub handle: BlockHandle,
    /// What it holds.
    pub contents: Cow<'a, [u8]>,
}

impl<'a> DataBlock<'a> {
    /// Walks through its entries.
    pub fn into_entries(self) -> Result<BlockEntries<Cow<'a, [u8]>>> {
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

impl<'a> Iterator for DataBlocks<'_, 'a> {
    type Item = Result<DataBlock<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.index.advance() {
            Ok(true) => {
                let handle = self.index.handle();
                let contents = self.index.table().block(BlockKind::Data, handle);
                Some(contents.map(|contents| DataBlock { handle, contents }))
            }
            Ok(false) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}
