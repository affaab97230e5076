//! A table opened for inspection. Blocks are read one at a time and not kept.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use sstkit_db::OrderSource;
use sstkit_table::raw::{
    Block, BlockHandle, BlockKind, Dictionary, IndexFormat, IndexWalk, Trailer,
};
use sstkit_table::visibility::ReadView;
use sstkit_table::{
    Comparator, Error, Layout, ReadOptions, Record, Result, Table, TableReadOptions,
};

/// The minimum size of a part that is worth a thread.
const MIN_PART: u64 = 1 << 20;

/// Blocks that are listed between two checks whether the caller has cancelled.
const BLOCKS_PER_CHECK: usize = 4096;

/// Kinds and handles of blocks.
type PlacedHandles = Vec<(BlockKind, BlockHandle)>;

/// A table, its path, and what its keys look like.
#[derive(Clone)]
pub struct InspectedTable {
    table: Table,
    path: Option<PathBuf>,
    order_source: OrderSource,
    /// For a table that may have to be opened again.
    options: Box<TableReadOptions>,
    /// Bytes of timestamp at the end of each stored user key.
    timestamp_size: usize,
}

sstkit_coding::debug_opaque!(InspectedTable);

impl InspectedTable {
    /// Opens a file; reads only its tail, as [`Table::open`] does. A table of LevelDB takes the order
    /// that the MANIFEST beside it names: see [`sstkit_db::open_table`].
    #[cfg(any(unix, windows))]
    pub fn open(path: impl AsRef<Path>, options: &TableReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let (table, order_source) = sstkit_db::open_table(path, options)?;
        let options = Box::new(options.clone());
        Ok(Self { order_source, options, ..Self::new(table, Some(path.to_owned())) })
    }

    /// Wraps an open table and its path.
    pub fn of_table(table: Table, path: impl AsRef<Path>) -> Self {
        Self::new(table, Some(path.as_ref().to_owned()))
    }

    /// Opens a table in memory, without copying it.
    pub fn from_bytes(bytes: impl Into<Bytes>, options: &TableReadOptions) -> Result<Self> {
        Ok(Self::new(Table::from_source(bytes.into(), options)?, None))
    }

    fn new(table: Table, path: Option<PathBuf>) -> Self {
        let timestamp_size = match table.comparator() {
            Ok(order) if table.properties().has_persisted_timestamps() => order.timestamp_size(),
            _ => 0,
        };
        let (order_source, options) = (OrderSource::Known, Box::default());
        Self { table, path, order_source, options, timestamp_size }
    }

    /// The name of the comparator: the table's, or else that of the MANIFEST beside it.
    pub fn comparator_name(&self) -> Option<&[u8]> {
        let of_manifest = match &self.order_source {
            OrderSource::Manifest(name) => Some(name.as_bytes()),
            _ => None,
        };
        self.table.properties().comparator().or(of_manifest)
    }

    /// Whether nothing names the order of the keys, and it is taken to be bytewise: what a search does
    /// not find may be in the table.
    pub fn has_assumed_order(&self) -> bool {
        self.order_source == OrderSource::Assumed
    }

    /// The same table in the order that its keys are in. If nothing names it, all keys are read; where
    /// no order fits, the table can be scanned but not searched.
    #[cfg(any(unix, windows))]
    pub fn in_detected_order(&self) -> Result<Self> {
        let (true, Some(path)) = (self.has_assumed_order(), &self.path) else {
            return Ok(self.clone());
        };
        let options = TableReadOptions::clone(&self.options);
        let options = match sstkit_db::detect_order(&self.table)? {
            Some(Comparator::Bytewise) => {
                return Ok(Self { order_source: OrderSource::Known, ..self.clone() });
            }
            Some(order) => options.comparator(order),
            None => options.unknown_order("(not named)"),
        };
        Self::open(path, &options)
    }

    /// The visible state of a key in a table whose order is not known: all keys are read.
    pub fn find_by_scan(&self, key: &[u8], view: &ReadView) -> Result<Option<Record>> {
        let mut cursor = self.table.cursor_with(&ReadOptions::default().at(view));
        let mut more = cursor.seek_to_first()?;
        while more {
            if cursor.key() == key {
                return cursor.record();
            }
            more = cursor.next()?;
        }
        Ok(None)
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// A stored user key without its timestamp.
    pub fn bare<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        &user_key[..user_key.len().saturating_sub(self.timestamp_size)]
    }

