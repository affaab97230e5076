//! The levels and the memtable of a column family, as inputs.
//!
//! A file's range deletions act within the bounds of that file only: what is beyond was written to
//! the files beside it, or was compacted away with what it deleted. So they are cut:
//!
//! ```text
//! file            | c . . . . . k |          bounds, the last key included
//! range deletion        [e ============= z)
//! becomes               [e ==== k)  and a deletion of the key k
//! ```
//!
//! No order of keys need have a key right after k, at which the range could end instead.

use std::ops::RangeBounds;
use std::sync::Arc;

use bytes::Bytes;
use sstkit_table::raw::{BlobIndex, EntryKind};
use sstkit_table::{Table, Value};

use super::Compaction;
use super::input::{InMemory, Input, InputFile, Origin};
use crate::column_family::ColumnFamily;
use crate::error::Result;
use crate::family::Family;
use crate::memtable::{Memtable, MemtableBuilder, MemtableCursor};
use crate::merging::EntrySource;
use crate::output::PendingRange;
use crate::version::{Run, TableFile};

impl Compaction {
    /// Adds levels of a column family: newer than what was added before. The write-ahead log counts
    /// to level 0. All of it counts, as of whichever sequence number the column family is seen.
    ///
    /// Its merge operator is used, unless another one was given.
    ///
    /// # Errors
    ///
    /// An order of keys that is not known, or not that of what was added before; files that cannot
    /// be opened.
    pub fn add_column_family(
        &mut self,
        column_family: &ColumnFamily,
        levels: impl RangeBounds<u32>,
    ) -> Result<&mut Self> {
        let family = column_family.family();
        family.require_order()?;
        self.agree(family.keys.comparator())?;
        let merging = family.merging();
        self.operator = self.operator.take().or_else(|| merging.operator.clone());
        self.operator_name = self.operator_name.take().or_else(|| merging.name.clone());

        let mut ends = MemtableBuilder::default();
        let runs = family.version.runs.iter().rev();
        for run in runs.filter(|run| levels.contains(&run.level)) {
            self.inputs.push(run_input(family, run, &mut ends)?);
        }
        let ends = Arc::new(ends.finish(&family.keys));
        if ends.len() > 0 {
            self.inputs.push(memory_input(family, &ends));
        }
        if levels.contains(&0) {
            self.inputs.push(memory_input(family, &family.memtable));
        }
        Ok(self)
    }
}

fn run_input(family: &Arc<Family>, run: &Run, ends: &mut MemtableBuilder) -> Result<Input> {
    let mut input =
        Input { origin: Origin::Files(Vec::new()), ranges: Vec::new(), size: 0, entries: Some(0) };
    let mut files: Vec<Arc<dyn InputFile>> = Vec::new();
    for file in &run.files {
        let table = family.table(file)?;
        let alone = Input::table(&table);
        input.size += alone.size;
        input.entries = input.entries.zip(alone.entries).map(|(sum, more)| sum + more);
        input
            .ranges
            .extend(alone.ranges.into_iter().filter_map(|range| cut(range, file, family, ends)));
        files.push(Arc::new(LiveFile { family: Arc::clone(family), file: Arc::clone(file) }));
    }
    input.origin = Origin::Files(files);
    Ok(input)
}

/// What of a range deletion lies in the bounds of its file. A deletion of the last key itself goes
/// to `ends`.
fn cut(
    mut range: PendingRange,
    file: &TableFile,
    family: &Family,
    ends: &mut MemtableBuilder,
) -> Option<PendingRange> {
    let (keys, largest) = (&family.keys, file.largest());
    if keys.compare(&range.start, file.smallest()).is_lt() {
        range.start = file.smallest().to_vec();
    }
    if keys.compare(&range.end, largest).is_gt() {
        let is_exclusive = file.is_before(largest, keys);
        if !is_exclusive && keys.compare(&range.start, largest).is_le() {
            let kind = match range.timestamp.is_empty() {
                true => EntryKind::Deletion,
                false => EntryKind::DeletionWithTimestamp,
            };
            let key = [largest, &range.timestamp].concat();
            ends.add(Bytes::from(key), range.sequence, kind, Bytes::new());
        }
        range.end = largest.to_vec();
    }
    keys.compare(&range.start, &range.end).is_lt().then_some(range)
}

fn memory_input(family: &Arc<Family>, memtable: &Arc<Memtable>) -> Input {
    let memory = Memory { family: Arc::clone(family), memtable: Arc::clone(memtable) };
    let range = |range: crate::range_deletions::Range<'_>| PendingRange {
        start: range.start.to_vec(),
        end: range.end.to_vec(),
        sequence: range.sequence,
        timestamp: range.timestamp.to_vec(),
    };
    Input {
        ranges: memtable.ranges().map(range).collect(),
        size: 0,
        entries: Some(memtable.len() as u64),
        origin: Origin::Memory(Arc::new(memory)),
    }
}

/// A file of a level.
struct LiveFile {
    family: Arc<Family>,
    file: Arc<TableFile>,
}

impl InputFile for LiveFile {
    fn open(&self) -> Result<Table> {
        self.family.table(&self.file)
    }

    fn is_before(&self, key: &[u8]) -> bool {
        self.file.is_before(key, &self.family.keys)
    }

    fn missing_timestamp(&self, table: &Table) -> usize {
        match table.properties().has_persisted_timestamps() {
            true => 0,
            false => self.family.keys.timestamp_size(),
        }
    }

    fn blob(&self, index: &BlobIndex<'_>, user_key: &[u8], whole: &Value) -> Result<Value> {
        self.family.blob(index, user_key, Some(&self.file), whole)
    }
}

/// Entries of a log.
struct Memory {
    family: Arc<Family>,
    memtable: Arc<Memtable>,
}

impl InMemory for Memory {
    fn cursor(&self) -> Box<dyn EntrySource> {
        Box::new(MemtableCursor::new(&self.memtable))
    }

    fn blob(&self, index: &BlobIndex<'_>, user_key: &[u8], whole: &Value) -> Result<Value> {
        self.family.blob(index, user_key, None, whole)
    }
}
