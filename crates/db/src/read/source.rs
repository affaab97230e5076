//! Where entries come from: the memtable, or a run of tables.

use std::sync::Arc;

use sstkit_table::ScanOptions;

use super::run_cursor::RunCursor;
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::memtable::MemtableCursor;
use crate::merging_iterator::{EntrySource, MergingIterator, either_sorted_entries};
use crate::version::TableFile;

/// One of the sorted sequences that make up a column family.
#[expect(clippy::large_enum_variant, reason = "there is one memtable, and many runs")]
pub(super) enum Source {
    Memtable(MemtableCursor),
    Run(RunCursor),
}

/// All entries of a column family, in order.
pub(super) fn all(
    family: &Arc<ColumnFamilyData>,
    scan: &Arc<ScanOptions>,
) -> MergingIterator<Source> {
    let memtable = Source::Memtable(MemtableCursor::new(&family.memtable));
    let runs = family.version.runs.iter();
    let runs = runs.map(|run| Source::Run(RunCursor::new(family, run, scan)));
    let sources = std::iter::once(memtable).chain(runs).collect();
    MergingIterator::new(family.keys.comparator().clone(), family.version.recency, sources)
}

/// The sources of a column family whose order is not known, each on its own: the memtable in the
/// order of the writes, and each run. The one to begin with comes last.
pub(super) fn each(family: &Arc<ColumnFamilyData>) -> Vec<MergingIterator<Source>> {
    let scan = Arc::new(ScanOptions::default());
    let memtable = Arc::new(family.memtable.in_order_of_writes());
    let memtable = Source::Memtable(MemtableCursor::new(&memtable));
    let runs = family.version.runs.iter().rev();
    let runs = runs.map(|run| Source::Run(RunCursor::new(family, run, &scan)));
    let comparator = family.keys.comparator();
    let alone =
        |source| MergingIterator::new(comparator.clone(), family.version.recency, vec![source]);
    runs.chain([memtable]).map(alone).collect()
}

/// The table of the current entry; `None` for the memtable.
pub(super) fn file(entries: &MergingIterator<Source>) -> Option<&Arc<TableFile>> {
    match entries.sources().get(entries.source()?)? {
        Source::Memtable(_) => None,
        Source::Run(run) => run.file(),
    }
}

/// The same call on whatever source it is.
macro_rules! either {
    ($source:expr, $cursor:ident => $call:expr) => {
        match $source {
            Source::Memtable($cursor) => $call,
            Source::Run($cursor) => $call,
        }
    };
}

either_sorted_entries!(Source: Memtable, Run);

impl EntrySource for Source {
    fn seek_to_first(&mut self) -> Result<bool> {
        either!(self, cursor => cursor.seek_to_first())
    }

    fn seek_to_last(&mut self) -> Result<bool> {
        either!(self, cursor => cursor.seek_to_last())
    }

    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        either!(self, cursor => cursor.seek(key))
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        either!(self, cursor => cursor.seek_for_prev(key))
    }

    fn prev(&mut self) -> Result<bool> {
        either!(self, cursor => cursor.prev())
    }
}
