//! The entries that are saved, from sound and damaged tables, memtables and merges, into new tables.

use std::collections::HashSet;
use std::sync::Arc;

use sstkit_table::raw::{Engine, EntryKind, FormatVersion, InternalKey, property_names as names};
use sstkit_table::visibility::{InternalIterator, MergingIterator, Recency, UserKeys};
use sstkit_table::{RangeTombstone, Table, TableOptions};

use super::DatabaseSalvage;
use super::blob_values::Resolved;
use super::common_keys::blob_references;
use super::found_families::FoundFamily;
use super::level_order::Candidate;
use super::table_entries::TableEntries;
use super::table_examination::{Condition, ExaminedTable};
use crate::database_writer::DatabaseWriter;
use crate::error::{Error, Result};
use crate::memtable::{Memtable, MemtableCursor};
use crate::output::{
    FileNumbers, FinishedTable, OutputTarget, PendingTombstones, Reporter, SetOptions, TableSet,
};
use crate::version::{EndDeletion, TableFile, TableKeyBounds};

/// Tables that are made of a log, or by a merge, end at about this size.
const MAX_FILE_SIZE: u64 = 64 << 20;

/// Writes tables in the working folder of a new database.
pub(super) struct NewTables<'s> {
    pub(super) salvage: &'s DatabaseSalvage,
    pub(super) writer: &'s DatabaseWriter,
    pub(super) reporter: &'s Reporter,
    pub(super) id: u32,
    pub(super) family: &'s FoundFamily,
}

impl NewTables<'_> {
    /// A new table of what is left of one, or of a sound one whose values have to change. For
    /// a folder of tables, range tombstones are truncated to the bounds that the table had.
    pub(super) fn rewrite(
        &self,
        table: &ExaminedTable,
        as_database: bool,
    ) -> Result<Vec<FinishedTable>> {
        let source = TableEntries::open(table, &self.salvage.hints, self.family.order.as_ref())?;
        let blobs = self.salvage.blob_values.reader(self.id);
        let keys = self.family.keys();
        let mut tombstones = Tombstones::default();
        let recorded = table.recorded_bounds(&keys).filter(|_| !as_database);
        let bounds = recorded.as_ref().map(TableFile::key_bounds);
        let of_table = source.tombstones(&keys)?;
        let ranges = of_table.len() + table.shared_tombstones.len();
        tombstones.add(of_table, bounds, &keys);
        tombstones.add(table.shared_tombstones.clone(), bounds, &keys);
        let mut set = self.set(source.table_options(), tombstones, None)?;
        source.each_point(&keys, |key, value| {
            self.reporter.add((key.user_key.len() + value.len()) as u64)?;
            match blobs.resolve(key, value) {
                Resolved::Unchanged => set.add(key, value),
                Resolved::Inline(kind, value) => set.add(&InternalKey { kind, ..*key }, &value),
                Resolved::Lost { .. } => {
                    let kind = match keys.timestamp_size() {
                        0 => EntryKind::Deletion,
                        _ => EntryKind::DeletionWithTimestamp,
                    };
                    set.add(&InternalKey { kind, ..*key }, &[])
                }
            }
        })?;
        let expected = table.entries().saturating_sub(ranges as u64);
        set.require(expected).map_err(|error| error.in_file(&table.path))?;
        set.finish()
    }

    /// Tables of the writes of logs.
    pub(super) fn of_memtable(&self, memtable: &Arc<Memtable>) -> Result<Vec<FinishedTable>> {
        let mut tombstones = Tombstones::default();
        tombstones.add(memtable.range_deletions().to_vec(), None, &self.family.keys());
        let mut set = self.set(None, tombstones, Some(MAX_FILE_SIZE))?;
        set.add_all(&mut MemtableCursor::new(memtable), self.reporter)?;
        set.require(memtable.len() as u64)?;
        set.finish()
    }

    /// One run of several tables, the newest first, with all versions of all keys.
    pub(super) fn merge(&self, tables: &[(Table, Candidate)]) -> Result<Vec<FinishedTable>> {
        let keys = self.family.keys();
        let mut tombstones = Tombstones::default();
        for (table, candidate) in tables {
            let ranges = table.range_deletions().to_vec();
            tombstones.add(ranges, Some(candidate.key_bounds()), &keys);
        }
        let like = tables.first().and_then(|(table, _)| TableOptions::like(table).ok());
        let mut set = self.set(like, tombstones, Some(MAX_FILE_SIZE))?;
        let cursors = tables.iter().map(|(table, _)| table.entry_cursor()).collect();
        set.add_all(&mut MergingIterator::new(keys, Recency::BySequence, cursors), self.reporter)?;
        let points = |table: &Table| {
            let number = |name| table.properties().number(name);
            let ranges = table.range_deletions().len() as u64;
            number(names::NUM_ENTRIES).map(|all| all.saturating_sub(ranges))
        };
        let expected: Option<u64> = tables.iter().map(|(table, _)| points(table)).sum();
        // LevelDB's tables do not say how many entries they have.
        expected.map_or(Ok(()), |expected| set.require(expected))?;
        set.finish()
    }

    /// New tables like `base`.
    fn set(
        &self,
        base: Option<TableOptions>,
        tombstones: Tombstones,
        max_file_size: Option<u64>,
    ) -> Result<SavedEntries> {
        let engine = self.writer.engine();
        let base = base.filter(|it| it.engine() == engine).unwrap_or_else(|| self.like_others());
        let table = self.writer.table_options(self.id, &base)?;
        let keys = self.family.keys();
        let comparator = keys.comparator().clone();
        let ranges = PendingTombstones::new(tombstones.ranges, &comparator);
        let options = SetOptions { table, comparator, max_file_size, split_at: Vec::new() };
        let files = OutputTarget::database(self.writer.working_folder()).temp_files()?;
        let set = TableSet::new(files, options, FileNumbers::ALL, ranges);
        let mut ends = tombstones.ends;
        ends.sort_by(|a, b| {
            keys.compare_stored(&b.key, &a.key).then_with(|| a.sequence.cmp(&b.sequence))
        });
        let blobs = HashSet::new();
        Ok(SavedEntries { set, keys, ends, last: None, blobs, read: 0, written: 0 })
    }

    /// As OPTIONS say, or like a sound table of the column family.
    fn like_others(&self) -> TableOptions {
        let (salvage, family) = (self.salvage, self.family);
        let like = || {
            let sound = |it: &&ExaminedTable| matches!(it.condition, Condition::Sound { .. });
            let table = family.tables.iter().rfind(sound)?;
            TableOptions::like(&table.open(&salvage.hints, family.order.as_ref()).ok()?).ok()
        };
        match self.writer.engine() {
            Engine::LevelDb => like().unwrap_or_else(TableOptions::leveldb),
            Engine::RocksDb => {
                // All versions since 2019 read this one.
                let base = TableOptions::rocksdb().format_version(FormatVersion::V5);
                match salvage.options_file.sections().is_empty() {
                    true => like().unwrap_or(base),
                    false => salvage.options_file.table_options(&family.name, 0, base),
                }
            }
        }
    }
}

