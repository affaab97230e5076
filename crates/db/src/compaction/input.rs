//! The inputs of a compaction: sorted entries, each with its range tombstones.
//!
//! ```text
//! a table                            one file
//! a level of a database, from 1 on   files in key order, each opened when it is reached
//! a memtable                         entries in memory
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sstkit_table::raw::BlobIndex;
use sstkit_table::visibility::{InternalIterator, ReadView, UserKeys};
use sstkit_table::{RangeTombstone, Table, Value};

use super::boundaries::InputPosition;
use crate::column_family_data::ColumnFamilyData;
use crate::error::{Error, Result};
use crate::memtable::{Memtable, MemtableCursor};
use crate::output::without_timestamp;
use crate::read::{MemtableOrRun, RunCursor, TableRun};
use crate::version::TableFile;

/// A source of sorted entries.
pub(super) struct Input {
    pub(super) origin: Origin,
    pub(super) ranges: Vec<RangeTombstone>,
    /// The size of its files in bytes.
    pub(super) size: u64,
    /// The number of point entries, if known.
    pub(super) entries: Option<u64>,
    /// The view that limits what is visible, if any.
    pub(super) view: Option<(ReadView, UserKeys)>,
    /// The recency of its source, larger is newer, if sources take precedence over sequence numbers.
    pub(super) age: usize,
    /// Whether its entries are stored entries, not the ends of truncated range tombstones.
    pub(super) is_written: bool,
}

pub(super) enum Origin {
    /// In key order.
    Files(Vec<InputFile>),
    Memory(Arc<ColumnFamilyData>, Arc<Memtable>),
}

#[derive(Clone)]
pub(super) enum InputFile {
    /// A single table.
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
            ranges: table.range_deletions().to_vec(),
            size: table.size(),
            entries: points.filter(|&points| points > 0),
            view: None,
            age: 0,
            is_written: true,
        }
    }

    /// Whether two inputs are of one column family: then the same sequence number is the same
    /// write.
    pub(super) fn shares_numbers(&self, other: &Self) -> bool {
        let family = |input: &Self| input.family().filter(|_| input.is_written).map(Arc::as_ptr);
        family(self).is_some_and(|this| family(other) == Some(this))
    }

    /// The column family that it is of.
    pub(super) fn family(&self) -> Option<&Arc<ColumnFamilyData>> {
        match &self.origin {
            Origin::Memory(family, _) => Some(family),
            Origin::Files(files) => files.iter().find_map(|file| match file {
                InputFile::Live(family, _) => Some(family),
                InputFile::Alone(_) => None,
            }),
        }
    }

    /// A cursor at the first entry at or after `start`.
    pub(super) fn cursor(&self, start: Option<&[u8]>) -> Result<InputCursor> {
        let mut cursor = match &self.origin {
            Origin::Files(files) => InputCursor::Run(RunCursor::new(files.clone())),
            Origin::Memory(_, memtable) => InputCursor::Memtable(MemtableCursor::new(memtable)),
        };
        match start {
            Some(start) => cursor.seek(start)?,
            None => cursor.seek_to_first()?,
        };
        Ok(cursor)
    }

    /// Its files, if any.
    pub(super) fn files(&self) -> &[InputFile] {
        match &self.origin {
            Origin::Files(files) => files,
            Origin::Memory(..) => &[],
        }
    }

    /// Whether its entries are stored entries of files.
    pub(super) fn is_in_files(&self) -> bool {
        matches!(self.origin, Origin::Files(_))
    }

    /// The name of the file that `cursor` is in, if any.
    pub(super) fn file(&self, cursor: &InputCursor) -> Option<PathBuf> {
        let InputCursor::Run(cursor) = cursor else { return None };
        self.path(cursor.at())
    }

    /// The name of one of its files, if any.
    pub(super) fn path(&self, file: usize) -> Option<PathBuf> {
        match self.files().get(file)?.open() {
            Ok(table) => table.path().map(Path::to_path_buf),
            Err(_) => None,
        }
    }

    /// Whether an entry is visible in the view.
    pub(super) fn sees(&self, user_key: &[u8], sequence: u64) -> bool {
        let seen = |(view, keys): &(ReadView, UserKeys)| {
            view.sees(sequence, keys.timestamp(user_key), keys)
        };
        self.view.as_ref().is_none_or(seen)
    }

    /// The value of a reference in the entry of `user_key` that `cursor` is at; `whole` contains
    /// the reference.
    pub(super) fn blob(
        &self,
        cursor: &InputCursor,
        index: &BlobIndex<'_>,
        user_key: &[u8],
        whole: &Value,
    ) -> Result<Value> {
        if let BlobIndex::Inlined { value, .. } = index {
            return Ok(whole.slice_ref(value));
        }
        let file = match cursor {
            InputCursor::Run(cursor) => self.files().get(cursor.at()),
            InputCursor::Memtable(_) => None,
        };
        match (&self.origin, file) {
            (Origin::Memory(family, _), _) => family.stored_blob(index, user_key, None),
            (_, Some(InputFile::Live(family, file))) => {
                family.stored_blob(index, user_key, Some(file))
            }
            (_, Some(InputFile::Alone(table))) => blob_of_table(table, index, user_key),
            (Origin::Files(_), None) => Err(Error::corrupt("a blob index without a blob file")),
        }
    }
}

fn blob_of_table(table: &Table, index: &BlobIndex<'_>, user_key: &[u8]) -> Result<Value> {
    match index {
        BlobIndex::Stored { file: file @ 1.., .. } => Err(Error::unsupported(format!(
            "the value of \"{}\" is in blob file {file:06}, outside this table: compact the whole \
             database instead",
            user_key.escape_ascii()
        ))),
        _ => Ok(table.embedded_blob(index)?),
    }
}

impl InputFile {
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

    /// Whether all keys of the file are before `key`, as far as the metadata tells.
    pub(super) fn is_before(&self, key: &[u8]) -> bool {
        match self {
            Self::Alone(_) => false,
            Self::Live(family, file) => file.is_before(key, &family.keys),
        }
    }

    /// Whether all keys of the file are after `key`, as far as the metadata tells.
    pub(super) fn is_after(&self, key: &[u8]) -> bool {
        match self {
            Self::Alone(_) => false,
            Self::Live(family, file) => file.is_after(key, &family.keys),
        }
    }

    /// The first and the last key, without timestamps; `None` without entries.
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
}

/// Moves over the entries of an input.
pub(super) type InputCursor = MemtableOrRun<Vec<InputFile>>;

/// The file of a cursor, if any.
pub(super) fn position(cursor: &InputCursor) -> InputPosition {
    let InputCursor::Run(cursor) = cursor else { return None };
    Some((cursor.at(), cursor.entries()?.position()?))
}

impl TableRun for Vec<InputFile> {
    fn len(&self) -> usize {
        self.len()
    }

    fn first_at(&self, key: &[u8]) -> usize {
        self.partition_point(|file| file.is_before(key))
    }

    fn first_after(&self, key: &[u8]) -> usize {
        self.partition_point(|file| !file.is_after(key))
    }

    fn open(&self, at: usize) -> Result<Table> {
        self[at].open()
    }

    fn missing_timestamp(&self, at: usize, table: &Table) -> usize {
        match &self[at] {
            InputFile::Live(family, _) => family.missing_timestamp(table),
            InputFile::Alone(_) => 0,
        }
    }
}
