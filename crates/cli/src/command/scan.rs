//! `sst scan`: prints visible keys and values, or internal entries.

use std::io::IsTerminal as _;
use std::iter;
use std::ops::Bound;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;
use serde::Serialize;
use sstkit_db::Database;
use sstkit_inspect::{InspectedTable, InternalScan, JsonRecord, OwnerView};
use sstkit_table::{Cursor, RecordValue, ScanOptions};

use crate::args::{
    DatabaseArgs, MergeArgs, OpenArgs, OwnerArgs, PrintArgs, RangeArgs, SelectedKeys,
};
use crate::database;
use crate::output::{Page, ProgressBar, merge_operands, records};
use crate::status::Status;
use crate::table_order;
use crate::target::Target;

/// Records between updates of the progress bar.
const PROGRESS_INTERVAL: u64 = 4096;

/// More parts than threads, so that a thread that finishes early takes another part.
const PARTS_PER_THREAD: usize = 8;

/// Print keys and values: the visible ones, or all entries (--internal)
///
/// By default, prints the newest version of each key, with deletions and range deletions applied
/// and merge operands combined. With --internal, prints every entry in file order with its sequence
/// number and type, followed by the range deletions.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst scan 000011.sst
  sst scan /var/lib/mydb --column-family meta --prefix user7/ --limit 10
  sst scan /var/lib/mydb --from a --to b --reverse --keys-only
  sst scan 000011.sst --internal --format json | jq -r .type | sort | uniq -c
  sst scan 000011.sst --format json | sst build - -o copy.sst")]
pub(crate) struct Args {
    /// Table or database
    path: PathBuf,

    #[command(flatten)]
    range: RangeArgs,

    /// Print at most N entries
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,

    /// Scan from the last key to the first
    #[arg(short, long)]
    reverse: bool,

    /// Print keys without values
    #[arg(short, long)]
    keys_only: bool,

    /// Print only the number of entries; a whole table is counted with one thread per core
    #[arg(long)]
    count: bool,

    /// Print every entry as stored, instead of the visible ones
    #[arg(short, long, conflicts_with_all = ["from", "to", "prefix", "reverse", "merge_operator"])]
    internal: bool,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    open: OpenArgs,

    #[command(flatten)]
    merge: MergeArgs,

    #[command(flatten)]
    owner: OwnerArgs,
}

