//! A table, opened for reading.

mod comparison;
mod lookups;
mod ranges;

use std::fmt;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use sstkit_filter::PrefixExtractor;

pub use self::ranges::{IndexIter, IndexedBlock};
use super::value::Value;
use super::verify::{self, ReferenceVisitor, Verification, VerifyOptions};
use crate::comparator::Comparator;
use crate::error::{Error, Result};
use crate::filter::TableFilter;
use crate::filter::seek;
use crate::raw::{
    BlobIndex, BlockHandle, BlockKind, Engine, EntryKind, Footer, MetaIndex, Properties, TableView,
    regular_file,
};
use crate::reader::KeyBounds;
use crate::reader::open::core::Core;
use crate::reader::open::layout::{self, Layout};
use crate::reader::open::source::Source;
use crate::reader::open::table_read_options::TableReadOptions;
use crate::reader::open::tail;
use crate::reader::read_options::ReadOptions;
use crate::reader::scan::cursor::{Cursor, Iter, TableSource};
use crate::reader::scan::embedded_blob_budget::EmbeddedBlobBudget;
use crate::reader::scan::entries::{Entries, EntryCursor};
use crate::reader::scan::merge_operator::MergeOperator;
use crate::reader::scan::seek_stats::SeekStats;
use crate::visibility::{
    Base, BoundedEntries, Column, Direction, RangeTombstone, ReadView, Resolver, SeenTombstones,
    UserKeys,
};

/// A table file of LevelDB or RocksDB, opened for reading.
///
/// ```no_run
/// use sstkit_table::Table;
///
/// let table = Table::open("users.sst")?;
/// if let Some(value) = table.get(b"alice")? {
///     println!("alice = {}", value.escape_ascii());
/// }
/// for entry in table.range(b"a"..b"c") {
///     let (key, value) = entry?;
///     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
/// }
/// for entry in table.prefix(b"user7/").rev() {
///     let (key, _) = entry?; // the prefix filter is probed first
///     println!("{}", key.escape_ascii());
/// }
/// # Ok::<(), sstkit_table::Error>(())
/// ```
///
/// A `Table` is a handle: cloning it is cheap, and any number of threads can use it at once.
///
/// # Visibility
///
/// [`get`](Self::get), [`iter`](Self::iter) and similar methods show what a database with only this
/// file would show: the newest version of each key, with deletions and range tombstones applied,
/// merge operands combined ([`TableReadOptions::merge_operator`]), and the default column of
/// entities. [`entries`](Self::entries) shows what is stored.
///
/// In tables with timestamps, keys are passed and returned without them, and the newest version is
/// visible.
#[derive(Clone)]
pub struct Table {
    core: Arc<Core>,
}

