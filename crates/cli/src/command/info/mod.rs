//! `sst info`: what a table or a database is.

mod directory;
mod table;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sstkit_inspect::{DatabaseInfo, TableFile, TableInfo};

use crate::args::{EncodingArgs, FormatArgs, ReadArgs};
use crate::database;
use crate::output::{Page, complain};
use crate::status::{Status, is_broken_pipe, message};
use crate::target::Target;

/// Says what a table or a database is
///
/// Of a table: engine, format version, checksum, codecs, index, entries by kind, key range, sizes of
/// data, index and filter, a summary of the filter, properties. Of a database: levels, files, column
/// families, sequence numbers.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst info 000011.sst
  sst info /var/lib/mydb
  sst info --format json 000011.sst | jq '.properties[\"rocksdb.num.entries\"]'")]
pub(crate) struct Args {
    /// Tables or databases
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    encoding: EncodingArgs,

    #[command(flatten)]
    read: ReadArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let mut page = Page::stdout();
        let mut status = Status::Fine;
        for (place, path) in self.paths.iter().enumerate() {
            if place > 0 && !self.format.is_json() {
                writeln!(page)?;
            }
            match self.describe(path, &mut page) {
                Ok(of_path) => status.worsen(of_path),
                Err(error) if is_broken_pipe(&error) => return Err(error),
                Err(error) => {
                    complain(&message(&error));
                    status.worsen(Status::Trouble);
                }
            }
        }
        page.finish()?;
        Ok(status)
    }

    fn describe(&self, path: &Path, page: &mut Page) -> Result<Status> {
        let encoding = self.encoding.encoding;
        let sound = match Target::of(path)? {
            Target::Table(path) => {
                let file = TableFile::open(&path, &self.read.table_options()?)?;
                let info = TableInfo::of(path.display().to_string(), &file, encoding)?;
                match self.format.is_json() {
                    true => page.json(&info)?,
                    false => table::print(page, &info)?,
                }
                info.problems.is_empty()
            }
            Target::Database(path) => {
                let database = database::open(&path, &self.read)?;
                let info = DatabaseInfo::of(path.display().to_string(), &database, encoding);
                match self.format.is_json() {
                    true => page.json(&info)?,
                    false => directory::print(page, &info)?,
                }
                info.problems.is_empty()
            }
        };
        Ok(Status::of(sound))
    }
}
