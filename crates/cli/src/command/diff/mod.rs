//! `sst diff`: what differs between two tables, databases or directories of tables.

mod printer;
mod sides;

use crate::remote::readable_path;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sstkit_db::{Diff, DiffOptions, Difference, InternalDiff, InternalDifference};
use sstkit_inspect::{DifferenceCounts, DifferenceSummary, JsonRecord};

use self::printer::Printer;
use self::sides::{Pair, Side};
use crate::args::{
    DatabaseArgs, MergeArgs, OpenArgs, PrintArgs, RangeArgs, SelectedKeys, SetIfGiven as _,
};
use crate::output::{Page, ReadProgress, print_message};
use crate::status::{Status, is_broken_pipe, message};

/// Show what differs between two tables or databases
///
/// Compares the visible state of A and B: keys that only one of them has, and keys whose values
/// differ. Both may be tables, databases or directories of tables, of any engine and format, but must
/// have the same comparator. Column families of databases are compared by name; a table is compared
/// with the column family `default`, or the one given. With --internal, compares every stored entry
/// with its sequence number and type, followed by the range deletions.
///
/// Lines begin with - for what only A has, + for what only B has; a value that differs has a line of
/// each. Wide columns and blobs are compared by their contents. Data blocks of two tables that are
/// stored with the same bytes are verified and skipped without decoding. Memory does not grow with
/// the size of the data.
///
/// Exit status: 0 if there is no difference, 1 if there is one, 2 on failure.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst diff old.sst new.sst
  sst diff /var/lib/mydb path/to/db --summary
  sst diff 000011.sst /var/lib/mydb --prefix user7/ --keys-only
  sst diff a.sst b.sst --internal --limit 10
  sst diff a.sst b.sst --format json | jq -c 'select(.b) | .b'")]
pub(crate) struct Args {
    /// Table or database to compare
    #[arg(value_name = "A", value_parser = readable_path())]
    a: PathBuf,

    /// Table or database to compare it with
    #[arg(value_name = "B", value_parser = readable_path())]
    b: PathBuf,

    #[command(flatten)]
    keys: RangeArgs,

    /// Stop after N differences
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,

    /// Print keys without values; ~ marks those whose values differ
    #[arg(short, long)]
    keys_only: bool,

    /// Print only the number of differences
    #[arg(long, conflicts_with = "keys_only")]
    summary: bool,

    /// Compare every entry as stored, instead of the visible ones
    #[arg(short, long, conflicts_with = "merge_operator")]
    internal: bool,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    open: OpenArgs,

    #[command(flatten)]
    merge: MergeArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        self.open.check(&[self.a.clone(), self.b.clone()], self.database.given())?;
        let options = self.options()?;
        let progress = ReadProgress::default();
        let (a, opened) = self.open(&self.a, &progress)?;
        let mut status = opened;
        let (b, opened) = self.open(&self.b, &progress)?;
        status.worsen(opened);
        let pairs = sides::pairs(&a, &b, self.database.given_name())?;

