//! The work, one file for each kind.

mod bulk;
mod command;
mod database;
mod filter;
mod filter_bench;
mod growth;
mod open;
mod read;
mod write;

use anyhow::Result;

use crate::args::Args;
use crate::data::Entries;
use crate::session::Session;

/// Runs all workloads that are selected.
pub(crate) fn run(session: &mut Session, args: &Args) -> Result<()> {
    filter::run(session)?;
    filter_bench::run(session)?;
    {
        let entries = Entries::new(session.plan.entries);
        write::run(session, &entries)?;
        read::run(session, &entries)?;
        database::run(session, &entries)?;
        open::run(session, &entries)?;
        bulk::run(session, &entries)?;
        command::run(session, &entries, args)?;
    }
    growth::run(session)
}
