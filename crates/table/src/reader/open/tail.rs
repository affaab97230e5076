//! Opens a table: reads the tail of the file.
//!
//! ```text
//! footer ---> metaindex ---> properties ---> range deletions, index (or its top level)
//! '--------- one read of the last 4 KiB, if they are that small ---------'
//! ```
//!
//! The filter and the dictionary are read on first use; data blocks and partitions when a lookup
//! needs them. The tail of a remote file is longer, and includes the filter, unless that is very large.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::error::Result;
use crate::filter::{FilterReader, table_extractor};
use crate::raw::{Block, BlockKind, IndexEntries, IndexKind, TableView};
use crate::reader::cache::{CachedFile, SlotHint};
use crate::reader::open::core::Core;
use crate::reader::open::counted_source::CountedSource;
use crate::reader::open::key_space::{KeySpace, looks_internal};
use crate::reader::open::source::Source;
use crate::reader::open::table_read_options::{Caching, TableReadOptions};
use crate::reader::remote::{RemoteReads, StagedSource};
use crate::reader::view::{TAIL_LENGTH, ViewOptions};
use crate::visibility::range_tombstones::RangeTombstones;

pub(crate) fn open(
    source: Box<dyn Source>,
    file: Option<PathBuf>,
    options: &TableReadOptions,
) -> Result<Arc<Core>> {
    let named = file.clone();
    let source = match &options.bytes_read {
        Some(counter) => Box::new(CountedSource::new(source, counter)),
        None => source,
    };
    let (source, remote) = staged(source);
    open_unnamed(source, remote, file, options).map_err(|error| match named {
        Some(file) => error.in_file(file),
        None => error,
    })
}

/// Opens a table in a round, which may lack parts of the tail.
#[cfg(feature = "async")]
pub(crate) fn open_in_rounds(
    source: &StagedSource,
    file: Option<PathBuf>,
    options: &TableReadOptions,
) -> Result<Arc<Core>> {
    let preferred = source.preferred_read().unwrap_or_default();
    let remote = RemoteReads::new(preferred, None);
    open_unnamed(Box::new(source.clone()), Some(remote), file, options)
}

/// A source that can be read in rounds and by the threads of scans, if it is remote.
fn staged(source: Box<dyn Source>) -> (Box<dyn Source>, Option<RemoteReads>) {
    let Some(preferred) = source.preferred_read() else { return (source, None) };
    let shared: Arc<dyn Source> = Arc::from(source);
    let remote = RemoteReads::new(preferred, Some(Arc::clone(&shared)));
    (Box::new(StagedSource::new(shared)), Some(remote))
}

fn open_unnamed(
    source: Box<dyn Source>,
    remote: Option<RemoteReads>,
    file: Option<PathBuf>,
    options: &TableReadOptions,
) -> Result<Arc<Core>> {
    let tickers = options.tickers.clone();
    let view_options = ViewOptions { blocks: &options.blocks, file, tickers, remote };
    let mut view =
        TableView::read(source, view_options, |source, tail| cached_file(source, tail, options))?;
    let TableView { blocks, metaindex, properties, index, index_format, .. } = &view;
    let (index, index_format) = (*index, *index_format);
    let is_pinned = index_format.kind == IndexKind::TwoLevel && options.pin_top_level;
    let index_in_cache = options.cache_index_and_filter_blocks && !is_pinned;
    let index_hint = SlotHint::default();
    let index_block = match index_in_cache {
        true => blocks.block(BlockKind::Index, index, options.index_priority(), &index_hint)?,
        false => blocks.block_uncached(BlockKind::Index, index)?,
    };
    let internal = match options.key_form.is_internal(view.engine) {
        Some(internal) => internal,
        None => {
            let entries = IndexEntries::new(index_block.clone(), index_format);
            entries
                .and_then(all_look_internal)
                .map_err(|error| error.in_block(BlockKind::Index, index.offset))?
        }
    };
    let keys = KeySpace::new(properties, options, internal)?;
    let range_deletions = RangeTombstones::read(blocks, metaindex.range_deletions(), &keys)?;
    let filter = FilterReader::new(metaindex, properties, index_format, options);
    let prefix_extractor =
        options.prefix_extractor.clone().or_else(|| table_extractor(properties, options));
    if view.blocks.remote.is_some() {
        if let Some(filter) = filter.as_ref().filter(|it| view.blocks.tail_has(it.handle()))
            && options.use_filters
        {
            filter.load_top(&view.blocks);
        }
        if view.blocks.dictionary_handle.is_some_and(|handle| view.blocks.tail_has(handle)) {
            // The block that needs it reports what is wrong with it.
            let _ = view.blocks.dictionary();
        }
    }
    let partitions = match options.cache_index_and_filter_blocks {
        true => None,
        false => partitions_in_tail(&view, &index_block),
    };
    view.blocks.tail = partitions;
    let end_of_data = view.end_of_data();
    if let Some(remote) = &mut view.blocks.remote {
        remote.end_of_data = end_of_data;
    }

    let core = Core {
        filter,
        use_filters: options.use_filters,
        prefix_extractor,
        pinned_index: if index_in_cache { None } else { Some(index_block) },
        index_hint,
        index_search: OnceLock::new(),
        searches: AtomicUsize::new(0),
        priority: options.index_priority(),
        keys,
        range_deletions,
        merge_operator: options.merge_operator.clone(),
        is_last_level: options.is_last_level,
        view,
    };
    Ok(Arc::new(core))
}

/// The file in the cache of the options. All tables that read the same file in the same way share
/// its blocks. The tail is part of the identity of a file, since modification times may be too
/// coarse to tell a file from its replacement.
fn cached_file(source: &dyn Source, tail: &[u8], options: &TableReadOptions) -> Option<CachedFile> {
    match &options.cache {
        Caching::Own(bytes) => Some(CachedFile::alone(*bytes)),
        Caching::Shared(cache) => {
            let tail = &tail[tail.len().saturating_sub(TAIL_LENGTH as usize)..];
            let policies = || options.registry.policies().map(|it| Arc::as_ptr(it).addr());
            let identity = source
                .identity()
                .map(|identity| (identity, tail, &options.blocks, policies().collect::<Vec<_>>()));
            Some(CachedFile::shared(cache, identity))
        }
        Caching::None => None,
    }
}

/// All partitions of the index, if the tail of a remote table has them: they take as much memory as an index of one
/// block, and a lookup or scan needs no round trip for them.
fn partitions_in_tail(view: &TableView<'_>, index: &Block<Bytes>) -> Option<(u64, Bytes)> {
    view.blocks.remote.as_ref().filter(|_| view.index_format.kind == IndexKind::TwoLevel)?;
    let mut top = IndexEntries::new(index.clone(), view.index_format).ok()?;
    // The lookups that need a damaged index report it.
    let first = top.advance().ok()?.then(|| top.handle().offset)?;
    let (start, tail) = view.blocks.tail.as_ref()?;
    let length = view.end_of_partitions(first).checked_sub(first)?;
    let bytes = tail.read_at(first.checked_sub(*start)?, usize::try_from(length).ok()?).ok()?;
    // Not the rest of the tail.
    Some((first, Bytes::copy_from_slice(&bytes)))
}

fn all_look_internal<B: AsRef<[u8]>>(mut entries: IndexEntries<B>) -> Result<bool> {
    while entries.advance()? {
        if !looks_internal(entries.key()) {
            return Ok(false);
        }
    }
    Ok(true)
}
