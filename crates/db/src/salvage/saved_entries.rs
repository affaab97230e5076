//! The entries that are saved, from sound and damaged tables, memtables and merges, into new tables.

use std::sync::Arc;

use sstkit_table::raw::{Engine, EntryKind, FormatVersion, InternalKey};
use sstkit_table::visibility::{InternalIterator, MergingIterator, Recency, UserKeys};
use sstkit_table::{Comparator, EntryCursor, RangeTombstone, Table, TableOptions};

use super::DatabaseSalvage;
use super::blob_values::Resolved;
use super::found_families::FoundFamily;
use super::table_entries::TableEntries;
use super::table_examination::{Condition, ExaminedTable};
use crate::database_writer::DatabaseWriter;
use crate::error::Result;
use crate::memtable::{Memtable, MemtableCursor};
use crate::output::{
    FileNumbers, FinishedTable, OutputTarget, PendingTombstones, Reporter, SetOptions, TableSet,
};

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
    /// A new table of what is left of one, or of a sound one whose values have to change.
    pub(super) fn rewrite(&self, table: &ExaminedTable) -> Result<Vec<FinishedTable>> {
        let source = TableEntries::open(table, &self.salvage.hints, self.family.order.as_ref())?;
        let blobs = self.salvage.blob_values.reader(self.id);
        let mut set = self.set(source.table_options(), None)?;
        let keys = self.family.keys();
        source.each(&keys, |key, value| {
            self.reporter.add((key.user_key.len() + value.len()) as u64)?;
            if key.kind == EntryKind::RangeDeletion {
                let timestamp = keys.timestamp(key.user_key);
                let (start, end) = (keys.bare(key.user_key), keys.bare(value));
                return set.add_range(RangeTombstone::new(start, end, key.sequence, timestamp));
            }
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
        set.finish()
    }

    /// Tables of the writes of logs.
    pub(super) fn of_memtable(&self, memtable: &Arc<Memtable>) -> Result<Vec<FinishedTable>> {
        let mut set = self.set(None, Some(memtable.range_deletions().to_vec()))?;
        let mut cursor = MemtableCursor::new(memtable);
        let mut more = cursor.seek_to_first()?;
        let mut last: Option<(Vec<u8>, u64)> = None;
        while more {
            let (user_key, sequence, kind) = (cursor.user_key(), cursor.sequence(), cursor.kind());
            // Logs that overlap have the same write twice.
            let is_repeated = last.as_ref().is_some_and(|it| it.0 == user_key && it.1 == sequence);
            if !is_repeated {
                set.add(&InternalKey { user_key, sequence, kind }, cursor.value())?;
                last = Some((user_key.to_vec(), sequence));
            }
            self.reporter.report()?;
            more = cursor.next()?;
        }
        set.finish()
    }

    /// One run of several tables, the newest first, with all versions of all keys.
    pub(super) fn merge(&self, tables: &[Table]) -> Result<Vec<FinishedTable>> {
        let ranges = tables.iter().flat_map(|it| it.range_deletions().iter().cloned()).collect();
        let like = tables.first().and_then(|it| TableOptions::like(it).ok());
        let mut set = self.set(like, Some(ranges))?;
        let keys = UserKeys::new(self.family.order.clone().unwrap_or_default());
        let cursors: Vec<EntryCursor> = tables.iter().map(Table::entry_cursor).collect();
        let mut entries = MergingIterator::new(keys, Recency::BySequence, cursors);
        let mut more = entries.seek_to_first()?;
        let mut last: Option<(Vec<u8>, u64)> = None;
        while more {
            let (user_key, sequence) = (entries.user_key(), entries.sequence());
            if last.as_ref().is_none_or(|it| it.0 != user_key || it.1 != sequence) {
                let kind = entries.kind();
                set.add(&InternalKey { user_key, sequence, kind }, entries.value())?;
                last = Some((user_key.to_vec(), sequence));
            }
            more = entries.next()?;
        }
        set.finish()
    }

    /// New tables like `base`; cut if their range tombstones are known beforehand.
    fn set(
        &self,
        base: Option<TableOptions>,
        ranges: Option<Vec<RangeTombstone>>,
    ) -> Result<TableSet> {
        let engine = self.writer.engine();
        let base = base.filter(|it| it.engine() == engine).unwrap_or_else(|| self.like_others());
        let table = self.writer.table_options(self.id, &base)?;
        let comparator = match &self.family.order {
            Some(order) => order.clone(),
            None => Comparator::Bytewise,
        };
        let max_file_size = ranges.as_ref().map(|_| MAX_FILE_SIZE);
        let ranges = PendingTombstones::new(ranges.unwrap_or_default(), &comparator);
        let options = SetOptions { table, comparator, max_file_size, split_at: Vec::new() };
        let files = OutputTarget::database(self.writer.working_folder()).temp_files()?;
        Ok(TableSet::new(files, options, FileNumbers::ALL, ranges))
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
