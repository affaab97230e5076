//! `sst info`: shows what a table or database contains.

mod backups;
mod directory;
mod file;
mod list;
mod table;

use crate::remote::readable_path;
use sstkit_db::file_system;
use std::mem;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sstkit_db::BackupFolder;
use sstkit_inspect::{
    BackupFolderInfo, DatabaseInfo, FileKind, Problem, SingleFileInfo, VerifyStatus,
};

use crate::args::{OpenArgs, PathKind, PrintArgs};
use crate::database;
use crate::output::Page;
use crate::status::Status;
use crate::target::Target;

/// Show what a table or database contains
///
/// For a table: engine, format version, checksum, engine versions that can read it, codecs, index,
/// entries by type, key range, sizes of data, index and filter, filter summary, properties. For a
/// database: levels, files, column families, sequence numbers. For a single log, MANIFEST, CURRENT,
/// OPTIONS or blob file: a summary of its contents. For a folder of RocksDB's BackupEngine: its
/// backups, or with --backup the database in one of them.
///
/// Several tables get one line each; use --long for all about each of them. The tables of a database
/// are summarized by level if there are more than 20; use --files for all of them.
///
/// For a table of more than 4 MiB, reads only the tail and the first and last data blocks, and
/// takes the numbers of entries from the properties. --full reads the whole table and counts.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst info 000011.sst
  sst info --full 000011.sst
  sst info *.sst
  sst info /var/lib/mydb --files
  sst info --format json 000011.sst | jq '.properties[\"rocksdb.num.entries\"]'")]
pub(crate) struct Args {
    /// Tables or databases
    #[arg(required = true, value_name = "PATH", value_parser = readable_path())]
    paths: Vec<PathBuf>,

    /// Read whole tables and count entries by type, block codecs and sequence numbers
    #[arg(long)]
    full: bool,

    /// Show everything about each table, also if there are several
    #[arg(short, long)]
    long: bool,

    /// List all tables of a database, not only up to 20
    #[arg(long)]
    files: bool,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    open: OpenArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let full = ("--full", self.full, &[PathKind::Table][..]);
        let files = ("--files", self.files, &[PathKind::Database][..]);
        self.open.check(&self.paths, [full, files])?;
        let mut page = Page::stdout();
        if self.is_list() {
            let status = self.list(&mut page)?;
            page.finish()?;
            return Ok(status);
        }
        let mut is_first = true;
        let status = Status::of_each(&self.paths, |path| {
            if !mem::take(&mut is_first) && !self.print.format.is_json() {
                writeln!(page)?;
            }
            self.describe(path, &mut page)
        })?;
        page.finish()?;
        Ok(status)
    }

    /// Describes a log, MANIFEST or another database file that is not a table.
    fn describe_single_file(&self, path: &Path, page: &mut Page) -> Result<Option<Status>> {
        if !file_system::is_file(path) {
            return Ok(None);
        }
        // An unreadable file is treated as a table, which reports the reason.
        let kind = FileKind::of(path).unwrap_or(FileKind::Table);
        let Some(info) = SingleFileInfo::of(path, kind) else { return Ok(None) };
        self.print.format.print(page, &info, file::print)?;
        let is_readable = info.problems.iter().all(|it| it.status == VerifyStatus::Damaged);
        Ok(Some(if is_readable { Status::of(info.problems.is_empty()) } else { Status::Trouble }))
    }

    /// Lists the backups in a folder, unless one of them is chosen.
    fn describe_backups(&self, path: &Path, page: &mut Page) -> Result<Option<Status>> {
        if self.open.backup().is_some() {
            return Ok(None);
        }
        let Some(folder) = BackupFolder::find(path)? else { return Ok(None) };
        let name = path.display().to_string();
        let info = BackupFolderInfo::of(name, &folder, self.print.encoding());
        self.print.format.print(page, &info, backups::print)?;
        Ok(Some(Status::of(info.problems.is_empty())))
    }

    fn describe(&self, path: &Path, page: &mut Page) -> Result<Status> {
        if let Some(status) = self.describe_single_file(path, page)? {
            return Ok(status);
        }
        let status = match Target::of(path)? {
            Target::Table(path) => {
                let info = self.table_info(&path, &self.open.table_options())?;
                self.print.format.print(page, &info, table::print)?;
                Status::of(info.problems.is_empty())
            }
            Target::Database(path) => {
                if let Some(status) = self.describe_backups(&path, page)? {
                    return Ok(status);
                }
                let (database, error) =
                    database::open_with_reason(&path, &self.open.database_options())?;
                let mut info =
                    DatabaseInfo::of(path.display().to_string(), &database, self.print.encoding());
                info.problems.splice(..0, error.as_ref().map(Problem::from));
                self.print
                    .format
                    .print(page, &info, |page, info| directory::print(page, info, self.files))?;
                match error {
                    Some(_) => Status::Trouble,
                    None => Status::of(info.problems.is_empty()),
                }
            }
        };
        Ok(status)
    }
}
