//! `sst verify`: reads everything and checks it for consistency.

use crate::remote::readable_path;
use sstkit_db::file_system::{self, FileStatus};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sstkit_db::{BackupFolder, Database, MANIFEST_NAME};
use sstkit_inspect::{FileKind, VerifyReport, VerifyStatus, verify_database, verify_file};
use sstkit_table::{ErrorKind, VerifyProgress};

use crate::args::{FormatArgs, LogArgs, ReadArgs, reject_unused};
use crate::database;
use crate::output::page::{BAD, GOOD};
use crate::output::plain::plain;
use crate::output::{Page, ProgressBar, WatchedProgress, print_message, units};
use crate::status::Status;
use crate::target::Target;

/// Read all of a table or database and report every problem
///
/// Checks checksums, key order, the index against the blocks, the properties against the contents,
/// and every key and prefix against its own filter. For a database, also checks the MANIFEST
/// against the files, blob references against blob files, and sequence numbers against the order of
/// logs and levels; for a directory of tables, manifest.json against them. The result for a
/// directory covers everything in it. A single log, MANIFEST, CURRENT, OPTIONS, IDENTITY or blob
/// file is verified on its own; LOG and LOCK have no contents to verify. Of a folder of RocksDB's
/// BackupEngine, all files of all backups are compared with the recorded checksums, and the newest
/// backup is verified as a database; with --backup, that one alone.
///
/// Uses one thread per core, with one buffer each, and opens one table at a time. Messages show the
/// first 64 bytes of a key. At most 1,000 messages are printed per file.
///
/// Exit status: 0 if everything is sound; 1 if anything is damaged; 2 if nothing is damaged, but
/// something could not be read or is not supported.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst verify 000011.sst
  sst verify /var/lib/mydb
  sst verify --format json *.sst | jq 'select(.status == \"damaged\")'")]
