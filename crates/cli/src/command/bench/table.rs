//! `sst bench table`: measures writing and reading a table.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use sstkit_table::{Table, TableReadOptions, TableWriter, Ticker, Tickers};

use super::keys::Random;
use crate::args::{FormatArgs, WriteArgs};
use crate::interrupt;
use crate::output::page::HEADING;
use crate::output::{Align, Grid, Page, ProgressBar, units};
use crate::status::Status;

/// Bytes of a mebibyte.
const MIB: f64 = 1_048_576.0;
/// Entries between checks for Ctrl-C and progress updates.
const PROGRESS_INTERVAL: u64 = 4096;

/// Measure a table: write, scan, get present and absent keys
///
/// Writes the table to a temporary directory, which is removed afterwards. Half of each value is
/// random, so that it compresses to about half. Reads go through a cache that holds the whole
/// table, so they measure the CPU, not the disk.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst bench table
  sst bench table --entries 5000000 --value-size 400 --compression zstd --filter ribbonfilter:10
  sst bench table --partition-filters --format json")]
pub(crate) struct Args {
    /// Number of entries
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    entries: u64,

    /// Size of a value in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    value_size: usize,

    /// Number of lookups, for present and for absent keys each
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    gets: u64,

    /// Size of the block cache
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = units::parse_size)]
    cache: u64,

    /// Parent of the temporary directory [default: the system's]
    #[arg(long, value_name = "FOLDER")]
    directory: Option<PathBuf>,

    /// Seed of the random generator
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    write: WriteArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// The results, as JSON.
#[derive(Serialize)]
struct Report {
    entries: u64,
    file_bytes: u64,
    raw_bytes: u64,
    write: Measure,
    scan: Measure,
    get_present: Measure,
    get_absent: Measure,
    /// The fraction of absent keys that the filter did not reject.
    measured_fpr: Option<f64>,
}

/// A number of operations and their duration.
#[derive(Clone, Copy, Serialize)]
struct Measure {
    operations: u64,
    seconds: f64,
    ns_per_operation: f64,
    /// Keys and values per second, in MiB.
    mib_per_second: f64,
}

impl Measure {
    fn new(start: Instant, operations: u64, bytes: u64) -> Self {
        let seconds = start.elapsed().as_secs_f64().max(1e-9);
        Self {
            operations,
            seconds,
            ns_per_operation: seconds * 1e9 / operations.max(1) as f64,
            mib_per_second: bytes as f64 / MIB / seconds,
        }
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        ensure!(self.entries > 0, "--entries must be 1 or more");
        ensure!(self.value_size <= 1 << 30, "--value-size must be 1 GiB or less");
        interrupt::listen();
        let folder = self.directory.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::Builder::new()
            .prefix("sst-bench-")
            .tempdir_in(&folder)
            .with_context(|| folder.display().to_string())?;
        let report = self.measure(&folder.path().join("bench.sst"))?;
        let mut page = Page::stdout();
        self.format.print(&mut page, &report, |page, report| report.print(page))?;
        page.finish()?;
        Ok(Status::Fine)
    }

    fn measure(&self, path: &std::path::Path) -> Result<Report> {
        let (write, raw_bytes, file_bytes) = self.write(path)?;
        let tickers = Arc::new(Tickers::default());
        let cache = sstkit_table::BlockCache::new(self.cache);
        let options = TableReadOptions::default().block_cache(&cache).tickers(&tickers);
        let table = Table::open_with(path, &options)?;
        let scan = self.scan(&table)?;
        let get_present = self.get(&table, "getting", true)?;
        tickers.reset();
        let get_absent = self.get(&table, "missing", false)?;
        let useful = tickers.get(Ticker::BloomFilterUseful);
        let asked = table.filter().is_some_and(|it| it.whole_key_filtering()) && self.gets > 0;
        let measured_fpr = asked.then(|| 1.0 - useful as f64 / self.gets as f64);
        let entries = self.entries;
        Ok(Report {
            entries,
            file_bytes,
            raw_bytes,
            write,
            scan,
            get_present,
            get_absent,
            measured_fpr,
        })
    }

