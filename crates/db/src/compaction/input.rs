//! What is merged: sorted sequences of entries, each with its range deletions.
//!
//! ```text
//! a table                            one file
//! a level of a database, from 1 on   files one after the other, each opened when its turn comes
//! a memtable                         entries in memory
//! ```

use std::sync::Arc;

use sstkit_table::raw::{BlobIndex, EntryKind};
use sstkit_table::{EntryCursor, Table, Value};

use crate::error::{Error, Result};
use crate::merging::{EntrySource, SortedEntries};
use crate::output::PendingRange;

/// A file of an input.
pub(super) trait InputFile: Send + Sync {
    /// The table, opened.
    fn open(&self) -> Result<Table>;

    /// Whether all keys of the file are before `key`, as far as that is known without opening it.
    fn is_before(&self, key: &[u8]) -> bool;

    /// Bytes of timestamp that its keys should have and do not.
    fn missing_timestamp(&self, table: &Table) -> usize;

    /// The value that a reference in an entry of `user_key` leads to; `whole` holds the reference.
    fn blob(&self, index: &BlobIndex<'_>, user_key: &[u8], whole: &Value) -> Result<Value>;
}

impl InputFile for Table {
    fn open(&self) -> Result<Table> {
        Ok(self.clone())
    }

    fn is_before(&self, _key: &[u8]) -> bool {
        false
    }

    fn missing_timestamp(&self, _table: &Table) -> usize {
        0
    }

    fn blob(&self, index: &BlobIndex<'_>, user_key: &[u8], whole: &Value) -> Result<Value> {
        match index {
            BlobIndex::Inlined { value, .. } => {
                Ok(whole.clone().into_bytes().slice_ref(value).into())
            }
            BlobIndex::Stored { file: 0, .. } => Ok(self.embedded_blob(index)?),
            BlobIndex::Stored { file, .. } => Err(Error::unsupported(format!(
                "the value of \"{}\" is in the blob file {file:06}, which only its database knows: \
                 compact the database instead",
                user_key.escape_ascii()
            ))),
        }
    }
}

/// Entries that are in memory already.
pub(super) trait InMemory: Send + Sync {
    /// A cursor over them.
    fn cursor(&self) -> Box<dyn EntrySource>;

    /// The value that a reference in an entry leads to.
    fn blob(&self, index: &BlobIndex<'_>, user_key: &[u8], whole: &Value) -> Result<Value>;
}

/// A sorted sequence of entries.
pub(super) struct Input {
    pub(super) origin: Origin,
    pub(super) ranges: Vec<PendingRange>,
    /// Bytes of its files.
    pub(super) size: u64,
    /// Points, where that is known.
    pub(super) entries: Option<u64>,
}

pub(super) enum Origin {
    /// One after the other.
    Files(Vec<Arc<dyn InputFile>>),
    Memory(Arc<dyn InMemory>),
}

impl Input {
    pub(super) fn table(table: &Table) -> Self {
        let properties = table.properties();
        let points = properties.num_entries().checked_sub(properties.num_range_deletions());
        Self {
            origin: Origin::Files(vec![Arc::new(table.clone())]),
            ranges: table.range_deletions().iter().map(PendingRange::from).collect(),
            size: table.size(),
            entries: points.filter(|&points| points > 0),
        }
    }

    /// A cursor at the first entry that is not before `start`.
    pub(super) fn cursor(&self, start: Option<&[u8]>) -> Result<InputCursor> {
        match &self.origin {
            Origin::Files(files) => {
                let mut cursor = FileCursor {
                    files: files.clone(),
                    at: 0,
                    entries: None,
                    missing_timestamp: 0,
                    stamped: Vec::new(),
                };
                cursor.start(start)?;
                Ok(InputCursor::Files(Box::new(cursor)))
            }
            Origin::Memory(memory) => {
                let mut cursor = memory.cursor();
                match start {
                    Some(start) => cursor.seek(start)?,
                    None => cursor.seek_to_first()?,
                };
                Ok(InputCursor::Memory(Arc::clone(memory), cursor))
            }
        }
    }
}

/// Goes over the entries of an input.
pub(super) enum InputCursor {
    Files(Box<FileCursor>),
    Memory(Arc<dyn InMemory>, Box<dyn EntrySource>),
}

impl InputCursor {
    /// The value that a reference in the current entry leads to.
    pub(super) fn blob(
        &self,
        index: &BlobIndex<'_>,
        user_key: &[u8],
        whole: &Value,
    ) -> Result<Value> {
        match self {
            Self::Files(cursor) => match cursor.files.get(cursor.at) {
                Some(file) => file.blob(index, user_key, whole),
                None => Err(Error::corrupt("a reference to a value, and no file it is in")),
            },
            Self::Memory(memory, _) => memory.blob(index, user_key, whole),
        }
    }
}

/// Goes over the entries of files, one after the other.
pub(super) struct FileCursor {
    files: Vec<Arc<dyn InputFile>>,
    at: usize,
    entries: Option<EntryCursor>,
    missing_timestamp: usize,
    /// The current key with the timestamp that its table does not keep: the smallest there is.
    stamped: Vec<u8>,
}

impl FileCursor {
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

/// The same call on whatever cursor it is.
macro_rules! either {
    ($self:expr, $cursor:ident => $call:expr) => {
        match $self {
            InputCursor::Files($cursor) => $call,
            InputCursor::Memory(_, $cursor) => $call,
        }
    };
}

impl SortedEntries for InputCursor {
    fn is_valid(&self) -> bool {
        either!(self, cursor => cursor.is_valid())
    }

    fn user_key(&self) -> &[u8] {
        either!(self, cursor => cursor.user_key())
    }

    fn sequence(&self) -> u64 {
        either!(self, cursor => cursor.sequence())
    }

    fn kind(&self) -> EntryKind {
        either!(self, cursor => cursor.kind())
    }

    fn value(&self) -> &[u8] {
        either!(self, cursor => cursor.value())
    }

    fn value_handle(&self) -> Value {
        either!(self, cursor => cursor.value_handle())
    }

    fn next(&mut self) -> Result<bool> {
        either!(self, cursor => cursor.next())
    }
}
