//! Builds tables from unsorted entries.
//!
//! ```text
//! put, delete, … ---> Sorter ---> one entry per key ---> TableSet ---> commit
//!                     arenas,     Uniqueness             files         names, manifest.json
//!                     runs
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `bulk_options.rs` | options |
//! | `arena.rs`, `key_prefix.rs` | entries in memory, sorted by a prefix number |
//! | `spill.rs`, `run_merge.rs` | sorted runs on disk, and merging them |
//! | `sorter.rs` | sorting in bounded memory |
//! | `uniqueness.rs` | one entry per key |
//! | `streaming.rs` | sorted entries, written as they arrive |

mod arena;
mod bulk_options;
mod key_prefix;
mod run_merge;
mod sorter;
mod spill;
mod streaming;
mod uniqueness;

use std::borrow::Cow;
use std::path::Path;

use sstkit_table::raw::{
    ColumnValue, EntryKind, InternalKey, MAX_SEQUENCE_NUMBER, WideColumn, encode_wide_columns,
};
use sstkit_table::{KeyExcerpt, RangeTombstone};

use self::arena::RawEntry;
use self::sorter::{SortStatistics, Sorted, Sorter};
use self::streaming::Streaming;
use self::uniqueness::Uniqueness;
use crate::bulk_manifest::BulkManifest;
use crate::database_writer::DatabaseWriter;
use crate::error::{Error, Result};
use crate::output::{
    self, FileNumbers, FinishedTable, OutputTarget, PendingTombstones, Phase, Reporter, SetOptions,
    TableSet,
};

pub use self::bulk_options::{BulkOptions, DEFAULT_EXTENSION, DEFAULT_MEMORY, Duplicates};

/// An entry is in one block, whose offsets have 32 bits.
const MAX_ENTRY: usize = u32::MAX as usize - 64;

/// Builds tables from unsorted entries in bounded memory.
///
/// ```
/// use sstkit_db::{BulkBuilder, BulkOptions};
/// use sstkit_table::{Table, TableOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("users.sst");
/// let options = BulkOptions::new(TableOptions::rocksdb().filter("bloomfilter:10".parse()?));
/// let mut builder = BulkBuilder::create(&path, &options)?;
/// builder.put(b"carol", b"3")?;
/// builder.put(b"alice", b"1")?;
/// builder.delete(b"bob")?;
/// builder.finish()?;
/// assert_eq!(Table::open(&path)?.get(b"alice")?.unwrap(), b"1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The tables are identical to those of RocksDB's `SstFileWriter`, for `IngestExternalFile` (of
/// RocksDB 10.4 and later, unless
/// [`TableOptions::readable_by`](sstkit_table::TableOptions::readable_by) names an older version):
/// all sequence numbers are 0, with one entry per user key (and timestamp). A range tombstone
/// deletes older data in the database, not the entries in the same tables.
///
/// With a [maximum file size](BulkOptions::max_file_size), the output is a directory of
/// non-overlapping tables with a `manifest.json` (see [`BulkManifest`]). The output appears only
/// when it is complete and synced; a builder that is dropped earlier leaves nothing behind.
pub struct BulkBuilder {
    options: BulkOptions,
    target: OutputTarget,
    stage: Stage,
    ranges: Vec<RangeTombstone>,
    /// All sequence numbers are 0.
    external: bool,
    /// A write failed.
    failed: bool,
}

enum Stage {
    Sorting(Box<Sorter>),
    Streaming(Box<Streaming>),
}

/// Statistics of the tables that were written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BulkSummary {
    /// Files, keys and sizes: the contents of `manifest.json`, if one is written.
    pub manifest: BulkManifest,
    /// The number of point entries added.
    pub entries_added: u64,
    /// The number of point entries dropped as duplicates.
    pub duplicates_dropped: u64,
    /// The number of sorted runs on disk; 0 if everything fit in memory.
    pub runs: u64,
    /// The number of bytes written for sorting.
    pub spilled_bytes: u64,
    /// The number of passes over the runs before the last one.
    pub merge_passes: u64,
}

impl BulkBuilder {
    /// Creates a builder whose output is the file `path` or, with a maximum file size, the
    /// directory `path`.
    ///
    /// # Errors
    ///
    /// Fails if the settings contradict each other, or if `path` exists and must not be replaced.
    pub fn create(path: impl AsRef<Path>, options: &BulkOptions) -> Result<Self> {
        options.check()?;
        let (path, replace) = (path.as_ref(), options.replace);
        let target = match options.max_file_size {
            Some(_) => OutputTarget::folder(path, &options.extension, replace)?,
            None => OutputTarget::file(path, replace)?,
        };
        Self::with_target(target, options)
    }

