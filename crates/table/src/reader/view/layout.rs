//! The blocks of a table and their handles.

use sstkit_filter::FilterLayout;

use super::TableView;
use crate::error::Result;
use crate::raw::{BlockHandle, BlockKind, IndexEntries};

impl TableView<'_> {
    /// All blocks of the table in the order of the file: data blocks, meta blocks, partitions of
    /// index and filter, metaindex. Embedded blobs are not among them: only entries refer to them.
    ///
    /// Reads the index and the top-level index of a partitioned filter. The length of the list is
    /// bounded by that of the file, because the blocks of an index cannot overlap.
    pub fn blocks(&self) -> Result<Vec<(BlockKind, BlockHandle)>> {
        let mut blocks = vec![(BlockKind::MetaIndex, self.footer.metaindex)];
        if let Some(index) = self.footer.index {
            blocks.push((BlockKind::Index, index));
        }
        for (name, handle) in self.metaindex.iter() {
            blocks.push((BlockKind::of_metaindex_name(name), handle));
        }

        for (layout, _, handle) in self.metaindex.filters() {
            if layout == FilterLayout::Partitioned {
                self.push_filter_partitions(handle, &mut blocks)?;
            }
        }

        let mut index = self.index()?;
        let mut last_partition = None;
        while index.advance()? {
            if let Some(partition) = index.partition()
                && last_partition != Some(partition)
            {
                blocks.push((BlockKind::IndexPartition, partition));
                last_partition = Some(partition);
            }
            blocks.push((BlockKind::Data, index.handle()));
        }
        blocks.sort_by_key(|&(kind, handle)| (handle, kind));
        Ok(blocks)
    }

    fn push_filter_partitions(
        &self,
        filter_index: BlockHandle,
        blocks: &mut Vec<(BlockKind, BlockHandle)>,
    ) -> Result<()> {
        let format = self.index_format.of_filter_partitions();
        let block = self.parsed_block(BlockKind::Filter, filter_index)?;
        IndexEntries::new(block, format)
            .and_then(|mut partitions| {
                while partitions.advance()? {
                    blocks.push((BlockKind::FilterPartition, partitions.handle()));
                }
                Ok(())
            })
            .map_err(|error| error.in_block(BlockKind::Filter, filter_index.offset))
    }
}
