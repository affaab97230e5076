//! Sizes and split points of key ranges, by the indexes of the tables alone.

use std::ops::Bound;

use sstkit_table::{KeyBounds, KeySamples};

use crate::column_family::ColumnFamily;
use crate::error::Result;

impl ColumnFamily {
    /// The approximate size of the data blocks with the keys of a range, in all tables, as stored. Reads
    /// only the indexes of the tables at its ends; values in blob files and in the write-ahead logs
    /// are not included. (RocksDB's `GetApproximateSizes`.)
    ///
    /// # Errors
    ///
    /// Fails, besides damage, if the comparator is unknown.
    pub fn approximate_size(&self, range: impl KeyBounds) -> Result<u64> {
        self.family().require_order()?;
        let (lower, upper) = range.into_key_range();
        let keys = &self.family().keys;
        let mut bytes = 0;
        for file in self.family().version.files() {
            let is_outside = match (&lower, &upper) {
                (Bound::Included(key) | Bound::Excluded(key), _) if file.is_before(key, keys) => {
                    true
                }
                (_, Bound::Included(key) | Bound::Excluded(key)) => file.is_after(key, keys),
                _ => false,
            };
            if !is_outside {
                let table = self.family().table(file)?;
                bytes += table.approximate_size((lower.clone(), upper.clone()))?;
            }
        }
        Ok(bytes)
    }

    /// Keys, without timestamps and in order, that split the tables into about `parts` parts with the
    /// same number of stored bytes. Reads only their indexes.
    ///
    /// # Errors
    ///
    /// Fails, besides damage, if the comparator is unknown.
    pub fn split_keys(&self, parts: usize) -> Result<Vec<Vec<u8>>> {
        let mut samples = KeySamples::default();
        for file in self.family().version.files() {
            for block in self.family().table(file)?.index()? {
                let block = block?;
                samples.offer(&block.separator, block.handle.size);
            }
        }
        samples.split_keys(parts.max(1), &[], self.comparator()?)
    }
}
