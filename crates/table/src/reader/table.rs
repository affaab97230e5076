//! A table, opened for reading.

mod comparison;
mod lookups;

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::value::Value;
use super::verify::{self, ReferenceVisitor, Verification, VerifyOptions};
use crate::comparator::Comparator;
use crate::error::{Error, Result};
use crate::filter::TableFilter;
use crate::filter::seek;
use crate::raw::{
    BlobIndex, Engine, EntryKind, Footer, InternalKey, MetaIndex, Properties, TableView,
    regular_file,
};
use crate::reader::open::core::Core;
use crate::reader::open::layout::{self, Layout};
use crate::reader::open::read_options::TableReadOptions;
use crate::reader::open::source::Source;
use crate::reader::open::tail;
use crate::reader::scan::cursor::Cursor;
use crate::reader::scan::embedded_blob_budget::EmbeddedBlobBudget;
use crate::reader::scan::entries::{Entries, EntryCursor};
use crate::reader::scan::iter::Iter;
use crate::reader::scan::merge_operator::MergeOperator;
use crate::reader::scan::scan_options::ScanOptions;
use crate::reader::scan::seek_stats::SeekStats;
use crate::visibility::{Base, RangeTombstone, ReadView, Resolver, SeenTombstones, UserKeys};

/// A table file of LevelDB or RocksDB, opened for reading.
///
/// ```no_run
/// use sstkit_table::Table;
///
/// let table = Table::open("users.sst")?;
/// if let Some(value) = table.get(b"alice")? {
///     println!("alice = {}", value.escape_ascii());
/// }
/// for entry in table.range(b"a".as_slice()..b"c".as_slice()) {
///     let (key, value) = entry?;
///     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
/// }
/// for entry in table.prefix(b"user7/").rev() {
///     let (key, _) = entry?; // the prefix filter is asked first
///     println!("{}", key.escape_ascii());
/// }
/// # Ok::<(), sstkit_table::Error>(())
/// ```
///
/// A `Table` is a handle: cloning it is cheap, and all of it may be used by any number of threads
/// at once.
///
/// # What is visible
///
/// [`get`](Self::get), [`iter`](Self::iter) and their like show what a database with this file
/// alone would: the newest version of each key, deletions and range deletions applied, merge
/// operands combined ([`TableReadOptions::merge_operator`]), the default column of an entity.
/// [`entries`](Self::entries) shows what is really there.
///
/// In tables with timestamps, keys are given and shown without them, and the newest one counts.
#[derive(Clone)]
pub struct Table {
    core: Arc<Core>,
}