    /// The timestamp of a stored user key; `None` if keys have none.
    pub fn timestamp<'k>(&self, user_key: &'k [u8]) -> Option<&'k [u8]> {
        let at = user_key.len().saturating_sub(self.timestamp_size);
        (self.timestamp_size > 0).then(|| &user_key[at..])
    }

    /// All blocks of the file. A damaged filter does not hide the others: the handles are then read
    /// without verifying checksums.
    pub fn layout(&self) -> Result<Layout> {
        let layout = self.table.layout();
        let (Err(_), Some(path)) = (&layout, &self.path) else { return layout };
        let options = TableReadOptions::default()
            .max_block_size(self.table.max_block_size())
            .verify_checksums(false)
            .no_block_cache();
        sstkit_db::file_system::open_table(path, &options)
            .and_then(|table| table.layout())
            .or(layout)
    }

    /// Kinds and handles of all blocks except embedded blobs; reads only the tail of the file. A
    /// damaged filter does not hide the others, as in [`layout`](Self::layout).
    pub fn block_handles(&self) -> Result<Vec<(BlockKind, BlockHandle)>> {
        self.block_handles_while(&|| true)
    }

    /// The same, [cancelled](sstkit_table::Error::is_cancelled) when `keep_going` returns false.
    pub fn block_handles_while(
        &self,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<Vec<(BlockKind, BlockHandle)>> {
        let (blocks, error) = self.readable_block_handles(keep_going)?;
        error.map_or(Ok(blocks), Err)
    }

    /// The same, but of a damaged index the blocks up to the damage, and the error.
    pub(crate) fn readable_block_handles(
        &self,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<(PlacedHandles, Option<Error>)> {
        let list = |table: &Table| {
            let mut blocks = Vec::new();
            let listed = table.visit_blocks(|kind, handle| {
                if blocks.len() % BLOCKS_PER_CHECK == 0 && !keep_going() {
                    return Err(Error::cancelled());
                }
                blocks.push((kind, handle));
                Ok(())
            });
            match listed {
                Err(error) if error.is_cancelled() => Err(error),
                listed => Ok((blocks, listed.err())),
            }
        };
        let found = list(&self.table)?;
        let ((_, Some(_)), Some(path)) = (&found, &self.path) else { return Ok(found) };
        let options = TableReadOptions::default().verify_checksums(false).no_block_cache();
        match sstkit_db::file_system::open_table(path, &options).and_then(|table| list(&table)) {
            Ok((blocks, None)) => Ok((blocks, None)),
            Err(error) if error.is_cancelled() => Err(error),
            _ => Ok(found),
        }
    }

    /// The handle of the index, or of its top level.
    pub fn index_handle(&self) -> BlockHandle {
        self.table.view().index_handle()
    }

    /// The format of the index.
    pub fn index_format(&self) -> IndexFormat {
        self.table.view().index_format()
    }

    /// Codec and checksum of the block at `handle`, unverified; `None` if the file ends before it
    /// does.
    pub fn trailer(&self, handle: BlockHandle) -> Result<Option<Trailer>> {
        let length = Trailer::LENGTH;
        let start = handle.offset.checked_add(handle.size);
        let Some(start) =
            start.filter(|start| start.saturating_add(length as u64) <= self.table.size())
        else {
            return Ok(None);
        };
        let bytes = self.table.view().read_at(start, length)?;
        Ok(Trailer::split(&bytes).map(|(_, trailer)| trailer))
    }

    /// The contents of the block at `handle`, verified and decompressed; data blocks with the
    /// table's dictionary.
    pub fn contents(&self, kind: BlockKind, handle: BlockHandle) -> Result<Bytes> {
        self.table.view().block(kind, handle)
    }

    /// The same, parsed as a block of entries.
    pub fn block(&self, kind: BlockKind, handle: BlockHandle) -> Result<Block<Bytes>> {
        self.table.view().parsed_block(kind, handle)
    }

    /// The compression dictionary of the data blocks, if there is one. Read once.
    pub fn dictionary(&self) -> Result<Option<&Dictionary>> {
        self.table.view().dictionary()
    }

    /// Iterates over the index: one entry per data block, for all kinds of index.
    pub fn index(&self) -> Result<IndexWalk<'_, 'static>> {
        self.table.view().index()
    }

    /// [`Table::split_keys`] for up to `parts` parts that are worth a thread.
    pub fn split_keys(&self, parts: usize) -> Result<Vec<Vec<u8>>> {
        let most = usize::try_from(self.table.size() / MIN_PART).unwrap_or(usize::MAX);
        self.table.split_keys(parts.clamp(1, most.max(1)))
    }

    /// The user key of a separator of the index, without timestamp.
    pub(crate) fn separator<'k>(&self, stored: &'k [u8]) -> &'k [u8] {
        self.table.separator_key(stored)
    }
}
