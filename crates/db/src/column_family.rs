//! A read handle of a column family.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sstkit_filter::PrefixExtractor;
use sstkit_table::visibility::{ReadView, Recency, Resolver};
use sstkit_table::{
    Column, Comparator, KeyBounds, RangeTombstone, ReadOptions, Record, Table, Value,
};

use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::raw::FileMetaData;
use crate::read::{
    self, DatabaseCursor, DatabaseEntries, DatabaseEntry, DatabaseIter, DatabaseRecords,
    DatabaseTrace,
};
use crate::stats::{self, Stats};
use crate::ttl::Ttl;
use crate::version::TableFile;

/// A column family of a [`Database`](crate::Database), at a sequence number.
///
/// ```no_run
/// # use sstkit_db::Database;
/// let db = Database::open("path/to/db")?;
/// let meta = db.column_family("meta")?;
/// let value = meta.get(b"alice")?;
/// for entry in meta.range(b"a"..b"c") {
///     let (key, value) = entry?;
///     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
/// }
/// let before = meta.at(1000); // the state after the thousandth write
/// # Ok::<(), sstkit_db::Error>(())
/// ```
///
/// It is a handle: cloning it is cheap, it keeps the database open, and any number of threads can
/// use it at once.
///
/// # Visibility
///
/// Reads see the newest version of each key up to the sequence number, with deletions and range
/// deletions applied, merge operands combined and blobs resolved. [`entries`](Self::entries) shows
/// what is stored. If keys have timestamps, they are passed and returned without them, and the
/// version with the largest timestamp is visible, unless [`at_timestamp`](Self::at_timestamp) sets
/// another limit.
#[derive(Clone)]
pub struct ColumnFamily {
    family: Arc<ColumnFamilyData>,
    view: ReadView,
}

impl ColumnFamily {
    pub(crate) fn new(family: &Arc<ColumnFamilyData>, sequence: u64) -> Self {
        Self { family: Arc::clone(family), view: ReadView { sequence, timestamp: None } }
    }

    pub(crate) fn family(&self) -> &Arc<ColumnFamilyData> {
        &self.family
    }

    pub(crate) fn view(&self) -> &ReadView {
        &self.view
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.family.name
    }

    /// The id.
    pub fn id(&self) -> u32 {
        self.family.id
    }

    /// The sequence number at which it is read.
    pub fn sequence(&self) -> u64 {
        self.view.sequence
    }

    /// The same column family at another sequence number. Writes up to it are visible. Versions
    /// that compactions have dropped are lost.
    #[must_use]
    pub fn at(&self, sequence: u64) -> Self {
        let view = ReadView { sequence, ..self.view.clone() };
        Self { family: Arc::clone(&self.family), view }
    }

    /// The same column family at a timestamp: versions with later timestamps are not visible.
    ///
    /// # Errors
    ///
    /// Fails if its keys have no timestamps, or timestamps of another size.
    pub fn at_timestamp(&self, timestamp: &[u8]) -> Result<Self> {
        let options = ReadOptions::default().at(&self.view).timestamp(timestamp);
        options.check_timestamp(self.family.keys.comparator())?;
        let view = options.view().clone();
        Ok(Self { family: Arc::clone(&self.family), view })
    }

