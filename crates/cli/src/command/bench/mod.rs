//! `sst bench`: measures filters and tables on this machine.

mod filter;
mod filter_set;
mod keys;
mod table;

use anyhow::Result;
use clap::Subcommand;

use crate::status::Status;

/// Measure the cost of a filter or a table on this machine
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Filter(filter::Args),
    Table(table::Args),
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        match self.what {
            What::Filter(args) => args.run(),
            What::Table(args) => args.run(),
        }
    }
}
