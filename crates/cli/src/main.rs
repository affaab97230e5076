//! The command `sst`: what is in a table or a database of LevelDB or RocksDB, whether it is sound,
//! what its filters catch; and new tables out of other data.
//!
//! ```text
//! main        parses, dispatches, turns what happened into an exit status
//!  |- command   one file a subcommand: its arguments, and what it does
//!  |- args      arguments that several of them share
//!  |- target    what a path names: a table or a database
//!  |- input     records to build tables from: NDJSON, CSV, Parquet
//!  '- output    text, JSON, colour, units, progress
//! ```

#![forbid(unsafe_code)]

mod args;
mod command;
mod database;
mod input;
mod interrupt;
mod output;
mod status;
mod suggest;
mod target;

use std::process::ExitCode;

use clap::Parser;

use crate::command::Cli;
use crate::status::{Status, is_broken_pipe, message};

fn main() -> ExitCode {
    interrupt::install();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    // A database holds its tables open, so that an engine at work does not take them away.
    sstkit_db::raise_open_file_limit();
    let status = match cli.command.run() {
        Ok(status) => status,
        // Whoever reads has seen enough: `sst scan … | head` is fine.
        Err(error) if is_broken_pipe(&error) => Status::Fine,
        Err(error) => {
            output::complain(&message(&error));
            if let Some(status) = interrupt::status() {
                return status.into();
            }
            Status::Trouble
        }
    };
    status.into()
}

/// Help and version are what was asked for; anything else is bad usage, in our way of speaking.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // If nobody reads the help, nobody is left to be told.
        let _ = error.print();
        return Status::Fine.into();
    }
    let text = error.render().to_string();
    output::complain_in_lines(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    Status::Trouble.into()
}
