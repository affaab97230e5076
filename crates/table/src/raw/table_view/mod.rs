//! A whole table in memory, from its footer to its entries.

mod data_blocks;
mod index_walk;
mod layout;
mod points;
mod range_deletions;

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use super::block::Block;
use super::block_decoder::{BlockDecoder, ReadOptions, StoredBlock};
use super::block_kind::BlockKind;
use super::compression::Dictionary;
use super::footer::Footer;
use super::format::{Engine, TableKind};
use super::handle::BlockHandle;
use super::index::IndexFormat;
use super::metaindex::{MetaIndex, names};
use super::properties::Properties;
use super::value::BlobIndex;
use crate::error::{Error, Result};

pub use self::data_blocks::{DataBlock, DataBlocks};
pub use self::index_walk::IndexWalk;
pub use self::points::PointEntries;
pub use self::range_deletions::RangeDeletions;

/// A table file whose bytes are all in memory, opened for taking it apart.
///
/// Opening reads footer, metaindex and properties; everything else is read when asked for, and
/// each block as often as it is asked for: nothing is kept.
pub struct TableView<'a> {
    file: &'a [u8],
    footer: Footer,
    engine: Engine,
    decoder: BlockDecoder,
    metaindex: MetaIndex,
    properties: Properties,
    index: BlockHandle,
    index_format: IndexFormat,
    dictionary: OnceLock<Option<Dictionary>>,
}

impl<'a> TableView<'a> {
    /// Opens the table whose bytes are `file`.
    pub fn open(file: &'a [u8]) -> Result<Self> {
        Self::open_with(file, &ReadOptions::default())
    }

    /// Opens the table whose bytes are `file`, with options.
    pub fn open_with(file: &'a [u8], options: &ReadOptions) -> Result<Self> {
        let footer = Footer::read(file)?;
        let metaindex = read_metaindex(file, &footer, options)?;

        // LevelDB's magic number is also that of RocksDB's version 0, but LevelDB has no
        // properties.
        let properties = metaindex.properties();
        let engine = match (footer.kind, properties) {
            (TableKind::Legacy, None) => Engine::LevelDb,
            _ => Engine::RocksDb,
        };
        let decoder = BlockDecoder::new(&footer, engine, options);
        let in_metaindex =
            |error: Error| error.in_block(BlockKind::MetaIndex, footer.metaindex.offset);
        let properties = match (engine, properties) {
            (_, Some(handle)) => {
                let block = read(file, &footer, &decoder, BlockKind::Properties, handle)?;
                let contents = decoder.decompress(&block, None)?;
                Properties::decode_from(&contents)
                    .map_err(|error| error.in_block(BlockKind::Properties, handle.offset))?
            }
            (Engine::LevelDb, None) => Properties::default(),
            (Engine::RocksDb, None) => {
                return Err(in_metaindex(Error::corrupt(
                    "it has no handle of the properties block",
                )));
            }
        };
        let index = footer
            .index
            .or_else(|| metaindex.get(names::INDEX))
            .ok_or_else(|| in_metaindex(Error::corrupt("it has no handle of the index block")))?;
        let index_format = IndexFormat::of(engine, footer.version, &properties)?;
        let dictionary = OnceLock::new();
        Ok(Self {
            file,
            footer,
            engine,
            decoder,
            metaindex,
            properties,
            index,
            index_format,
            dictionary,
        })
    }

