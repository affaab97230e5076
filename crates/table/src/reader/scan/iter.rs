//! Iterators over the visible keys and values of a table, from both ends.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

use crate::error::Result;
use crate::reader::open::core::Core;
use crate::reader::scan::cursor::{self, TableSource};
use crate::reader::scan::scan_options::ScanOptions;
use crate::reader::value::Value;
use crate::visibility::{BothEnds, Direction, Record, VisibleIterator};

/// Iterates over keys and values of a [`Table`](crate::Table), in both directions.
///
/// An error ends it. It keeps the table open, and may outlive the `Table`.
pub struct Iter {
    core: Arc<Core>,
    options: ScanOptions,
    ends: BothEnds<TableSource>,
}

impl Iter {
    pub(crate) fn new(core: &Arc<Core>, options: ScanOptions) -> Self {
        Self { core: Arc::clone(core), options, ends: BothEnds::default() }
    }

    /// Iterates over the same keys, from the current position, with complete records.
    pub fn records(self) -> Records {
        Records { iter: self }
    }

    fn take_from<T>(
        &mut self,
        direction: Direction,
        show: impl FnOnce(&VisibleIterator<TableSource>) -> Result<T>,
    ) -> Option<Result<T>> {
        let Self { core, options, ends } = self;
        ends.take(direction, || Ok(cursor::visible(core, options)), show)
    }
}

/// Iterates over [`Record`]s of a [`Table`](crate::Table), in both directions: like [`Iter`], but
/// with timestamps, columns, and operands that cannot be merged.
pub struct Records {
    iter: Iter,
}

fn pair(visible: &VisibleIterator<TableSource>) -> Result<(Vec<u8>, Value)> {
    Ok((visible.key().to_vec(), visible.value()?))
}

impl Iterator for Iter {
    type Item = Result<(Vec<u8>, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take_from(Direction::Forward, pair)
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.take_from(Direction::Backward, pair)
    }
}

impl FusedIterator for Iter {}

impl Iterator for Records {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.iter.take_from(Direction::Forward, VisibleIterator::record)?.transpose()
    }
}

impl DoubleEndedIterator for Records {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.iter.take_from(Direction::Backward, VisibleIterator::record)?.transpose()
    }
}

impl FusedIterator for Records {}

impl fmt::Debug for Iter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("options", &self.options).finish_non_exhaustive()
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("options", &self.iter.options).finish_non_exhaustive()
    }
}
