//! `sst dump`: prints a table in the layout of RocksDB's `sst_dump --command=raw`.

use std::path::PathBuf;

use anyhow::Result;
use sstkit_inspect::{InspectedTable, raw_dump};

use crate::args::ReadArgs;
use crate::output::{Page, print_message, units};
use crate::status::Status;
use crate::target::Target;

/// Print a table in the layout of RocksDB's `sst_dump --command=raw`
///
/// Prints footer, metaindex, properties, index, range deletions, every entry of every data block,
/// and a summary. Works for all formats, including those that RocksDB refuses to open. Unreadable
/// data blocks are reported; the exit status is then 1.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst dump 000011.sst
  sst dump 000005.ldb | less
  sst dump a.sst > a.txt; sst dump b.sst > b.txt; diff a.txt b.txt")]
pub(crate) struct Args {
    /// Table file
    file: PathBuf,

    #[command(flatten)]
    read: ReadArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let path = Target::table(&self.file)?;
        let file = InspectedTable::open(&path, &self.read.table_options().no_block_cache())?;
        let mut page = Page::stdout();
        let unreadable = raw_dump(&file, &mut page)?;
        page.finish()?;
        if unreadable > 0 {
            let blocks = units::counted(unreadable, "data block");
            print_message(&format!("{}: {blocks} could not be read", path.display()));
        }
        Ok(Status::of(unreadable == 0))
    }
}