    /// Creates a builder whose output is a column family of a new database, to be finished by
    /// [`finish_into`](Self::finish_into).
    ///
    /// ```
    /// use sstkit_db::{BulkBuilder, BulkOptions, Database, DatabaseWriter, DatabaseWriterOptions};
    /// use sstkit_table::TableOptions;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let target = folder.path().join("mydb");
    /// let mut writer = DatabaseWriter::create(&target, DatabaseWriterOptions::leveldb())?;
    /// let options = BulkOptions::new(TableOptions::leveldb());
    /// let mut builder = BulkBuilder::for_database(&writer, 0, &options)?;
    /// builder.put(b"bob", b"2")?;
    /// builder.put(b"alice", b"1")?;
    /// builder.finish_into(&mut writer, 0, 6)?;
    /// writer.finish()?;
    /// assert_eq!(Database::open(&target)?.get(b"alice")?.unwrap(), b"1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the settings contradict each other, or those of the database.
    pub fn for_database(
        writer: &DatabaseWriter,
        column_family: u32,
        options: &BulkOptions,
    ) -> Result<Self> {
        options.check()?;
        writer.check_comparator(column_family, &options.comparator)?;
        let table = writer.table_options(column_family, &options.table)?;
        let options = BulkOptions { table, in_database: true, ..options.clone() };
        Self::with_target(OutputTarget::database(writer.working_folder()), &options)
    }

    fn with_target(target: OutputTarget, options: &BulkOptions) -> Result<Self> {
        let temp_dir = options.temp_dir.as_deref().unwrap_or(target.working_folder());
        let stage = match options.sorted {
            true => Stage::Streaming(Box::new(Streaming::new(options, target.temp_files()?))),
            false => Stage::Sorting(Box::new(Sorter::new(options, temp_dir.to_path_buf()))),
        };
        // Reports settings that the table writer rejects before all entries have arrived.
        sstkit_table::TableWriter::to_sink(std::io::sink(), &options.set_options(true).table)?;
        let (options, ranges) = (options.clone(), Vec::new());
        Ok(Self { options, target, stage, ranges, external: true, failed: false })
    }

