//! `sst filter`: statistics of filters.

use crate::remote::readable_path;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sstkit_db::{ColumnFamily, Database};
use sstkit_inspect::{FilterReport, FilterTotal, InspectedTable, filter_reports};

use crate::args::{FormatArgs, OpenArgs, PathKind};
use crate::database;
use crate::output::page::{BAD, GOOD, HEADING};
use crate::output::{Align, Grid, Page, ReadProgress, bar, print_message, units};
use crate::status::Status;
use crate::table_order;
use crate::target::Target;

/// The title of the progress bar.
const READING: &str = "probing filters";

/// Show the kind, size and false-positive rate of filters
///
/// Prints the actual kind, partitions, bytes, bits per key, probes, fill and expected
/// false-positive rate, per file and in total. Probes each filter for every key and prefix of its
/// table: a key that its own filter does not match is a false negative, which loses data. The exit
/// status is then 1.
///
/// "Wasted reads" is the expected number of files that a point lookup reads for a key that is in
/// none of them: the mean over keys distributed like the entries. A lookup considers at most one
/// file of each sorted run, the one whose key range includes the key (each file of level 0 is a
/// run, each lower level is one). It reads a file with the probability of a false positive; without
/// a filter, always.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst filter 000011.sst
  sst filter --measure 1000000 000011.sst
  sst filter --format json path/to/db | jq '[.kind, .bits_per_key, .expected_fpr]'")]
pub(crate) struct Args {
    /// Tables or databases
    #[arg(required = true, value_name = "PATH", value_parser = readable_path())]
    paths: Vec<PathBuf>,

    /// Probe with N absent keys to measure the false-positive rate
    #[arg(long, value_name = "N", default_value_t = 0)]
    measure: u64,

    /// Only this column family of a database [default: all]
    #[arg(short, long, value_name = "NAME")]
    column_family: Option<String>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    open: OpenArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let family = ("--column-family", self.column_family.is_some(), &[PathKind::Database][..]);
        self.open.check(&self.paths, [family])?;
        let mut page = Page::stdout();
        let mut reports = Vec::new();
        let process = |path: &Path| self.process(path, &mut reports, &mut page);
        let status = Status::of_each(&self.paths, process)?;
        if !self.format.is_json() && (status != Status::Trouble || !reports.is_empty()) {
            print(&mut page, &reports)?;
        }
        page.finish()?;
        Ok(status)
    }

    fn process(
        &self,
        path: &Path,
        reports: &mut Vec<FilterReport>,
        page: &mut Page,
    ) -> Result<Status> {
        let progress = ReadProgress::default();
        let mut status = Status::Fine;
        let mut take = |report: FilterReport, status: &mut Status| -> Result<()> {
            status.worsen(Status::of(report.false_negatives.unwrap_or(0) == 0));
            match self.format.is_json() {
                true => page.json(&report)?,
                false => reports.push(report),
            }
            Ok(())
        };
        match Target::table_or_database(path)? {
            Target::Table(path) => {
                let options = self.open.table_options().count_bytes_read(progress.counter());
                let file = InspectedTable::open(&path, &options)?;
                let file = table_order::detect(&file, &path)?;
                let _bar = progress.show(READING, file.table().size());
                let name = path.display().to_string();
                take(FilterReport::of(name, &file, self.measure)?, &mut status)?;
            }
            Target::Database(path) => {
                let options = self.open.database_options().count_bytes_read(progress.counter());
                let (database, opened) = database::open(&path, &options)?;
                status.worsen(opened);
                let families = self.families(&database)?;
                let _bar = progress.show(READING, database::table_bytes(&families));
                for family in families {
                    for report in filter_reports(&family, self.measure) {
                        match report {
                            Ok(report) => take(report, &mut status)?,
                            // The other files still have filters to report.
                            Err(error) => {
                                print_message(&error.to_string());
                                status.worsen(Status::Trouble);
                            }
                        }
                    }
                }
            }
        }
        Ok(status)
    }

    fn families(&self, database: &Database) -> Result<Vec<ColumnFamily>> {
        match &self.column_family {
            Some(name) => Ok(vec![database::column_family(database, name)?]),
            None => Ok(database.column_families().collect()),
        }
    }
}

fn print(page: &mut Page, reports: &[FilterReport]) -> io::Result<()> {
    match reports {
        [] => writeln!(page, "no tables"),
        [report] => print_one(page, report),
        _ => print_many(page, reports),
    }
}

