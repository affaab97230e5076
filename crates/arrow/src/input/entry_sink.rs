//! What takes entries.

use sstkit_db::{BulkBuilder, PartWriter};
use sstkit_table::TableWriter;
use sstkit_table::raw::{EntryKind, InternalKey};

use crate::error::Result;

/// What takes entries, one by one.
pub trait EntrySink {
    /// Adds an entry with its value as stored. If the comparator has timestamps, the key includes one.
    fn add(&mut self, kind: EntryKind, key: &[u8], value: &[u8]) -> Result<()>;
}

impl EntrySink for TableWriter<'_> {
    #[inline]
    fn add(&mut self, kind: EntryKind, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(Self::add(self, &InternalKey { user_key: key, sequence: 0, kind }, value)?)
    }
}

impl EntrySink for BulkBuilder {
    #[inline]
    fn add(&mut self, kind: EntryKind, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(Self::add(self, kind, key, value)?)
    }
}

impl EntrySink for PartWriter {
    #[inline]
    fn add(&mut self, kind: EntryKind, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(Self::add(self, kind, key, value)?)
    }
}