    /// The value of `key`, or `None` if the key is not found; for an entity, its default column.
    ///
    /// # Errors
    ///
    /// Fails, besides damage, if the value needs an unknown merge operator.
    /// [`get_record`](Self::get_record) returns its operands.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        let value = |versions| self.family.value_of(key, versions);
        read::get(&self.family, &self.view, key, value)
    }

    /// Like [`get`](Self::get), with options. The state is that of this handle, or the earlier one that
    /// they select; the same holds for all methods with options.
    pub fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Value>> {
        let value = |versions| self.family.value_of(key, versions);
        read::get_with(&self.family, &self.limited(options), key, value)
    }

    /// The options in the order of the keys, limited to the state of this handle.
    fn limited(&self, options: &ReadOptions) -> ReadOptions {
        options.clone().in_order(self.comparator().ok()).within(&self.view)
    }

    /// The values of several keys, in the order of `keys`. Reads each source for all keys in sorted
    /// order, so that no block is read twice. In files of [another machine](crate::file_system), what all keys need
    /// is read at the same time: tables that are not open, then partitions of filters and indexes, data blocks, blocks
    /// where entries continue, and blobs.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        let value = |key: &[u8], versions| self.family.value_of(key, versions);
        read::get_many(&self.family, &self.view, keys, value)
    }

    /// Like [`get_many`](Self::get_many), with options.
    pub fn get_many_with<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        options: &ReadOptions,
    ) -> Result<Vec<Option<Value>>> {
        let value = |key: &[u8], versions| self.family.value_of(key, versions);
        read::get_many_with(&self.family, &self.limited(options), keys, value)
    }

    /// All columns of `key`, or `None` if the key is not found; for a plain value, only the default
    /// column.
    pub fn get_entity(&self, key: &[u8]) -> Result<Option<Vec<Column>>> {
        let entity = |versions| self.family.entity(key, &versions);
        read::get(&self.family, &self.view, key, entity)
    }

    /// Like [`get_entity`](Self::get_entity), with options.
    pub fn get_entity_with(
        &self,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Vec<Column>>> {
        let entity = |versions| self.family.entity(key, &versions);
        read::get_with(&self.family, &self.limited(options), key, entity)
    }

    /// The complete record of `key`, or `None` if the key is not found: timestamp, columns, and
    /// operands that cannot be merged.
    pub fn get_record(&self, key: &[u8]) -> Result<Option<Record>> {
        let record = |versions| self.family.record(key, &versions);
        read::get(&self.family, &self.view, key, record)
    }

    /// Like [`get_record`](Self::get_record), with options.
    pub fn get_record_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Record>> {
        let record = |versions| self.family.record(key, &versions);
        read::get_with(&self.family, &self.limited(options), key, record)
    }

    /// Looks up `key` and records the steps. Counts as one lookup.
    pub fn explain(&self, key: &[u8]) -> Result<DatabaseTrace> {
        self.explain_while(key, &|| true)
    }

    /// Like [`explain`](Self::explain), [cancelled](crate::Error::is_cancelled) when `keep_going`
    /// returns false before a table or a data block.
    pub fn explain_while(
        &self,
        key: &[u8],
        keep_going: &dyn Fn() -> bool,
    ) -> Result<DatabaseTrace> {
        read::explain(&self.family, &self.view, key, keep_going)
    }

    /// Like [`explain_while`](Self::explain_while), but an error of a source does not hide the steps before
    /// it: the [answer](DatabaseTrace::answer) is then unknown, and the error is returned beside it.
    ///
    /// # Errors
    ///
    /// Fails if the lookup is cancelled, or cannot start.
    pub fn explain_readable_while(
        &self,
        key: &[u8],
        keep_going: &dyn Fn() -> bool,
    ) -> Result<(DatabaseTrace, Option<crate::Error>)> {
        read::explain_readable(&self.family, &self.view, key, keep_going)
    }

    /// Iterates over all keys and values.
    pub fn iter(&self) -> DatabaseIter {
        self.iter_with(&ReadOptions::default())
    }

    /// Iterates over a range of keys, in comparator order. Probes the filters if the range is
    /// within one prefix.
    pub fn range(&self, range: impl KeyBounds) -> DatabaseIter {
        self.iter_with(&ReadOptions::default().range(range))
    }

    /// Iterates over the keys that start with `start`. Probes the filters if all these keys have
    /// the same prefix in them. With a custom comparator, reads all keys and probes no filter.
    pub fn prefix(&self, start: impl AsRef<[u8]>) -> DatabaseIter {
        self.iter_with(&ReadOptions::default().prefix(start))
    }

    /// Iterates over the complete records of all keys. See [`DatabaseIter::records`] for a range.
    pub fn records(&self) -> DatabaseRecords {
        self.iter().records()
    }

    /// Iterates over the keys and values that `options` select.
    pub fn iter_with(&self, options: &ReadOptions) -> DatabaseIter {
        DatabaseIter::new(&self.family, self.limited(options))
    }

    /// A cursor over all keys and values.
    pub fn cursor(&self) -> Result<DatabaseCursor> {
        self.cursor_with(&ReadOptions::default())
    }

    /// A cursor over the keys and values that `options` select.
    pub fn cursor_with(&self, options: &ReadOptions) -> Result<DatabaseCursor> {
        DatabaseCursor::open(&self.family, &self.limited(options))
    }

    /// Iterates over all entries of all sources, by key and then newest first: every version, with
    /// sequence number, type, level and file, regardless of the sequence number of this handle.
    pub fn entries(&self) -> DatabaseEntries {
        self.entries_with(&ReadOptions::default())
    }

    /// The same, but only entries that `scan` selects: of keys in its range or with its prefix, and
    /// visible at its sequence number and timestamp, regardless of those of this handle.
    pub fn entries_with(&self, scan: &ReadOptions) -> DatabaseEntries {
        DatabaseEntries::new(&self.family, &scan.clone().in_order(self.comparator().ok()))
    }

    /// The user value of an entry: the blob of a blob index, the default column of an entity.
    pub fn resolve(&self, entry: &DatabaseEntry) -> Result<Value> {
        self.family.plain(&read::base_of(&self.family, entry)?)
    }

    /// All columns of an entry of type
    /// [`WideColumnEntity`](sstkit_table::raw::EntryKind::WideColumnEntity), with blobs resolved.
    pub fn resolve_columns(&self, entry: &DatabaseEntry) -> Result<Vec<Column>> {
        self.family.columns(&read::base_of(&self.family, entry)?)
    }

    /// The range tombstones of all sources that `scan` [selects](ReadOptions::selects), the newest
    /// source first, as written.
    pub fn range_deletions_with(&self, scan: &ReadOptions) -> Result<Vec<LevelTombstone>> {
        let mut selected = self.range_deletions()?;
        let order = self.comparator().ok();
        selected.retain(|tombstone| scan.selects(tombstone, order));
        Ok(selected)
    }

    /// The range tombstones of all sources, the newest source first, as written.
    pub fn range_deletions(&self) -> Result<Vec<LevelTombstone>> {
        let in_memory = self.family.memtable.range_deletions().iter();
        let mut all: Vec<_> = in_memory
            .map(|tombstone| LevelTombstone {
                tombstone: tombstone.clone(),
                level: None,
                file: None,
            })
            .collect();
        for file in self.family.version.files() {
            let table = self.family.table(file)?;
            all.extend(table.range_deletions().iter().map(|tombstone| LevelTombstone {
                tombstone: tombstone.clone(),
                level: Some(file.level),
                file: Some(file.meta.number),
            }));
        }
        Ok(all)
    }

    /// The levels that have files, top level first.
    pub fn levels(&self) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::new();
        for (number, run) in self.family.version.runs.iter().enumerate() {
            let files = run.files.iter().map(|file| LevelFile {
                file: Arc::clone(file),
                family: Arc::clone(&self.family),
                run: number,
            });
            match levels.last_mut() {
                Some(level) if level.number == run.level => level.files.extend(files),
                _ => levels.push(Level { number: run.level, files: files.collect() }),
            }
        }
        levels
    }

    /// The paths of the live blob files, by number; none without a MANIFEST.
    pub fn blob_file_paths(&self) -> Vec<PathBuf> {
        let blobs = &self.family.blobs;
        let live = blobs.live.iter().flat_map(|live| live.keys());
        live.map(|&number| blobs.path(number)).collect()
    }

    /// The number of point entries that were replayed from the write-ahead logs.
    pub fn memtable_entries(&self) -> usize {
        self.family.memtable.len()
    }

    /// The comparator.
    ///
    /// # Errors
    ///
    /// Fails if it is unknown.
    pub fn comparator(&self) -> Result<&Comparator> {
        self.family.require_order()?;
        Ok(self.family.keys.comparator())
    }

    /// How the newest entry of a key is found: in a directory of tables without a MANIFEST, only sequence
    /// numbers tell.
    pub fn recency(&self) -> Recency {
        self.family.version.recency
    }

    /// The prefix extractor, as given or from OPTIONS.
    pub fn prefix_extractor(&self) -> Option<&PrefixExtractor> {
        self.family.settings.prefix_extractor.as_ref()
    }

    /// The filter policy in OPTIONS, as text.
    pub fn filter_policy(&self) -> Option<&str> {
        self.family.settings.filter_policy.as_deref()
    }

    /// The name of the merge operator in the database, if any.
    pub fn merge_operator_name(&self) -> Option<&str> {
        self.family.merging().name.as_deref()
    }

    /// The name of the merge operator, if that is known without opening tables: from OPTIONS, or since it was
    /// needed before.
    pub fn known_merge_operator_name(&self) -> Option<&str> {
        match self.family.merging.get() {
            Some(merging) => merging.name.as_deref(),
            None => self.family.settings.merge_operator.as_ref().map(|it| it.id.as_str()),
        }
    }

    /// How values end with the time of their write, if they do: see [`Ttl`].
    pub fn ttl(&self) -> Option<Ttl> {
        self.family.settings.ttl
    }

    /// The counters since the database was opened.
    pub fn stats(&self) -> Stats {
        stats::stats(&self.family)
    }
}

