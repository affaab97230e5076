//! `sst info`: shows what a table or database contains.

mod directory;
mod file;
mod table;

use std::mem;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sstkit_inspect::{
    DatabaseInfo, FileKind, InspectedTable, Problem, SingleFileInfo, TableInfo, VerifyStatus,
};

use crate::args::{EncodingArgs, FormatArgs, LogArgs, PathKind, ReadArgs, reject_unused};
use crate::database;
use crate::output::Page;
use crate::status::Status;
use crate::target::Target;

/// Show what a table or database contains
///
/// For a table: engine, format version, checksum, engine versions that can read it, codecs, index,
/// entries by type, key range, sizes of data, index and filter, filter summary, properties. For a
/// database: levels, files, column families, sequence numbers. For a single log, MANIFEST, CURRENT,
/// OPTIONS or blob file: its contents.
///
/// For a table of more than 4 MiB, reads only the tail and the first and last data blocks, and
/// takes the numbers of entries from the properties. --full reads the whole table and counts.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst info 000011.sst
  sst info --full 000011.sst
  sst info /var/lib/mydb
  sst info --format json 000011.sst | jq '.properties[\"rocksdb.num.entries\"]'")]
pub(crate) struct Args {
    /// Tables or databases
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Read whole tables and count entries by type, block codecs and sequence numbers
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    encoding: EncodingArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    log: LogArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let full = ("--full", self.full, &[PathKind::Table][..]);
        let given = self.read.given().into_iter().chain(self.log.given()).chain([full]);
        reject_unused(self.paths.iter().map(PathBuf::as_path), given)?;
        let mut page = Page::stdout();
        let mut is_first = true;
        let status = Status::of_each(&self.paths, |path| {
            if !mem::take(&mut is_first) && !self.format.is_json() {
                writeln!(page)?;
            }
            self.describe(path, &mut page)
        })?;
        page.finish()?;
        Ok(status)
    }

    /// Describes a log, MANIFEST or another database file that is not a table.
    fn describe_single_file(&self, path: &Path, page: &mut Page) -> Result<Option<Status>> {
        if !path.is_file() {
            return Ok(None);
        }
        // An unreadable file is treated as a table, which reports the reason.
        let kind = FileKind::of(path).unwrap_or(FileKind::Table);
        let Some(info) = SingleFileInfo::of(path, kind) else { return Ok(None) };
        self.format.print(page, &info, file::print)?;
        let is_readable = info.problems.iter().all(|it| it.status == VerifyStatus::Damaged);
        Ok(Some(if is_readable { Status::of(info.problems.is_empty()) } else { Status::Trouble }))
    }

    fn describe(&self, path: &Path, page: &mut Page) -> Result<Status> {
        if let Some(status) = self.describe_single_file(path, page)? {
            return Ok(status);
        }
        let encoding = self.encoding.encoding;
        let status = match Target::of(path)? {
            Target::Table(path) => {
                let file = InspectedTable::open(&path, &self.read.table_options())?;
                let name = path.display().to_string();
                let info = match self.full {
                    true => TableInfo::full(name, &file, encoding)?,
                    false => TableInfo::of(name, &file, encoding)?,
                };
                self.format.print(page, &info, table::print)?;
                Status::of(info.problems.is_empty())
            }
            Target::Database(path) => {
                let (database, error) =
                    database::open_with_reason(&path, &self.read.database_options(&self.log))?;
                let mut info = DatabaseInfo::of(path.display().to_string(), &database, encoding);
                info.problems.splice(..0, error.as_ref().map(Problem::from));
                self.format.print(page, &info, directory::print)?;
                match error {
                    Some(_) => Status::Trouble,
                    None => Status::of(info.problems.is_empty()),
                }
            }
        };
        Ok(status)
    }
}
