//! The sources of entries: the memtable, and runs of tables.

use std::ops::Bound;
use std::sync::Arc;

use sstkit_table::raw::EntryKind;
use sstkit_table::visibility::{InternalIterator, MergingIterator, Recency};
use sstkit_table::{EntryCursor, ReadOptions, Table, Value};

use super::run_cursor::{RunCursor, TableRun};
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::memtable::MemtableCursor;
use crate::version::{Run, TableFile};

/// The entries of a memtable or of a run of tables.
#[expect(clippy::large_enum_variant, reason = "there is one memtable, and many runs")]
pub enum MemtableOrRun<R> {
    Memtable(MemtableCursor),
    Run(RunCursor<R>),
}

sstkit_coding::debug_opaque!([R] MemtableOrRun<R>);

/// One of the sorted sources of a column family.
pub(crate) type SourceIterator = MemtableOrRun<ScannedRun>;

/// A run of a column family, and the scan that reads it.
pub struct ScannedRun {
    family: Arc<ColumnFamilyData>,
    run: Arc<Run>,
    scan: Arc<ReadOptions>,
}

sstkit_coding::debug_opaque!(ScannedRun);

impl TableRun for ScannedRun {
    fn len(&self) -> usize {
        self.run.files.len()
    }

    fn first_at(&self, key: &[u8]) -> usize {
        self.run.first_at(key, &self.family.keys)
    }

    fn first_after(&self, key: &[u8]) -> usize {
        self.run.first_after(key, &self.family.keys)
    }

    fn open(&self, at: usize) -> Result<Table> {
        self.family.table(&self.run.files[at])
    }

    fn may_match(&self, table: &Table, key: Option<&[u8]>, backward: bool) -> Result<bool> {
        table.may_match(&self.scan, key, backward)
    }

    fn entry_cursor(&self, table: &Table) -> EntryCursor {
        table.entry_cursor_with(&self.scan)
    }

    fn missing_timestamp(&self, _: usize, table: &Table) -> usize {
        self.family.missing_timestamp(table)
    }

    fn is_out_of_range(&self, at: usize, backward: bool) -> bool {
        let (keys, file) = (&self.family.keys, &self.run.files[at]);
        match (backward, self.scan.lower_bound(), self.scan.upper_bound()) {
            (false, _, Bound::Included(bound)) => keys.compare(file.smallest(), bound).is_gt(),
            (false, _, Bound::Excluded(bound)) => keys.compare(file.smallest(), bound).is_ge(),
            (true, Bound::Included(bound) | Bound::Excluded(bound), _) => {
                keys.compare(file.largest(), bound).is_lt()
            }
            _ => false,
        }
    }
}

pub(super) fn all(
    family: &Arc<ColumnFamilyData>,
    scan: &Arc<ReadOptions>,
) -> MergingIterator<SourceIterator> {
    entries_of_runs(family, true, &family.version.runs, scan)
}

/// The same, but entries of a key are ordered only by sequence number, regardless of their source.
pub(crate) fn entries_by_sequence(
    family: &Arc<ColumnFamilyData>,
    scan: &Arc<ReadOptions>,
) -> MergingIterator<SourceIterator> {
    let sources = sources(family, true, &family.version.runs, scan);
    MergingIterator::new(family.keys.clone(), Recency::BySequence, sources)
}

/// The entries of some runs and, if requested, of the memtable, merged.
pub(crate) fn entries_of_runs(
    family: &Arc<ColumnFamilyData>,
    memtable: bool,
    runs: &[Arc<Run>],
    scan: &Arc<ReadOptions>,
) -> MergingIterator<SourceIterator> {
    let sources = sources(family, memtable, runs, scan);
    MergingIterator::new(family.keys.clone(), family.version.recency, sources)
}

/// The sources, newest first.
fn sources(
    family: &Arc<ColumnFamilyData>,
    memtable: bool,
    runs: &[Arc<Run>],
    scan: &Arc<ReadOptions>,
) -> Vec<SourceIterator> {
    let memtable =
        memtable.then(|| SourceIterator::Memtable(MemtableCursor::new(&family.memtable)));
    let runs = runs.iter().map(|run| run_source(family, run, scan));
    memtable.into_iter().chain(runs).collect()
}

/// The sources of a column family with an unknown comparator, each on its own: the memtable in the
/// order of the writes, and each run. The first one to read comes last.
pub(crate) fn each(family: &Arc<ColumnFamilyData>) -> Vec<MergingIterator<SourceIterator>> {
    let scan = Arc::new(ReadOptions::default());
    let memtable = Arc::new(family.memtable.in_order_of_writes());
    let memtable = SourceIterator::Memtable(MemtableCursor::new(&memtable));
    let runs = family.version.runs.iter().rev().map(|run| run_source(family, run, &scan));
    let alone =
        |source| MergingIterator::new(family.keys.clone(), family.version.recency, vec![source]);
    runs.chain([memtable]).map(alone).collect()
}

fn run_source(
    family: &Arc<ColumnFamilyData>,
    run: &Arc<Run>,
    scan: &Arc<ReadOptions>,
) -> SourceIterator {
    let (family, run, scan) = (Arc::clone(family), Arc::clone(run), Arc::clone(scan));
    SourceIterator::Run(RunCursor::new(ScannedRun { family, run, scan }))
}

/// The table of the current entry; `None` for the memtable.
pub(crate) fn file(entries: &MergingIterator<SourceIterator>) -> Option<&Arc<TableFile>> {
    match entries.sources().get(entries.source()?)? {
        SourceIterator::Memtable(_) => None,
        SourceIterator::Run(cursor) => cursor.run().run.files.get(cursor.at()),
    }
}

/// Calls the same method on either cursor.
macro_rules! either {
    ($source:expr, $cursor:ident => $call:expr) => {
        match $source {
            MemtableOrRun::Memtable($cursor) => $call,
            MemtableOrRun::Run($cursor) => $call,
        }
    };
}

impl<R: TableRun> InternalIterator for MemtableOrRun<R> {
    #[inline]
    fn is_valid(&self) -> bool {
        either!(self, cursor => cursor.is_valid())
    }

    #[inline]
    fn is_first_of_user_key(&mut self, timestamp_size: usize) -> bool {
        either!(self, cursor => cursor.is_first_of_user_key(timestamp_size))
    }

    #[inline]
    fn user_key(&self) -> &[u8] {
        either!(self, cursor => cursor.user_key())
    }

    #[inline]
    fn sequence(&self) -> u64 {
        either!(self, cursor => cursor.sequence())
    }

    #[inline]
    fn kind(&self) -> EntryKind {
        either!(self, cursor => cursor.kind())
    }

    #[inline]
    fn value(&self) -> &[u8] {
        either!(self, cursor => cursor.value())
    }

    fn value_handle(&self) -> Value {
        either!(self, cursor => cursor.value_handle())
    }

    #[inline]
    fn next(&mut self) -> Result<bool> {
        either!(self, cursor => cursor.next())
    }

    #[inline]
    fn next_user_key(&mut self, timestamp_size: usize) -> Result<bool> {
        either!(self, cursor => cursor.next_user_key(timestamp_size))
    }

    fn prev(&mut self) -> Result<bool> {
        either!(self, cursor => cursor.prev())
    }

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
}
