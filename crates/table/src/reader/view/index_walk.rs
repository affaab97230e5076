//! Iterates over an index with one or two levels.

use bytes::Bytes;

use super::TableView;
use crate::error::Result;
use crate::raw::{BlockHandle, BlockKind, IndexEntries, IndexKind};
use crate::reader::remote::windows::Windows;

/// Iterates over the index of a table: one entry per data block.
#[derive(Debug)]
pub struct IndexWalk<'t, 'a> {
    table: &'t TableView<'a>,
    /// The only level, or the upper one.
    top: IndexEntries<Bytes>,
    /// The current partition of a two-level index.
    partition: Option<IndexEntries<Bytes>>,
    /// Over the partitions, if the source is remote.
    windows: Option<Box<Windows>>,
}

impl<'t, 'a> IndexWalk<'t, 'a> {
    pub(super) fn new(table: &'t TableView<'a>) -> Result<Self> {
        let top = table.index_entries(BlockKind::Index, table.index)?;
        let windows = table.blocks.new_windows(0).map(Box::new);
        Ok(Self { table, top, partition: None, windows })
    }

    /// Moves to the next data block; `false` at the end. After an error, the next call returns it
    /// again.
    pub fn advance(&mut self) -> Result<bool> {
        if self.table.index_format.kind != IndexKind::TwoLevel {
            return self.advance_top();
        }
        loop {
            // Data blocks ascend across partitions, too.
            let mut floor = 0;
            if let Some(partition) = &mut self.partition {
                let (kind, offset) = (BlockKind::IndexPartition, self.top.handle().offset);
                let locate = |error| self.table.blocks.locate(error, kind, offset);
                if partition.advance().map_err(locate)? {
                    return Ok(true);
                }
                floor = partition.floor();
            }
            if !self.advance_top()? {
                return Ok(false);
            }
            // A partition always leads to data blocks: the depth is two.
            self.partition = Some(self.read_partition()?.after(floor));
        }
    }

    fn read_partition(&mut self) -> Result<IndexEntries<Bytes>> {
        let (table, kind, handle) = (self.table, BlockKind::IndexPartition, self.top.handle());
        let Some(windows) = &mut self.windows else { return table.index_entries(kind, handle) };
        let limit = table.end_of_partitions(handle.offset);
        let block = table.blocks.index_partition_in(windows, handle, false, limit)?;
        table.entries_of_index(kind, handle, block)
    }

    fn advance_top(&mut self) -> Result<bool> {
        let TableView { blocks, index, .. } = self.table;
        self.top.advance().map_err(|error| blocks.locate(error, BlockKind::Index, index.offset))
    }

    /// The separator of the current data block, as stored: see [`IndexEntries::key`].
    pub fn key(&self) -> &[u8] {
        self.bottom().key()
    }

    /// The handle of the current data block.
    pub fn handle(&self) -> BlockHandle {
        self.bottom().handle()
    }

    /// Its first internal key, in indexes that have it.
    pub fn first_key(&self) -> Option<&[u8]> {
        self.bottom().first_key()
    }

    /// The handle of the current partition of a two-level index.
    pub fn partition(&self) -> Option<BlockHandle> {
        self.partition.as_ref().map(|_| self.top.handle())
    }

    /// The table of the index.
    pub fn table(&self) -> &'t TableView<'a> {
        self.table
    }

    fn bottom(&self) -> &IndexEntries<Bytes> {
        self.partition.as_ref().unwrap_or(&self.top)
    }
}