/// Range tombstones that are written, cut to the bounds of their tables.
#[derive(Default)]
struct Tombstones {
    ranges: Vec<RangeTombstone>,
    ends: Vec<EndDeletion>,
}

impl Tombstones {
    fn add(
        &mut self,
        ranges: Vec<RangeTombstone>,
        bounds: Option<TableKeyBounds<'_>>,
        keys: &UserKeys,
    ) {
        let Some(bounds) = bounds else {
            self.ranges.extend(ranges);
            return;
        };
        for range in ranges {
            let truncated = bounds.truncate(range, keys);
            self.ranges.extend(truncated.range);
            self.ends.extend(truncated.end);
        }
    }
}

/// Entries in order, to which the deletions at the ends of range tombstones are added.
struct SavedEntries {
    set: TableSet,
    keys: UserKeys,
    /// The next one last.
    ends: Vec<EndDeletion>,
    /// The key and the sequence number of the last entry.
    last: Option<(Vec<u8>, u64)>,
    /// Versions of that key that refer to blob files.
    blobs: HashSet<Vec<u8>>,
    /// Entries that were read, without range tombstones.
    read: u64,
    /// Those that were written: not those of two tables that are the same.
    written: u64,
}

impl SavedEntries {
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        self.read += 1;
        while let Some(end) = self.ends.last() {
            let order = self.keys.compare_stored(&end.key, key.user_key);
            let order = order.then_with(|| key.sequence.cmp(&end.sequence));
            if order.is_gt() {
                break;
            }
            // A range tombstone does not delete what has its own sequence number.
            let end = self.ends.pop().filter(|_| order.is_lt());
            end.map_or(Ok(()), |end| self.write_end(&end))?;
        }
        if self.last.as_ref().is_none_or(|it| it.0 != key.user_key) {
            self.blobs.clear();
        }
        // Logs and tables that overlap have the same write twice, the second time sometimes with
        // the sequence number 0.
        let blobs = blob_references(key.kind, value);
        let is_repeated =
            self.last.as_ref().is_some_and(|it| it.0 == key.user_key && it.1 == key.sequence);
        if is_repeated || blobs.as_ref().is_some_and(|it| self.blobs.contains(it)) {
            return Ok(());
        }
        self.blobs.extend(blobs);
        self.set.add(key, value)?;
        self.written += 1;
        self.last = Some((key.user_key.to_vec(), key.sequence));
        Ok(())
    }

    fn write_end(&mut self, end: &EndDeletion) -> Result<()> {
        let EndDeletion { key, sequence, kind } = end;
        self.written += 1;
        self.set.add(&InternalKey { user_key: key, sequence: *sequence, kind: *kind }, &[])
    }

    fn add_all(&mut self, entries: &mut impl InternalIterator, reporter: &Reporter) -> Result<()> {
        let mut more = entries.seek_to_first()?;
        while more {
            let (sequence, kind) = (entries.sequence(), entries.kind());
            let key = InternalKey { user_key: entries.user_key(), sequence, kind };
            self.add(&key, entries.value())?;
            reporter.report()?;
            more = entries.next()?;
        }
        Ok(())
    }

    /// Fails if another number of entries was read than the report says.
    fn require(&self, expected: u64) -> Result<()> {
        let what = "another number of entries than reported was read: it has changed, or its keys have \
                    another order (use --comparator)";
        match self.read == expected {
            true => Ok(()),
            false => Err(Error::mismatch(what, expected, self.read)),
        }
    }

    fn finish(mut self) -> Result<Vec<FinishedTable>> {
        while let Some(end) = self.ends.pop() {
            self.write_end(&end)?;
        }
        let tables = self.set.finish()?;
        let points = tables.iter().map(|it| it.entry.entries - it.entry.range_deletions);
        let points: u64 = points.sum();
        match self.written == points {
            true => Ok(tables),
            false => Err(Error::mismatch("not all entries were written", self.written, points)),
        }
    }
}
