//! One file a subcommand: its arguments, and what it does.

mod bench;
mod build;
mod compact;
mod completions;
mod dump;
mod filter;
mod get;
mod info;
mod layout;
mod man;
mod place;
mod scan;
mod verify;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::status::Status;

/// Inspect tables (SST files) and databases of LevelDB and RocksDB, and build new ones.
///
/// PATH is a table file, a database directory, or a folder of tables that `sst build` or `sst compact`
/// wrote; which, and which engine wrote it, is found out. Nothing that is read is ever changed.
///
/// Exit status: 0 fine, 1 a negative answer (not found, damaged), 2 trouble.
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
    Verify(verify::Args),
    Filter(filter::Args),
    Build(build::Args),
    Compact(compact::Args),
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
            Self::Verify(args) => args.run(),
            Self::Filter(args) => args.run(),
            Self::Build(args) => args.run(),
            Self::Compact(args) => args.run(),
            Self::Bench(args) => args.run(),
            Self::Completions(args) => args.run(),
            Self::Man(args) => args.run(),
        }
    }
}
