//! From the index to the data blocks, through one level or two.

use std::borrow::Cow;

use super::TableView;
use crate::error::{Error, Result};
use crate::raw::block_kind::BlockKind;
use crate::raw::handle::BlockHandle;
use crate::raw::index::{IndexEntries, IndexKind};

type Entries<'a> = IndexEntries<Cow<'a, [u8]>>;

/// Walks through the index of a table: one entry a data block.
#[derive(Debug)]
pub struct IndexWalk<'t, 'a> {
    table: &'t TableView<'a>,
    /// The only level, or the upper one.
    top: Entries<'a>,
    /// In an index of two levels, the partition being walked through.
    partition: Option<Entries<'a>>,
}

impl<'t, 'a> IndexWalk<'t, 'a> {
    pub(super) fn new(table: &'t TableView<'a>) -> Result<Self> {
        let top = open(table, BlockKind::Index, table.index, 0)?;
        Ok(Self { table, top, partition: None })
    }

    /// Goes to the next data block; false at the end. An error comes again.
    pub fn advance(&mut self) -> Result<bool> {
        if self.table.index_format.kind != IndexKind::TwoLevel {
            return self.advance_top();
        }
        loop {
            // Data blocks ascend across partitions, too.
            let mut floor = 0;
            if let Some(partition) = &mut self.partition {
                let offset = self.top.handle().offset;
                let more = partition
                    .advance()
                    .map_err(|error| error.in_block(BlockKind::IndexPartition, offset))?;
                if more {
                    return Ok(true);
                }
                floor = partition.floor();
            }
            if !self.advance_top()? {
                return Ok(false);
            }
            // Whatever it holds are data blocks: the depth is two, always.
            let handle = self.top.handle();
            self.partition = Some(open(self.table, BlockKind::IndexPartition, handle, floor)?);
        }
    }

    fn advance_top(&mut self) -> Result<bool> {
        let offset = self.table.index.offset;
        self.top.advance().map_err(|error| error.in_block(BlockKind::Index, offset))
    }

    /// The separator of the current data block, as stored: see [`IndexEntries::key`].
    pub fn key(&self) -> &[u8] {
        self.bottom().key()
    }

    /// Where the current data block lies.
    pub fn handle(&self) -> BlockHandle {
        self.bottom().handle()
    }

    /// Its first internal key, in indexes that have it.
    pub fn first_key(&self) -> Option<&[u8]> {
        self.bottom().first_key()
    }

    /// Where the current partition lies, in an index of two levels.
    pub fn partition(&self) -> Option<BlockHandle> {
        self.partition.as_ref().map(|_| self.top.handle())
    }

    /// The table walked through.
    pub fn table(&self) -> &'t TableView<'a> {
        self.table
    }

    fn bottom(&self) -> &Entries<'a> {
        self.partition.as_ref().unwrap_or(&self.top)
    }
}

fn open<'a>(
    table: &TableView<'a>,
    kind: BlockKind,
    handle: BlockHandle,
    floor: u64,
) -> Result<Entries<'a>> {
    let block = table.parsed_block(kind, handle)?;
    let in_block = |error: Error| error.in_block(kind, handle.offset);
    Ok(IndexEntries::new(block, table.index_format).map_err(in_block)?.after(floor))
}
