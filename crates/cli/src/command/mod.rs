//! One file per subcommand: its arguments and its implementation.

mod bench;
mod build;
mod compact;
mod completions;
mod database_output;
mod diff;
mod dump;
mod filter;
mod get;
mod info;
mod ingest_check;
#[cfg(feature = "serve")]
mod inspected;
mod layout;
mod man;
mod output_args;
mod refilter;
#[cfg(feature = "serve")]
mod report;
mod scan;
#[cfg(feature = "serve")]
mod serve;
mod stats;
mod verify;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::status::Status;

/// Inspect, verify and build LevelDB and RocksDB tables and databases.
///
/// PATH is a table file (SST), a database directory, or a directory of tables written by `sst
/// build` or `sst compact`. Kind and engine are detected. Inputs are never modified.
///
/// Exit status: 0 success, 1 negative result (not found, damaged, different), 2 failure.
#[derive(Debug, Parser)]
#[command(name = "sst", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Info(info::Args),
    Dump(dump::Args),
    Layout(layout::Args),
    Scan(scan::Args),
    Get(get::Args),
    Stats(stats::Args),
    Verify(verify::Args),
    Diff(diff::Args),
    Filter(filter::Args),
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    #[cfg(feature = "serve")]
    Report(report::Args),
    IngestCheck(ingest_check::Args),
    Build(build::Args),
    Compact(compact::Args),
    Refilter(refilter::Args),
    Bench(bench::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    pub(crate) fn run(self) -> Result<Status> {
        match self {
            Self::Info(args) => args.run(),
            Self::Dump(args) => args.run(),
            Self::Layout(args) => args.run(),
            Self::Scan(args) => args.run(),
            Self::Get(args) => args.run(),
            Self::Stats(args) => args.run(),
            Self::Verify(args) => args.run(),
            Self::Diff(args) => args.run(),
            Self::Filter(args) => args.run(),
            #[cfg(feature = "serve")]
            Self::Serve(args) => args.run(),
            #[cfg(feature = "serve")]
            Self::Report(args) => args.run(),
            Self::IngestCheck(args) => args.run(),
            Self::Build(args) => args.run(),
            Self::Compact(args) => args.run(),
            Self::Refilter(args) => args.run(),
            Self::Bench(args) => args.run(),
            Self::Completions(args) => args.run(),
            Self::Man(args) => args.run(),
        }
    }
}