/// Iterates over all keys and values.
impl IntoIterator for &ColumnFamily {
    type Item = Result<(Vec<u8>, Value)>;
    type IntoIter = DatabaseIter;

    fn into_iter(self) -> DatabaseIter {
        self.iter()
    }
}

impl fmt::Debug for ColumnFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnFamily")
            .field("name", &self.family.name)
            .field("view", &self.view)
            .finish_non_exhaustive()
    }
}

/// A range tombstone, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelTombstone {
    /// The range tombstone.
    pub tombstone: RangeTombstone,
    /// The level of its file; `None` in the write-ahead log.
    pub level: Option<u32>,
    /// The number of its file; `None` in the write-ahead log.
    pub file: Option<u64>,
}

impl Deref for LevelTombstone {
    type Target = RangeTombstone;

    fn deref(&self) -> &RangeTombstone {
        &self.tombstone
    }
}

/// A level of a column family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Level {
    /// The number; 0 is the top level.
    pub number: u32,
    /// The files: newest first in level 0, by key in the others.
    pub files: Vec<LevelFile>,
}

/// A table of a level.
#[derive(Clone)]
pub struct LevelFile {
    file: Arc<TableFile>,
    family: Arc<ColumnFamilyData>,
    run: usize,
}

impl LevelFile {
    /// The sorted run of the column family that contains the file; 0 is the newest. Each file of
    /// level 0 is a run, each lower level is one. A lookup reads at most one file of a run.
    pub fn run(&self) -> usize {
        self.run
    }

    /// The file number.
    pub fn number(&self) -> u64 {
        self.file.meta.number
    }

    /// The metadata from the MANIFEST.
    pub fn metadata(&self) -> &FileMetaData {
        &self.file.meta
    }

    /// The smallest key, without timestamp.
    pub fn smallest(&self) -> &[u8] {
        self.file.smallest()
    }

    /// The largest key, without timestamp; may be the end of a range deletion.
    pub fn largest(&self) -> &[u8] {
        self.file.largest()
    }

    /// Whether the range excludes the [largest](Self::largest) key, because it is the end of a
    /// range deletion.
    pub fn largest_is_exclusive(&self) -> bool {
        self.file.largest_is_exclusive()
    }

    /// The path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The table, opened if necessary.
    pub fn open(&self) -> Result<Table> {
        self.family.table(&self.file)
    }
}

impl fmt::Debug for LevelFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LevelFile").field("metadata", &self.file.meta).finish_non_exhaustive()
    }
}