#[derive(Serialize)]
struct Count {
    count: u64,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        self.open.check(slice::from_ref(&self.path), self.database.given())?;
        let range = self.range.decoded(self.print.encoding)?;
        let mut status = Status::Fine;
        let mut page = Page::stdout();
        match Target::of(&self.path)? {
            Target::Table(path) => {
                // Each block is read once.
                let options = self.open.table_options().no_block_cache();
                let options = self.merge.add_to_table(options)?;
                let mut file = InspectedTable::open(&path, &options)?;
                if !range.is_all() {
                    file = table_order::detect(&file, &path)?;
                }
                self.scan_table(&file, &range, &mut page)?;
            }
            Target::Database(path) => {
                let options = self.merge.add_to(self.open.database_options())?;
                let (database, opened) = database::open(&path, &self.owner.add_to(options))?;
                self.scan_database(&database, &range, &mut page)?;
                status.worsen(opened);
            }
        }
        page.finish()?;
        Ok(status)
    }

    fn scan_table(
        &self,
        file: &InspectedTable,
        range: &SelectedKeys,
        page: &mut Page,
    ) -> Result<()> {
        let encoding = self.print.encoding();
        let total = Some(file.table().properties().num_entries()).filter(|&entries| entries > 0);
        if self.internal {
            let mut scan = InternalScan::new(file, encoding);
            return match self.count {
                true => self.print_count(|| Ok(scan.skip_record()?), total, page),
                false => self.print(scan.map(|record| Ok(record?)), total, page),
            };
        }
        if self.count && self.limit.is_none() && range.is_all() {
            return self.print_number(self.count_all(file, total)?, page);
        }
        let options = range.scan_options(file.table().comparator().ok());
        let mut cursor = file.table().cursor_with(&options);
        if !self.count {
            let view = OwnerView::of_table(file, self.owner.of_table());
            return self.print_scan(cursor, &view, total, page);
        }
        // How many there are does not depend on the direction.
        let mut is_first = true;
        let next = || match std::mem::take(&mut is_first) {
            true => Ok(cursor.seek_to_first()?),
            false => Ok(cursor.next()?),
        };
        self.print_count(next, total, page)
    }

    /// Prints the visible keys of a table, nearly all of which have plain values.
    fn print_scan(
        &self,
        mut cursor: Cursor,
        view: &OwnerView,
        total: Option<u64>,
        page: &mut Page,
    ) -> Result<()> {
        let progress = self.progress(total);
        let encoding = self.print.encoding();
        let mut pairs =
            records::PairPrinter::new(page, encoding, self.keys_only, self.print.format.is_json());
        for count in 0..self.limit.unwrap_or(u64::MAX) {
            show(progress.as_ref(), count);
            let more = match (count, self.reverse) {
                (0, false) => cursor.seek_to_first()?,
                (0, true) => cursor.seek_to_last()?,
                (_, false) => cursor.next()?,
                (_, true) => cursor.prev()?,
            };
            if !more {
                break;
            }
            if self.keys_only {
                self.print_key(cursor.key(), cursor.timestamp(), view, &mut pairs, page)?;
                continue;
            }
            match cursor.plain_value() {
                Some(value) if cursor.timestamp().is_empty() && view.is_plain() => {
                    pairs.print(page, cursor.key(), value)?;
                }
                _ => {
                    if let Some(record) = cursor.record()? {
                        merge_operands::warn_if_stale(&self.path, &record.value);
                        self.print_record(view.visible(&record, encoding), page)?;
                    }
                }
            }
        }
        Ok(())
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

    fn scan_database(
        &self,
        database: &Database,
        range: &SelectedKeys,
        page: &mut Page,
    ) -> Result<()> {
        let encoding = self.print.encoding();
        let family = database::column_family(database, self.database.name())?;
        if self.internal {
            let mut entries = family.entries();
            let ranges = family.range_deletions()?;
            if self.count {
                let mut rest = ranges.iter();
                let skip = || Ok(entries.next().transpose()?.is_some() || rest.next().is_some());
                return self.print_count(skip, None, page);
            }
            let view = OwnerView::of_family(&family);
            let records = entries.map(|entry| {
                let entry = entry?;
                let record = match self.keys_only {
                    true => JsonRecord::of_entry_key(&entry, encoding),
                    false => JsonRecord::of_database_entry(&family, &entry, encoding)?,
                };
                Ok(view.described(&entry.key, record))
            });
            let ranges =
                ranges.iter().map(|range| Ok(JsonRecord::of_range_deletion(range, encoding)));
            return self.print(records.chain(ranges), None, page);
        }
        let view = OwnerView::of_family(&family);
        let visible = match &range.prefix {
            Some(prefix) => family.prefix(prefix),
            None => family.range(range.range.clone()),
        };
        if self.count {
            let mut keys = visible.keys();
            return self.print_count(|| Ok(keys.next().transpose()?.is_some()), None, page);
        }
        match (self.keys_only, self.reverse) {
            (true, false) => self.print_keys(visible.keys(), &view, page),
            (true, true) => self.print_keys(visible.keys().rev(), &view, page),
            (false, false) => self.print_database(visible.records(), &view, page),
            (false, true) => self.print_database(visible.records().rev(), &view, page),
        }
    }

    /// Prints the visible keys of a database. Their values are not read.
    fn print_keys(
        &self,
        keys: impl Iterator<Item = sstkit_db::Result<(Vec<u8>, Vec<u8>)>>,
        view: &OwnerView,
        page: &mut Page,
    ) -> Result<()> {
        let progress = self.progress(None);
        let encoding = self.print.encoding();
        let mut pairs =
            records::PairPrinter::new(page, encoding, true, self.print.format.is_json());
        let limit = self.limit.unwrap_or(u64::MAX);
        for (count, key) in (0..limit).zip(keys) {
            show(progress.as_ref(), count);
            let (key, timestamp) = key?;
            self.print_key(&key, &timestamp, view, &mut pairs, page)?;
        }
        Ok(())
    }

    /// Prints a key alone.
    fn print_key(
        &self,
        key: &[u8],
        timestamp: &[u8],
        view: &OwnerView,
        pairs: &mut records::PairPrinter,
        page: &mut Page,
    ) -> Result<()> {
        if timestamp.is_empty() && view.is_plain() {
            return Ok(pairs.print(page, key, &[])?);
        }
        let encoding = self.print.encoding();
        let record = JsonRecord::of_key(key, encoding).with_timestamp(timestamp, encoding);
        self.print_record(view.described(key, record), page)
    }

    /// Prints the visible entries of a database. Nearly all have plain values.
    fn print_database(
        &self,
        records: impl Iterator<Item = sstkit_db::Result<sstkit_db::Record>>,
        view: &OwnerView,
        page: &mut Page,
    ) -> Result<()> {
        let progress = self.progress(None);
        let encoding = self.print.encoding();
        let mut pairs =
            records::PairPrinter::new(page, encoding, self.keys_only, self.print.format.is_json());
        let limit = self.limit.unwrap_or(u64::MAX);
        for (count, record) in (0..limit).zip(records) {
            show(progress.as_ref(), count);
            let record = record?;
            match &record.value {
                RecordValue::Value(value) if record.timestamp.is_empty() && view.is_plain() => {
                    pairs.print(page, &record.key, value)?;
                }
                value => {
                    merge_operands::warn_if_stale(&self.path, value);
                    self.print_record(view.visible(&record, encoding), page)?;
                }
            }
        }
        Ok(())
    }

    fn print(
        &self,
        records: impl Iterator<Item = Result<JsonRecord>>,
        total: Option<u64>,
        page: &mut Page,
    ) -> Result<()> {
        let progress = self.progress(total);
        let limit = self.limit.unwrap_or(u64::MAX);
        let mut count = 0;
        for record in records.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            count += 1;
            show(progress.as_ref(), count);
            self.print_record(record?, page)?;
        }
        Ok(())
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
            show(progress.as_ref(), count);
        }
        self.print_number(count, page)
    }

    fn print_number(&self, count: u64, page: &mut Page) -> Result<()> {
        let text = |page: &mut Page, it: &Count| writeln!(page, "{}", it.count);
        Ok(self.print.format.print(page, &Count { count }, text)?)
    }

    fn print_record(&self, mut record: JsonRecord, page: &mut Page) -> Result<()> {
        if self.keys_only {
            record.remove_value();
        }
        if !self.print.format.is_json() {
            record = self.owner.shown(record);
        }
        self.print.format.print(page, &record, records::print)?;
        Ok(())
    }

    /// Shows a progress bar, unless records are printed to the terminal.
    fn progress(&self, total: Option<u64>) -> Option<ProgressBar> {
        if std::io::stdout().is_terminal() && !self.count {
            return None;
        }
        let limit = self.limit.unwrap_or(u64::MAX);
        Some(ProgressBar::items("scanning", total.map(|total| total.min(limit))))
    }
}

/// Shows how many records were passed, not too often.
fn show(progress: Option<&ProgressBar>, count: u64) {
    if let Some(progress) = progress.filter(|_| count.is_multiple_of(PROGRESS_INTERVAL)) {
        progress.set(count);
    }
}

/// Counts the records in a part of a table, without reading their values.
fn count_range(
    file: &InspectedTable,
    range: (Bound<&Vec<u8>>, Bound<&Vec<u8>>),
    progress: Option<&ProgressBar>,
) -> Result<u64> {
    let mut cursor = file.table().cursor_with(&ScanOptions::default().range::<Vec<u8>>(range));
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
