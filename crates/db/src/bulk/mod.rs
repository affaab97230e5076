//! Tables made of entries in any order.
//!
//! ```text
//! put, delete, … ---> Sorter ---> one entry of a key ---> TableSet ---> commit
//!                     arenas,     Uniqueness              files         names, manifest.json
//!                     runs
//! ```
//!
//! | file | what |
//! |---|---|
//! | `options.rs` | settings |
//! | `arena.rs`, `key_prefix.rs` | entries in memory, sorted by a number each |
//! | `spill.rs`, `run_merge.rs` | sorted runs on disk, and several of them as one |
//! | `sorter.rs` | sorting within a budget |
//! | `uniqueness.rs` | one entry of a key |
//! | `streaming.rs` | entries that come in order, written as they come |

mod arena;
mod key_prefix;
mod options;
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

use self::arena::RawEntry;
use self::sorter::{SortStatistics, Sorted, Sorter};
use self::streaming::Streaming;
use self::uniqueness::Uniqueness;
use crate::error::{Error, Result};
use crate::output::{
    self, BulkManifest, FileNumbers, FinishedTable, OutputTarget, PendingTombstone,
    PendingTombstones, Phase, Reporter, TableSet, shown,
};

pub use self::options::{BulkOptions, DEFAULT_EXTENSION, DEFAULT_MEMORY, Duplicates};

/// An entry lies in one block, whose offsets have 32 bits.
const MAX_ENTRY: usize = u32::MAX as usize - 64;

/// Makes tables of entries in any order, in bounded memory.
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
/// The tables are what RocksDB's `SstFileWriter` makes, for `IngestExternalFile` (of RocksDB 10.4 and
/// later, unless [`TableOptions::readable_by`](sstkit_table::TableOptions::readable_by) names an older
/// one): sequence number 0 everywhere, one entry for each user key (and timestamp). A range tombstone
/// deletes what the database has before, not the entries beside it.
///
/// With a [file size](BulkOptions::max_file_size) the result is a folder of tables that do not
/// overlap, and a `manifest.json` (see [`BulkManifest`]). Nothing appears under its own name before
/// all is written and synced; a builder that is dropped before leaves nothing behind.
pub struct BulkBuilder {
    options: BulkOptions,
    target: OutputTarget,
    stage: Stage,
    ranges: Vec<PendingTombstone>,
    /// No entry has a sequence number other than 0.
    external: bool,
    /// Something could not be written.
    failed: bool,
}

enum Stage {
    Sorting(Box<Sorter>),
    Streaming(Box<Streaming>),
}

/// What there is to say of the tables that were written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BulkSummary {
    /// Files, keys and sizes: what is in `manifest.json`, where one is written.
    pub manifest: BulkManifest,
    /// Points that were added.
    pub entries_added: u64,
    /// Points that were left out because their key came more than once.
    pub duplicates_dropped: u64,
    /// Sorted runs on disk; 0 if all of it has fit into memory.
    pub runs: u64,
    /// Bytes written for sorting.
    pub spilled_bytes: u64,
    /// Passes over the runs before the last one.
    pub merge_passes: u64,
}

impl BulkBuilder {
    /// Begins tables that go to a file, or with a file size to a folder, of this name.
    ///
    /// # Errors
    ///
    /// Settings that contradict each other; something of that name that may not be replaced.
    pub fn create(path: impl AsRef<Path>, options: &BulkOptions) -> Result<Self> {
        options.check()?;
        let (path, replace) = (path.as_ref(), options.replace);
        let target = match options.max_file_size {
            Some(_) => OutputTarget::folder(path, &options.extension, replace)?,
            None => OutputTarget::file(path, replace)?,
        };
        let temp_dir = options.temp_dir.as_deref().unwrap_or(target.working_folder());
        let stage = match options.sorted {
            true => Stage::Streaming(Box::new(Streaming::new(options, target.workshop()?))),
            false => Stage::Sorting(Box::new(Sorter::new(options, temp_dir.to_path_buf()))),
        };
        // What the table writer refuses, it refuses before all entries are there.
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

    /// Deletes a key that was set once at most.
    pub fn single_delete(&mut self, key: &[u8]) -> Result<()> {
        self.point(EntryKind::SingleDeletion, key, &[], &[])
    }

    /// Adds an operand for the merge operator.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.point(EntryKind::Merge, key, &[], operand)
    }