    fn write(&self, path: &std::path::Path) -> Result<(Measure, u64, u64)> {
        let progress = ProgressBar::items("writing", Some(self.entries));
        let mut random = Random::new(self.seed);
        let mut value = vec![0; self.value_size];
        let mut raw_bytes = 0;
        let start = Instant::now();
        let reverse = self.write.comparator.as_ref().is_some_and(is_reverse);
        let mut writer = TableWriter::create(path, &self.write.options()?)?;
        for number in 0..self.entries {
            report_progress(number, &progress)?;
            for piece in value[..self.value_size.div_ceil(2)].chunks_mut(8) {
                piece.copy_from_slice(&random.next().to_le_bytes()[..piece.len()]);
            }
            let number = if reverse { self.entries - 1 - number } else { number };
            let key = key(2 * number);
            writer.put(&key, &value)?;
            raw_bytes += (key.len() + value.len()) as u64;
        }
        let summary = writer.finish()?;
        Ok((Measure::new(start, self.entries, raw_bytes), raw_bytes, summary.file_size))
    }

    fn scan(&self, table: &Table) -> Result<Measure> {
        let progress = ProgressBar::items("scanning", Some(self.entries));
        let (mut entries, mut bytes) = (0, 0);
        let start = Instant::now();
        let mut cursor = table.cursor();
        let mut more = cursor.seek_to_first()?;
        while more {
            report_progress(entries, &progress)?;
            entries += 1;
            bytes += (cursor.key().len() + cursor.value()?.len()) as u64;
            more = cursor.next()?;
        }
        ensure!(entries == self.entries, "wrote {} entries, but read {entries}", self.entries);
        Ok(Measure::new(start, entries, bytes))
    }

    fn get(&self, table: &Table, what: &'static str, present: bool) -> Result<Measure> {
        let progress = ProgressBar::items(what, Some(self.gets));
        let mut random = Random::new(self.seed.wrapping_add(1));
        let mut bytes = 0;
        let start = Instant::now();
        for done in 0..self.gets {
            report_progress(done, &progress)?;
            let number = 2 * (random.next() % self.entries) + u64::from(!present);
            let key = key(number);
            let value = table.get(&key)?;
            ensure!(value.is_some() == present, "the value of {} is wrong", key.escape_ascii());
            bytes += (key.len() + value.map_or(0, |value| value.len())) as u64;
        }
        Ok(Measure::new(start, self.gets, bytes))
    }
}

/// Even numbers are in the table; the odd ones between them are not.
fn key(number: u64) -> [u8; 20] {
    let mut key = *b"user0000000000000000";
    let mut rest = number;
    for digit in key[4..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

fn is_reverse(comparator: &sstkit_table::Comparator) -> bool {
    comparator.compare(b"a", b"b").is_gt()
}

fn report_progress(done: u64, progress: &ProgressBar) -> Result<()> {
    if done.is_multiple_of(PROGRESS_INTERVAL) {
        progress.set(done);
        interrupt::check()?;
    }
    Ok(())
}

impl Report {
    fn print(&self, page: &mut Page) -> io::Result<()> {
        let title = format!(
            "{}, {} of keys and values, file of {}",
            format_args!("{} entries", units::count(self.entries)),
            units::size(self.raw_bytes),
            units::size(self.file_bytes)
        );
        page.styled_line(HEADING, title)?;
        let mut grid = Grid::new(&[
            ("", Align::Left),
            ("operations", Align::Right),
            ("ns/op", Align::Right),
            ("ops/s", Align::Right),
            ("MiB/s", Align::Right),
        ])
        .indent(2);
        for (name, measure) in [
            ("write", self.write),
            ("scan", self.scan),
            ("get, present", self.get_present),
            ("get, absent", self.get_absent),
        ] {
            grid.row([
                name.into(),
                units::count(measure.operations),
                format!("{:.0}", measure.ns_per_operation),
                units::count((measure.operations as f64 / measure.seconds) as u64),
                format!("{:.1}", measure.mib_per_second),
            ]);
        }
        grid.print(page)?;
        if let Some(rate) = self.measured_fpr {
            writeln!(page, "\nfalse positives: {}", units::percent(rate))?;
        }
        Ok(())
    }
}
