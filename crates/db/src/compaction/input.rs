//! What is merged: sorted sequences of entries, each with its range deletions.
//!
//! ```text
//! a table                            one file
//! a level of a database, from 1 on   files one after the other, each opened when its turn comes
//! a memtable                         entries in memory
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sstkit_table::raw::{BlobIndex, EntryKind};
use sstkit_table::{EntryCursor, Table, Value};

use super::boundaries::InputPosition;
use crate::column_family_data::{ColumnFamilyData, part};
use crate::error::{Error, Result};
use crate::keys::Keys;
use crate::memtable::{Memtable, MemtableCursor};
use crate::merging_iterator::{EntrySource, SortedEntries, either_sorted_entries};
use crate::output::{PendingTombstone, without_timestamp};
use crate::read_view::ReadView;
use crate::version::TableFile;

/// A sorted sequence of entries.
pub(super) struct Input {
    pub(super) origin: Origin,
    pub(super) ranges: Vec<PendingTombstone>,
    /// Bytes of its files.
    pub(super) size: u64,
    /// Points, where that is known.
    pub(super) entries: Option<u64>,
    /// What of it counts, if not all.
    pub(super) view: Option<(ReadView, Keys)>,
    /// How new its source is, the larger the newer, where sources count before sequence numbers.
    pub(super) age: usize,
    /// Its entries were written by the database; else they stand for the ends of range deletions.
    pub(super) is_written: bool,
}

pub(super) enum Origin {
    /// One after the other.
    Files(Vec<InputFile>),
    Memory(Arc<ColumnFamilyData>, Arc<Memtable>),
}

/// A file of an input.
#[derive(Clone)]
pub(super) enum InputFile {
    /// A table on its own.
    Alone(Table),
    /// A file of a level.
    Live(Arc<ColumnFamilyData>, Arc<TableFile>),
}

impl Input {
    pub(super) fn table(table: &Table) -> Self {
        let properties = table.properties();
        let points = properties.num_entries().checked_sub(properties.num_range_deletions());
        Self {
            origin: Origin::Files(vec![InputFile::Alone(table.clone())]),
            ranges: table.range_deletions().iter().map(PendingTombstone::from).collect(),
            size: table.size(),
            entries: points.filter(|&points| points > 0),
            view: None,
            age: 0,
            is_written: true,
        }
    }

    /// Whether two inputs are of one column family: then the same number is the same write, which
    /// counts once.
    pub(super) fn shares_numbers(&self, other: &Self) -> bool {
        let family = |input: &Self| match &input.origin {
            Origin::Memory(family, _) if input.is_written => Some(Arc::as_ptr(family)),
            Origin::Memory(..) => None,
            Origin::Files(files) => files.iter().find_map(|file| match file {
                InputFile::Live(family, _) => Some(Arc::as_ptr(family)),
                InputFile::Alone(_) => None,
            }),
        };
        family(self).is_some_and(|this| family(other) == Some(this))
    }

    /// A cursor at the first entry that is not before `start`.
    pub(super) fn cursor(&self, start: Option<&[u8]>) -> Result<InputCursor> {
        match &self.origin {
            Origin::Files(files) => FileCursor::new(files, start).map(InputCursor::Files),
            Origin::Memory(_, memtable) => {
                let mut cursor = MemtableCursor::new(memtable);
                match start {
                    Some(start) => cursor.seek(start)?,
                    None => cursor.seek_to_first()?,
                };
                Ok(InputCursor::Memory(cursor))
            }
        }
    }

    /// Its files, if it has any.
    pub(super) fn files(&self) -> &[InputFile] {
        match &self.origin {
            Origin::Files(files) => files,
            Origin::Memory(..) => &[],
        }
    }

    /// Whether its entries are as files have them.
    pub(super) fn is_in_files(&self) -> bool {
        matches!(self.origin, Origin::Files(_))
    }

