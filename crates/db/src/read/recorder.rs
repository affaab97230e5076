//! Records the steps of a point lookup, source by source.

use std::sync::Arc;

use sstkit_filter::HashedKey;
use sstkit_table::raw::InternalKey;
use sstkit_table::visibility::{SeenEntry, UserKeys};
use sstkit_table::{ReadOptions, Table, Value};

use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::version::{Run, TableFile};

/// Receives each step of a lookup. Methods that a recorder does not implement do nothing and cost
/// nothing, since lookups are compiled for each type of recorder.
pub(super) trait Recorder {
    /// Whether anything is recorded, including what is skipped.
    const RECORDS: bool = true;

    /// Whether the lookup counts nothing.
    const IS_QUIET: bool = false;

    /// The memtable is searched; `tombstone` is the newest visible range tombstone over the key.
    fn memtable(&mut self, _tombstone: Option<u64>) {}

    /// The memtable has a visible entry of the key.
    fn memtable_entry(&mut self, _entry: SeenEntry<'_>, _value: &Value, _keys: &UserKeys) {}

    /// A file is about to be searched. Only called if the lookup is quiet.
    fn require_open(&mut self, _family: &ColumnFamilyData, _file: &Arc<TableFile>) -> Result<()> {
        Ok(())
    }

    /// A run is searched; only `candidates` of its files have the key within their bounds.
    fn out_of_range(&mut self, _run: &Run, _candidates: &[Arc<TableFile>]) {}

    /// A table is searched: [`Table::lookup`].
    #[inline]
    fn lookup(
        &mut self,
        (table, _file): (&Table, &TableFile),
        key: &HashedKey<'_>,
        _tombstone: Option<u64>,
        visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<()> {
        table.lookup(key, visit)?;
        Ok(())
    }

    /// Files of a run are skipped: the lookup is resolved.
    fn skip(&mut self, _run: &Run, _files: &[Arc<TableFile>]) {}

    /// A whole run is skipped: the lookup is resolved.
    fn skip_run(&mut self, run: &Run, candidates: &[Arc<TableFile>]) {
        self.out_of_range(run, candidates);
        self.skip(run, candidates);
    }
}

/// Records nothing, and reads as the options say.
pub(super) struct WithOptions<'o>(pub(super) &'o ReadOptions);

impl Recorder for WithOptions<'_> {
    const RECORDS: bool = false;

    fn lookup(
        &mut self,
        (table, _): (&Table, &TableFile),
        key: &HashedKey<'_>,
        _: Option<u64>,
        visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<()> {
        table.lookup_with(key, self.0, visit).map(drop)
    }
}

/// Records nothing, for one of several keys, which RocksDB counts differently.
pub(super) struct InBatch;

impl Recorder for InBatch {
    const RECORDS: bool = false;

    #[inline]
    fn lookup(
        &mut self,
        (table, _): (&Table, &TableFile),
        key: &HashedKey<'_>,
        _: Option<u64>,
        mut visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<()> {
        Table::lookup_batch(&[(table, key)], |_, entry, value| visit(entry, value))
    }
}

/// Records nothing.
pub(super) struct NoRecorder;

impl Recorder for NoRecorder {
    const RECORDS: bool = false;
}
