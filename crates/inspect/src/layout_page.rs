//! The blocks of a table a page at a time, for tables with very many of them.

use std::ops::Range;

use serde::Serialize;
use serde::ser::SerializeTuple as _;
use sstkit_table::raw::{BlockHandle, BlockKind};
use sstkit_table::{Error, Result};

use crate::inspected_table::InspectedTable;
use crate::layout::{self, BlockDescription, ListedBlock};
use crate::names;
use crate::verify::Problem;

/// Tables up to this size are read completely to find their embedded blobs, to which only entries
/// refer.
const MAX_SEARCHED_FOR_BLOBS: u64 = 64 << 20;

/// The places of all blocks of a table, in file order. Two words a block.
#[derive(Clone, Debug)]
pub struct BlockList {
    blocks: Vec<(BlockKind, BlockHandle)>,
    problem: Option<Problem>,
}

/// A page of the blocks of a table, as compact as a drawing needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LayoutPage {
    /// The file.
    pub file: String,
    /// The size in bytes.
    pub size: u64,
    /// The number of blocks, including the footer.
    pub total: u64,
    /// The index of the first block of this page.
    pub from: u64,
    /// The blocks of this page.
    pub blocks: Vec<PlacedBlock>,
    /// Why blocks are missing: the index is damaged.
    pub problem: Option<Problem>,
}

/// The kind of a block, its offset, and its stored size without trailer. Serialised as an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlacedBlock {
    /// The kind.
    pub kind: &'static str,
    /// The offset.
    pub offset: u64,
    /// The stored size.
    pub length: u64,
}

impl Serialize for PlacedBlock {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(3)?;
        tuple.serialize_element(self.kind)?;
        tuple.serialize_element(&self.offset)?;
        tuple.serialize_element(&self.length)?;
        tuple.end()
    }
}

impl BlockList {
    /// Lists the blocks of a table; of a damaged index, those up to the damage. Reads its tail; if it has
    /// embedded blobs and is not too large, all of it. [Cancelled](sstkit_table::Error::is_cancelled) when `keep_going` returns false.
    pub fn of(file: &InspectedTable, keep_going: &dyn Fn() -> bool) -> Result<Self> {
        let table = file.table();
        let (mut blocks, error) = file.readable_block_handles(keep_going)?;
        if table.size() <= MAX_SEARCHED_FOR_BLOBS {
            let found = table.visit_embedded_blobs(|handle| {
                blocks.push((BlockKind::EmbeddedBlob, handle));
                if keep_going() { Ok(()) } else { Err(Error::cancelled()) }
            });
            // A damaged data block hides the blobs after it, not the other blocks.
            found.or_else(|error| if error.is_cancelled() { Err(error) } else { Ok(()) })?;
        }
        blocks.sort_by_key(|&(kind, handle)| (handle, kind));
        Ok(Self { blocks, problem: error.as_ref().map(Problem::from) })
    }

    /// The number of blocks, including the footer.
    pub fn len(&self) -> usize {
        self.blocks.len() + 1
    }

    /// Whether it has no blocks; never, because of the footer.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The places of the blocks `from..`, at most `limit`.
    pub fn page(
        &self,
        name: impl Into<String>,
        file: &InspectedTable,
        from: usize,
        limit: usize,
    ) -> LayoutPage {
        let range = self.range(from, limit);
        let mut blocks: Vec<_> = self.in_range(&range).iter().map(place).collect();
        if range.end > self.blocks.len() {
            let BlockDescription { kind, offset, length, .. } = layout::footer(file);
            blocks.push(PlacedBlock { kind, offset, length });
        }
        LayoutPage {
            file: name.into(),
            size: file.table().size(),
            total: self.len() as u64,
            from: range.start as u64,
            blocks,
            problem: self.problem.clone(),
        }
    }

    /// Describes the blocks `from..`, at most `limit`, without their contents. Reads each of them
    /// when its turn has come.
    pub fn describe<'f>(
        &self,
        file: &'f InspectedTable,
        from: usize,
        limit: usize,
    ) -> impl Iterator<Item = BlockDescription> + use<'f, '_> {
        let range = self.range(from, limit);
        let has_footer = range.end > self.blocks.len();
        let footer = has_footer.then(|| layout::footer(file));
        let blocks = self.in_range(&range).iter().map(|&(kind, handle)| {
            let listed = ListedBlock { kind, name: metaindex_name(file, handle), handle };
            let trailer = file.trailer(handle).ok().flatten();
            layout::describe(file, &listed, trailer, None)
        });
        blocks.chain(footer)
    }

    /// The block that starts at `offset`; the footer is not among them.
    pub fn at(&self, offset: u64) -> Option<(BlockKind, BlockHandle)> {
        let at = self.blocks.partition_point(|(_, handle)| handle.offset < offset);
        // Of an empty block and its successor at the same offset, the larger one.
        let same = self.blocks[at..].iter().take_while(|(_, handle)| handle.offset == offset);
        same.max_by_key(|(_, handle)| handle.size).copied()
    }

    fn range(&self, from: usize, limit: usize) -> Range<usize> {
        let from = from.min(self.len());
        from..from.saturating_add(limit).min(self.len())
    }

    fn in_range(&self, range: &Range<usize>) -> &[(BlockKind, BlockHandle)] {
        let end = range.end.min(self.blocks.len());
        &self.blocks[range.start.min(end)..end]
    }
}

fn place(&(kind, handle): &(BlockKind, BlockHandle)) -> PlacedBlock {
    let BlockHandle { offset, size: length } = handle;
    PlacedBlock { kind: names::block_kind(kind), offset, length }
}

/// The name that the metaindex has for a block, if any.
pub(crate) fn metaindex_name(file: &InspectedTable, handle: BlockHandle) -> Option<Vec<u8>> {
    let mut names = file.table().metaindex().iter();
    names.find(|&(_, at)| at == handle).map(|(name, _)| name.to_vec())
}
