//! `sst part`: builds one part of a plan.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use sstkit_arrow::EntrySink;
use sstkit_db::{BulkManifest, PartOptions, PartWriter, Plan};
use sstkit_table::raw::InternalKey;

use super::build::MEMORY;
use super::input_args::{InputArgs, bare};
use crate::args::{FormatArgs, Profile};
use crate::interrupt;
use crate::output::{Page, stop_or_show, units};
use crate::status::Status;

/// Build one part of a plan
///
/// Writes the tables of a part of the plan that `sst plan` has made, from input in any order, as an
/// attempt, which appears whole or not at all. Several attempts at a part do no harm: `sst commit`
/// takes one of them. A key of another part is an error, unless --skip-others is given.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst part parts users.csv --key id --value name --part 0
  sst part parts users.ndjson --part 0 --attempt task-17-0 --sorted
  sst part parts users.ndjson --part 1 --skip-others")]
pub(crate) struct Args {
    /// Output directory with the plan
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Input files, or - for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// Number of the part, from 0
    #[arg(long, value_name = "N")]
    part: usize,

    /// Name of the attempt, of letters, digits, - and _, which no other attempt at this part has
    /// [default: a new one]
    #[arg(long, value_name = "NAME")]
    attempt: Option<String>,

    /// Skip keys of other parts, instead of failing
    #[arg(long)]
    skip_others: bool,

    /// Require sorted input: entries are written as they arrive, and one out of order is an error
    #[arg(long)]
    sorted: bool,

    /// Memory for sorting [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, conflicts_with = "sorted")]
    memory: Option<u64>,

    /// Number of threads for compression and writing [default: number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Report<'s> {
    output: String,
    part: usize,
    attempt: String,
    folder: String,
    seconds: f64,
    manifest: &'s BulkManifest,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        // Plans are for RocksDB.
        self.input.check(&self.inputs, Profile::Rocksdb)?;
        interrupt::listen();
        let start = Instant::now();
        let summary = interrupt::outcome(self.write())?;
        interrupt::done();
        let seconds = start.elapsed();
        let report = Report {
            output: self.output.display().to_string(),
            part: summary.part,
            attempt: summary.attempt,
            folder: summary.folder.display().to_string(),
            seconds: seconds.as_secs_f64(),
            manifest: &summary.manifest,
        };
        let mut page = Page::stdout();
        match self.format.is_json() {
            true => page.json(&report)?,
            false => writeln!(
                page,
                "{}: part {}, attempt {}: {}, {}, in {}",
                report.output,
                report.part,
                report.attempt,
                units::counted(report.manifest.entries, "entry"),
                units::size(report.manifest.bytes),
                units::time(seconds),
            )?,
        }
        page.finish()?;
        Ok(Status::Fine)
    }

    fn write(&self) -> Result<sstkit_db::PartSummary> {
        let plan = Plan::open(&self.output)?;
        let threads = || std::thread::available_parallelism().map_or(1, usize::from);
        let options = PartOptions::default()
            .sorted(self.sorted)
            .memory(usize::try_from(self.memory.unwrap_or(MEMORY)).unwrap_or(usize::MAX))
            .threads(self.threads.unwrap_or_else(threads));
        let attempt = self.attempt.clone().unwrap_or_else(new_attempt);
        let mut writer = OwnKeys {
            writer: PartWriter::with_progress(
                &plan,
                self.part,
                &attempt,
                &options,
                stop_or_show(),
            )?,
            part: self.part,
            skips_others: self.skip_others,
            plan,
        };
        // The range of a part may have no keys.
        self.input.read_all(&self.inputs, &writer.plan.comparator().clone(), &mut writer)?;
        Ok(writer.writer.finish()?)
    }
}

/// A name that no other process uses.
fn new_attempt() -> String {
    let time = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
    format!("{:x}-{time:x}", std::process::id())
}

/// Passes on the keys of a part, and skips others if that is wanted.
struct OwnKeys {
    writer: PartWriter,
    plan: Plan,
    part: usize,
    skips_others: bool,
}

impl EntrySink for OwnKeys {
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> sstkit_arrow::Result<()> {
        if self.skips_others && self.plan.part_of(bare(key, self.plan.comparator())?) != self.part {
            return Ok(());
        }
        EntrySink::add(&mut self.writer, key, value)
    }
}