    /// Sets a key to named columns, in any order; the one with the empty name is what a plain
    /// lookup returns.
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

    /// Deletes the keys from `begin` up to `end`, which is not deleted, in the database that takes
    /// the tables in. Range deletions are held in memory.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.range(begin, end, &[], 0)
    }

    /// Sets a key to a value as of a timestamp, of the length that the comparator has.
    pub fn put_at(&mut self, key: &[u8], timestamp: &[u8], value: &[u8]) -> Result<()> {
        self.point(EntryKind::Value, key, timestamp, value)
    }

    /// Deletes a key as of a timestamp.
    pub fn delete_at(&mut self, key: &[u8], timestamp: &[u8]) -> Result<()> {
        self.point(EntryKind::DeletionWithTimestamp, key, timestamp, &[])
    }

    /// Adds an operand for the merge operator as of a timestamp.
    pub fn merge_at(&mut self, key: &[u8], timestamp: &[u8], operand: &[u8]) -> Result<()> {
        self.point(EntryKind::Merge, key, timestamp, operand)
    }

    /// Deletes a range of keys as of a timestamp.
    pub fn delete_range_at(&mut self, begin: &[u8], end: &[u8], timestamp: &[u8]) -> Result<()> {
        self.range(begin, end, timestamp, 0)
    }

    /// Adds an entry of any kind, its value as it is stored: of a range deletion, the end. The key
    /// ends in a timestamp if the comparator has them, and so does that end.
    pub fn add(&mut self, kind: EntryKind, key: &[u8], value: &[u8]) -> Result<()> {
        self.add_internal(&InternalKey { user_key: key, sequence: 0, kind }, value)
    }

    /// Adds an entry as databases have them, with its sequence number; otherwise as [`add`](Self::add).
    ///
    /// With a sequence number other than 0 anywhere, the tables are those of a database, not of
    /// `SstFileWriter`: several versions of a key stay, the newest first, and of the same key and
    /// sequence number one. `IngestExternalFile` does not take them in. Such entries are always
    /// sorted, so they contradict [`BulkOptions::sorted`].
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

    /// Points that were added so far.
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
            let what = format!("{kind:?} of {} is only valid inside a database", shown(key));
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
            let (begin, end) = (shown(begin), shown(end));
            let what = format!("the range ends at {end}, before its begin {begin}");
            return Err(Error::invalid_input(what));
        }
        if order.is_eq() {
            return Ok(());
        }
        let (start, end, timestamp) = (begin.to_vec(), end.to_vec(), timestamp.to_vec());
        let range = PendingTombstone { start, end, sequence, timestamp };
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
        let length = key.len().saturating_add(value.len());
        if length > MAX_ENTRY {
            return refused(format!("the entry {} of {length} bytes is too large", shown(key)));
        }
        Ok(())
    }

    /// Sorts what is left, writes the tables and makes them last.
    ///
    /// # Errors
    ///
    /// Those of writing; a key that comes more than once, where that is an error; an entry that is
    /// not what its kind says; a single file without entries, which RocksDB does not know.
    ///
    /// The last step syncs the folder. If only that fails, the error says that the tables are **in
    /// target**: complete, but their names may not survive a failure of the system.
    pub fn finish(self) -> Result<BulkSummary> {
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
                let (workshop, set_options) = (target.workshop()?, set_options.clone());
                let set = TableSet::new(workshop, set_options, FileNumbers::ALL, ranges);
                let sorted = sorter.finish(&options)?;
                statistics = sorted.statistics;
                write_sorted(sorted, &options, set, entries_added)?
            }
        };
        let manifest = output::commit(target, tables, &set_options)?;
        Ok(BulkSummary {
            manifest,
            entries_added,
            duplicates_dropped,
            runs: statistics.runs,
            spilled_bytes: statistics.spilled_bytes,
            merge_passes: statistics.merge_passes,
        })
    }
}

/// Writes all entries in order: the tables, and how many entries were left out.
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
        Error::invalid_input(format!("the key {} is shorter than its timestamp", shown(key)))
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