fn print_one(page: &mut Page, report: &FilterReport) -> io::Result<()> {
    page.styled_line(HEADING, &report.file)?;
    let mut grid = Grid::pairs();
    grid.pair("kind", kind(report));
    if report.kind == "none" {
        return grid.print(page);
    }
    grid.pair("policy", report.policy.as_deref().unwrap_or("none"));
    grid.pair_if("level", report.level.map(|it| it.to_string()));
    grid.pair("keys", report.keys.map_or("unknown".into(), units::count));
    grid.pair("size", units::size(report.bytes));
    grid.pair_if("bits per key", report.bits_per_key.map(|bits| format!("{bits:.2}")));
    grid.pair_if("probes", report.probes.map(|it| it.to_string()));
    grid.pair_if("fill", report.fill.map(units::percent));
    grid.pair("contains", contents(report));
    grid.pair_if("false positives, expected", report.expected_fpr.map(units::percent));
    if let Some(rate) = report.measured_fpr {
        let keys = units::count(report.measured_keys.unwrap_or(0));
        grid.pair(
            "false positives, measured",
            format!("{} of {keys} absent keys", units::percent(rate)),
        );
    }
    grid.print(page)?;
    if let Some(negatives) = report.false_negatives {
        print_verdict(page, negatives)?;
    }
    let parts = &report.part_bits_per_key;
    if parts.windows(2).any(|pair| pair[0] != pair[1]) {
        writeln!(page, "\nbits per key of its {} parts, estimated from their bits", parts.len())?;
        bar::histogram(page, parts)?;
    }
    Ok(())
}

fn print_verdict(page: &mut Page, negatives: u64) -> io::Result<()> {
    let (style, text) = match negatives {
        0 => (GOOD, "no false negatives: every key matches".to_owned()),
        _ => {
            let count = units::count(negatives);
            (BAD, format!("{count} false negatives: these keys cannot be found"))
        }
    };
    let text = page.paint(style, text);
    writeln!(page, "  {text}")
}

fn kind(report: &FilterReport) -> String {
    let mut kind = report.kind.replace('_', " ");
    if report.partitioned {
        kind.push_str(&format!(", {}", units::counted(report.partitions, "partition")));
    }
    kind
}

fn contents(report: &FilterReport) -> String {
    match (report.whole_key, &report.prefix_extractor) {
        (true, None) => "whole keys".into(),
        (true, Some(extractor)) => format!("whole keys and prefixes ({extractor})"),
        (false, Some(extractor)) => format!("prefixes ({extractor})"),
        (false, None) => "nothing that is probed".into(),
    }
}

fn print_many(page: &mut Page, reports: &[FilterReport]) -> io::Result<()> {
    let mut grid = Grid::new(&[
        ("file", Align::Path),
        ("level", Align::Right),
        ("kind", Align::Left),
        ("size", Align::Right),
        ("keys", Align::Right),
        ("bits/key", Align::Right),
        ("fill", Align::Right),
        ("expected", Align::Right),
        ("measured", Align::Right),
        ("false negatives", Align::Right),
    ])
    .dispensable(&["fill", "keys", "size", "expected"]);
    let rate = |rate: Option<f64>| rate.map(units::percent).unwrap_or_default();
    for report in reports {
        grid.row([
            report.file.clone(),
            report.level.map(|level| level.to_string()).unwrap_or_default(),
            kind(report),
            if report.kind == "none" { String::new() } else { units::size(report.bytes) },
            report.keys.map(units::count).unwrap_or_default(),
            report.bits_per_key.map(|bits| format!("{bits:.2}")).unwrap_or_default(),
            rate(report.fill),
            rate(report.expected_fpr),
            rate(report.measured_fpr),
            report.false_negatives.filter(|&lost| lost > 0).map(units::count).unwrap_or_default(),
        ]);
    }
    grid.print(page)?;
    print_total(page, &FilterTotal::of(reports))
}

fn print_total(page: &mut Page, total: &FilterTotal) -> io::Result<()> {
    writeln!(page)?;
    page.styled_line(HEADING, "total")?;
    let mut grid = Grid::pairs();
    grid.pair(
        "files",
        match total.without_filter {
            0 => units::count(total.files),
            without if without == total.files => {
                format!("{}, none with a filter", units::count(without))
            }
            without => {
                format!("{}, {} without a filter", units::count(total.files), units::count(without))
            }
        },
    );
    if total.files == total.without_filter {
        return grid.print(page);
    }
    grid.pair("size", units::size(total.bytes));
    grid.pair("keys", units::count(total.keys));
    grid.pair_if("bits per key", total.bits_per_key.map(|bits| format!("{bits:.2}")));
    let wasted_reads = |files: f64| format!("{files:.4} files per lookup of an absent key");
    grid.pair("wasted reads, expected", wasted_reads(total.expected_files_per_lookup));
    if let Some(files) = total.measured_files_per_lookup {
        grid.pair("wasted reads, measured", wasted_reads(files));
    }
    grid.print(page)?;
    print_verdict(page, total.false_negatives)
}
