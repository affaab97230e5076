//! What takes entries.

use sstkit_db::{BulkBuilder, PartWriter};
use sstkit_table::TableWriter;
use sstkit_table::raw::{EntryKind, InternalKey};

use crate::error::{Error, Result};

/// What takes entries, one by one.
pub trait EntrySink {
    /// Adds an entry with its value as stored. If the comparator has timestamps, the key includes one.
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()>;

    /// Adds a run of values with sequence number 0, which has the effect of adding each of them. Sinks
    /// override it where a run costs less than its entries.
    fn add_run<'r, I>(&mut self, run: I) -> Result<()>
    where
        Self: Sized,
        I: DoubleEndedIterator<Item = (&'r [u8], &'r [u8])> + Clone,
    {
        let mut run = run;
        run.try_for_each(|(user_key, value)| {
            self.add(&InternalKey { user_key, sequence: 0, kind: EntryKind::Value }, value)
        })
    }
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

    #[inline]
    fn add_run<'r, I>(&mut self, run: I) -> Result<()>
    where
        I: DoubleEndedIterator<Item = (&'r [u8], &'r [u8])> + Clone,
    {
        Ok(self.put_run(run)?)
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

    #[inline]
    fn add_run<'r, I>(&mut self, run: I) -> Result<()>
    where
        I: DoubleEndedIterator<Item = (&'r [u8], &'r [u8])> + Clone,
    {
        Ok(self.put_run(run)?)
    }
}
