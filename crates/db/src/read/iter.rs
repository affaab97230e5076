//! Iterators over the visible keys of a column family, from both ends.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

use sstkit_table::visibility::{BothEnds, Direction, VisibleIterator};
use sstkit_table::{Record, ScanOptions, Value};

use super::cursor::{self, FamilySource};
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;

/// Iterates over keys and values of a column family, in both directions.
///
/// An error ends it. It keeps the files it needs open, and may outlive the database.
pub struct DatabaseIter {
    family: Arc<ColumnFamilyData>,
    options: ScanOptions,
    ends: BothEnds<FamilySource>,
}

impl DatabaseIter {
    pub(crate) fn new(family: &Arc<ColumnFamilyData>, options: ScanOptions) -> Self {
        Self { family: Arc::clone(family), options, ends: BothEnds::default() }
    }

    /// Iterates over the same keys, from the current position, with complete records.
    pub fn records(self) -> DatabaseRecords {
        DatabaseRecords { iter: self }
    }

    /// Iterates over the same keys without their values, from here on: blobs are not read.
    pub fn keys(self) -> DatabaseKeys {
        DatabaseKeys { iter: self }
    }

    fn take_from<T>(
        &mut self,
        direction: Direction,
        show: impl FnOnce(&VisibleIterator<FamilySource>) -> Result<T>,
    ) -> Option<Result<T>> {
        let Self { family, options, ends } = self;
        ends.take(direction, || cursor::visible(family, options), show)
    }
}

/// Iterates over [`Record`]s of a column family, in both directions: like [`DatabaseIter`], but
/// with timestamps, columns, and operands that cannot be merged.
pub struct DatabaseRecords {
    iter: DatabaseIter,
}

/// Iterates over keys of a column family and their timestamps, in both directions. Values are not
/// read.
pub struct DatabaseKeys {
    iter: DatabaseIter,
}

fn pair(visible: &VisibleIterator<FamilySource>) -> Result<(Vec<u8>, Value)> {
    Ok((visible.key().to_vec(), visible.value()?))
}

impl Iterator for DatabaseIter {
    type Item = Result<(Vec<u8>, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take_from(Direction::Forward, pair)
    }
}

impl DoubleEndedIterator for DatabaseIter {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.take_from(Direction::Backward, pair)
    }
}

impl FusedIterator for DatabaseIter {}

impl Iterator for DatabaseRecords {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.iter.take_from(Direction::Forward, VisibleIterator::record)?.transpose()
    }
}

impl DoubleEndedIterator for DatabaseRecords {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.iter.take_from(Direction::Backward, VisibleIterator::record)?.transpose()
    }
}

impl FusedIterator for DatabaseRecords {}

fn key(visible: &VisibleIterator<FamilySource>) -> Result<(Vec<u8>, Vec<u8>)> {
    Ok((visible.key().to_vec(), visible.timestamp().to_vec()))
}

impl Iterator for DatabaseKeys {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.iter.take_from(Direction::Forward, key)
    }
}

impl DoubleEndedIterator for DatabaseKeys {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.iter.take_from(Direction::Backward, key)
    }
}

impl FusedIterator for DatabaseKeys {}

impl fmt::Debug for DatabaseKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseKeys").field("options", &self.iter.options).finish_non_exhaustive()
    }
}

impl fmt::Debug for DatabaseIter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseIter").field("options", &self.options).finish_non_exhaustive()
    }
}

impl fmt::Debug for DatabaseRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseRecords")
            .field("options", &self.iter.options)
            .finish_non_exhaustive()
    }
}
