//! All entries of a column family, visible or not.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Bound;
use std::sync::Arc;

use sstkit_coding::debug_struct;
use sstkit_table::raw::EntryKind;
use sstkit_table::visibility::{
    Base, BoundedEntries, Direction, InternalIterator, MergingIterator,
};
use sstkit_table::{ReadOptions, Value};

use super::source::{self, SourceIterator};
use crate::column_family_data::ColumnFamilyData;
use crate::error::{Error, Result};
use crate::version::TableFile;

/// An entry of the write-ahead log or of a table.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatabaseEntry {
    /// The user's key, without timestamp.
    pub key: Vec<u8>,
    /// Its timestamp; empty if keys have none.
    pub timestamp: Vec<u8>,
    /// Its sequence number.
    pub sequence: u64,
    /// Its kind.
    pub kind: EntryKind,
    /// The value as stored: columns and references are not resolved.
    pub value: Value,
    /// The level of its file; `None` in the write-ahead log.
    pub level: Option<u32>,
    /// The number of its file; `None` in the write-ahead log.
    pub file: Option<u64>,
}

debug_struct!(DatabaseEntry { key: bytes, timestamp: bytes, sequence, kind, value, level, file });

/// Iterates over the entries of a column family that a scan selects, in both directions: by key, then
/// newest first. An error ends it.
///
/// If the comparator is unknown: source by source, forward only. First the write-ahead log in the
/// order of the writes, then each table as stored, the newest first.
pub struct DatabaseEntries {
    family: Arc<ColumnFamilyData>,
    scan: Arc<ReadOptions>,
    /// If the comparator is unknown, the remaining sources, the next one last.
    unordered: Option<Vec<Entries>>,
    front: Option<Entries>,
    back: Option<Entries>,
    ended: bool,
}

type Entries = BoundedEntries<MergingIterator<SourceIterator>>;

impl DatabaseEntries {
    pub(crate) fn new(family: &Arc<ColumnFamilyData>, scan: &ReadOptions) -> Self {
        let each = || {
            let bounded = |it| BoundedEntries::new(it, &family.keys, scan, Direction::Forward);
            source::each(family).into_iter().map(bounded).collect()
        };
        let unordered = family.settings.unknown_order.is_some().then(each);
        let (family, scan) = (Arc::clone(family), Arc::new(scan.clone()));
        Self { family, scan, unordered, front: None, back: None, ended: false }
    }

    /// The next entry of the current source.
    fn advance_unordered(&mut self, forward: bool) -> Result<Option<DatabaseEntry>> {
        // Bounds have a meaning only in an order.
        let is_all = (self.scan.lower_bound(), self.scan.upper_bound());
        if !forward || is_all != (Bound::Unbounded, Bound::Unbounded) {
            self.family.require_order()?;
        }
        let sources = self.unordered.get_or_insert_default();
        while let Some(source) = sources.last_mut() {
            if source.advance()? {
                return Ok(Some(entry_of(&self.family, source.entries())));
            }
            sources.pop();
        }
        self.family.require_all_tables()?;
        Ok(None)
    }

    fn advance(&mut self, forward: bool) -> Result<Option<DatabaseEntry>> {
        if self.unordered.is_some() {
            return self.advance_unordered(forward);
        }
        let Self { family, scan, front, back, .. } = self;
        let (this, other) = if forward { (front, back) } else { (back, front) };
        let direction = if forward { Direction::Forward } else { Direction::Backward };
        let all = || BoundedEntries::new(source::all(family, scan), &family.keys, scan, direction);
        let this = this.get_or_insert_with(all);
        let more = this.advance()?;
        let is_taken = |other: &Entries| is_same(other.entries(), this.entries());
        match more && !other.as_ref().is_some_and(is_taken) {
            true => Ok(Some(entry_of(family, this.entries()))),
            false => {
                family.require_all_tables()?;
                Ok(None)
            }
        }
    }

    fn take(&mut self, forward: bool) -> Option<Result<DatabaseEntry>> {
        if self.ended {
            return None;
        }
        let taken = self.advance(forward).transpose();
        self.ended = !matches!(taken, Some(Ok(_)));
        taken
    }
}

/// Whether both are at the same entry. No source has two with the same key and sequence number.
fn is_same(a: &MergingIterator<SourceIterator>, b: &MergingIterator<SourceIterator>) -> bool {
    a.is_valid()
        && a.source() == b.source()
        && a.sequence() == b.sequence()
        && a.user_key() == b.user_key()
}

/// The current entry.
pub(crate) fn entry_of(
    family: &ColumnFamilyData,
    entries: &MergingIterator<SourceIterator>,
) -> DatabaseEntry {
    let (user_key, file) = (entries.user_key(), source::file(entries));
    DatabaseEntry {
        key: family.keys.bare(user_key).to_vec(),
        timestamp: family.keys.timestamp(user_key).to_vec(),
        sequence: entries.sequence(),
        kind: entries.kind(),
        value: entries.value_handle(),
        level: file.map(|file| file.level),
        file: file.map(|file| file.meta.number),
    }
}

/// The base of an entry, from which its value is resolved.
pub(crate) fn base_of(
    family: &ColumnFamilyData,
    entry: &DatabaseEntry,
) -> Result<Base<Option<Arc<TableFile>>>> {
    let file = match entry.file {
        None => None,
        Some(number) => {
            let file = family.version.files().find(|file| file.meta.number == number);
            Some(file.cloned().ok_or_else(|| {
                Error::invalid_input(format!(
                    "the entry is from table {number}, which column family {:?} does not have",
                    family.name
                ))
            })?)
        }
    };
    let (kind, value) = (entry.kind, entry.value.clone());
    let user_key = [&entry.key[..], &entry.timestamp].concat();
    Ok(Base { kind, value, user_key, origin: Some(file) })
}

impl Iterator for DatabaseEntries {
    type Item = Result<DatabaseEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take(true)
    }
}

impl DoubleEndedIterator for DatabaseEntries {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.take(false)
    }
}

impl FusedIterator for DatabaseEntries {}

impl fmt::Debug for DatabaseEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseEntries").field("ended", &self.ended).finish_non_exhaustive()
    }
}
