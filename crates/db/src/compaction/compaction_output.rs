//! Outputs of a compaction other than files.

use sstkit_table::raw::InternalKey;
use sstkit_table::{RangeTombstone, TableWriter};

use crate::error::Result;
use crate::output::write_range_tombstone;

/// Takes the entries of a compaction in place of files: a [`TableWriter`] over any sink, or whatever
/// the entries should become. See [`Compaction::run_to`](crate::Compaction::run_to).
pub trait CompactionOutput {
    /// The next entry, in the order of the keys; newer versions of a key come first.
    fn entry(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()>;

    /// The next range tombstone, in the order of their start keys, after all entries.
    fn range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()>;
}

/// The comparator of its options must be that of the inputs. Unless all sequence numbers become zero,
/// the table must not be an [external file](sstkit_table::TableOptions::external_file).
impl<W> CompactionOutput for TableWriter<'_, W> {
    fn entry(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        self.add(key, value)
    }

    fn range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        write_range_tombstone(self, tombstone)
    }
}
