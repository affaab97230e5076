//! `sst dump`: everything in a table, in the layout of RocksDB's `sst_dump --command=raw`.

use std::path::PathBuf;

use anyhow::Result;
use sstkit_inspect::{TableFile, raw_dump};

use crate::args::ReadArgs;
use crate::output::{Page, complain, units};
use crate::status::Status;
use crate::target::Target;

/// Print all of a table, as RocksDB's `sst_dump --command=raw` does
///
/// Footer, metaindex, properties, index, range deletions, every entry of every data block, and a
/// summary. Works for all formats, also for those that RocksDB refuses to open. Data blocks that
/// cannot be read are named; the exit status is then 1.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst dump 000011.sst
  sst dump 000005.ldb | less
  sst dump a.sst > a.txt; sst dump b.sst > b.txt; diff a.txt b.txt")]
pub(crate) struct Args {
    /// The table
    file: PathBuf,

    #[command(flatten)]
    read: ReadArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let path = Target::table(&self.file)?;
        let file = TableFile::open(&path, &self.read.table_options().no_block_cache())?;
        let mut page = Page::stdout();
        let unreadable = raw_dump(&file, &mut page)?;
        page.finish()?;
        if unreadable > 0 {
            let blocks = units::counted(unreadable, "data block");
            complain(&format!("{}: {blocks} could not be read", path.display()));
        }
        Ok(Status::of(unreadable == 0))
    }
}
