//! `sst bench filter`: measures a filter with the method of RocksDB's `filter_bench`, so that both
//! can be run side by side.
//!
//! ```text
//! sst bench filter --filter bloomfilter:10 --memory 200MiB --queries 200000000
//! filter_bench -impl=2 -bits_per_key=10 -working_mem_size_mb=200 -m_queries=200
//! ```
//!
//! Builds filters until they fill a given amount of memory. Then queries keys inside and outside
//! the filters, mixed or mostly of one kind (never all, or the branch predictor would learn the
//! answer). A dry run without the queries is subtracted, since generating and hashing keys is not
//! the filter's work.

use std::io;

use anyhow::{Result, bail, ensure};
use serde::Serialize;
use sstkit_filter::{BuildContext, FilterKind, FilterPolicy};

use super::filter_set::{FilterSet, MAX_BATCH, Mode, Queries};
use super::keys::MIN_KEY_SIZE;
use crate::args::{FormatArgs, names};
use crate::output::page::HEADING;
use crate::output::{Align, Grid, Page, ProgressBar, units};
use crate::status::Status;

/// Measure a filter: build and query time, bits per key, false positives
///
/// Uses the method of RocksDB's filter_bench: many filters that together fill a given amount of
/// memory, keys of about 24 bytes (plus or minus 2), queries for keys inside and outside the
/// filter, with the time of a dry run subtracted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst bench filter --filter bloomfilter:10
  sst bench filter --filter ribbonfilter:9.9 --memory 200MiB --queries 50000000
  sst bench filter --filter bloomfilter:10 --mode single --mode random --format json

Beside RocksDB's own tool:
  sst bench filter --filter bloomfilter:10 --memory 200MiB --queries 200000000
  filter_bench -impl=2 -bits_per_key=10 -working_mem_size_mb=200 -m_queries=200")]
pub(crate) struct Args {
    // Not a doc comment: rustdoc would take the brackets for a link.
    #[arg(
        long,
        value_name = "POLICY",
        default_value = "bloomfilter:10",
        value_parser = names::filter,
        help = "Filter policy: bloomfilter:BITS or ribbonfilter:BITS[:LEVEL]"
    )]
    filter: FilterPolicy,

    /// Format version of the table: 2 to 4 use the legacy Bloom filter, 5 and later the new one
    #[arg(long, value_name = "N", default_value = "7", value_parser = names::format_version)]
    format_version: sstkit_table::raw::FormatVersion,

    /// Total size of all filters
    #[arg(long, value_name = "SIZE", default_value = "100MiB", value_parser = units::parse_size)]
    memory: u64,

    /// Average number of keys per filter; varies by 40 % in both directions
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    keys_per_filter: u32,

    /// Average key size in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 24)]
    key_size: usize,

    /// Number of queries per measurement
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    queries: u64,

    /// Keys per batch in batched mode
    #[arg(long, value_name = "N", default_value_t = 8)]
    batch_size: usize,

    /// How filters are chosen [default: all modes]
    #[arg(long, value_enum, value_name = "MODE")]
    mode: Vec<Mode>,

    /// Count hashing as time of the filter instead of the dry run
    #[arg(long)]
    net_includes_hashing: bool,

    /// Seed of the random generator
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    format: FormatArgs,
}

/// The fraction of queries for keys inside the filter.
const MIXES: [(&str, f64); 3] = [("mixed", 0.5), ("inside", 0.95), ("outside", 0.05)];

/// The results, as JSON.
#[derive(Serialize)]
struct Report {
    filter: String,
    kind: &'static str,
    filters: usize,
    keys: u64,
    bytes: u64,
    bits_per_key: f64,
    build_ns_per_key: f64,
    false_negatives: u64,
    expected_fpr: Option<f64>,
    measured_fpr: Option<f64>,
    queries: Vec<Row>,
}