        let bar = (self.summary || !std::io::stdout().is_terminal())
            .then(|| progress.show("comparing", a.table_bytes() + b.table_bytes()));
        let mut page = Page::stdout();
        let mut comparison = Comparison {
            printer: Printer::new(self.print.format, self.keys_only, pairs.len()),
            is_silent: self.summary,
            left: self.limit,
            counts: Vec::new(),
        };
        for pair in &pairs {
            match self.compare(pair, &options, &mut comparison, &mut page) {
                Ok(()) => {}
                Err(error) if pairs.len() == 1 || is_broken_pipe(&error) => return Err(error),
                // The other column families can be compared.
                Err(error) => {
                    print_message(&message(&error));
                    status.worsen(Status::Trouble);
                }
            }
            if comparison.is_over() {
                break;
            }
        }
        drop(bar);
        let complete = !comparison.is_over();
        let summary = DifferenceSummary::new(comparison.counts, complete);
        if self.summary {
            comparison.printer.print_summary(&summary, &mut page)?;
        }
        page.finish()?;
        status.worsen(Status::of(summary.equal));
        Ok(status)
    }

    fn options(&self) -> Result<DiffOptions> {
        let SelectedKeys { range, prefix } = self.keys.decoded(self.print.encoding)?;
        Ok(DiffOptions::default().range(range).set_if_given(prefix, DiffOptions::prefix))
    }

    fn open(&self, path: &Path, progress: &ReadProgress) -> Result<(Side, Status)> {
        let table = self.merge.add_to_table(self.open.table_options().no_block_cache())?;
        let database = self.merge.add_to(self.open.database_options())?;
        let counter = progress.counter();
        Side::open(path, &table.count_bytes_read(counter), &database.count_bytes_read(counter))
    }

    fn compare(
        &self,
        pair: &Pair,
        options: &DiffOptions,
        comparison: &mut Comparison,
        page: &mut Page,
    ) -> Result<()> {
        let keys = self.keys.decoded(self.print.encoding)?;
        keys.check(pair.a.comparator())?;
        keys.check(pair.b.comparator())?;
        comparison.start(pair, page)?;
        let (a, b) = (pair.a.side(), pair.b.side());
        let encoding = self.print.encoding();
        if !self.internal {
            for difference in Diff::new(&a, &b, options)? {
                let show = |record| Ok(JsonRecord::of_visible(&record, encoding));
                comparison.add(both(difference?, show, show), page)?;
                if comparison.is_over() {
                    break;
                }
            }
            return Ok(());
        }
        for difference in InternalDiff::new(&a, &b, options)? {
            match difference? {
                InternalDifference::Entry(difference) => {
                    let of_a = |entry| pair.a.record(&entry, encoding);
                    let of_b = |entry| pair.b.record(&entry, encoding);
                    comparison.add(both(difference, of_a, of_b), page)?;
                }
                InternalDifference::RangeTombstone(difference) => {
                    let show = |range| Ok(JsonRecord::of_range_deletion(&range, encoding));
                    comparison.add(both(difference, show, show), page)?;
                }
            }
            if comparison.is_over() {
                break;
            }
        }
        Ok(())
    }
}

/// A difference between records, made when they are printed.
fn both<T>(
    difference: Difference<T>,
    of_a: impl Fn(T) -> Result<JsonRecord>,
    of_b: impl Fn(T) -> Result<JsonRecord>,
) -> (Difference<()>, impl FnOnce() -> Result<Difference<JsonRecord>>) {
    let kind = match &difference {
        Difference::Removed(_) => Difference::Removed(()),
        Difference::Added(_) => Difference::Added(()),
        Difference::Changed(..) => Difference::Changed((), ()),
    };
    let records = move || {
        Ok(match difference {
            Difference::Removed(record) => Difference::Removed(of_a(record)?),
            Difference::Added(record) => Difference::Added(of_b(record)?),
            Difference::Changed(a, b) => Difference::Changed(of_a(a)?, of_b(b)?),
        })
    };
    (kind, records)
}

/// The results so far.
struct Comparison {
    printer: Printer,
    /// Differences are only counted.
    is_silent: bool,
    /// How many more are wanted; all if `None`.
    left: Option<u64>,
    counts: Vec<DifferenceCounts>,
}

impl Comparison {
    /// Begins with a pair of column families or tables.
    fn start(&mut self, pair: &Pair, page: &mut Page) -> Result<()> {
        let mut counts = DifferenceCounts::default();
        counts.column_family.clone_from(&pair.column_family);
        self.printer.start(pair.column_family.as_deref());
        if let (Some(only), Some(name)) = (pair.only_in(), &pair.column_family) {
            counts.only_in = Some(if matches!(only, Difference::Removed(())) { "a" } else { "b" });
            if !self.is_silent && !self.is_over() {
                self.printer.print_column_family(&only, name, page)?;
            }
        }
        self.counts.push(counts);
        Ok(())
    }

    fn add(
        &mut self,
        (kind, records): (Difference<()>, impl FnOnce() -> Result<Difference<JsonRecord>>),
        page: &mut Page,
    ) -> Result<()> {
        if let Some(counts) = self.counts.last_mut() {
            counts.add(&kind);
        }
        // With a limit of 0, the first one is searched for and not printed.
        let is_wanted = self.left != Some(0);
        self.left = self.left.map(|left| left.saturating_sub(1));
        if is_wanted && !self.is_silent {
            self.printer.print(records()?, page)?;
        }
        Ok(())
    }

    /// Whether the limit is reached.
    fn is_over(&self) -> bool {
        let is_equal = self.counts.iter().all(DifferenceCounts::is_equal);
        self.left == Some(0) && !is_equal
    }
}
