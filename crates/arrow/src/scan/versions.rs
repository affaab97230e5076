//! Rows of everything that is stored: every version of every key, then the range deletions.

use std::collections::HashMap;

use sstkit_db::{ColumnFamily, DatabaseEntries, DatabaseEntry, LevelTombstone};
use sstkit_inspect::{InspectedTable, names};
use sstkit_table::raw::EntryKind;
use sstkit_table::visibility::{BoundedEntries, Direction};
use sstkit_table::{
    EmbeddedBlobBudget, EntryCursor, ErrorKind, RangeTombstone, ReadOptions, Value,
};

use super::batches::Rows;
use super::builders::ColumnBuilders;
use crate::error::Result;

/// The entries of a table in file order, or backward.
pub(super) struct TableVersions {
    file: InspectedTable,
    entries: BoundedEntries<EntryCursor>,
    blobs: EmbeddedBlobBudget,
    ranges: std::vec::IntoIter<RangeTombstone>,
}

impl TableVersions {
    pub(super) fn new(file: InspectedTable, scan: &ReadOptions, direction: Direction) -> Self {
        let table = file.table();
        let order = table.comparator().ok();
        let ranges = table.range_deletions().iter().filter(|it| scan.selects(it, order));
        Self {
            entries: table.entries_with(scan, direction),
            blobs: EmbeddedBlobBudget::new(table.size()),
            ranges: directed(ranges.cloned().collect(), direction),
            file,
        }
    }

    fn append_entry(&self, columns: &mut ColumnBuilders) -> Result<()> {
        let entry = self.entries.entries();
        let key = entry.key();
        let timestamp = self.file.timestamp(key.user_key).unwrap_or_default();
        columns.append_key(self.file.bare(key.user_key), timestamp)?;
        columns.append_version(key.sequence, names::entry_kind(key.kind), None)?;
        if !columns.wants_values() {
            return Ok(());
        }
        let (table, value) = (self.file.table(), entry.value_handle());
        self.blobs.spend(key.kind, &value)?;
        if key.kind == EntryKind::WideColumnEntity {
            return columns.append_entity(&table.resolve_columns(&value)?);
        }
        match table.resolve(key.kind, &value) {
            Ok(value) => columns.append_value(Some(value)),
            // In a blob file, which a single table does not have.
            Err(error)
                if error.kind() == ErrorKind::Unsupported && key.kind == EntryKind::BlobIndex =>
            {
                columns.append_value(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Rows for TableVersions {
    fn fill(&mut self, columns: &mut ColumnBuilders, rows: usize, bytes: usize) -> Result<bool> {
        while columns.rows() < rows && columns.bytes() < bytes {
            if self.entries.advance()? {
                self.append_entry(columns)?;
                continue;
            }
            let Some(range) = self.ranges.next() else { return Ok(false) };
            append_range(&range, None, columns)?;
        }
        Ok(true)
    }
}

/// The same in the direction of a scan.
fn directed<T>(mut all: Vec<T>, direction: Direction) -> std::vec::IntoIter<T> {
    if direction == Direction::Backward {
        all.reverse();
    }
    all.into_iter()
}

/// The entries of a column family, by key and then newest first.
pub(super) struct DatabaseVersions {
    family: ColumnFamily,
    entries: DatabaseEntries,
    direction: Direction,
    ranges: std::vec::IntoIter<LevelTombstone>,
    /// The names of the tables, by number.
    files: HashMap<u64, String>,
}

impl DatabaseVersions {
    pub(super) fn new(
        family: &ColumnFamily,
        scan: &ReadOptions,
        direction: Direction,
    ) -> Result<Self> {
        let files = family.levels().into_iter().flat_map(|level| level.files);
        let files = files.filter_map(|file| {
            let name = file.path().file_name()?.to_string_lossy().into_owned();
            Some((file.number(), name))
        });
        Ok(Self {
            entries: family.entries_with(scan),
            direction,
            ranges: directed(family.range_deletions_with(scan)?, direction),
            files: files.collect(),
            family: family.clone(),
        })
    }

    fn file(&self, number: Option<u64>) -> Option<&str> {
        self.files.get(&number?).map(String::as_str)
    }

    fn append_entry(&self, entry: &DatabaseEntry, columns: &mut ColumnBuilders) -> Result<()> {
        columns.append_key(&entry.key, &entry.timestamp)?;
        let kind = names::entry_kind(entry.kind);
        columns.append_version(entry.sequence, kind, self.file(entry.file))?;
        if !columns.wants_values() {
            return Ok(());
        }
        match entry.kind {
            EntryKind::WideColumnEntity => {
                columns.append_entity(&self.family.resolve_columns(entry)?)
            }
            _ => columns.append_value(Some(self.family.resolve(entry)?)),
        }
    }
}

impl Rows for DatabaseVersions {
    fn fill(&mut self, columns: &mut ColumnBuilders, rows: usize, bytes: usize) -> Result<bool> {
        while columns.rows() < rows && columns.bytes() < bytes {
            let next = match self.direction {
                Direction::Forward => self.entries.next(),
                Direction::Backward => self.entries.next_back(),
            };
            if let Some(entry) = next.transpose()? {
                self.append_entry(&entry, columns)?;
                continue;
            }
            let Some(range) = self.ranges.next() else { return Ok(false) };
            append_range(&range, self.file(range.file), columns)?;
        }
        Ok(true)
    }
}

/// A range deletion: from its key to its value.
fn append_range(
    range: &RangeTombstone,
    file: Option<&str>,
    columns: &mut ColumnBuilders,
) -> Result<()> {
    columns.append_key(&range.start, &range.timestamp)?;
    let kind = names::entry_kind(EntryKind::RangeDeletion);
    columns.append_version(range.sequence, kind, file)?;
    match columns.wants_values() {
        true => columns.append_value(Some(Value::from(range.end.clone()))),
        false => Ok(()),
    }
}
