//! One file per subcommand: its arguments and its implementation.

mod advise;
mod bench;
mod build;
mod commit;
mod compact;
mod completions;
mod database_output;
mod diff;
mod dump;
mod engine_tools;
mod filter;
mod get;
mod info;
mod ingest_check;
mod input_args;
#[cfg(feature = "serve")]
mod inspected;
mod layout;
mod man;
mod output_args;
mod part;
mod plan;
mod refilter;
mod remote_output;
#[cfg(feature = "serve")]
mod report;
mod salvage;
mod scan;
#[cfg(feature = "serve")]
mod serve;
mod stats;
mod verify;

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use clap::{CommandFactory as _, Parser, Subcommand};

pub(crate) use self::engine_tools::suggest_command;
use crate::status::Status;

/// Inspect, verify and build LevelDB and RocksDB tables and databases.
///
/// PATH is a table file (SST), a database directory, or a directory of tables written by `sst
/// build` or `sst compact`. Kind and engine are detected. Inputs are never modified. `sst PATH` is short
/// for `sst info PATH`.
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
    #[command(visible_aliases = ["properties", "ls"])]
    Info(info::Args),
    Dump(dump::Args),
    Layout(layout::Args),
    #[command(alias = "cat")]
    Scan(scan::Args),
    Get(get::Args),
    Stats(stats::Args),
    #[command(visible_alias = "check")]
    Verify(verify::Args),
    Diff(diff::Args),
    Filter(filter::Args),
    Advise(advise::Args),
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    #[cfg(feature = "serve")]
    Report(report::Args),
    IngestCheck(ingest_check::Args),
    Build(build::Args),
    Plan(plan::Args),
    Part(part::Args),
    Commit(commit::Args),
    #[command(alias = "merge")]
    Compact(compact::Args),
    Refilter(refilter::Args),
    Salvage(salvage::Args),
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
            Self::Advise(args) => args.run(),
            #[cfg(feature = "serve")]
            Self::Serve(args) => args.run(),
            #[cfg(feature = "serve")]
            Self::Report(args) => args.run(),
            Self::IngestCheck(args) => args.run(),
            Self::Build(args) => args.run(),
            Self::Plan(args) => args.run(),
            Self::Part(args) => args.run(),
            Self::Commit(args) => args.run(),
            Self::Compact(args) => args.run(),
            Self::Refilter(args) => args.run(),
            Self::Salvage(args) => args.run(),
            Self::Bench(args) => args.run(),
            Self::Completions(args) => args.run(),
            Self::Man(args) => args.run(),
        }
    }
}

/// Options of `sst` itself.
const OWN_OPTIONS: [&str; 4] = ["-h", "--help", "-V", "--version"];

/// The arguments with the command that a bare path stands for: `sst 000011.sst` is `sst info
/// 000011.sst`. A name that is neither a command nor a path is left to the parser, which suggests one.
pub(crate) fn arguments(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = given.collect();
    let Some(first) = arguments.get(1) else { return arguments };
    let is_info = match first.to_str() {
        Some(text) if text.starts_with('-') => text != "-" && !OWN_OPTIONS.contains(&text),
        Some(text) => {
            let is_command = text == "help" || Cli::command().find_subcommand(text).is_some();
            let is_path = Path::new(text).exists() || text.contains(['/', '.']);
            !is_command && is_path
        }
        None => true,
    };
    if is_info {
        arguments.insert(1, "info".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_path_is_described() {
        for (given, expected) in [
            (&["sst", "Cargo.toml"][..], &["sst", "info", "Cargo.toml"][..]),
            (&["sst", "none/such.sst"], &["sst", "info", "none/such.sst"]),
            (&["sst", "--json", "src"], &["sst", "info", "--json", "src"]),
            (&["sst", "scan", "Cargo.toml"], &["sst", "scan", "Cargo.toml"]),
            (&["sst", "check", "x"], &["sst", "check", "x"]),
            (&["sst", "scna"], &["sst", "scna"]),
            (&["sst", "--help"], &["sst", "--help"]),
            (&["sst", "help", "scan"], &["sst", "help", "scan"]),
            (&["sst"], &["sst"]),
        ] {
            assert_eq!(arguments(given.iter().map(OsString::from)), expected);
        }
    }
}
