//! What the footer of a damaged file still leads to: metaindex, properties, index.

use bytes::Bytes;

use super::contents::Contents;
use super::reading::{Dialect, Reading};
use super::report::Loss;
use super::window::Window;
use crate::error::{Error, Result};
use crate::raw::{
    Block, BlockDecoder, BlockHandle, BlockKind, DecodeOptions, Engine, Footer, IndexEntries,
    IndexFormat, IndexKind, MetaIndex, Properties, TableKind, Trailer,
};

/// Handles of an index whose format is not recorded that are looked at to find it out.
const WITNESSES: usize = 16;

/// The readable parts of a file's tail.
pub(super) struct Tail {
    pub(super) footer: Footer,
    pub(super) decoder: BlockDecoder,
    pub(super) metaindex: Option<MetaIndex>,
    pub(super) properties: Option<Properties>,
    /// What could not be read.
    pub(super) losses: Vec<Loss>,
}

/// What an index says.
#[derive(Debug, Default)]
pub(super) struct IndexRead {
    /// Handles of data blocks, with their separators.
    pub(super) blocks: Vec<(BlockHandle, Vec<u8>)>,
    /// Places in `blocks` before which others are missing.
    pub(super) holes: Vec<usize>,
}

impl Tail {
    pub(super) fn read(window: &mut Window<'_>, footer: Footer, options: &DecodeOptions) -> Self {
        let engine = match footer.kind {
            TableKind::Legacy => Engine::LevelDb,
            _ => Engine::RocksDb,
        };
        let decoder = BlockDecoder::new(&footer, engine, options);
        let (metaindex, properties, losses) = (None, None, Vec::new());
        let mut tail = Self { footer, decoder, metaindex, properties, losses };
        let handle = tail.footer.metaindex;
        let metaindex = tail
            .block(window, BlockKind::MetaIndex, handle)
            .and_then(|contents| MetaIndex::decode_from(&contents));
        tail.metaindex = tail.kept(metaindex, BlockKind::MetaIndex, handle);
        if let Some(handle) = tail.metaindex.as_ref().and_then(MetaIndex::properties) {
            tail.decoder = BlockDecoder::new(&tail.footer, Engine::RocksDb, options);
            let properties = tail
                .block(window, BlockKind::Properties, handle)
                .and_then(|contents| Properties::decode_from(&contents));
            tail.properties = tail.kept(properties, BlockKind::Properties, handle);
        }
        tail
    }

    /// The engine, unless the magic number is that of both and the metaindex is lost.
    pub(super) fn engine(&self) -> Option<Engine> {
        match (self.footer.kind, &self.metaindex) {
            (TableKind::BlockBased, _) => Some(Engine::RocksDb),
            (_, Some(metaindex)) if metaindex.properties().is_some() => Some(Engine::RocksDb),
            (_, Some(_)) => Some(Engine::LevelDb),
            (_, None) => None,
        }
    }

    /// The dialects that come into question.
    pub(super) fn dialects(&self) -> Vec<Dialect> {
        let version = self.footer.version;
        match self.engine() {
            Some(engine) => vec![Dialect { engine, version }],
            None => [Engine::LevelDb, Engine::RocksDb]
                .map(|engine| Dialect { engine, version })
                .to_vec(),
        }
    }

    /// The contents of a block, verified.
    pub(super) fn block(
        &self,
        window: &mut Window<'_>,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<Bytes> {
        let range = handle.stored_range(self.footer.offset)?;
        let stored = window.range(range.start as u64..range.end as u64);
        let block = self.decoder.verify(kind, handle, &stored)?;
        // Only data blocks have a dictionary.
        let contents = Bytes::from(self.decoder.decompress(&block, None)?.into_owned());
        let has_entries = matches!(
            kind,
            BlockKind::MetaIndex
                | BlockKind::Properties
                | BlockKind::Index
                | BlockKind::IndexPartition
                | BlockKind::RangeDeletion
        );
        // Without checksums, zeros would pass for an empty block.
        if has_entries && Block::parse(&contents[..])?.restart_count() == 0 {
            return Err(Error::corrupt("the block has no restart points"));
        }
        Ok(contents)
    }

    fn kept<T>(&mut self, part: Result<T>, kind: BlockKind, handle: BlockHandle) -> Option<T> {
        part.map_err(|error| self.losses.push(lost(kind, handle, &error))).ok()
    }