pub(crate) struct Args {
    /// Tables, databases, directories of tables, or single database files
    #[arg(required = true, value_name = "PATH", value_parser = readable_path())]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    log: LogArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let given = self.read.given().into_iter().chain(self.log.given());
        reject_unused(self.paths.iter().map(PathBuf::as_path), given)?;
        let mut page = Page::stdout();
        let mut damaged = false;
        let status = Status::of_each(&self.paths, |path| {
            let status = self.verify(path, &mut page)?;
            damaged |= status == VerifyStatus::Damaged;
            Ok(match status {
                VerifyStatus::Sound => Status::Fine,
                VerifyStatus::Damaged => Status::Negative,
                _ => Status::Trouble,
            })
        })?;
        page.finish()?;
        // Damage determines the status, even if other files could not be read.
        Ok(if damaged { Status::Negative } else { status })
    }

    fn verify(&self, path: &Path, page: &mut Page) -> Result<VerifyStatus> {
        match Target::of(path)? {
            Target::Table(path) => {
                let report = self.verify_file(&path)?;
                self.print(page, &report)?;
                Ok(report.status)
            }
            Target::Database(path) => match BackupFolder::find(&path)? {
                Some(folder) => self.verify_backups(&folder, page),
                None => self.verify_database(&path, page),
            },
        }
    }

    /// Compares the files of all backups with their checksums, and verifies the newest as a database;
    /// or both for the one that was chosen.
    fn verify_backups(&self, folder: &BackupFolder, page: &mut Page) -> Result<VerifyStatus> {
        let ids = match self.log.backup {
            // Opening it says which ones there are.
            Some(id) if !folder.ids().contains(&id) => Vec::new(),
            Some(id) => vec![id],
            None => folder.ids().to_vec(),
        };
        let mut status = VerifyStatus::Sound;
        let mut printed = Ok(());
        let progress = ProgressBar::busy("verifying checksums of backups".into());
        folder.verify_files(&ids, |found| {
            let report = VerifyReport::from(found);
            status = status.max(report.status);
            if printed.is_ok() {
                printed = self.print(page, &report);
            }
        });
        drop(progress);
        printed?;
        Ok(status.max(self.verify_database(folder.path(), page)?))
    }

    fn verify_database(&self, path: &Path, page: &mut Page) -> Result<VerifyStatus> {
        let name = path.display().to_string();
        let (database, error) = match self.open(path) {
            Ok(opened) => opened,
            Err(error) => {
                // What is no database is no damaged one.
                let is_database = database::is_backup_folder(path)
                    || ["CURRENT", MANIFEST_NAME]
                        .iter()
                        .any(|it| file_system::exists(&path.join(it)));
                let error = error.downcast::<sstkit_db::Error>()?;
                if !is_database || error.kind() == sstkit_db::ErrorKind::InvalidInput {
                    return Err(error.into());
                }
                let report = VerifyReport::of_error(name, "database", &error);
                self.print(page, &report)?;
                return Ok(report.status);
            }
        };
        let progress = ProgressBar::bytes("verifying", Some(database::size(&database)));
        if let Some(error) = &error {
            let rest = match database.manifest() {
                Some(_) => "without the logs",
                None => "only the table files",
            };
            print_message(&format!("{error}; verifying {rest}"));
        }
        for caveat in database.caveats() {
            print_message(&format!("{name}: {caveat}"));
        }
        let mut status = VerifyStatus::Sound;
        let mut printed = Ok(());
        let without_logs = database.manifest().is_some()
            && (self.log.ignore_log || error.as_ref().is_some_and(database::is_log_error));
        let max_log_memory = self.log.max_log_memory;
        verify_database(&name, &database, error.as_ref(), max_log_memory, |mut report| {
            if without_logs && report.file == name {
                report.notes.push("the write-ahead logs were not verified".to_owned());
            }
            progress.add(file_system::status(report.file.as_ref()).map_or(0, FileStatus::size));
            // The last one is about the directory and has the verdict.
            status = report.status;
            if printed.is_ok() {
                printed = self.print(page, &report);
            }
        });
        printed?;
        Ok(status)
    }

    /// Opens a database; without its logs, and with the reason, if one of them cannot be read.
    fn open(&self, path: &Path) -> Result<(Database, Option<sstkit_db::Error>)> {
        let options = self.read.database_options(&self.log);
        let opened = database::open_quietly(path, &options);
        let error = match &opened {
            Ok((_, error)) => error.as_ref(),
            Err(error) => error.downcast_ref::<sstkit_db::Error>(),
        };
        if !error.is_some_and(database::is_log_error) {
            return opened;
        }
        match (database::open_quietly(path, &options.replay_logs(false)), opened) {
            (Ok((database, None)), Ok((_, error))) => Ok((database, error)),
            (Ok((database, None)), Err(error)) => Ok((database, Some(error.downcast()?))),
            (_, opened) => opened,
        }
    }

    fn verify_file(&self, path: &Path) -> Result<VerifyReport> {
        let name = path.display().to_string();
        // A path that cannot be examined is treated as a table, which reports the reason.
        let kind = FileKind::of(path).unwrap_or(FileKind::Table);
        if kind != FileKind::Table {
            let _progress = ProgressBar::busy(format!("verifying {name}"));
            return Ok(verify_file(path, kind, self.log.max_log_memory));
        }
        let options = self.read.table_options();
        let progress = VerifyProgress::default();
        let (seen, size) =
            (progress.clone(), file_system::status(path).map_or(0, FileStatus::size));
        let _bar = WatchedProgress::bytes("verifying", size, move || seen.bytes());
        match VerifyReport::of_table_file(path, &options, &progress) {
            Ok(report) => Ok(report),
            Err(error) if error.kind() == ErrorKind::InvalidInput => Err(error.into()),
            Err(error) => Ok(VerifyReport::of_error(name, kind.name(), &error)),
        }
    }

    fn print(&self, page: &mut Page, report: &VerifyReport) -> io::Result<()> {
        if self.format.is_json() {
            return page.json(report);
        }
        let file = plain(&report.file);
        // Some sentences name the file already.
        let say = |page: &mut Page, sentence: &str| match sentence.starts_with(&report.file) {
            true => writeln!(page, "{}", plain(sentence)),
            false => writeln!(page, "{file}: {}", plain(sentence)),
        };
        report.notes.iter().try_for_each(|note| say(page, note))?;
        if [FileKind::InfoLog.name(), FileKind::Other.name()].contains(&report.kind) {
            return Ok(());
        }
        if report.sound {
            let good = page.paint(GOOD, "sound");
            write!(page, "{file}: {good}")?;
            // A blob file has no blocks, a directory no entries either.
            if report.blocks > 0 {
                write!(page, ", {}", units::counted(report.blocks, "block"))?;
            }
            if report.entries > 0 {
                let unit =
                    if report.kind == FileKind::BackupMeta.name() { "file" } else { "entry" };
                write!(page, ", {}", units::counted(report.entries, unit))?;
            }
            if report.blocks > 0 && !report.order_checked {
                write!(page, "; unknown comparator")?;
            }
            return writeln!(page);
        }
        report.problems.iter().try_for_each(|problem| say(page, &problem.message))?;
        let count = units::counted(report.problem_count, "problem");
        let bad = page.paint(BAD, format!("{}, {count}", report.status.name()));
        writeln!(page, "{file}: {bad}")
    }
}
