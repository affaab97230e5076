//! `sst commit`: puts the parts of a plan together.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::Serialize;
use sstkit_db::{BulkManifest, Commit, CommitOptions, CommitSummary};

use crate::args::FormatArgs;
use crate::interrupt;
use crate::output::{Page, units};
use crate::status::Status;

/// Put the parts of a plan together
///
/// Chooses one attempt for each part, checks order, bounds, counts and checksums, moves the tables
/// into the output directory and writes manifest.json last: before that, the output is not complete.
/// After an interruption run it again: it continues with the same choice. Attempts that do not count are
/// listed, or removed with --clean.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst commit parts
  sst commit parts --entries 1 --clean
  sst commit parts --attempt 0=task-17-1")]
pub(crate) struct Args {
    /// Output directory with the plan
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Attempt that counts for a part [default: the first one by name]; may be repeated
    #[arg(long, value_name = "PART=NAME", value_parser = part_and_attempt)]
    attempt: Vec<(usize, String)>,

    /// Fail unless all parts together have N entries
    #[arg(long, value_name = "N")]
    entries: Option<u64>,

    /// Compare only the sizes of files with the manifests, not their checksums
    #[arg(long)]
    no_checksums: bool,

    /// Remove the plan and all attempts that do not count
    #[arg(long)]
    clean: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Report<'s> {
    output: String,
    left_over: Vec<String>,
    manifest: &'s BulkManifest,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        interrupt::listen();
        let summary = interrupt::outcome(self.commit())?;
        interrupt::done();
        let report = Report {
            output: self.output.display().to_string(),
            left_over: summary.losers.iter().map(|path| path.display().to_string()).collect(),
            manifest: &summary.manifest,
        };
        let mut page = Page::stdout();
        match self.format.is_json() {
            true => page.json(&report)?,
            false => {
                let BulkManifest { entries, bytes, files, .. } = report.manifest;
                let files = units::counted(files.len() as u64, "table");
                let (entries, bytes) = (units::counted(*entries, "entry"), units::size(*bytes));
                writeln!(page, "{}: {entries}, {bytes}, {files}", report.output)?;
                for path in &report.left_over {
                    writeln!(page, "  does not count: {path}")?;
                }
            }
        }
        page.finish()?;
        Ok(Status::Fine)
    }

    fn commit(&self) -> Result<CommitSummary> {
        let options = CommitOptions::default()
            .attempts(self.attempt.iter().cloned())
            .entries(self.entries)
            .checksums(!self.no_checksums)
            .clean(self.clean);
        let mut commit = Commit::new(&self.output, options)?;
        while commit.step()? {
            interrupt::check()?;
        }
        Ok(commit.run()?)
    }
}

fn part_and_attempt(text: &str) -> Result<(usize, String)> {
    let (part, attempt) =
        text.split_once('=').context("expected PART=NAME, such as 3=task-17-1")?;
    let part = part.parse().with_context(|| format!("{part:?} is not the number of a part"))?;
    Ok((part, attempt.to_owned()))
}
