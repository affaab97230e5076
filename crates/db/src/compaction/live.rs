//! Levels and memtable of a column family as inputs of a compaction.
//!
//! Range tombstones are truncated to the bounds of their files; a deletion of a last key is an input of
//! its own.

use std::ops::RangeBounds;
use std::sync::Arc;

use sstkit_table::RangeTombstone;
use sstkit_table::visibility::{ReadView, Recency};

use super::Compaction;
use super::input::{Input, InputFile, Origin};
use crate::column_family::ColumnFamily;
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::log_records::LogRecords;
use crate::memtable::{Memtable, MemtableBuilder};
use crate::version::{EndDeletion, Run};

impl Compaction {
    /// Adds levels of a column family, which are newer than inputs added before. The write-ahead
    /// log is part of level 0. Adds what the handle shows: entries after its [sequence
    /// number](ColumnFamily::at) or [timestamp](ColumnFamily::at_timestamp) are left out.
    ///
    /// Its merge operator is used, unless another one was given.
    ///
    /// If nothing else is added, newer sources take precedence over larger sequence numbers, as in
    /// all reads: the log over level 0, level 0 over level 1. If sequence numbers contradict that,
    /// no table can represent it, and [`run`](Self::run) reports entries that are out of order.
    ///
    /// # Errors
    ///
    /// Fails if the comparator is unknown or differs from that of other inputs, or if a file cannot
    /// be opened.
    pub fn add_column_family(
        &mut self,
        column_family: &ColumnFamily,
        levels: impl RangeBounds<u32>,
    ) -> Result<&mut Self> {
        let family = column_family.family();
        self.start(column_family)?;
        let runs = family.version.runs.iter().rev();
        for (run, age) in runs.filter(|run| levels.contains(&run.level)).zip(0..) {
            self.add_run(column_family, run, age)?;
        }
        if levels.contains(&0) {
            self.add_log(column_family);
        }
        Ok(self)
    }

    /// Adds one sorted run of a column family or, with `None`, the entries of its log.
    pub(super) fn add_source(
        &mut self,
        column_family: &ColumnFamily,
        run: Option<&Run>,
    ) -> Result<()> {
        self.start(column_family)?;
        match run {
            Some(run) => self.add_run(column_family, run, 0)?,
            None => self.add_log(column_family),
        }
        Ok(())
    }

    /// Prepares for sources of a column family.
    fn start(&mut self, column_family: &ColumnFamily) -> Result<()> {
        let family = column_family.family();
        family.require_order()?;
        family.require_all_tables()?;
        self.agree(family.keys.comparator())?;
        let merging = family.merging();
        self.operator = self.operator.take().or_else(|| merging.operator.clone());
        self.operator_name = self.operator_name.take().or_else(|| merging.name.clone());

        self.repeats_writes = true;
        self.recency = match self.inputs.is_empty() {
            true => family.version.recency,
            false => Recency::BySequence,
        };
        Ok(())
    }

    fn add_run(&mut self, column_family: &ColumnFamily, run: &Run, age: usize) -> Result<()> {
        let (family, view) = (column_family.family(), column_family.view());
        let mut ends = Ends::default();
        let input = Input { age, ..run_input(family, run, view, &mut ends)? };
        let ends = Arc::new(ends.finish(family));
        // Just older than the points of the run: one with the same number is not deleted.
        if ends.len() > 0 {
            let ends = memory_input(family, &ends, view);
            self.inputs.push(Input { age, is_written: false, ..ends });
        }
        self.inputs.push(input);
        Ok(())
    }

    fn add_log(&mut self, column_family: &ColumnFamily) {
        let (family, view) = (column_family.family(), column_family.view());
        let age = family.version.runs.len();
        let memtable = memory_input(family, &family.memtable, view);
        self.inputs.push(Input { age, ..memtable });
    }
}

/// Deletions of single keys, at the ends of truncated ranges.
#[derive(Default)]
struct Ends {
    records: LogRecords,
    entries: MemtableBuilder,
}

impl Ends {
    fn add(&mut self, end: &EndDeletion) -> Result<()> {
        let place = self.records.append_write(end.kind, &end.key, &[])?;
        self.entries.add(place, end.sequence, end.kind);
        Ok(())
    }

    fn finish(self, family: &ColumnFamilyData) -> Memtable {
        self.entries.finish(&family.keys, &Arc::new(self.records.finish()))
    }
}

fn run_input(
    family: &Arc<ColumnFamilyData>,
    run: &Run,
    view: &ReadView,
    ends: &mut Ends,
) -> Result<Input> {
    let mut files = Vec::new();
    let (mut ranges, mut size, mut entries) = (Vec::new(), 0, Some(0));
    for file in &run.files {
        let alone = Input::table(&family.table(file)?);
        size += alone.size;
        entries = entries.zip(alone.entries).map(|(sum, more)| sum + more);
        let seen = alone
            .ranges
            .into_iter()
            .filter(|range| view.sees(range.sequence, &range.timestamp, &family.keys));
        for range in seen {
            let truncated = file.key_bounds().truncate(range, &family.keys);
            ranges.extend(truncated.range);
            truncated.end.iter().try_for_each(|end| ends.add(end))?;
        }
        files.push(InputFile::Live(Arc::clone(family), Arc::clone(file)));
    }
    let view = Some((view.clone(), family.keys.clone()));
    let origin = Origin::Files(files);
    Ok(Input { origin, ranges, size, entries, view, age: 0, is_written: true })
}

fn memory_input(
    family: &Arc<ColumnFamilyData>,
    memtable: &Arc<Memtable>,
    view: &ReadView,
) -> Input {
    let seen = |it: &&RangeTombstone| view.sees(it.sequence, &it.timestamp, &family.keys);
    Input {
        ranges: memtable.range_deletions().iter().filter(seen).cloned().collect(),
        size: 0,
        entries: Some(memtable.len() as u64),
        origin: Origin::Memory(Arc::clone(family), Arc::clone(memtable)),
        view: Some((view.clone(), family.keys.clone())),
        age: 0,
        is_written: true,
    }
}
