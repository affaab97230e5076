//! What takes entries.

use sstkit_db::{BulkBuilder, PartWriter};
use sstkit_table::TableWriter;
use sstkit_table::raw::InternalKey;

use crate::error::{Error, Result};

/// What takes entries, one by one.
pub trait EntrySink {
    /// Adds an entry with its value as stored. If the comparator has timestamps, the key includes one.
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()>;
}

impl<W> EntrySink for TableWriter<'_, W> {
    #[inline]
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        Ok(Self::add(self, key, value)?)
    }
}

impl EntrySink for BulkBuilder {
    #[inline]
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        Ok(self.add_internal(key, value)?)
    }
}

impl EntrySink for PartWriter {
    #[inline]
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        if key.sequence != 0 {
            return Err(Error::invalid("the parts of a build have no sequence numbers"));
        }
        Ok(Self::add(self, key.kind, key.user_key, value)?)
    }
}