    /// The name of the file that `cursor` is in, if it has one.
    pub(super) fn file(&self, cursor: &InputCursor) -> Option<PathBuf> {
        let InputCursor::Files(cursor) = cursor else { return None };
        self.path(cursor.at)
    }

    /// The name of one of its files, if it has one.
    pub(super) fn path(&self, file: usize) -> Option<PathBuf> {
        match self.files().get(file)?.open() {
            Ok(table) => table.path().map(Path::to_path_buf),
            Err(_) => None,
        }
    }

    /// Whether an entry counts.
    pub(super) fn sees(&self, user_key: &[u8], sequence: u64) -> bool {
        let seen =
            |(view, keys): &(ReadView, Keys)| view.sees(sequence, keys.timestamp(user_key), keys);
        self.view.as_ref().is_none_or(seen)
    }

    /// The value that a reference leads to, in the entry of `user_key` that `cursor` is at; `whole`
    /// holds the reference.
    pub(super) fn blob(
        &self,
        cursor: &InputCursor,
        index: &BlobIndex<'_>,
        user_key: &[u8],
        whole: &Value,
    ) -> Result<Value> {
        match (&self.origin, cursor) {
            (Origin::Memory(family, _), _) => family.blob(index, user_key, None, whole),
            (Origin::Files(files), InputCursor::Files(cursor)) => match files.get(cursor.at) {
                Some(InputFile::Live(family, file)) => {
                    family.blob(index, user_key, Some(file), whole)
                }
                Some(InputFile::Alone(table)) => blob_of_table(table, index, user_key, whole),
                None => Err(Error::corrupt("a blob index without a blob file")),
            },
            (Origin::Files(_), InputCursor::Memory(_)) => {
                Err(Error::corrupt("a blob index without a blob file"))
            }
        }
    }
}

fn blob_of_table(
    table: &Table,
    index: &BlobIndex<'_>,
    user_key: &[u8],
    whole: &Value,
) -> Result<Value> {
    match index {
        BlobIndex::Inlined { value, .. } => Ok(part(whole, value)),
        BlobIndex::Stored { file: 0, .. } => Ok(table.embedded_blob(index)?),
        BlobIndex::Stored { file, .. } => Err(Error::unsupported(format!(
            "the value of \"{}\" is in blob file {file:06}, outside this table: compact the whole \
             database instead",
            user_key.escape_ascii()
        ))),
    }
}

impl InputFile {
    /// The table, opened.
    pub(super) fn open(&self) -> Result<Table> {
        match self {
            Self::Alone(table) => Ok(table.clone()),
            Self::Live(family, file) => family.table(file),
        }
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Alone(table) => table.size(),
            Self::Live(_, file) => file.meta.size,
        }
    }

    /// Whether all keys of the file are before `key`, as far as that is known without opening it.
    pub(super) fn is_before(&self, key: &[u8]) -> bool {
        match self {
            Self::Alone(_) => false,
            Self::Live(family, file) => file.is_before(key, &family.keys),
        }
    }

    /// Whether all keys of the file are behind `key`, as far as that is known without opening it.
    pub(super) fn is_after(&self, key: &[u8]) -> bool {
        match self {
            Self::Alone(_) => false,
            Self::Live(family, file) => file.is_after(key, &family.keys),
        }
    }

    /// The first and the last key, without timestamps of this size; `None` without entries.
    pub(super) fn key_range(&self, timestamp_size: usize) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let table = match self {
            Self::Alone(table) => table,
            Self::Live(_, file) => {
                return Ok(Some((file.smallest().to_vec(), file.largest().to_vec())));
            }
        };
        let mut cursor = table.entry_cursor();
        if !cursor.seek_to_first()? {
            return Ok(None);
        }
        let first = without_timestamp(cursor.user_key(), timestamp_size).to_vec();
        cursor.seek_to_last()?;
        Ok(Some((first, without_timestamp(cursor.user_key(), timestamp_size).to_vec())))
    }

    /// Bytes of timestamp that its keys should have and do not.
    fn missing_timestamp(&self, table: &Table) -> usize {
        match self {
            Self::Live(family, _) if !table.properties().has_persisted_timestamps() => {
                family.keys.timestamp_size()
            }
            _ => 0,
        }
    }
}

