//! A column family, as the user reads it.

use std::fmt;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sstkit_filter::PrefixExtractor;
use sstkit_table::{Comparator, ScanOptions, Table, Value};

use crate::column_family_data::ColumnFamilyData;
use crate::error::{Error, Result};
use crate::range_deletions::{Range, RangeDeletion};
use crate::raw::FileMetaData;
use crate::read::{self, Column, Cursor, Entries, Entry, Explanation, Iter, Record, Records};
use crate::read_view::ReadView;
use crate::stats::{self, Stats};
use crate::version::TableFile;

/// A column family of a [`Database`](crate::Database), as of some sequence number.
///
/// ```no_run
/// # use sstkit_db::Database;
/// let db = Database::open("path/to/db")?;
/// let meta = db.column_family("meta")?;
/// let value = meta.get(b"alice")?;
/// for entry in meta.range(b"a".as_slice()..b"c".as_slice()) {
///     let (key, value) = entry?;
///     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
/// }
/// let before = meta.at(1000); // what was visible after the thousandth write
/// # Ok::<(), sstkit_db::Error>(())
/// ```
///
/// It is a handle: cloning it is cheap, it keeps the database open, and all of it may be used by any
/// number of threads at once.
///
/// # What is visible
///
/// The newest version of each key up to the sequence number: deletions and range deletions applied,
/// merge operands combined, values of blob files read. [`entries`](Self::entries) shows what is
/// really there. Where keys have timestamps, they are given and shown without them, and the largest
/// timestamp counts, unless [`at_timestamp`](Self::at_timestamp) says otherwise.
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

    /// Its name.
    pub fn name(&self) -> &str {
        &self.family.name
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.family.id
    }

    /// As of which sequence number it is seen.
    pub fn sequence(&self) -> u64 {
        self.view.sequence
    }

    /// The same column family as of another sequence number: what was written up to it is visible.
    /// History that compactions have dropped does not come back.
    #[must_use]
    pub fn at(&self, sequence: u64) -> Self {
        let view = ReadView { sequence, ..self.view.clone() };
        Self { family: Arc::clone(&self.family), view }
    }

    /// The same column family as of a timestamp: versions with later ones are not visible.
    ///
    /// # Errors
    ///
    /// If its keys have no timestamps, or of another size.
    pub fn at_timestamp(&self, timestamp: &[u8]) -> Result<Self> {
        let size = self.family.keys.timestamp_size();
        if size == 0 || timestamp.len() != size {
            return Err(Error::invalid_input(format!(
                "the timestamp has {} bytes, but those of column family {:?} have {size}",
                timestamp.len(),
                self.name()
            )));
        }
        let view = ReadView { timestamp: Some(timestamp.to_vec()), ..self.view.clone() };
        Ok(Self { family: Arc::clone(&self.family), view })
    }

    /// The value of `key`, if it has one; of an entity, its default column.
    ///
    /// # Errors
    ///
    /// Besides damage: a value that has to be merged by an operator that is not known.
    /// [`get_record`](Self::get_record) shows it.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        let versions = read::get(&self.family, &self.view, key)?;
        versions.is_visible().then(|| self.family.value(key, &versions)).transpose()
    }

    /// The values of many keys, in the order of the keys. Looks into one source after the other, for
    /// all keys in their order, so that blocks are not read twice.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        let found = read::get_many(&self.family, &self.view, keys)?;
        let value = |(key, versions): (&K, read::Versions)| {
            versions.is_visible().then(|| self.family.value(key.as_ref(), &versions)).transpose()
        };
        keys.iter().zip(found).map(value).collect()
    }

    /// All columns of `key`, if it has a value; of a plain value, the default column alone.
    pub fn get_entity(&self, key: &[u8]) -> Result<Option<Vec<Column>>> {
        let versions = read::get(&self.family, &self.view, key)?;
        versions.is_visible().then(|| self.family.entity(key, &versions)).transpose()
    }

    /// All there is to know about `key`, if it has a value: its timestamp, its columns, operands
    /// that cannot be merged.
    pub fn get_record(&self, key: &[u8]) -> Result<Option<Record>> {
        let versions = read::get(&self.family, &self.view, key)?;
        versions.is_visible().then(|| self.family.record(key, &versions)).transpose()
    }

    /// Looks `key` up and says which way that went. Counts as one lookup.
    pub fn explain(&self, key: &[u8]) -> Result<Explanation> {
        read::explain(&self.family, &self.view, key)
    }

    /// Iterates over all keys and values.
    pub fn iter(&self) -> Iter {
        self.iter_in(ScanOptions::default(), None)
    }

    /// Iterates over the keys of a range, in the order of the comparator. Asks the filters if the
    /// range lies within one prefix.
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter {
        self.iter_in(ScanOptions::default().range(range), None)
    }

    /// Iterates over the keys that start with `start`. Asks the filters if they all have one prefix
    /// that is in them. In a user-made order all keys are looked at, and no filter is asked.
    pub fn prefix(&self, start: impl AsRef<[u8]>) -> Iter {
        let (start, order) = (start.as_ref(), self.family.keys.comparator());
        self.iter_in(ScanOptions::starting_with(start, Some(order)), Some(start))
    }

    /// Iterates over all keys with everything there is about them. For those of a range, see
    /// [`Iter::records`].
    pub fn records(&self) -> Records {
        self.iter().records()
    }

    fn iter_in(&self, scan: ScanOptions, start: Option<&[u8]>) -> Iter {
        Iter::new(&self.family, &self.view, scan, start)
    }

    /// Moves about in keys and values.
    pub fn cursor(&self) -> Result<Cursor> {
        Cursor::new(&self.family, &self.view, &ScanOptions::default())
    }

    /// Moves about in the keys of a range.
    pub fn cursor_in<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<Cursor> {
        Cursor::new(&self.family, &self.view, &ScanOptions::default().range(range))
    }

    /// Iterates over all entries of all sources, by key and the newest first: every version, with
    /// sequence number, kind, level and file, whatever the sequence number of this view.
    pub fn entries(&self) -> Entries {
        Entries::new(&self.family)
    }

    /// The user's bytes in the value of an entry: of a reference to a blob the blob, of an entity
    /// its default column.
    pub fn resolve(&self, entry: &Entry) -> Result<Value> {
        self.family.plain(&read::base_of(&self.family, entry)?)
    }

    /// All columns of an entry of kind
    /// [`WideColumnEntity`](sstkit_table::raw::EntryKind::WideColumnEntity), values of blob files
    /// read.
    pub fn resolve_columns(&self, entry: &Entry) -> Result<Vec<Column>> {
        self.family.columns(&read::base_of(&self.family, entry)?)
    }

    /// The range deletions of all sources, the newest source first, as written.
    pub fn range_deletions(&self) -> Result<Vec<RangeDeletion>> {
        let mut all = self.family.memtable.range_deletions().to_vec();
        for file in self.family.version.files() {
            let table = self.family.table(file)?;
            all.extend(table.range_deletions().iter().map(|range| {
                let Range { start, end, sequence, timestamp } = Range::from(range);
                RangeDeletion {
                    start: start.to_vec(),
                    end: end.to_vec(),
                    sequence,
                    timestamp: timestamp.to_vec(),
                    level: Some(file.level),
                    file: Some(file.meta.number),
                }
            }));
        }
        Ok(all)
    }

    /// The levels that have files, the top one first.
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

    /// How many writes to single keys the write-ahead log left in memory.
    pub fn memtable_entries(&self) -> usize {
        self.family.memtable.len()
    }

    /// The order of its keys.
    ///
    /// # Errors
    ///
    /// If it is not known.
    pub fn comparator(&self) -> Result<&Comparator> {
        self.family.require_order()?;
        Ok(self.family.keys.comparator())
    }

    /// What makes prefixes of its keys: given, or as OPTIONS say.
    pub fn prefix_extractor(&self) -> Option<&PrefixExtractor> {
        self.family.settings.prefix_extractor.as_ref()
    }

    /// The text of the filter policy in OPTIONS.
    pub fn filter_policy(&self) -> Option<&str> {
        self.family.settings.filter_policy.as_deref()
    }

    /// What the database calls its merge operator, if it says so.
    pub fn merge_operator_name(&self) -> Option<&str> {
        self.family.merging().name.as_deref()
    }

    /// What has been counted since the database was opened.
    pub fn stats(&self) -> Stats {
        stats::stats(&self.family)
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

/// A level of a column family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Level {
    /// Which one; 0 is the top.
    pub number: u32,
    /// Its files: in level 0 the newest first, in others by their keys.
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
    /// Which of the sorted runs of its column family it is in, the newest being 0. A file of level 0
    /// is a run by itself, a lower level is one: at most one file of a run is read for a key.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.file.meta.number
    }

    /// What the MANIFEST says about it.
    pub fn metadata(&self) -> &FileMetaData {
        &self.file.meta
    }

    /// The first key of its range, without timestamp.
    pub fn smallest(&self) -> &[u8] {
        self.file.smallest()
    }

    /// The last key of its range, without timestamp; it may be where a range deletion ends.
    pub fn largest(&self) -> &[u8] {
        self.file.largest()
    }

    /// Whether its range ends before the [largest](Self::largest) key, where a range deletion ends.
    pub fn largest_is_exclusive(&self) -> bool {
        self.file.largest_is_exclusive()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        let is_there = |path: &&PathBuf| path.exists();
        let first = self.file.paths.first();
        self.file.paths.iter().find(is_there).or(first).map_or(Path::new(""), PathBuf::as_path)
    }

    /// The table itself, opened if it is not open.
    pub fn open(&self) -> Result<Table> {
        self.family.table(&self.file)
    }

    /// The table itself, opened whether it is open or not, and closed when it is dropped: for those
    /// who go through any number of tables, one after another.
    pub fn open_anew(&self) -> Result<Table> {
        self.family.open_table(&self.file)
    }
}

impl fmt::Debug for LevelFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LevelFile").field("metadata", &self.file.meta).finish_non_exhaustive()
    }
}
