//! Counts what a scan selects, without reading values.

use std::iter;
use std::ops::Bound;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;
use serde::Serialize;
use sstkit_db::ColumnFamily;
use sstkit_inspect::{InspectedTable, InternalScan};
use sstkit_table::ReadOptions;

use super::{Args, PROGRESS_INTERVAL, show};
use crate::output::{Page, ProgressBar};

/// More parts than threads, so that a thread that finishes early takes another part.
const PARTS_PER_THREAD: usize = 8;

#[derive(Serialize)]
struct Count {
    count: u64,
}

impl Args {
    pub(super) fn count_table(
        &self,
        file: &InspectedTable,
        scan: &ReadOptions,
        page: &mut Page,
    ) -> Result<()> {
        let total = Some(file.table().properties().num_entries()).filter(|&entries| entries > 0);
        if self.internal {
            let mut scan = InternalScan::within(file, self.encoding(), scan, self.direction());
            return self.print_count(|| Ok(scan.skip_record()?), total, page);
        }
        if self.limit.is_none() && !self.range.is_given() && !self.snapshot.is_given() {
            return self.print_number(self.count_all(file, total)?, page);
        }
        // How many there are does not depend on the direction.
        let mut cursor = file.table().cursor_with(scan);
        let mut is_first = true;
        let next = || match std::mem::take(&mut is_first) {
            true => Ok(cursor.seek_to_first()?),
            false => Ok(cursor.next()?),
        };
        self.print_count(next, total, page)
    }

    pub(super) fn count_family(
        &self,
        family: &ColumnFamily,
        scan: &ReadOptions,
        page: &mut Page,
    ) -> Result<()> {
        if self.internal {
            let mut entries = family.entries_with(scan);
            let mut ranges = family.range_deletions_with(scan)?.into_iter();
            let skip = || Ok(entries.next().transpose()?.is_some() || ranges.next().is_some());
            return self.print_count(skip, None, page);
        }
        let mut cursor = family.cursor_with(scan)?;
        let mut is_first = true;
        let next = || match std::mem::take(&mut is_first) {
            true => Ok(cursor.seek_to_first()?),
            false => Ok(cursor.next()?),
        };
        self.print_count(next, None, page)
    }

    /// Counts all records of a table in parts, with one thread per core.
    fn count_all(&self, file: &InspectedTable, total: Option<u64>) -> Result<u64> {
        let progress = self.progress(total);
        let threads = thread::available_parallelism().map_or(1, usize::from);
        // With an unknown comparator the table cannot be split.
        let keys = file.split_keys(threads * PARTS_PER_THREAD).unwrap_or_default();
        let next_part = AtomicUsize::new(0);
        let count_parts = || {
            let mut count = 0;
            loop {
                let part = next_part.fetch_add(1, Ordering::Relaxed);
                if part > keys.len() {
                    return Ok(count);
                }
                let lower =
                    part.checked_sub(1).map_or(Bound::Unbounded, |it| Bound::Included(&keys[it]));
                let upper = keys.get(part).map_or(Bound::Unbounded, Bound::Excluded);
                count += count_range(file, (lower, upper), progress.as_ref())
                    .map_err(|error| (part, error))?;
            }
        };
        let counted: Vec<_> = thread::scope(|scope| {
            let others: Vec<_> =
                (1..threads.min(keys.len() + 1)).map(|_| scope.spawn(count_parts)).collect();
            let mine = count_parts();
            let joined = others.into_iter().map(thread::ScopedJoinHandle::join);
            let others = joined.map(|part| part.unwrap_or_else(|panic| resume_unwind(panic)));
            iter::once(mine).chain(others).collect()
        });
        let mut count = 0;
        let mut failures = Vec::new();
        for part in counted {
            match part {
                Ok(counted) => count += counted,
                Err(failure) => failures.push(failure),
            }
        }
        // Parts are started in order, so the first error in the table is among them.
        match failures.into_iter().min_by_key(|(part, _)| *part) {
            Some((_, error)) => Err(error),
            None => Ok(count),
        }
    }

    /// Counts the records that `skip` passes, until there are no more.
    fn print_count(
        &self,
        mut skip: impl FnMut() -> Result<bool>,
        total: Option<u64>,
        page: &mut Page,
    ) -> Result<()> {
        let progress = self.progress(total);
        let limit = self.limit.unwrap_or(u64::MAX);
        let mut count = 0;
        while count < limit && skip()? {
            count += 1;
            show(progress.as_ref(), count)?;
        }
        self.print_number(count, page)
    }

    pub(super) fn print_number(&self, count: u64, page: &mut Page) -> Result<()> {
        let text = |page: &mut Page, it: &Count| writeln!(page, "{}", it.count);
        Ok(self.print_result(page, &Count { count }, text)?)
    }
}

/// Counts the records in a part of a table, without reading their values.
fn count_range(
    file: &InspectedTable,
    range: (Bound<&Vec<u8>>, Bound<&Vec<u8>>),
    progress: Option<&ProgressBar>,
) -> Result<u64> {
    let mut cursor = file.table().cursor_with(&ReadOptions::default().range(range));
    let mut count = 0;
    let mut more = cursor.seek_to_first()?;
    while more {
        count += 1;
        if let Some(progress) = progress.filter(|_| count % PROGRESS_INTERVAL == 0) {
            progress.add(PROGRESS_INTERVAL);
        }
        more = cursor.next()?;
    }
    Ok(count)
}
