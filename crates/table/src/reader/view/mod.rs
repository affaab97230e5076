//! A table without a cache: reads each block from the source.
//!
//! ```text
//! source ---> footer ---> metaindex ---> properties, index format
//!               '------- TableView ------------'
//!                            | handle
//!                            v
//!                       BlockReader ---> block, index, entries
//! ```
//!
//! A [`Table`](crate::Table) is a view and everything that makes lookups and scans fast.

mod data_blocks;
mod index_walk;
mod layout;
mod points;
mod range_deletions;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::raw::{
    BlobIndex, Block, BlockDecoder, BlockHandle, BlockKind, DecodeOptions, Dictionary, Engine,
    Footer, IndexEntries, IndexFormat, MetaIndex, Properties, StoredBlock, TableKind,
    property_names,
};
use crate::reader::block::reader::{BlockReader, read_exact};
use crate::reader::cache::CachedFile;
use crate::reader::open::source::{Lent, Source};
use crate::reader::remote::RemoteReads;
use crate::reader::tickers::Tickers;

pub use self::data_blocks::{DataBlock, DataBlocks};
pub use self::index_walk::IndexWalk;
pub use self::points::PointEntries;
pub use self::range_deletions::RangeDeletions;

/// The number of bytes read from the end of the file: footer and metaindex, and usually the
/// properties.
pub(crate) const TAIL_LENGTH: u64 = 4096;

/// A table file, opened to examine its blocks.
///
/// Opening reads footer, metaindex and properties. Other blocks are read when they are requested;
/// nothing is cached.
pub struct TableView<'a> {
    pub(crate) blocks: BlockReader<dyn Source + 'a>,
    pub(crate) size: u64,
    pub(crate) footer: Footer,
    pub(crate) engine: Engine,
    pub(crate) metaindex: MetaIndex,
    pub(crate) properties: Properties,
    pub(crate) index: BlockHandle,
    pub(crate) index_format: IndexFormat,
    /// The whole file, if it is borrowed.
    file: &'a [u8],
}

/// The options of a view, besides its source.
pub(crate) struct ViewOptions<'o> {
    pub(crate) blocks: &'o DecodeOptions,
    /// The name of the file, for messages.
    pub(crate) file: Option<PathBuf>,
    pub(crate) tickers: Option<Arc<Tickers>>,
    pub(crate) remote: Option<RemoteReads>,
}

impl<'a> TableView<'a> {
    /// Opens the table whose bytes are `file`.
    pub fn open(file: &'a [u8]) -> Result<Self> {
        Self::open_with(file, &DecodeOptions::default())
    }

    /// Opens the table whose bytes are `file`, with options.
    pub fn open_with(file: &'a [u8], options: &DecodeOptions) -> Result<Self> {
        Ok(Self { file, ..Self::from_source(Lent(file), options)? })
    }

    /// Opens a table from any [`Source`]: a file, or memory.
    pub fn from_source(source: impl Source + 'a, options: &DecodeOptions) -> Result<Self> {
        let options = ViewOptions { blocks: options, file: None, tickers: None, remote: None };
        let mut view = Self::read(Box::new(source), options, |_, _| None)?;
        view.blocks.tail = None;
        Ok(view)
    }