    /// The handle of the index.
    pub(super) fn index_handle(&self) -> Option<BlockHandle> {
        self.footer.index.or_else(|| self.metaindex.as_ref()?.index())
    }

    /// Reads the index, as far as it can be read; `None` if it cannot.
    pub(super) fn index(
        &mut self,
        window: &mut Window<'_>,
        reading: &Reading,
    ) -> Option<IndexRead> {
        let handle = self.index_handle()?;
        let contents = self.block(window, BlockKind::Index, handle);
        let contents = self.kept(contents, BlockKind::Index, handle)?;
        let format = match &self.properties {
            Some(properties) => {
                IndexFormat::of(self.engine()?, self.footer.version, properties).ok()
            }
            None => self.find_format(window, reading, &contents),
        };
        let result = match format {
            Some(format) if format.kind == IndexKind::TwoLevel => {
                self.two_levels(window, &contents, format)
            }
            Some(format) => read_index(&contents, format, 0)
                .map(|blocks| IndexRead { blocks, holes: Vec::new() }),
            None => Err(Error::corrupt("the format of the index is not recorded any more")),
        };
        self.kept(result, BlockKind::Index, handle)
    }

    /// Through the partitions of an index; one that cannot be read leaves a hole.
    fn two_levels(
        &mut self,
        window: &mut Window<'_>,
        contents: &Bytes,
        format: IndexFormat,
    ) -> Result<IndexRead> {
        let mut read = IndexRead::default();
        let mut floor = 0;
        for (handle, _) in read_index(contents, format, 0)? {
            let kind = BlockKind::IndexPartition;
            let partition = self
                .block(window, kind, handle)
                .and_then(|contents| read_index(&contents, format, floor));
            match self.kept(partition, kind, handle) {
                Some(mut blocks) => {
                    floor = blocks.last().and_then(|(last, _)| last.end()).unwrap_or(floor);
                    read.blocks.append(&mut blocks);
                }
                None => read.holes.push(read.blocks.len()),
            }
        }
        Ok(read)
    }

    /// The format in which an index leads to data blocks, or to partitions that do.
    fn find_format(
        &self,
        window: &mut Window<'_>,
        reading: &Reading,
        contents: &Bytes,
    ) -> Option<IndexFormat> {
        let formats =
            [true, false].into_iter().flat_map(|delta_values| {
                [IndexKind::BinarySearch, IndexKind::BinarySearchWithFirstKey]
                    .map(|kind| IndexFormat { kind, user_keys: false, delta_values })
            });
        for format in formats {
            let Ok(blocks) = read_index(contents, format, 0) else { continue };
            for (handle, _) in blocks.into_iter().take(WITNESSES) {
                let Ok(range) = handle.stored_range(self.footer.offset) else { break };
                let stored = window.range(range.start as u64..range.end as u64);
                let Ok(block) = self.decoder.verify(BlockKind::Data, handle, &stored) else {
                    continue;
                };
                let length = stored.len() - Trailer::LENGTH;
                let (contents, codec) = (stored.slice(..length), block.trailer.codec);
                match reading.classify(&contents, handle.offset, codec, |_| false).0 {
                    Contents::Data(_) | Contents::Undecoded => return Some(format),
                    Contents::Index => {
                        return Some(IndexFormat { kind: IndexKind::TwoLevel, ..format });
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

fn read_index(
    contents: &Bytes,
    format: IndexFormat,
    floor: u64,
) -> Result<Vec<(BlockHandle, Vec<u8>)>> {
    let mut entries = IndexEntries::new(Block::parse(contents.clone())?, format)?.after(floor);
    let mut blocks = Vec::new();
    while entries.advance()? {
        let key = entries.key();
        let tail = if format.user_keys { 0 } else { crate::raw::InternalKey::TAIL_LENGTH };
        let user_key = key[..key.len().saturating_sub(tail)].to_vec();
        blocks.push((entries.handle(), user_key));
    }
    Ok(blocks)
}

/// The loss of a block.
pub(super) fn lost(kind: BlockKind, handle: BlockHandle, reason: &dyn ToString) -> Loss {
    Loss {
        kind: Some(kind),
        offset: handle.offset,
        length: handle.end().map_or(0, |end| end - handle.offset),
        after: None,
        before: None,
        is_metadata: false,
        reason: reason.to_string(),
    }
}