    /// Sets a key to a value.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.point(EntryKind::Value, key, &[], value)
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.point(EntryKind::Deletion, key, &[], &[])
    }

    /// Deletes a key that was put at most once.
    pub fn single_delete(&mut self, key: &[u8]) -> Result<()> {
        self.point(EntryKind::SingleDeletion, key, &[], &[])
    }

    /// Adds an operand for the merge operator.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.point(EntryKind::Merge, key, &[], operand)
    }

    /// Sets a key to named columns, in any order; a plain lookup returns the one with the empty
    /// name.
    pub fn put_entity(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        let mut columns: Vec<_> = columns
            .iter()
            .map(|&(name, value)| WideColumn { name, value: ColumnValue::Inline(value) })
            .collect();
        columns.sort_by_key(|column| column.name);
        let mut entity = Vec::new();
        encode_wide_columns(&columns, &mut entity)?;
        self.point(EntryKind::WideColumnEntity, key, &[], &entity)
    }

    /// Deletes the keys from `begin` (inclusive) to `end` (exclusive) in the database that ingests
    /// the tables. Range deletions are kept in memory.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.range(begin, end, &[], 0)
    }

    /// Sets a key to a value at a timestamp, of the size that the comparator requires.
    pub fn put_at(&mut self, key: &[u8], timestamp: &[u8], value: &[u8]) -> Result<()> {
        self.point(EntryKind::Value, key, timestamp, value)
    }

    /// Deletes a key at a timestamp.
    pub fn delete_at(&mut self, key: &[u8], timestamp: &[u8]) -> Result<()> {
        self.point(EntryKind::DeletionWithTimestamp, key, timestamp, &[])
    }

    /// Adds an operand for the merge operator at a timestamp.
    pub fn merge_at(&mut self, key: &[u8], timestamp: &[u8], operand: &[u8]) -> Result<()> {
        self.point(EntryKind::Merge, key, timestamp, operand)
    }

    /// Deletes a range of keys at a timestamp.
    pub fn delete_range_at(&mut self, begin: &[u8], end: &[u8], timestamp: &[u8]) -> Result<()> {
        self.range(begin, end, timestamp, 0)
    }

    /// Sets keys to values, as [`add`](Self::add) does for each of them. Sorted entries of a run are
    /// not copied on their way to the block.
    ///
    /// # Errors
    ///
    /// Fails at the first entry that is rejected. Those before it have been added.
    pub fn put_run<'r>(
        &mut self,
        run: impl IntoIterator<Item = (&'r [u8], &'r [u8])>,
    ) -> Result<()> {
        let mut run = run.into_iter();
        match &mut self.stage {
            Stage::Streaming(streaming) if self.options.comparator.timestamp_size() == 0 => {
                streaming.put_run(run)
            }
            _ => run.try_for_each(|(key, value)| self.add(EntryKind::Value, key, value)),
        }
    }

    /// Adds an entry of any type with its value as stored; for a range deletion, that is the end
    /// key. If the comparator has timestamps, key and end key include one.
    pub fn add(&mut self, kind: EntryKind, key: &[u8], value: &[u8]) -> Result<()> {
        self.add_internal(&InternalKey { user_key: key, sequence: 0, kind }, value)
    }

    /// Adds an entry with its sequence number, as in a database; otherwise like [`add`](Self::add).
    ///
    /// If any sequence number is not 0, the tables are those of a database, not of `SstFileWriter`:
    /// several versions of a key are kept, newest first, and one for each key and sequence number.
    /// `IngestExternalFile` rejects them. Such entries are always sorted, so they contradict
    /// [`BulkOptions::sorted`].
    pub fn add_internal(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        let InternalKey { user_key, sequence, kind } = *key;
        if sequence != 0 {
            if matches!(self.stage, Stage::Streaming(_)) {
                let what = format!("the sequence number {sequence} contradicts sorted = true");
                return Err(Error::invalid_input(what));
            }
            if sequence > MAX_SEQUENCE_NUMBER {
                let what = format!("the sequence number {sequence} has more than 56 bits");
                return Err(Error::invalid_input(what));
            }
        }
        let size = self.options.comparator.timestamp_size();
        let (bare, timestamp) = split_timestamp(user_key, size)?;
        match kind {
            EntryKind::RangeDeletion => {
                let (end, _) = split_timestamp(value, size)?;
                self.range(bare, end, timestamp, sequence)?;
            }
            _ => self.point_at(kind, bare, timestamp, value, sequence)?,
        }
        self.external &= sequence == 0;
        Ok(())
    }

    /// The number of point entries added so far.
    pub fn entries_added(&self) -> u64 {
        match &self.stage {
            Stage::Sorting(sorter) => sorter.entries(),
            Stage::Streaming(streaming) => streaming.entries(),
        }
    }

    fn point(&mut self, kind: EntryKind, key: &[u8], time: &[u8], value: &[u8]) -> Result<()> {
        self.point_at(kind, key, time, value, 0)
    }

    fn point_at(
        &mut self,
        kind: EntryKind,
        key: &[u8],
        time: &[u8],
        value: &[u8],
        sequence: u64,
    ) -> Result<()> {
        self.check(key, time, value)?;
        if matches!(kind, EntryKind::BlobIndex | EntryKind::ValuePreferredSeqno) {
            let what = format!("{kind:?} of {} is only valid inside a database", KeyExcerpt(key));
            return Err(Error::invalid_input(what));
        }
        let key = match time {
            [] => Cow::Borrowed(key),
            _ => Cow::Owned([key, time].concat()),
        };
        let entry = RawEntry { key: &key, sequence, kind, value };
        match &mut self.stage {
            Stage::Sorting(sorter) => {
                let added = sorter.add(&entry);
                self.failed |= added.is_err();
                added
            }
            Stage::Streaming(streaming) => streaming.add(&entry),
        }
    }

    fn range(&mut self, begin: &[u8], end: &[u8], timestamp: &[u8], sequence: u64) -> Result<()> {
        self.check(begin, timestamp, end)?;
        let order = self.options.comparator.compare_without_timestamp(begin, end);
        if order.is_gt() {
            let (begin, end) = (KeyExcerpt(begin), KeyExcerpt(end));
            let what = format!("the range ends at {end}, before its begin {begin}");
            return Err(Error::invalid_input(what));
        }
        if order.is_eq() {
            return Ok(());
        }
        let range = RangeTombstone::new(begin, end, sequence, timestamp);
        match &mut self.stage {
            Stage::Sorting(_) => self.ranges.push(range),
            Stage::Streaming(streaming) => streaming.add_range(range)?,
        }
        Ok(())
    }

    fn check(&self, key: &[u8], timestamp: &[u8], value: &[u8]) -> Result<()> {
        let refused = |what: String| Err(Error::invalid_input(what));
        if self.failed {
            return refused("an earlier write failed; the tables cannot be finished".into());
        }
        let size = self.options.comparator.timestamp_size();
        if timestamp.len() != size {
            let (length, comparator) = (timestamp.len(), &self.options.comparator);
            return refused(format!(
                "the timestamp has {length} bytes, but {comparator} expects {size}"
            ));
        }
        check_length(key, value)
    }

    /// Sorts the remaining entries, writes the tables and makes them durable.
    ///
    /// # Errors
    ///
    /// Fails if a write fails, on a duplicate key if that is an error, on an entry whose value does
    /// not match its type, and on a single file without entries, which RocksDB rejects.
    ///
    /// The last step syncs the directory. If only that fails, the error says that the tables are in
    /// place: complete, but their names may be lost in a system crash.
    pub fn finish(self) -> Result<BulkSummary> {
        self.finish_labelled(|_| {})
    }

    /// The same, with something to add to the manifest.
    pub(crate) fn finish_labelled(
        self,
        label: impl FnOnce(&mut BulkManifest),
    ) -> Result<BulkSummary> {
        let (target, written) = self.write()?;
        let Written { tables, set_options, summary } = written;
        let manifest = output::commit(target, tables, &set_options, label)?;
        Ok(BulkSummary { manifest, ..summary })
    }

    /// Sorts the remaining entries and adds the tables to a level of a column family, which has no
    /// other data: what an entry deletes is in the same tables.
    ///
    /// # Errors
    ///
    /// Those of [`finish`](Self::finish); a builder that is not for this database.
    pub fn finish_into(
        self,
        writer: &mut DatabaseWriter,
        column_family: u32,
        level: u32,
    ) -> Result<BulkSummary> {
        if self.target.working_folder() != writer.working_folder() {
            return Err(Error::invalid_input("the builder is not for this database"));
        }
        let Written { tables, set_options, summary } = self.write()?.1;
        let manifest = output::add_to_database(writer, column_family, level, tables, &set_options)?;
        Ok(BulkSummary { manifest, ..summary })
    }

    /// Writes all tables.
    fn write(self) -> Result<(OutputTarget, Written)> {
        self.check(&[], &vec![0; self.options.comparator.timestamp_size()], &[])?;
        let Self { options, target, stage, ranges, external, .. } = self;
        let set_options = options.set_options(external);
        let (entries_added, statistics);
        let (tables, duplicates_dropped) = match stage {
            Stage::Streaming(streaming) => {
                (entries_added, statistics) = (streaming.entries(), SortStatistics::default());
                streaming.finish()?
            }
            Stage::Sorting(sorter) => {
                entries_added = sorter.entries();
                let ranges = PendingTombstones::new(ranges, &options.comparator);
                let (temp_files, set_options) = (target.temp_files()?, set_options.clone());
                let set = TableSet::new(temp_files, set_options, FileNumbers::ALL, ranges);
                let sorted = sorter.finish(&options)?;
                statistics = sorted.statistics;
                write_sorted(sorted, &options, set, entries_added)?
            }
        };
        let summary = BulkSummary {
            manifest: BulkManifest::new(Vec::new(), &options.comparator)?,
            entries_added,
            duplicates_dropped,
            runs: statistics.runs,
            spilled_bytes: statistics.spilled_bytes,
            merge_passes: statistics.merge_passes,
        };
        Ok((target, Written { tables, set_options, summary }))
    }
}

