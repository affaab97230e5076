//! The `sst` command: inspects, verifies and builds LevelDB and RocksDB tables and databases.
//!
//! ```text
//! main        parses arguments, dispatches, sets the exit status
//!  |- command   one file per subcommand: its arguments and its implementation
//!  |- args      arguments shared by several subcommands
//!  |- remote    addresses in object stores
//!  |- target    whether a path is a table or a database
//!  |- table_order  in which order the keys of a table are that does not say it
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
mod remote;
mod status;
mod table_order;
mod target;

use std::process::ExitCode;

use clap::Parser;

use crate::command::Cli;
use crate::status::{Status, is_broken_pipe, message};

fn main() -> ExitCode {
    interrupt::install();
    let cli = match Cli::try_parse_from(command::arguments(std::env::args_os())) {
        Ok(cli) => cli,
        Err(mut error) => {
            command::suggest_command(&mut error);
            return usage(&error);
        }
    };
    // A database keeps its tables open, so that a running engine cannot delete them.
    sstkit_db::raise_open_file_limit();
    let status = match cli.command.run() {
        Ok(status) => status,
        // The reader closed the pipe: `sst scan … | head` is fine.
        Err(error) if is_broken_pipe(&error) => Status::Fine,
        Err(error) => {
            output::print_message(&message(&error));
            if let Some(status) = interrupt::status() {
                return status.into();
            }
            Status::Trouble
        }
    };
    status.into()
}

/// Prints help and version to standard output; reports bad usage in the format of our messages.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // If standard output is closed, nobody reads the help.
        let _ = error.print();
        return Status::Fine.into();
    }
    let text = error.render().to_string();
    output::print_message_lines(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    Status::Trouble.into()
}
