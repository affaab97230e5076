//! `sst dump`: prints all of a file, or of all live files of a database.

mod database;
mod file;
mod manifest;

use crate::remote::readable_path;
use std::path::{Path, PathBuf};
use std::slice;

use anyhow::{Result, bail};
use sstkit_inspect::{FileDumpOptions, FileKind, InspectedTable, VerifyStatus, raw_dump};

use crate::args::{OpenArgs, PathKind, PrintArgs};
use crate::output::{Page, print_message, units};
use crate::status::Status;
use crate::target::Target;

/// Print everything in a table, log, MANIFEST, OPTIONS or blob file
///
/// Of a table, prints footer, metaindex, properties, index, range deletions, every entry of every
/// data block, and a summary, in the layout of RocksDB's `sst_dump --command=raw`. Works for all
/// formats, including those that RocksDB refuses to open.
///
/// Of a write-ahead log, prints every record with its position, its physical records, and its
/// writes and transaction markers; of a MANIFEST, every version edit and the state that they add up
/// to; of OPTIONS, the sections; of a blob file, header, values and footer. Of a database, prints
/// all of this for CURRENT, the MANIFEST, OPTIONS, and the live logs, tables and blob files.
///
/// The kind of a file is detected from its contents, or else from its name. Parts that cannot be
/// read are reported, and the exit status is 1.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst dump 000011.sst
  sst dump 000005.ldb | less
  sst dump a.sst > a.txt; sst dump b.sst > b.txt; diff a.txt b.txt
  sst dump 000012.log
  sst dump MANIFEST-000005 --format json | jq 'select(.record == \"state\")'
  sst dump /var/lib/mydb | less")]
pub(crate) struct Args {
    /// Table, another database file, or database
    #[arg(value_name = "PATH", value_parser = readable_path())]
    file: PathBuf,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    open: OpenArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let path = self.file.as_path();
        let json = ("--format json", self.print.format.is_json(), &[PathKind::OtherFile][..]);
        self.open.check(slice::from_ref(&self.file), [json])?;
        let mut page = Page::stdout();
        let status = match Target::of(path)? {
            Target::Database(path) => self.dump_database(&path, &mut page)?,
            Target::Table(path) => match FileKind::of(&path).unwrap_or(FileKind::Table) {
                FileKind::Table | FileKind::Unknown => self.dump_table(&path, &mut page)?,
                kind @ (FileKind::InfoLog | FileKind::Other) => {
                    bail!("{}: a {} file has no records", path.display(), kind.name())
                }
                kind => self.dump_file(&path, kind, &mut page)?,
            },
        };
        page.finish()?;
        Ok(status)
    }

    fn dump_table(&self, path: &Path, page: &mut Page) -> Result<Status> {
        let file = InspectedTable::open(path, &self.open.table_options().no_block_cache())?;
        let unreadable = raw_dump(&file, page)?;
        if unreadable > 0 {
            let blocks = units::counted(unreadable, "data block");
            print_message(&format!("{}: {blocks} could not be read", path.display()));
        }
        Ok(Status::of(unreadable == 0))
    }

    fn dump_file(&self, path: &Path, kind: FileKind, page: &mut Page) -> Result<Status> {
        dump_file(path, kind, &self.options(), self.print.format.is_json(), page)
    }

    fn options(&self) -> FileDumpOptions {
        FileDumpOptions {
            encoding: self.print.encoding(),
            max_log_memory: self.open.max_log_memory(),
        }
    }
}

/// Prints the records of a file that is not a table.
pub(super) fn dump_file(
    path: &Path,
    kind: FileKind,
    options: &FileDumpOptions,
    is_json: bool,
    page: &mut Page,
) -> Result<Status> {
    let report = sstkit_inspect::dump_file(path, kind, options, &mut |record| {
        if is_json { page.json(record) } else { file::print(page, record) }
    })?;
    for note in &report.notes {
        print_message(note);
    }
    Ok(match report.status {
        VerifyStatus::Sound => Status::Fine,
        VerifyStatus::Damaged => Status::Negative,
        _ => Status::Trouble,
    })
}