/// Finished tables under their temporary names, and the statistics without the manifest.
struct Written {
    tables: Vec<FinishedTable>,
    set_options: SetOptions,
    summary: BulkSummary,
}

/// Writes all entries in order. Returns the tables, and the number of dropped entries.
fn write_sorted(
    sorted: Sorted,
    options: &BulkOptions,
    mut set: TableSet,
    entries: u64,
) -> Result<(Vec<FinishedTable>, u64)> {
    let mut unique = Uniqueness::new(&options.comparator, options.duplicates);
    let progress = Reporter::new(options.progress.clone(), Phase::Writing, Some(entries));
    let mut written = 0;
    sorted.for_each(options.duplicates, |entry| {
        if unique.admits(entry)? {
            written += 1;
            set.add(&entry.internal_key(), entry.value)?;
        }
        progress.step()
    })?;
    progress.report()?;
    Ok((set.finish()?, entries - written))
}

fn split_timestamp(key: &[u8], size: usize) -> Result<(&[u8], &[u8])> {
    key.len().checked_sub(size).map(|bare| key.split_at(bare)).ok_or_else(|| {
        Error::invalid_input(format!("the key {} is shorter than its timestamp", KeyExcerpt(key)))
    })
}

impl std::fmt::Debug for BulkBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BulkBuilder")
            .field("options", &self.options)
            .field("entries", &self.entries_added())
            .finish_non_exhaustive()
    }
}

/// Whether an entry fits into a block.
#[inline]
fn check_length(key: &[u8], value: &[u8]) -> Result<()> {
    let length = key.len().saturating_add(value.len());
    if length <= MAX_ENTRY {
        return Ok(());
    }
    let what = format!("the entry {} of {length} bytes is too large", KeyExcerpt(key));
    Err(Error::invalid_input(what))
}
