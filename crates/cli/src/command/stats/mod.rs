//! `sst stats`: what a table or database contains, and what its space is used for.

mod stats_text;

use crate::remote::readable_path;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use sstkit_db::{Analysis, AnalysisOptions, GroupBy, analyze_table};
use sstkit_inspect::{InspectedTable, StatsReport};

use crate::args::{OpenArgs, PathKind, PrintArgs, RangeArgs, SetIfGiven as _};
use crate::database;
use crate::output::{Page, ProgressBar, print_message};
use crate::status::Status;
use crate::table_order;
use crate::target::Target;

/// Show what a table or database contains, and what its space is used for
///
/// Prints entries and bytes by column family, level and file; how much of the space is visible, and
/// how much older versions, tombstones and garbage in blob files take; histograms of key and value
/// sizes; the largest values, and the keys with most versions; where tombstones are, and where a
/// scan steps over most of them.
///
/// Everything is read once, with one thread per core. With --sample, only indexes and properties are
/// read: sizes are then estimates to the precision of a data block, and what only the entries tell
/// is left out.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst stats 000011.sst
  sst stats /var/lib/mydb --by-delimiter /:2 --top 20
  sst stats /var/lib/mydb --by-prefix 4 --column-family meta
  sst stats /var/lib/mydb --sample --from user7/ --to user8/
  sst stats /var/lib/mydb --format json | jq '.column_families[].space.amplification'")]
pub(crate) struct Args {
    /// Tables or databases
    #[arg(required = true, value_name = "PATH", value_parser = readable_path())]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    range: RangeArgs,

    /// Group keys by their first N bytes
    #[arg(long, value_name = "N", conflicts_with = "by_delimiter")]
    by_prefix: Option<usize>,

    /// Group keys by their beginnings up to a delimiter, as a tree of DEPTH levels [default depth: 1]
    #[arg(long, value_name = "DELIMITER[:DEPTH]")]
    by_delimiter: Option<String>,

    /// Number of items in each list
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Estimate from indexes and properties alone
    #[arg(long)]
    sample: bool,

    /// List every file, not only the levels
    #[arg(long)]
    files: bool,

    /// Number of threads [default: number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Only this column family of a database [default: all]
    #[arg(short, long, value_name = "NAME")]
    column_family: Option<String>,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    open: OpenArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let family = ("--column-family", self.column_family.is_some(), &[PathKind::Database][..]);
        self.open.check(&self.paths, [family])?;
        ensure!(self.threads != Some(0), "--threads must be 1 or more");
        let options = self.options()?;
        let mut page = Page::stdout();
        let mut is_first = true;
        let status = Status::of_each(&self.paths, |path| {
            let (report, status) = self.report(path, &options)?;
            for problem in &report.problems {
                print_message(&problem.message);
            }
            if !self.print.format.is_json() && !std::mem::take(&mut is_first) {
                writeln!(page)?;
            }
            self.print.format.print(&mut page, &report, |page, report| {
                stats_text::print(page, report, self.files)
            })?;
            Ok(status)
        })?;
        page.finish()?;
        Ok(status)
    }

    fn options(&self) -> Result<AnalysisOptions> {
        let selected = self.range.decoded(self.print.encoding)?;
        let options = AnalysisOptions::default()
            .range(selected.range)
            .estimate(self.sample)
            .top(self.top)
            .set_if_given(selected.prefix, AnalysisOptions::prefix)
            .set_if_given(self.threads, AnalysisOptions::threads);
        Ok(options.set_if_given(self.group_by()?, AnalysisOptions::group_by))
    }

    fn group_by(&self) -> Result<Option<GroupBy>> {
        if let Some(length) = self.by_prefix {
            ensure!(length > 0, "--by-prefix must be 1 or more");
            return Ok(Some(GroupBy::Length(length)));
        }
        let Some(text) = &self.by_delimiter else { return Ok(None) };
        let (delimiter, depth) = split_depth(text);
        let delimiter = self.print.encoding.key(delimiter).context("--by-delimiter")?;
        ensure!(!delimiter.is_empty(), "--by-delimiter needs a delimiter, such as /:2");
        ensure!(depth > 0, "the depth of --by-delimiter must be 1 or more");
        Ok(Some(GroupBy::Delimiter { delimiter, depth }))
    }

    fn report(&self, path: &Path, options: &AnalysisOptions) -> Result<(StatsReport, Status)> {
        let mut report = StatsReport::new(path.display().to_string(), self.sample);
        let (encoding, top) = (self.print.encoding(), self.top);
        let mut status = Status::Fine;
        let keys = self.range.decoded(self.print.encoding)?;
        match Target::table_or_database(path)? {
            Target::Table(path) => {
                let table_options = self.open.table_options().no_block_cache();
                let file = InspectedTable::open(&path, &table_options)?;
                let file = table_order::detect(&file, &path)?;
                keys.check(file.table().comparator().ok())?;
                let analysis =
                    with_progress(options, |options| analyze_table(file.table(), options))?;
                report.add_table(&analysis, encoding, top);
            }
            Target::Database(path) => {
                let database_options = self.open.database_options().block_cache_size(0);
                let (database, opened) = database::open(&path, &database_options)?;
                status.worsen(opened);
                let families = match &self.column_family {
                    Some(name) => vec![database::column_family(&database, name)?],
                    None => {
                        database::print_family_caveats(&database);
                        database.column_families().collect()
                    }
                };
                for family in families {
                    keys.check(family.comparator().ok())?;
                    let analysis = with_progress(options, |options| family.analyze(options))?;
                    report.add_column_family(&database, &family, &analysis, encoding, top);
                }
            }
        }
        if !report.problems.is_empty() {
            status.worsen(Status::Trouble);
        }
        Ok((report, status))
    }
}

/// Shows how much of the data was read.
fn with_progress(
    options: &AnalysisOptions,
    analyze: impl FnOnce(&AnalysisOptions) -> sstkit_db::Result<Analysis>,
) -> Result<Analysis> {
    let bar = std::sync::OnceLock::new();
    let show = move |done, all| {
        bar.get_or_init(|| ProgressBar::bytes("reading", Some(all))).set(done);
    };
    Ok(analyze(&options.clone().on_progress(show))?)
}

/// Splits `/:2` into delimiter and depth. A delimiter may contain colons.
fn split_depth(text: &str) -> (&str, usize) {
    match text.rsplit_once(':') {
        Some((delimiter, depth)) if !delimiter.is_empty() => match depth.parse() {
            Ok(depth) => (delimiter, depth),
            Err(_) => (text, 1),
        },
        _ => (text, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_and_depths() {
        for (text, delimiter, depth) in [
            ("/", "/", 1),
            ("/:3", "/", 3),
            (":", ":", 1),
            ("::2", ":", 2),
            (":2", ":2", 1),
            ("a:b", "a:b", 1),
            ("/:0", "/", 0),
        ] {
            assert_eq!(split_depth(text), (delimiter, depth), "{text}");
        }
    }
}