impl Table {
    /// Opens a regular file. Reads only its tail: footer, metaindex, properties, index (of a partitioned
    /// one, the top level) and range deletions.
    #[cfg(any(unix, windows))]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_file(path, &TableReadOptions::default())
    }

    /// [`open`](Self::open), with options.
    #[cfg(any(unix, windows))]
    pub fn open_file(path: impl AsRef<Path>, options: &TableReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let file = regular_file::open(path).map_err(|error| Error::from(error).in_file(path))?;
        Ok(Self { core: tail::open(Box::new(file), Some(path.to_owned()), options)? })
    }

    /// Opens a table from an open file, or a shared handle of one. `path` is what errors call it.
    pub fn from_file(
        file: impl Source + 'static,
        path: impl Into<PathBuf>,
        options: &TableReadOptions,
    ) -> Result<Self> {
        Ok(Self { core: tail::open(Box::new(file), Some(path.into()), options)? })
    }

    /// Opens a table that is in memory, without copying it.
    ///
    /// ```no_run
    /// # use sstkit_table::Table;
    /// let table = Table::from_bytes(std::fs::read("users.sst")?)?;
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        Self::open_with(bytes.into(), &TableReadOptions::default())
    }

    /// Opens a table from any [`Source`].
    pub fn open_with(source: impl Source + 'static, options: &TableReadOptions) -> Result<Self> {
        Ok(Self { core: tail::open(Box::new(source), None, options)? })
    }

    /// The blocks of the table, read without the cache.
    pub fn view(&self) -> &TableView<'static> {
        &self.core.view
    }

    /// Iterates over all keys and values.
    pub fn iter(&self) -> Iter {
        Iter::new(&self.core, ScanOptions::default())
    }

    /// Iterates over the keys of a range, in the table's order. Probes the filter if the range lies
    /// within one prefix.
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter {
        Iter::new(&self.core, ScanOptions::default().range(range))
    }

    /// Iterates over the keys that start with `start`. Probes the filter if they all have one prefix
    /// that is in it. In a user-made order all keys of the table are looked at, and no filter is
    /// asked.
    pub fn prefix(&self, start: impl AsRef<[u8]>) -> Iter {
        let order = self.core.keys.order().ok();
        Iter::new(&self.core, ScanOptions::starting_with(start.as_ref(), order))
    }

    /// Moves about in keys and values.
    pub fn cursor(&self) -> Cursor {
        self.cursor_with(&ScanOptions::default())
    }

    /// [`cursor`](Self::cursor), with options.
    pub fn cursor_with(&self, options: &ScanOptions) -> Cursor {
        Cursor::new(&self.core, options)
    }

    /// Whether a seek in the scan of `options` has to look into this table: what a
    /// [`Cursor`] probes the filter before it moves, for callers that merge several tables.
    /// `key` is where the seek goes, or `None` for the first (or `backward` the last) key.
    pub fn may_match(
        &self,
        options: &ScanOptions,
        key: Option<&[u8]>,
        backward: bool,
    ) -> Result<bool> {
        let options = &options.clone().in_order(self.core.keys.order().ok());
        let bound = if backward { &options.upper } else { &options.lower };
        let key = match bound {
            Bound::Included(bound) | Bound::Excluded(bound) => match key {
                // A seek to a key outside of the range is one to its end.
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

    /// The user's bytes in a value as entries have it: of a value with a sequence number of its own
    /// the bytes before it, of a reference to a blob in this file the blob, of an entity its default
    /// column. An error of the kind [`Unsupported`](crate::ErrorKind::Unsupported) for blobs in
    /// other files.
    pub fn resolve(&self, kind: EntryKind, value: &Value) -> Result<Value> {
        let (value, user_key, origin) = (value.clone(), Vec::new(), None);
        let plain = self.core.plain(&Base { kind, value, user_key, origin });
        plain.map_err(|error| self.core.blocks.in_file(error))
    }

    /// Names and values of all columns of an entity, blobs in this file resolved, as with
    /// [`resolve`](Self::resolve).
    pub fn resolve_columns(&self, entity: &Value) -> Result<Vec<(Value, Value)>> {
        let kind = EntryKind::WideColumnEntity;
        let columns = EmbeddedBlobBudget::new(self.core.size).spend(kind, entity).and_then(|()| {
            let (value, user_key, origin) = (entity.clone(), Vec::new(), None);
            self.core.columns(&Base { kind, value, user_key, origin })
        });
        let columns = columns.map_err(|error| self.core.blocks.in_file(error))?;
        Ok(columns.into_iter().map(|column| (column.name, column.value)).collect())
    }

    /// The value that a reference to a blob in this file (blob file 0) leads to.
    pub fn embedded_blob(&self, index: &BlobIndex<'_>) -> Result<Value> {
        self.core.blob(index, &[], None).map_err(|error| self.core.blocks.in_file(error))
    }

    /// Iterates over all entries of the data blocks: every version, with sequence number and kind.
    pub fn entries(&self) -> Entries {
        Entries::new(&self.core)
    }

    /// Moves about in the entries of the data blocks.
    pub fn entry_cursor(&self) -> EntryCursor {
        EntryCursor::new(&self.core, true)
    }

    pub(crate) fn entry_cursor_with(&self, fill_cache: bool) -> EntryCursor {
        EntryCursor::new(&self.core, fill_cache)
    }

    /// The order of the keys, if it is known, and their timestamps.
    pub(crate) fn user_keys(&self) -> Result<&UserKeys> {
        self.comparator()?;
        Ok(self.core.keys.user_keys())
    }

    pub(crate) fn merge_operator(&self) -> Option<&dyn MergeOperator> {
        self.core.merge_operator.as_deref()
    }

    pub(crate) fn merge_operator_name(&self) -> Option<String> {
        Resolver::merge_operator_name(&*self.core)
    }

    /// The range deletions as written, in the order of their starts, without empty ones.
    pub fn range_deletions(&self) -> &[RangeTombstone] {
        self.core.range_deletions.stored()
    }

    /// The range tombstones that `view` sees, cut into fragments that do not overlap, each with the
    /// newest number. None where the order of the keys is not known.
    pub fn range_tombstones_at(&self, view: &ReadView) -> SeenTombstones {
        SeenTombstones::new(&self.core, view)
    }

    /// The sequence number of the newest range tombstone over `key`. An error of the kind
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where there are range tombstones but the order
    /// of the keys is not known.
    pub fn newest_range_deletion(&self, key: &[u8]) -> Result<Option<u64>> {
        self.newest_range_deletion_at(key, &ReadView::default())
    }

    /// The same of those tombstones that `view` sees.
    pub fn newest_range_deletion_at(&self, key: &[u8], view: &ReadView) -> Result<Option<u64>> {
        let core = &self.core;
        if core.range_deletions.is_empty() {
            return Ok(None);
        }
        core.require_order()?;
        Ok(core.range_deletions.newest_seen_over(key, view, &core.keys))
    }

    /// Whether a range deletion of this table deletes an entry of it, with its timestamp if keys have
    /// one. An error of the kind [`Unsupported`](crate::ErrorKind::Unsupported) where there are range
    /// deletions but their order is not known.
    pub fn is_range_deleted(&self, entry: &InternalKey<'_>) -> Result<bool> {
        let core = &self.core;
        if core.range_deletions.is_empty() {
            return Ok(false);
        }
        core.require_order()?;
        Ok(core.range_deletions.covers(entry, &core.keys))
    }

    /// The properties; none in a table of LevelDB.
    pub fn properties(&self) -> &Properties {
        &self.core.properties
    }

    /// The filter, if there is one whose policy is known.
    pub fn filter(&self) -> Option<TableFilter<'_>> {
        self.core.filter.as_ref().map(|reader| TableFilter { core: &self.core, reader })
    }

    /// What every block is and where it is, but for embedded blobs. Reads the tail of the file only:
    /// the index, and the top level of a partitioned filter.
    pub fn block_handles(&self) -> Result<Vec<(crate::raw::BlockKind, crate::raw::BlockHandle)>> {
        let blocks = layout::indexed_blocks(&self.core)?;
        Ok(blocks.into_iter().map(|(kind, _, handle)| (kind, handle)).collect())
    }

    /// Every block: what it is, where it is, codec and checksum. Reads the index and the trailers,
    /// in tables with embedded blobs the data blocks, too.
    pub fn layout(&self) -> Result<Layout> {
        layout::layout(&self.core)
    }

    /// Reads the whole file and compares everything with everything else: checksums, the order of the
    /// keys, the index with the data blocks, the properties with what they count, and each key and
    /// prefix with the filter. Finds all problems, not only the first.
    pub fn verify(&self) -> Verification {
        self.verify_with(1)
    }

    /// [`verify`](Self::verify) with this number of threads for the data blocks. The result is the same.
    pub fn verify_with(&self, threads: usize) -> Verification {
        self.verify_visiting(&VerifyOptions::default().threads(threads), || ()).0
    }

    /// [`verify`](Self::verify) that also shows all references to blob files to visitors, one for each
    /// thread. They are returned in file order.
    pub fn verify_visiting<V: ReferenceVisitor>(
        &self,
        options: &VerifyOptions,
        new_visitor: impl Fn() -> V,
    ) -> (Verification, Vec<V>) {
        verify::verify(&self.core, options, new_visitor)
    }

    /// The most bytes a block may decompress to, as it was
    /// [given](TableReadOptions::max_block_size) or by default.
    pub fn max_block_size(&self) -> usize {
        self.core.blocks.decoder.max_block_size()
    }

    /// The order of the keys, if it is known.
    pub fn comparator(&self) -> Result<&Comparator> {
        self.core.keys.order().map_err(|error| self.core.blocks.in_file(error))
    }

    /// Whether keys have sequence numbers and kinds; not in tables made with LevelDB's bare
    /// `TableBuilder`.
    pub fn has_internal_keys(&self) -> bool {
        self.core.keys.internal
    }

    /// The sequence number that stands in for those of all entries, in an ingested table.
    pub fn global_sequence_number(&self) -> Option<u64> {
        self.core.keys.global_sequence_number
    }

    /// Which engine's dialect the table is in.
    pub fn engine(&self) -> Engine {
        self.core.engine
    }

    /// What the end of the file says.
    pub fn footer(&self) -> &Footer {
        &self.core.footer
    }

    /// Names and handles of the meta blocks.
    pub fn metaindex(&self) -> &MetaIndex {
        &self.core.metaindex
    }

    /// The file's name, of a table that was opened by it.
    pub fn path(&self) -> Option<&Path> {
        self.core.blocks.file()
    }

    /// Bytes of the whole file.
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
