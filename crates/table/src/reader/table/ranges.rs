//! Where keys are in the file, by the index alone: no data block is read.

use std::iter::FusedIterator;
use std::ops::Bound;

use sstkit_coding::debug_struct;

use super::Table;
use crate::error::Result;
use crate::index::index_cursor::{Access, IndexCursor};
use crate::index::position::IndexPosition;
use crate::key_samples::KeySamples;
use crate::raw::{BlockHandle, IndexWalk, Trailer};
use crate::reader::KeyBounds;

impl Table {
    /// The offset in the file of the data block where `key` is, or would be; behind the last key, the
    /// end of the data blocks. Reads only the index. (RocksDB's and LevelDB's `ApproximateOffsetOf`.)
    ///
    /// # Errors
    ///
    /// Fails, besides damage, if the comparator is unknown.
    pub fn approximate_offset(&self, key: &[u8]) -> Result<u64> {
        let core = &*self.core;
        core.require_order()?;
        let search = core.keys.newest(key);
        let mut cursor = None;
        let found = IndexPosition::seek(core, &mut cursor, &search.before(), Access::Counted)?;
        match found.map(|position| position.handle().offset) {
            Some(offset) => Ok(offset),
            None => self.end_of_data(),
        }
    }

    /// The approximate size of the data blocks with the keys of a range, as stored. Reads only the
    /// index; up to a block at each end may be missing or too much. (RocksDB's `GetApproximateSizes`.)
    ///
    /// ```
    /// # use sstkit_table::{Table, TableOptions, TableWriter};
    /// # let mut bytes = Vec::new();
    /// # let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb())?;
    /// # for number in 0..10_000u32 {
    /// #     writer.put(format!("user{number:05}").as_bytes(), &number.wrapping_mul(0x9e37_79b9).to_le_bytes())?;
    /// # }
    /// # writer.finish()?;
    /// let table = Table::from_bytes(bytes)?;
    /// let (all, half) = (table.approximate_size(..)?, table.approximate_size("user05000"..)?);
    /// assert!(half.abs_diff(all / 2) < 16 << 10);
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails, besides damage, if the comparator is unknown.
    pub fn approximate_size(&self, range: impl KeyBounds) -> Result<u64> {
        let (lower, upper) = range.into_key_range();
        let start = match &lower {
            Bound::Included(key) | Bound::Excluded(key) => self.approximate_offset(key)?,
            Bound::Unbounded => 0,
        };
        let end = match &upper {
            Bound::Included(key) | Bound::Excluded(key) => self.approximate_offset(key)?,
            Bound::Unbounded => self.end_of_data()?,
        };
        Ok(end.saturating_sub(start))
    }

    /// Where the last data block ends; 0 if there is none.
    fn end_of_data(&self) -> Result<u64> {
        let mut index = IndexCursor::lent(&self.core, Access::Counted)?;
        match index.last()? {
            true => Ok(stored_end(index.handle())),
            false => Ok(0),
        }
    }

    /// Keys, without timestamps and in order, that split the table into about `parts` parts with the
    /// same number of stored bytes. Reads only the index, so parts are at least one block each, and
    /// there may be fewer.
    ///
    /// # Errors
    ///
    /// Fails, besides damage, if the comparator is unknown.
    pub fn split_keys(&self, parts: usize) -> Result<Vec<Vec<u8>>> {
        let mut samples = KeySamples::default();
        for block in self.index()? {
            let block = block?;
            samples.offer(&block.separator, block.handle.size);
        }
        samples.split_keys(parts.max(1), &[], self.comparator()?)
    }

    /// Iterates over the index, without reading data blocks.
    ///
    /// ```no_run
    /// # use sstkit_table::Table;
    /// for block in Table::open("users.sst")?.index()? {
    ///     let block = block?;
    ///     println!("up to {}: {}", block.separator.escape_ascii(), block.handle);
    /// }
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn index(&self) -> Result<IndexIter<'_>> {
        Ok(IndexIter { table: self, index: Some(self.view().index()?) })
    }
}

fn stored_end(handle: BlockHandle) -> u64 {
    handle.offset.saturating_add(handle.size).saturating_add(Trailer::LENGTH as u64)
}

/// A data block, as the index has it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexedBlock {
    /// A user key, without timestamp, that is not less than those in the block, and not greater than
    /// those in the following ones.
    pub separator: Vec<u8>,
    /// The place of the block.
    pub handle: BlockHandle,
    /// The first user key of the block, without timestamp, if the index has it.
    pub first_key: Option<Vec<u8>>,
}

debug_struct!(IndexedBlock { separator: bytes, handle, first_key: bytes });

/// Iterates over the index of a table: one item per data block. An error ends it.
#[derive(Debug)]
pub struct IndexIter<'t> {
    table: &'t Table,
    /// `None` after the end.
    index: Option<IndexWalk<'t, 'static>>,
}

impl Iterator for IndexIter<'_> {
    type Item = Result<IndexedBlock>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.index.as_mut()?;
        let item = match index.advance() {
            Ok(false) => None,
            Ok(true) => {
                let keys = &self.table.core.keys;
                let bare = |key| keys.bare(keys.stored_user_key(key, false)).to_vec();
                Some(Ok(IndexedBlock {
                    separator: self.table.separator_key(index.key()).to_vec(),
                    handle: index.handle(),
                    first_key: index.first_key().map(bare),
                }))
            }
            Err(error) => Some(Err(self.table.core.blocks.in_file(error))),
        };
        if !matches!(item, Some(Ok(_))) {
            self.index = None;
        }
        item
    }
}

impl FusedIterator for IndexIter<'_> {}
