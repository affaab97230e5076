//! A table together with its file: what [`Table`] understands, and the bytes it understood it from.
//!
//! Everything here reads one block at a time and keeps none of them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bytes::Bytes;
use sstkit_table::raw::{
    Block, BlockDecoder, BlockHandle, BlockKind, Dictionary, IndexEntries, IndexFormat, IndexKind,
    InternalKey, ReadOptions, Trailer, regular_file,
};
use sstkit_table::{Comparator, Error, Layout, Result, Source, Table, TableReadOptions};

/// What is worth a thread.
const MIN_PART: u64 = 1 << 20;

/// A table, and positioned access to its blocks.
pub struct TableFile {
    table: Table,
    path: Option<PathBuf>,
    source: Box<dyn Source>,
    decoder: BlockDecoder,
    index: BlockHandle,
    index_format: IndexFormat,
    /// Bytes of timestamp at the end of each stored user key.
    timestamp_size: usize,
    dictionary: OnceLock<Dictionary>,
}

impl TableFile {
    /// Opens a file; reads only its tail, as [`Table::open`] does.
    #[cfg(any(unix, windows))]
    pub fn open(path: impl AsRef<Path>, options: &TableReadOptions) -> Result<Self> {
        Self::of_table(Table::open_file(&path, options)?, path)
    }

    /// A table that is open already, and its file.
    #[cfg(any(unix, windows))]
    pub fn of_table(table: Table, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = regular_file::open(path).map_err(|error| Error::from(error).in_file(path))?;
        Self::new(table, Box::new(file), Some(path.to_owned()))
    }

    /// Opens a table that is in memory, without copying it.
    pub fn from_bytes(bytes: impl Into<Bytes>, options: &TableReadOptions) -> Result<Self> {
        let bytes = bytes.into();
        let table = Table::open_with(bytes.clone(), options)?;
        Self::new(table, Box::new(bytes), None)
    }

    fn new(table: Table, source: Box<dyn Source>, path: Option<PathBuf>) -> Result<Self> {
        let footer = table.footer();
        let mut read_options = ReadOptions::default();
        read_options.max_block_size = table.max_block_size();
        let decoder = BlockDecoder::new(footer, table.engine(), &read_options);
        // Opening has found both; a table without an index would not have opened.
        let index = footer.index.or_else(|| table.metaindex().index()).unwrap_or_default();
        let index_format = IndexFormat::of(table.engine(), footer.version, table.properties())?;
        let timestamp_size = match table.comparator() {
            Ok(order) if table.properties().has_persisted_timestamps() => order.timestamp_size(),
            _ => 0,
        };
        let dictionary = OnceLock::new();
        Ok(Self { table, path, source, decoder, index, index_format, timestamp_size, dictionary })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Where it is, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Bytes of timestamp at the end of each stored user key.
    pub fn timestamp_size(&self) -> usize {
        self.timestamp_size
    }

    /// A stored user key without its timestamp.
    pub fn bare<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        &user_key[..user_key.len().saturating_sub(self.timestamp_size)]
    }