impl Table {
    /// Opens a regular file. Reads only its tail: footer, metaindex, properties, index (its top
    /// level, if partitioned) and range tombstones.
    #[cfg(any(unix, windows))]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &TableReadOptions::default())
    }

    /// Like [`open`](Self::open), with options.
    #[cfg(any(unix, windows))]
    pub fn open_with(path: impl AsRef<Path>, options: &TableReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let file = regular_file::open(path).map_err(|error| Error::from(error).in_file(path))?;
        Ok(Self { core: tail::open(Box::new(file), Some(path.to_owned()), options)? })
    }

    /// Like [`from_source`](Self::from_source), for a source with a name: errors call it `path`.
    pub fn from_file(
        file: impl Source + 'static,
        path: impl Into<PathBuf>,
        options: &TableReadOptions,
    ) -> Result<Self> {
        Ok(Self { core: tail::open(Box::new(file), Some(path.into()), options)? })
    }

    /// Opens a table in memory, without copying it.
    ///
    /// ```no_run
    /// # use sstkit_table::Table;
    /// let table = Table::from_bytes(std::fs::read("users.sst")?)?;
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        Self::from_source(bytes.into(), &TableReadOptions::default())
    }

    /// Opens a table from any [`Source`]: an open file, memory, a network.
    pub fn from_source(source: impl Source + 'static, options: &TableReadOptions) -> Result<Self> {
        Ok(Self { core: tail::open(Box::new(source), None, options)? })
    }

    #[cfg(feature = "async")]
    pub(crate) fn from_core(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// The blocks of the table, read without the cache.
    pub fn view(&self) -> &TableView<'static> {
        &self.core.view
    }

    /// Iterates over all keys and values.
    pub fn iter(&self) -> Iter {
        Iter::new(&self.core, ReadOptions::default())
    }

    /// Iterates over the keys and values that `options` select.
    pub fn iter_with(&self, options: &ReadOptions) -> Iter {
        Iter::new(&self.core, options.clone())
    }

    /// Iterates over a range of keys, in comparator order. Probes the filter if the range is within
    /// one prefix.
    pub fn range(&self, range: impl KeyBounds) -> Iter {
        Iter::new(&self.core, ReadOptions::default().range(range))
    }

    /// Iterates over the keys that start with `start`. Probes the filter if all these keys have the
    /// same prefix in it. With a custom comparator, reads all keys and does not probe the filter.
    pub fn prefix(&self, start: impl AsRef<[u8]>) -> Iter {
        Iter::new(&self.core, ReadOptions::default().prefix(start))
    }

    /// A cursor over keys and values.
    pub fn cursor(&self) -> Cursor {
        self.cursor_with(&ReadOptions::default())
    }

    /// Like [`cursor`](Self::cursor), with options.
    pub fn cursor_with(&self, options: &ReadOptions) -> Cursor {
        TableSource::cursor(&self.core, options)
    }

    /// Whether a scan with `options` may find a key in this table. Probes the filter like a seek of
    /// a [`Cursor`], for callers that merge several tables. `key` is the seek key, or `None` for
    /// the first (`backward`: last) key.
    pub fn may_match(
        &self,
        options: &ReadOptions,
        key: Option<&[u8]>,
        backward: bool,
    ) -> Result<bool> {
        let in_order;
        let options = match &options.starts_with {
            None => options,
            Some(_) => {
                in_order = options.clone().in_order(self.core.keys.order().ok());
                &in_order
            }
        };
        let bound = if backward { &options.upper } else { &options.lower };
        let key = match bound {
            Bound::Included(bound) | Bound::Excluded(bound) => match key {
                // A seek to a key outside of the range is a seek to its end.
                Some(key) if self.core.keys.compare(key, bound).is_ge() != backward => Some(key),
                _ => Some(bound.as_slice()),
            },
            Bound::Unbounded => key,
        };
        let answer = seek::probe(&self.core, options, key, backward)?;
        if let Some(may) = answer {
            SeekStats::default().count_filter(&self.core, may);
        }
        Ok(answer.unwrap_or(true))
    }

    /// The user value in a stored value: without the preferred sequence number, with a blob in this
    /// file resolved, or the default column of an entity. Fails with
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for blobs in other files.
    pub fn resolve(&self, kind: EntryKind, value: &Value) -> Result<Value> {
        let (value, user_key, origin) = (value.clone(), Vec::new(), None);
        let plain = self.core.plain(&Base { kind, value, user_key, origin });
        plain.map_err(|error| self.core.blocks.in_file(error))
    }

    /// The names and values of all columns of an entity. Blobs in this file are resolved, as by
    /// [`resolve`](Self::resolve).
    pub fn resolve_columns(&self, entity: &Value) -> Result<Vec<Column>> {
        let kind = EntryKind::WideColumnEntity;
        let columns = EmbeddedBlobBudget::new(self.core.size).spend(kind, entity).and_then(|()| {
            let (value, user_key, origin) = (entity.clone(), Vec::new(), None);
            self.core.columns(&Base { kind, value, user_key, origin })
        });
        columns.map_err(|error| self.core.blocks.in_file(error))
    }

    /// The value that a reference to a blob in this file (blob file 0) refers to.
    pub fn embedded_blob(&self, index: &BlobIndex<'_>) -> Result<Value> {
        self.core.blob(index, &[], None).map_err(|error| self.core.blocks.in_file(error))
    }

    /// Iterates over all entries of the data blocks: every version, with sequence number and kind.
    pub fn entries(&self) -> Entries {
        Entries::new(&self.core)
    }

    /// A cursor over the entries of the data blocks.
    pub fn entry_cursor(&self) -> EntryCursor {
        EntryCursor::new(&self.core)
    }

    /// Like [`entry_cursor`](Self::entry_cursor), reading blocks as the options say. It moves over all
    /// entries, whatever range and state they select.
    pub fn entry_cursor_with(&self, options: &ReadOptions) -> EntryCursor {
        EntryCursor::with_options(&self.core, options)
    }

    /// The entries of the data blocks that the options select: see [`BoundedEntries`].
    pub fn entries_with(
        &self,
        scan: &ReadOptions,
        direction: Direction,
    ) -> BoundedEntries<EntryCursor> {
        let scan = scan.clone().in_order(self.core.keys.order().ok());
        let cursor = EntryCursor::with_options(&self.core, &scan);
        BoundedEntries::new(cursor, self.core.keys.user_keys(), &scan, direction)
    }

    /// The user key of a separator of the index, as [stored](crate::raw::IndexWalk::key), without
    /// timestamp.
    pub fn separator_key<'k>(&self, stored: &'k [u8]) -> &'k [u8] {
        let keys = &self.core.keys;
        keys.bare(keys.stored_user_key(stored, self.view().index_format().user_keys))
    }

    /// The order of the keys, if known, and their timestamp size.
    pub fn user_keys(&self) -> Result<&UserKeys> {
        self.comparator()?;
        Ok(self.core.keys.user_keys())
    }

    pub(crate) fn merge_operator(&self) -> Option<&dyn MergeOperator> {
        self.core.merge_operator.as_deref()
    }

    pub(crate) fn merge_operator_name(&self) -> Option<String> {
        Resolver::merge_operator_name(&*self.core)
    }

    /// The range tombstones as written, sorted by start key, without empty ranges.
    pub fn range_deletions(&self) -> &[RangeTombstone] {
        self.core.range_deletions.stored()
    }

    /// The range tombstones that are visible in `view`, as non-overlapping fragments, each with the
    /// newest sequence number. Empty if the order of the keys is unknown.
    pub fn range_tombstones_at(&self, view: &ReadView) -> SeenTombstones {
        SeenTombstones::new(&self.core, view)
    }

    /// The sequence number of the newest range tombstone over `key`. Fails with
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if there are range tombstones but the order
    /// of the keys is unknown.
    pub fn newest_range_deletion(&self, key: &[u8]) -> Result<Option<u64>> {
        self.newest_range_deletion_at(key, &ReadView::default())
    }

    /// Like [`newest_range_deletion`](Self::newest_range_deletion), of the tombstones visible in
    /// `view`.
    pub fn newest_range_deletion_at(&self, key: &[u8], view: &ReadView) -> Result<Option<u64>> {
        let core = &self.core;
        if core.range_deletions.is_empty() {
            return Ok(None);
        }
        core.require_order()?;
        Ok(core.range_deletions.newest_seen_over(key, view, &core.keys))
    }

    /// The properties; empty for tables of LevelDB.
    pub fn properties(&self) -> &Properties {
        &self.core.properties
    }

    /// The filter, if there is one with a known policy.
    pub fn filter(&self) -> Option<TableFilter<'_>> {
        self.core.filter.as_ref().map(|reader| TableFilter { core: &self.core, reader })
    }

    /// The kinds and handles of all blocks except embedded blobs. Reads only the tail of the file:
    /// the index, and the top level of a partitioned filter.
    pub fn block_handles(&self) -> Result<Vec<(BlockKind, BlockHandle)>> {
        let mut blocks = Vec::new();
        self.visit_blocks(|kind, handle| {
            blocks.push((kind, handle));
            Ok(())
        })?;
        Ok(blocks)
    }

    /// Like [`block_handles`](Self::block_handles), but passes each block to `visit`, whose first
    /// error ends it: for tables with very many blocks.
    pub fn visit_blocks(
        &self,
        mut visit: impl FnMut(BlockKind, BlockHandle) -> Result<()>,
    ) -> Result<()> {
        layout::visit_indexed_blocks(&self.core, |kind, _, handle| visit(kind, handle))
    }

    /// Passes each embedded blob to `visit`, whose first error ends it. Reads all data blocks, unless
    /// the properties say that there are none.
    pub fn visit_embedded_blobs(&self, visit: impl FnMut(BlockHandle) -> Result<()>) -> Result<()> {
        layout::visit_embedded_blobs(&self.core, visit)
    }

    /// All blocks: kind, handle, codec and checksum. Reads the index and the trailers; in tables
    /// with embedded blobs also the data blocks.
    pub fn layout(&self) -> Result<Layout> {
        layout::layout(&self.core)
    }

    /// Reads the whole file and verifies checksums, the order of the keys, the index against the
    /// data blocks, the properties against their counts, and each key and prefix against the
    /// filter. Finds all problems, not only the first.
    pub fn verify(&self) -> Verification {
        self.verify_with(&VerifyOptions::default())
    }

    /// Like [`verify`](Self::verify), with options. The result does not depend on the number of threads.
    ///
    /// ```no_run
    /// use sstkit_table::{Table, VerifyOptions};
    ///
    /// let found = Table::open("users.sst")?.verify_with(&VerifyOptions::default().threads(8));
    /// assert!(found.is_sound());
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn verify_with(&self, options: &VerifyOptions) -> Verification {
        self.verify_visiting(options, || ()).0
    }

    /// Like [`verify_with`](Self::verify_with), but also passes all references to blob files to visitors, one
    /// per thread. They are returned in file order.
    pub fn verify_visiting<V: ReferenceVisitor>(
        &self,
        options: &VerifyOptions,
        new_visitor: impl Fn() -> V,
    ) -> (Verification, Vec<V>) {
        verify::verify(&self.core, options, new_visitor)
    }

    /// The maximum decompressed size of a block, as [given](TableReadOptions::max_block_size) or by
    /// default.
    pub fn max_block_size(&self) -> usize {
        self.core.blocks.decoder.max_block_size()
    }

    /// The comparator, if known.
    pub fn comparator(&self) -> Result<&Comparator> {
        self.core.keys.order().map_err(|error| self.core.blocks.in_file(error))
    }

    /// Whether keys have sequence numbers and kinds: not in tables written with LevelDB's bare
    /// `TableBuilder`.
    pub fn has_internal_keys(&self) -> bool {
        self.core.keys.internal
    }

    /// The global sequence number of an ingested table, which replaces those of all entries.
    pub fn global_sequence_number(&self) -> Option<u64> {
        self.core.keys.global_sequence_number
    }

    /// The prefix extractor: [as given](TableReadOptions::prefix_extractor), or that of the table.
    pub fn prefix_extractor(&self) -> Option<&PrefixExtractor> {
        self.core.prefix_extractor.as_ref()
    }

    /// The engine that wrote the table.
    pub fn engine(&self) -> Engine {
        self.core.engine
    }

    /// The footer.
    pub fn footer(&self) -> &Footer {
        &self.core.footer
    }

    /// The metaindex: names and handles of the meta blocks.
    pub fn metaindex(&self) -> &MetaIndex {
        &self.core.metaindex
    }

    /// Evicts the blocks of this file from the block cache.
    pub fn evict_cached_blocks(&self) {
        if let Some(file) = &self.core.blocks.cache {
            file.cache.evict(file.number);
        }
    }

    /// The path, if the table was opened by path.
    pub fn path(&self) -> Option<&Path> {
        self.core.blocks.file()
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.core.size
    }
}

/// Iterates over all keys and values.
impl IntoIterator for &Table {
    type Item = Result<(Vec<u8>, Value)>;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("file", &self.core.blocks.file)
            .field("engine", &self.core.engine)
            .field("footer", &self.core.footer)
            .finish_non_exhaustive()
    }
}
