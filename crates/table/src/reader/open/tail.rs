//! Opening a table: from the last bytes of the file to what lookups need.
//!
//! ```text
//! footer ---> metaindex ---> properties ---> range deletions, index (or its top level)
//! '--------- one read of the last 4 KiB, if they are that small ---------'
//! ```
//!
//! The filter and the dictionary are read when they are first needed, data blocks and partitions
//! when a lookup comes to them.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::filter::{FilterReader, table_extractor};
use crate::raw::{
    BlockDecoder, BlockKind, Engine, Footer, IndexEntries, IndexFormat, IndexKind, MetaIndex,
    Properties, TableKind,
};
use crate::reader::block::reader::{BlockReader, read_exact};
use crate::reader::cache::{CachedFile, SlotHint};
use crate::reader::open::core::Core;
use crate::reader::open::key_space::{KeySpace, looks_internal};
use crate::reader::open::options::{Caching, TableReadOptions};
use crate::reader::open::source::Source;
use crate::reader::scan::range_tombstones::RangeDeletions;

/// Read at once from the end of the file: footer and metaindex, and mostly the properties.
const TAIL_LENGTH: u64 = 4096;

/// Opens the table in `source`.
pub(crate) fn open(
    source: Box<dyn Source>,
    file: Option<PathBuf>,
    options: &TableReadOptions,
) -> Result<Arc<Core>> {
    let named = file.clone();
    open_unnamed(source, file, options).map_err(|error| match named {
        Some(file) => error.in_file(file),
        None => error,
    })
}

fn open_unnamed(
    source: Box<dyn Source>,
    file: Option<PathBuf>,
    options: &TableReadOptions,
) -> Result<Arc<Core>> {
    let size = source.size()?;
    let length = size.min(TAIL_LENGTH);
    let tail = read_exact(&*source, size - length, length as usize)?;
    let footer = Footer::decode_from(&tail, size)?;

    // Until the engine is known. That does no harm: RocksDB never compresses the metaindex, so
    // whatever is compressed is in LevelDB's dialect, if the magic number is LevelDB's.
    let assumed = match footer.kind {
        TableKind::Legacy => Engine::LevelDb,
        _ => Engine::RocksDb,
    };
    let mut blocks = BlockReader {
        cache: cached_file(&*source, &tail, options),
        source,
        tail: Some((size - length, tail)),
        file,
        limit: footer.offset,
        decoder: BlockDecoder::new(&footer, assumed, &options.blocks),
        tickers: options.tickers.clone(),
        dictionary_handle: None,
        dictionary: OnceLock::new(),
    };
    let at_metaindex = |error: Error| error.in_block(BlockKind::MetaIndex, footer.metaindex.offset);
    let metaindex =
        MetaIndex::decode_from(&blocks.contents(BlockKind::MetaIndex, footer.metaindex)?)
            .map_err(at_metaindex)?;

    let (engine, properties) = properties(&blocks, &footer, &metaindex)?;
    blocks.decoder = BlockDecoder::new(&footer, engine, &options.blocks);
    blocks.dictionary_handle = metaindex.compression_dictionary();
    let index = footer
        .index
        .or_else(|| metaindex.index())
        .ok_or_else(|| at_metaindex(Error::corrupt("it has no handle of the index block")))?;
    let index_format = IndexFormat::of(engine, footer.version, &properties)?;
    let is_pinned = index_format.kind == IndexKind::TwoLevel && options.pin_top_level;
    let index_in_cache = options.cache_index_and_filter_blocks && !is_pinned;
    let index_hint = SlotHint::default();
    let index_block = match index_in_cache {
        true => blocks.block(BlockKind::Index, index, options.index_priority(), &index_hint)?,
        false => blocks.block_uncached(BlockKind::Index, index)?,
    };
    let internal = match options.key_form.is_internal(engine) {
        Some(internal) => internal,
        None => {
            let entries = IndexEntries::new(index_block.clone(), index_format);
            entries
                .and_then(all_look_internal)
                .map_err(|error| error.in_block(BlockKind::Index, index.offset))?
        }
    };
    let keys = KeySpace::new(&properties, options, internal)?;
    let range_deletions = RangeDeletions::read(&blocks, metaindex.range_deletions(), &keys)?;
    blocks.tail = None;

    let core = Core {
        size,
        engine,
        filter: FilterReader::new(&metaindex, &properties, index_format, options),
        use_filters: options.use_filters,
        prefix_extractor: options
            .prefix_extractor
            .clone()
            .or_else(|| table_extractor(&properties, options)),
        metaindex,
        properties,
        index,
        index_format,
        pinned_index: if index_in_cache { None } else { Some(index_block) },
        index_hint,
        index_search: OnceLock::new(),
        searches: AtomicUsize::new(0),
        priority: options.index_priority(),
        keys,
        range_deletions,
        merge_operator: options.merge_operator.clone(),
        is_last_level: options.is_last_level,
        footer,
        blocks,
    };
    Ok(Arc::new(core))
}

/// The engine and its properties. LevelDB's magic number is also that of RocksDB's version 0, but
/// LevelDB has no properties.
fn properties(
    blocks: &BlockReader,
    footer: &Footer,
    metaindex: &MetaIndex,
) -> Result<(Engine, Properties)> {
    match (footer.kind, metaindex.properties()) {
        (_, Some(handle)) => {
            let kind = BlockKind::Properties;
            let properties = Properties::decode_from(&blocks.contents(kind, handle)?)
                .map_err(|error| error.in_block(kind, handle.offset))?;
            Ok((Engine::RocksDb, properties))
        }
        (TableKind::Legacy, None) => Ok((Engine::LevelDb, Properties::default())),
        (_, None) => Err(Error::corrupt("it has no handle of the properties block")
            .in_block(BlockKind::MetaIndex, footer.metaindex.offset)),
    }
}

/// The file in the cache that the options say. Its blocks are shared with those who would have read
/// the same: from the same file, in the same way. The tail is part of what the file is known by, as
/// times of files may be too coarse to tell one from another that replaces it at once.
fn cached_file(source: &dyn Source, tail: &[u8], options: &TableReadOptions) -> Option<CachedFile> {
    match &options.cache {
        Caching::Own(bytes) => Some(CachedFile::alone(*bytes)),
        Caching::Shared(cache) => {
            let policies = || options.registry.policies().map(|it| Arc::as_ptr(it).addr());
            let identity = source
                .identity()
                .map(|identity| (identity, tail, &options.blocks, policies().collect::<Vec<_>>()));
            Some(CachedFile::shared(cache, identity))
        }
        Caching::None => None,
    }
}

fn all_look_internal<B: AsRef<[u8]>>(mut entries: IndexEntries<B>) -> Result<bool> {
    while entries.advance()? {
        if !looks_internal(entries.key()) {
            return Ok(false);
        }
    }
    Ok(true)
}