    /// Reads the tail of the file, and keeps it while the table is being opened. `cache` receives
    /// the source and its last bytes.
    pub(crate) fn read(
        source: Box<dyn Source + 'a>,
        options: ViewOptions<'_>,
        cache: impl FnOnce(&(dyn Source + 'a), &[u8]) -> Option<CachedFile>,
    ) -> Result<Self> {
        let size = source.size()?;
        let preferred = options.remote.as_ref().map(|remote| remote.preferred.tail_length());
        let length = size.min(preferred.unwrap_or(TAIL_LENGTH));
        let tail = read_exact(&*source, size - length, length as usize)?;
        let footer = Footer::decode_from(&tail, size)?;

        // Until the engine is known. That does no harm: RocksDB never compresses the metaindex, so a
        // compressed one is in LevelDB's dialect, if the magic number is LevelDB's.
        let assumed = match footer.kind {
            TableKind::Legacy => Engine::LevelDb,
            _ => Engine::RocksDb,
        };
        let mut blocks = BlockReader {
            cache: cache(&*source, &tail),
            source,
            tail: Some((size - length, tail)),
            remote: options.remote,
            file: options.file,
            limit: footer.offset,
            decoder: BlockDecoder::new(&footer, assumed, options.blocks),
            tickers: options.tickers,
            dictionary_handle: None,
            dictionary: OnceLock::new(),
        };
        let in_metaindex =
            |error: Error| error.in_block(BlockKind::MetaIndex, footer.metaindex.offset);
        let in_footer = footer.index.into_iter().chain([footer.metaindex]);
        blocks.extend_tail(in_footer.map(|handle| handle.offset))?;
        let metaindex =
            MetaIndex::decode_from(&blocks.contents(BlockKind::MetaIndex, footer.metaindex)?)
                .map_err(in_metaindex)?;

        // Everything else that opening needs, and what the first lookup would need besides.
        let others = metaindex.properties().into_iter().chain(metaindex.range_deletions());
        let others = others.chain(metaindex.index()).chain(metaindex.compression_dictionary());
        let others = others.chain(metaindex.filters().map(|(_, _, handle)| handle));
        blocks.extend_tail(others.map(|handle| handle.offset))?;

        // LevelDB's magic number is also that of RocksDB's version 0, but LevelDB has no properties.
        let (engine, properties) = match (footer.kind, metaindex.properties()) {
            (_, Some(handle)) => {
                let kind = BlockKind::Properties;
                let properties = Properties::decode_from(&blocks.contents(kind, handle)?)
                    .map_err(|error| error.in_block(kind, handle.offset))?;
                (Engine::RocksDb, properties)
            }
            (TableKind::Legacy, None) => (Engine::LevelDb, Properties::default()),
            (_, None) => {
                return Err(in_metaindex(Error::corrupt(
                    "it has no handle of the properties block",
                )));
            }
        };
        blocks.decoder = BlockDecoder::new(&footer, engine, options.blocks);
        blocks.dictionary_handle = metaindex.compression_dictionary();
        let index = footer
            .index
            .or_else(|| metaindex.index())
            .ok_or_else(|| in_metaindex(Error::corrupt("it has no handle of the index block")))?;
        let index_format = IndexFormat::of(engine, footer.version, &properties)?;
        let file = &[];
        Ok(Self { blocks, size, footer, engine, metaindex, properties, index, index_format, file })
    }

    /// The bytes of the whole file, if it was opened from memory with [`open`](Self::open); otherwise
    /// empty.
    pub fn file(&self) -> &'a [u8] {
        self.file
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of the file as stored.
    pub fn read_at(&self, offset: u64, length: usize) -> Result<Bytes> {
        read_exact(&*self.blocks.source, offset, length).map_err(|error| self.blocks.in_file(error))
    }

    /// The footer.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// The engine that wrote the table.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The decoder for the blocks of this table.
    pub fn decoder(&self) -> &BlockDecoder {
        &self.blocks.decoder
    }

    /// Names and handles of the meta blocks.
    pub fn metaindex(&self) -> &MetaIndex {
        &self.metaindex
    }

    /// The properties; empty for tables of LevelDB.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// The handle of the index, or of its top level.
    pub fn index_handle(&self) -> BlockHandle {
        self.index
    }

    /// The format of the index.
    pub fn index_format(&self) -> IndexFormat {
        self.index_format
    }

    /// The block at `handle` as stored, with its checksum verified.
    pub fn stored_block(&self, kind: BlockKind, handle: BlockHandle) -> Result<StoredBlock<Bytes>> {
        self.blocks.stored(kind, handle)
    }

    /// The contents of the block at `handle`, verified and decompressed; data blocks with the
    /// table's dictionary.
    pub fn block(&self, kind: BlockKind, handle: BlockHandle) -> Result<Bytes> {
        self.blocks.contents(kind, handle)
    }

    /// The same, parsed as a block of entries.
    pub fn parsed_block(&self, kind: BlockKind, handle: BlockHandle) -> Result<Block<Bytes>> {
        self.blocks.block_uncached(kind, handle)
    }

    /// The entries of an index block, or of one of its partitions.
    pub fn index_entries(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<IndexEntries<Bytes>> {
        self.entries_of_index(kind, handle, self.parsed_block(kind, handle)?)
    }

    pub(crate) fn entries_of_index<B: AsRef<[u8]>>(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        block: Block<B>,
    ) -> Result<IndexEntries<B>> {
        IndexEntries::new(block, self.index_format)
            .map_err(|error| self.blocks.locate(error, kind, handle.offset))
    }

    /// Where the partitions of the index end, of which one is at `offset`: writers put the top level after them.
    pub(crate) fn end_of_partitions(&self, offset: u64) -> u64 {
        match self.index.offset > offset {
            true => self.index.offset,
            false => self.blocks.limit,
        }
    }

    /// Where the data blocks end, as far as the tail of the file says: for how much is read ahead.
    pub(crate) fn end_of_data(&self) -> u64 {
        let handles = self.metaindex.iter().map(|(_, handle)| handle).chain([self.index]);
        let others = handles.map(|handle| handle.offset);
        let stated = self.properties.number(property_names::DATA_SIZE).filter(|&size| size > 0);
        others.chain(stated).min().unwrap_or(self.blocks.limit)
    }

    /// The contents of the meta block that the metaindex calls `name`; `None` if there is none.
    pub fn meta_block(&self, name: &[u8]) -> Result<Option<Bytes>> {
        let kind = BlockKind::of_metaindex_name(name);
        self.metaindex.get(name).map(|handle| self.block(kind, handle)).transpose()
    }

    /// The compression dictionary of the data blocks, if there is one. Read once.
    pub fn dictionary(&self) -> Result<Option<&Dictionary>> {
        self.blocks.dictionary()
    }

    /// Iterates over the index: one entry per data block, for all kinds of index.
    pub fn index(&self) -> Result<IndexWalk<'_, 'a>> {
        IndexWalk::new(self)
    }

    /// Iterates over the data blocks in order.
    pub fn data_blocks(&self) -> Result<DataBlocks<'_, 'a>> {
        Ok(DataBlocks::new(self.index()?))
    }

    /// Iterates over all entries of all data blocks, keys and values as stored.
    pub fn entries(&self) -> Result<PointEntries<'_, 'a>> {
        Ok(PointEntries::new(self.data_blocks()?))
    }

    /// Iterates over the range tombstones as stored. They may overlap, and may be unsorted.
    pub fn range_deletions(&self) -> Result<RangeDeletions> {
        RangeDeletions::new(self)
    }

    /// The value of `blob`, which is in this file, with its checksum verified.
    pub fn embedded_blob(&self, blob: &BlobIndex<'_>) -> Result<Bytes> {
        let &BlobIndex::Stored { file: 0, offset, size, .. } = blob else {
            return Err(Error::invalid_input("the value is not in this file"));
        };
        if self.properties.embedded_blobs().is_none() {
            return Err(Error::corrupt(
                "a blob index refers to an embedded blob, but the table has none",
            ));
        }
        let block = self.stored_block(BlockKind::EmbeddedBlob, BlockHandle::new(offset, size))?;
        match block.trailer.codec {
            0 => Ok(block.contents),
            codec => {
                let error = Error::mismatch("an embedded blob is compressed", 0, codec);
                Err(self.blocks.locate(error, block.kind, offset))
            }
        }
    }
}

/// Without the bytes of the file.
impl fmt::Debug for TableView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableView")
            .field("footer", &self.footer)
            .field("engine", &self.engine)
            .field("index", &self.index)
            .field("index_format", &self.index_format)
            .finish_non_exhaustive()
    }
}
