//! The layout of a table file: all of its blocks.

use std::sync::Arc;

use sstkit_filter::FilterLayout;

use crate::error::Result;
use crate::filter::TableFilter;
use crate::index::index_cursor::IndexCursor;
use crate::raw::{BlockHandle, BlockKind, IndexEntries, Trailer};
use crate::reader::block::access::BlockAccess;
use crate::reader::block::reader::read_exact;
use crate::reader::open::core::Core;
use crate::reader::scan::embedded_blobs::embedded_blobs;
use crate::reader::scan::point_cursor::PointCursor;

/// The blocks of a table, in file order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Layout {
    /// All blocks, including embedded blobs.
    pub blocks: Vec<LayoutBlock>,
    /// The offset of the footer, which ends with the file.
    pub footer_offset: u64,
    /// The size of the file in bytes.
    pub file_size: u64,
}

/// A block.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayoutBlock {
    /// The kind of the block.
    pub kind: BlockKind,
    /// The name in the metaindex, if any.
    pub name: Option<Vec<u8>>,
    /// The handle. The trailer of five bytes follows.
    pub handle: BlockHandle,
    /// The codec byte as stored.
    pub codec: u8,
    /// The checksum as stored.
    pub checksum: u32,
}

sstkit_coding::debug_struct!(LayoutBlock { kind, name: bytes, handle, codec, checksum });

/// Lists all blocks.
pub(crate) fn layout(core: &Arc<Core>) -> Result<Layout> {
    let mut blocks = Vec::new();
    visit_indexed_blocks(core, |kind, name, handle| {
        blocks.push((kind, name, handle));
        Ok(())
    })?;
    visit_embedded_blobs(core, |handle| {
        blocks.push((BlockKind::EmbeddedBlob, None, handle));
        Ok(())
    })?;
    blocks.sort_by_key(|&(kind, _, handle)| (handle, kind));

    let blocks = blocks
        .into_iter()
        .map(|(kind, name, handle)| {
            let trailer = trailer(core, kind, handle)?;
            let Trailer { codec, checksum } = trailer;
            Ok(LayoutBlock { kind, name, handle, codec, checksum })
        })
        .collect::<Result<_>>()?;
    Ok(Layout { blocks, footer_offset: core.footer.offset, file_size: core.size })
}

type Listed = (BlockKind, Option<Vec<u8>>, BlockHandle);

/// Visits all blocks that the index and the metaindex refer to: all except embedded blobs. Ends with
/// the first error of `visit`.
pub(crate) fn visit_indexed_blocks(
    core: &Arc<Core>,
    mut visit: impl FnMut(BlockKind, Option<Vec<u8>>, BlockHandle) -> Result<()>,
) -> Result<()> {
    for (kind, name, handle) in meta_blocks(core) {
        visit(kind, name, handle)?;
    }
    for handle in filter_partitions(core)? {
        visit(BlockKind::FilterPartition, None, handle)?;
    }
    for handle in index_partitions(core)? {
        visit(BlockKind::IndexPartition, None, handle)?;
    }
    let mut index = IndexCursor::new(core)?;
    let mut more = index.first()?;
    while more {
        visit(BlockKind::Data, None, index.handle())?;
        more = index.next()?;
    }
    Ok(())
}

/// The metaindex, its blocks, and the index if it is not among them.
pub(crate) fn meta_blocks(core: &Core) -> Vec<Listed> {
    let mut blocks = vec![(BlockKind::MetaIndex, None, core.footer.metaindex)];
    if let Some(index) = core.footer.index {
        blocks.push((BlockKind::Index, None, index));
    }
    for (name, handle) in core.metaindex.iter() {
        blocks.push((BlockKind::of_metaindex_name(name), Some(name.to_vec()), handle));
    }
    blocks
}

pub(crate) fn filter_partitions(core: &Arc<Core>) -> Result<Vec<BlockHandle>> {
    match &core.filter {
        Some(reader) => TableFilter { core, reader }.partitions(),
        // A filter with an unknown policy may be partitioned, too.
        None => {
            let partitioned = core.metaindex.filters().find(|f| f.0 == FilterLayout::Partitioned);
            let Some((_, _, handle)) = partitioned else { return Ok(Vec::new()) };
            let block = core.blocks.block_uncached(BlockKind::Filter, handle)?;
            let format = core.index_format.of_filter_partitions();
            all_handles(IndexEntries::new(block, format))
                .map_err(|error| core.blocks.locate(error, BlockKind::Filter, handle.offset))
        }
    }
}

/// The partitions of the index, if it has two levels.
pub(crate) fn index_partitions(core: &Arc<Core>) -> Result<Vec<BlockHandle>> {
    if !core.has_two_levels() {
        return Ok(Vec::new());
    }
    let entries = core.index_entries(BlockKind::Index, core.index, core.index_block()?);
    all_handles(entries)
        .map_err(|error| core.blocks.locate(error, BlockKind::Index, core.index.offset))
}

fn all_handles<B: AsRef<[u8]>>(entries: Result<IndexEntries<B>>) -> Result<Vec<BlockHandle>> {
    let mut entries = entries?;
    let mut handles = Vec::new();
    while entries.advance()? {
        handles.push(entries.handle());
    }
    Ok(handles)
}

/// Visits the embedded blobs between data blocks, which only their entries refer to. Ends with the
/// first error of `visit`.
pub(crate) fn visit_embedded_blobs(
    core: &Arc<Core>,
    mut visit: impl FnMut(BlockHandle) -> Result<()>,
) -> Result<()> {
    if core.properties.embedded_blobs().is_none() {
        return Ok(());
    }
    let mut points = PointCursor::new(core, BlockAccess::default(), 0);
    let mut more = points.first()?;
    while more {
        for handle in embedded_blobs(points.key()?.kind, points.value())? {
            visit(handle)?;
        }
        more = points.next()?;
    }
    Ok(())
}

pub(crate) fn trailer(core: &Core, kind: BlockKind, handle: BlockHandle) -> Result<Trailer> {
    let read = || {
        let range = handle.stored_range(core.footer.offset)?;
        let start = (range.end - Trailer::LENGTH) as u64;
        let bytes = read_exact(&*core.blocks.source, start, Trailer::LENGTH)?;
        Trailer::split(&bytes)
            .map(|(_, trailer)| trailer)
            .ok_or_else(|| crate::Error::corrupt("no trailer"))
    };
    read().map_err(|error| core.blocks.locate(error, kind, handle.offset))
}