/// Goes over the entries of an input.
#[expect(clippy::large_enum_variant, reason = "there is one memtable, and many tables")]
pub(super) enum InputCursor {
    Files(FileCursor),
    Memory(MemtableCursor),
}

either_sorted_entries!(InputCursor: Files, Memory);

impl InputCursor {
    /// Where it is, if that is in a file.
    pub(super) fn position(&self) -> InputPosition {
        let Self::Files(cursor) = self else { return None };
        Some((cursor.at, cursor.entries.as_ref()?.position()?))
    }
}

/// Goes over the entries of files, one after the other.
pub(super) struct FileCursor {
    files: Vec<InputFile>,
    at: usize,
    entries: Option<EntryCursor>,
    missing_timestamp: usize,
    /// The current key with the timestamp that its table does not keep: the smallest there is.
    stamped: Vec<u8>,
}

impl FileCursor {
    /// At the first entry that is not before `start`.
    fn new(files: &[InputFile], start: Option<&[u8]>) -> Result<Self> {
        let mut cursor = Self {
            files: files.to_vec(),
            at: 0,
            entries: None,
            missing_timestamp: 0,
            stamped: Vec::new(),
        };
        cursor.start(start)?;
        Ok(cursor)
    }

    fn start(&mut self, start: Option<&[u8]>) -> Result<bool> {
        if let Some(start) = start {
            self.at = self.files.partition_point(|file| file.is_before(start));
        }
        let more = match (self.open()?, start) {
            (Some(entries), Some(start)) => entries.seek(start)?,
            (Some(entries), None) => entries.seek_to_first()?,
            (None, _) => return Ok(false),
        };
        self.settle(more)
    }

    /// Opens the current file, if there is one.
    fn open(&mut self) -> Result<Option<&mut EntryCursor>> {
        self.entries = None;
        let Some(file) = self.files.get(self.at) else { return Ok(None) };
        let table = file.open()?;
        self.missing_timestamp = file.missing_timestamp(&table);
        Ok(Some(self.entries.insert(table.entry_cursor())))
    }

    /// After a move in the current file; where that has ended, to the first entry after it.
    fn settle(&mut self, mut more: bool) -> Result<bool> {
        while !more {
            self.at += 1;
            more = match self.open()? {
                Some(entries) => entries.seek_to_first()?,
                None => return Ok(false),
            };
        }
        if let (true, Some(entries)) = (self.missing_timestamp > 0, &self.entries) {
            self.stamped.clear();
            self.stamped.extend_from_slice(entries.user_key());
            self.stamped.resize(self.stamped.len() + self.missing_timestamp, 0);
        }
        Ok(true)
    }
}

impl SortedEntries for FileCursor {
    fn is_valid(&self) -> bool {
        self.entries.as_ref().is_some_and(EntryCursor::is_valid)
    }

    fn user_key(&self) -> &[u8] {
        match &self.entries {
            Some(_) if self.missing_timestamp > 0 => &self.stamped,
            Some(entries) => entries.user_key(),
            None => &[],
        }
    }

    fn sequence(&self) -> u64 {
        self.entries.as_ref().map_or(0, EntryCursor::sequence)
    }

    fn kind(&self) -> EntryKind {
        self.entries.as_ref().map_or(EntryKind::Value, EntryCursor::kind)
    }

    fn value(&self) -> &[u8] {
        self.entries.as_ref().map_or(&[], EntryCursor::value)
    }

    fn value_handle(&self) -> Value {
        self.entries.as_ref().map_or_else(Value::default, EntryCursor::value_handle)
    }

    fn next(&mut self) -> Result<bool> {
        let more = match &mut self.entries {
            Some(entries) => entries.next()?,
            None => return Ok(false),
        };
        self.settle(more)
    }
}