    /// The timestamp of a stored user key; `None` where keys have none.
    pub fn timestamp<'k>(&self, user_key: &'k [u8]) -> Option<&'k [u8]> {
        let at = user_key.len().saturating_sub(self.timestamp_size);
        (self.timestamp_size > 0).then(|| &user_key[at..])
    }

    /// Whether two keys without timestamps are the same, in the order of the table if that is known.
    pub fn is_same_key(&self, a: &[u8], b: &[u8]) -> bool {
        match self.table.comparator() {
            Ok(order @ Comparator::User(_)) => order.compare_without_timestamp(a, b).is_eq(),
            _ => a == b,
        }
    }

    /// All blocks of the file. A damaged filter does not hide the others: where the blocks lie is
    /// then believed without checksums, as far as it makes sense at all.
    pub fn layout(&self) -> Result<Layout> {
        let layout = self.table.layout();
        let (Err(_), Some(path)) = (&layout, &self.path) else { return layout };
        let options = TableReadOptions::default()
            .max_block_size(self.table.max_block_size())
            .verify_checksums(false)
            .no_block_cache();
        Table::open_file(path, &options).and_then(|table| table.layout()).or(layout)
    }

    /// What all blocks are and where they lie, but for embedded blobs; reads only the tail of the file.
    /// A damaged filter does not hide the others, as in [`layout`](Self::layout).
    pub fn block_handles(&self) -> Result<Vec<(BlockKind, BlockHandle)>> {
        let handles = self.table.block_handles();
        let (Err(_), Some(path)) = (&handles, &self.path) else { return handles };
        let options = TableReadOptions::default().verify_checksums(false).no_block_cache();
        Table::open_file(path, &options).and_then(|table| table.block_handles()).or(handles)
    }

    /// Where the index is; of a partitioned one, its top level.
    pub fn index_handle(&self) -> BlockHandle {
        self.index
    }

    /// How the index is stored.
    pub fn index_format(&self) -> IndexFormat {
        self.index_format
    }

    /// Codec and checksum of the block at `handle`, unverified; `None` where the file ends before
    /// it does.
    pub fn trailer(&self, handle: BlockHandle) -> Result<Option<Trailer>> {
        let start = handle.offset.checked_add(handle.size);
        let length = Trailer::LENGTH;
        let Some(start) =
            start.filter(|start| start.saturating_add(length as u64) <= self.table.size())
        else {
            return Ok(None);
        };
        let bytes =
            self.source.read_at(start, length).map_err(|error| self.in_file(error.into()))?;
        Ok(Trailer::split(&bytes).map(|(_, trailer)| trailer))
    }

    /// The contents of the block at `handle`, verified and decompressed; data blocks with the
    /// table's dictionary.
    pub fn contents(&self, kind: BlockKind, handle: BlockHandle) -> Result<Bytes> {
        let read = || {
            let range = handle.stored_range(self.table.footer().offset)?;
            let stored = self.source.read_at(handle.offset, range.len())?;
            let block = self.decoder.verify(kind, handle, &stored)?;
            let dictionary = match kind {
                BlockKind::Data => self.dictionary()?,
                _ => None,
            };
            match self.decoder.decompress(&block, dictionary)? {
                Cow::Owned(contents) => Ok(contents.into()),
                Cow::Borrowed(contents) => Ok(stored.slice(..contents.len())),
            }
        };
        read().map_err(|error| self.in_file(error))
    }

    /// The block at `handle`, taken apart.
    pub fn block(&self, kind: BlockKind, handle: BlockHandle) -> Result<Block<Bytes>> {
        Block::parse(self.contents(kind, handle)?).map_err(|error| self.in_file(error))
    }

    /// The compression dictionary of the data blocks, if there is one. Read once.
    pub fn dictionary(&self) -> Result<Option<&Dictionary>> {
        let Some(handle) = self.table.metaindex().compression_dictionary() else {
            return Ok(None);
        };
        if let Some(dictionary) = self.dictionary.get() {
            return Ok(Some(dictionary));
        }
        let bytes = self.contents(BlockKind::CompressionDictionary, handle)?;
        let dictionary = Dictionary::new(bytes).map_err(|error| self.in_file(error))?;
        Ok(Some(self.dictionary.get_or_init(|| dictionary)))
    }

    /// Walks through the index: one entry a data block, whatever the kind of index.
    pub fn index(&self) -> Result<IndexWalk<'_>> {
        let top = self.index_entries(BlockKind::Index, self.index)?;
        Ok(IndexWalk { file: self, top, partition: None })
    }

    /// The entries of an index block or of one of its partitions.
    pub fn index_entries(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<IndexEntries<Bytes>> {
        IndexEntries::new(self.block(kind, handle)?, self.index_format)
            .map_err(|error| self.in_file(error))
    }

    /// Keys without timestamps, in order, that cut the table into so many parts of about as many data
    /// blocks each. There may be fewer of them.
    pub fn split_keys(&self, parts: usize) -> Result<Vec<Vec<u8>>> {
        let order = self.table.comparator()?;
        let most = usize::try_from(self.table.size() / MIN_PART).unwrap_or(usize::MAX);
        let parts = parts.clamp(1, most.max(1));
        let index = self.index_entries(BlockKind::Index, self.index)?;
        let restarts = index.block().restart_count();
        let mut keys: Vec<Vec<u8>> = Vec::new();
        // In the index almost every entry is a restart point; in one of two levels those of the upper
        // one will do.
        for part in 1..parts {
            let restart = (restarts as u128 * part as u128 / parts as u128) as usize;
            // A damaged one is left to those who come by it.
            let key = (restart < restarts).then(|| index.restart_key(restart)).flatten();
            let Some(key) = key else { continue };
            let key = self.separator(key);
            let is_after = |last: &Vec<u8>| order.compare_without_timestamp(last, key).is_lt();
            if keys.last().is_none_or(is_after) {
                keys.push(key.to_vec());
            }
        }
        Ok(keys)
    }

    /// The user key of a separator of the index, without timestamp.
    pub(crate) fn separator<'k>(&self, stored: &'k [u8]) -> &'k [u8] {
        let has_tail = self.table.has_internal_keys() && !self.index_format.user_keys;
        match stored.split_last_chunk::<{ InternalKey::TAIL_LENGTH }>() {
            Some((user_key, _)) if has_tail => self.bare(user_key),
            _ => self.bare(stored),
        }
    }

    fn in_file(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.in_file(path),
            None => error,
        }
    }
}

/// Walks through the index of a [`TableFile`], through one level or two.
pub struct IndexWalk<'f> {
    file: &'f TableFile,
    /// The only level, or the upper one.
    top: IndexEntries<Bytes>,
    partition: Option<IndexEntries<Bytes>>,
}

impl IndexWalk<'_> {
    /// Goes to the next data block; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        let in_file = |error| self.file.in_file(error);
        if self.file.index_format.kind != IndexKind::TwoLevel {
            return self.top.advance().map_err(in_file);
        }
        loop {
            // Data blocks ascend across partitions, too.
            let mut floor = 0;
            if let Some(partition) = &mut self.partition {
                if partition.advance().map_err(in_file)? {
                    return Ok(true);
                }
                floor = partition.floor();
            }
            if !self.top.advance().map_err(in_file)? {
                return Ok(false);
            }
            let entries = self.file.index_entries(BlockKind::IndexPartition, self.top.handle())?;
            self.partition = Some(entries.after(floor));
        }
    }

    /// The separator of the current data block, as stored.
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

    fn bottom(&self) -> &IndexEntries<Bytes> {
        self.partition.as_ref().unwrap_or(&self.top)
    }
}
