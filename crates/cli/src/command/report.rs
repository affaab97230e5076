//! `sst report`: writes the pages of `sst serve` as one file.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::Serialize;
use sstkit_web::{ReportOptions, write_report};

use super::inspected::InspectedArgs;
use super::output_args::file_target;
use crate::args::FormatArgs;
use crate::interrupt;
use crate::output::page::HEADING;
use crate::output::{FileWriter, Page, ProgressBar, units};
use crate::status::Status;

/// Write the pages of `sst serve` as one HTML file
///
/// The file needs no server and loads nothing, so it can be sent to a colleague. It contains keys and
/// values: the first page of a scan, and the blocks at both ends of each table. Pages that do not fit
/// are left out, tables last.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst report /var/lib/mydb -o mydb.html
  sst report 000011.sst -o table.html --no-verify")]
pub(crate) struct Args {
    #[command(flatten)]
    inspected: InspectedArgs,

    /// Output file
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    output: PathBuf,

    /// Replace an existing output file
    #[arg(long)]
    force: bool,

    /// Size limit for the data in the report
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = units::parse_size)]
    max_size: u64,

    /// Do not verify the files
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// What was written.
#[derive(Serialize)]
struct ReportDone {
    file: String,
    bytes: u64,
    /// Pages, and parts of pages.
    pages: u64,
    /// Those that did not fit.
    left_out: u64,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let name = self.output.display().to_string();
        let target = file_target(&self.output, self.force)?;
        let inspector = self.inspected.inspector()?;
        let options = ReportOptions::default().max_bytes(self.max_size).verify(!self.no_verify);
        interrupt::listen();
        let written = || -> Result<ReportDone> {
            let progress = ProgressBar::busy(format!("writing {name}"));
            let mut out = FileWriter::new(target.create()?);
            let summary = write_report(&inspector, &mut out, &options, &mut |_| {
                !interrupt::is_interrupted()
            })?;
            let file = out.finish()?;
            target.commit(file)?;
            drop(progress);
            Ok(ReportDone {
                file: name.clone(),
                bytes: summary.bytes,
                pages: summary.pages,
                left_out: summary.left_out,
            })
        };
        let done = interrupt::outcome(written().with_context(|| name.clone()))?;
        interrupt::done();
        let mut page = Page::stdout();
        self.format.print(&mut page, &done, |page, done| {
            let title = page.paint(HEADING, &done.file);
            let pages = units::counted(done.pages, "page");
            write!(page, "{title}: {pages}, {}", units::size(done.bytes))?;
            if done.left_out > 0 {
                write!(page, "; {} left out because of --max-size", units::count(done.left_out))?;
            }
            writeln!(page)
        })?;
        page.finish()?;
        Ok(Status::Fine)
    }
}