    /// The bytes of the whole file.
    pub fn file(&self) -> &'a [u8] {
        self.file
    }

    /// What the end of the file says.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// Which engine's dialect the table is in.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// What decodes the blocks of this table.
    pub fn decoder(&self) -> &BlockDecoder {
        &self.decoder
    }

    /// Names and handles of the meta blocks.
    pub fn metaindex(&self) -> &MetaIndex {
        &self.metaindex
    }

    /// The properties; none in a table of LevelDB.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Where the index is; of a partitioned one, its top level.
    pub fn index_handle(&self) -> BlockHandle {
        self.index
    }

    /// How the index is stored.
    pub fn index_format(&self) -> IndexFormat {
        self.index_format
    }

    /// The block at `handle` as it lies in the file, checksum verified.
    pub fn stored_block(&self, kind: BlockKind, handle: BlockHandle) -> Result<StoredBlock<'a>> {
        read(self.file, &self.footer, &self.decoder, kind, handle)
    }

    /// The contents of the block at `handle`, verified and decompressed; data blocks with the
    /// table's dictionary.
    pub fn block(&self, kind: BlockKind, handle: BlockHandle) -> Result<Cow<'a, [u8]>> {
        let block = self.stored_block(kind, handle)?;
        let dictionary = match kind {
            BlockKind::Data => self.dictionary()?,
            _ => None,
        };
        self.decoder.decompress(&block, dictionary)
    }

    /// The contents of the meta block that the metaindex calls `name`; `None` if there is none.
    pub fn meta_block(&self, name: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        let kind = BlockKind::of_metaindex_name(name);
        self.metaindex.get(name).map(|handle| self.block(kind, handle)).transpose()
    }

    /// The compression dictionary of the data blocks, if there is one. Read once.
    pub fn dictionary(&self) -> Result<Option<&Dictionary>> {
        if let Some(dictionary) = self.dictionary.get() {
            return Ok(dictionary.as_ref());
        }
        let handle = self.metaindex.get(names::COMPRESSION_DICTIONARY);
        let dictionary = handle
            .map(|handle| {
                let kind = BlockKind::CompressionDictionary;
                Dictionary::new(self.block(kind, handle)?)
                    .map_err(|error| error.in_block(kind, handle.offset))
            })
            .transpose()?;
        // Another thread may have been faster: its dictionary is the same.
        Ok(self.dictionary.get_or_init(|| dictionary).as_ref())
    }

    /// Walks through the index: one entry a data block, whatever the kind of index.
    pub fn index(&self) -> Result<IndexWalk<'_, 'a>> {
        IndexWalk::new(self)
    }

    /// Iterates over the data blocks in order.
    pub fn data_blocks(&self) -> Result<DataBlocks<'_, 'a>> {
        Ok(DataBlocks::new(self.index()?))
    }

    /// Walks through all entries of all data blocks in order, keys and values as stored.
    pub fn entries(&self) -> Result<PointEntries<'_, 'a>> {
        Ok(PointEntries::new(self.data_blocks()?))
    }

    /// Walks through the range deletions as stored: perhaps overlapping, perhaps not in order.
    pub fn range_deletions(&self) -> Result<RangeDeletions<'a>> {
        RangeDeletions::new(self)
    }

    /// The value that `blob` says lies in this very file, checksum verified.
    pub fn embedded_blob(&self, blob: &BlobIndex<'_>) -> Result<&'a [u8]> {
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
            codec => Err(Error::mismatch("an embedded blob is compressed", 0, codec)
                .in_block(BlockKind::EmbeddedBlob, offset)),
        }
    }

    /// A block of entries.
    fn parsed_block(&self, kind: BlockKind, handle: BlockHandle) -> Result<Block<Cow<'a, [u8]>>> {
        Block::parse(self.block(kind, handle)?).map_err(|error| error.in_block(kind, handle.offset))
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

/// The metaindex is read before the engine is known. That does no harm: RocksDB never compresses it,
/// so whatever is compressed is in LevelDB's dialect, if the magic number is LevelDB's.
fn read_metaindex(file: &[u8], footer: &Footer, options: &ReadOptions) -> Result<MetaIndex> {
    let engine = match footer.kind {
        TableKind::Legacy => Engine::LevelDb,
        _ => Engine::RocksDb,
    };
    let decoder = BlockDecoder::new(footer, engine, options);
    let block = read(file, footer, &decoder, BlockKind::MetaIndex, footer.metaindex)?;
    MetaIndex::decode_from(&decoder.decompress(&block, None)?)
        .map_err(|error| error.in_block(BlockKind::MetaIndex, footer.metaindex.offset))
}

fn read<'a>(
    file: &'a [u8],
    footer: &Footer,
    decoder: &BlockDecoder,
    kind: BlockKind,
    handle: BlockHandle,
) -> Result<StoredBlock<'a>> {
    let range =
        handle.stored_range(footer.offset).map_err(|error| error.in_block(kind, handle.offset))?;
    // Within the footer's offset, so within the file.
    decoder.verify(kind, handle, &file[range])
}