/// One measurement.
#[derive(Serialize)]
struct Row {
    /// The kind of keys: `mixed`, mostly `inside`, mostly `outside`.
    keys: &'static str,
    mode: Mode,
    gross_ns: f64,
    dry_run_ns: f64,
    net_ns: f64,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        self.check()?;
        let context = BuildContext::default().format_version(self.format_version.number());
        let set = FilterSet::build(
            &self.filter,
            &context,
            self.memory,
            self.keys_per_filter,
            self.key_size,
            self.seed,
        )?;
        let report = self.measure(&set);
        let mut page = Page::stdout();
        self.format.print(&mut page, &report, |page, report| report.print(page))?;
        page.finish()?;
        Ok(Status::of(report.false_negatives == 0))
    }

    fn check(&self) -> Result<()> {
        ensure!(self.keys_per_filter > 0, "--keys-per-filter must be 1 or more");
        ensure!(self.keys_per_filter < 1 << 30, "--keys-per-filter must be less than 2^30");
        ensure!(self.key_size >= MIN_KEY_SIZE, "--key-size must be {MIN_KEY_SIZE} or more");
        ensure!(self.key_size <= 1 << 16, "--key-size must be 65536 or less");
        ensure!(
            (1..=MAX_BATCH).contains(&self.batch_size),
            "--batch-size must be between 1 and {MAX_BATCH}"
        );
        ensure!(self.memory > 0 && self.queries > 0, "--memory and --queries must be more than 0");
        if self.filter.block_builder().is_ok() {
            bail!(
                "{} builds a small filter for each 2 KiB of a table: use `sst bench table` to \
                 measure it",
                self.filter
            );
        }
        Ok(())
    }

    fn measure(&self, set: &FilterSet) -> Report {
        let modes: &[Mode] = if self.mode.is_empty() { Mode::ALL } else { &self.mode };
        let progress =
            ProgressBar::items("measuring", Some((MIXES.len() * modes.len() * 2) as u64));
        let (mut rows, mut outside, mut positives, mut negatives) = (Vec::new(), 0, 0, 0);
        for (keys, inside) in MIXES {
            for &mode in modes {
                let queries = Queries {
                    mode,
                    inside,
                    count: self.queries,
                    batch: self.batch_size,
                    seed: self.seed.wrapping_add(1),
                    net_includes_hashing: self.net_includes_hashing,
                };
                let results = set.query(&queries, false);
                progress.add(1);
                let dry_run_ns = set.query(&queries, true).ns_per_question();
                progress.add(1);
                outside += results.outside;
                positives += results.false_positives;
                negatives += results.false_negatives;
                let gross_ns = results.ns_per_question();
                rows.push(Row { keys, mode, gross_ns, dry_run_ns, net_ns: gross_ns - dry_run_ns });
            }
        }
        let keys = set.keys.max(1) as f64;
        Report {
            filter: self.filter.to_string(),
            kind: set.kind().map_or("none", FilterKind::name),
            filters: set.len(),
            keys: set.keys,
            bytes: set.bytes,
            bits_per_key: 8.0 * set.bytes as f64 / keys,
            build_ns_per_key: set.build_time.as_nanos() as f64 / keys,
            false_negatives: negatives + set.false_negatives(),
            expected_fpr: set.expected_fpr(),
            measured_fpr: (outside > 0).then(|| positives as f64 / outside as f64),
            queries: rows,
        }
    }
}

impl Report {
    fn print(&self, page: &mut Page) -> io::Result<()> {
        page.styled_line(HEADING, format!("{} ({})", self.filter, self.kind))?;
        let mut grid = Grid::pairs();
        grid.pair("filters", units::count(self.filters as u64));
        grid.pair("memory", units::size(self.bytes));
        grid.pair("keys", units::count(self.keys));
        grid.pair("bits per key", format!("{:.3}", self.bits_per_key));
        grid.pair("build", format!("{:.2} ns/key", self.build_ns_per_key));
        let rate = |rate: Option<f64>| rate.map_or("unknown".into(), units::percent);
        grid.pair("false positives", rate(self.measured_fpr));
        grid.pair("  expected", rate(self.expected_fpr));
        grid.pair("false negatives", units::count(self.false_negatives));
        grid.print(page)?;
        writeln!(page)?;
        let mut grid = Grid::new(&[
            ("keys queried", Align::Left),
            ("mode", Align::Left),
            ("net ns/op", Align::Right),
            ("gross", Align::Right),
            ("dry run", Align::Right),
        ]);
        for row in &self.queries {
            let keys = match row.keys {
                "mixed" => "half inside",
                "inside" => "mostly inside",
                _ => "mostly outside",
            };
            let [net, gross, dry] =
                [row.net_ns, row.gross_ns, row.dry_run_ns].map(|ns| format!("{ns:.2}"));
            grid.row([keys.into(), row.mode.name().into(), net, gross, dry]);
        }
        grid.print(page)
    }
}
