//! `sst verify`: reads everything and compares it with everything else.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use sstkit_inspect::{TableFile, VerifyReport, verify_database};
use sstkit_table::ErrorKind;

use crate::args::{FormatArgs, LogArgs, ReadArgs};
use crate::database;
use crate::output::page::{BAD, GOOD};
use crate::output::{Page, Progress, complain, units};
use crate::status::Status;
use crate::target::Target;

/// Reads all of a table or database and reports everything that is wrong
///
/// Checksums, the order of the keys, index against blocks, properties against contents, every key
/// and prefix against its own filter, of a database the MANIFEST against the files, and of a folder of
/// tables manifest.json against them. Uses as many threads as there are cores, one buffer each. Exit
/// status 1 if anything is damaged, 2 if something could not be read at all.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst verify 000011.sst
  sst verify /var/lib/mydb
  sst verify --format json *.sst | jq 'select(.sound | not)'")]
pub(crate) struct Args {
    /// Tables, databases, folders of tables
    #[arg(required = true, value_name = "PATH")]
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
        let mut page = Page::stdout();
        let status = Status::of_each(&self.paths, |path| self.verify(path, &mut page))?;
        page.finish()?;
        Ok(status)
    }

    fn verify(&self, path: &Path, page: &mut Page) -> Result<Status> {
        match Target::of(path)? {
            Target::Table(path) => {
                let report = self.verify_table(&path)?;
                self.print(page, &report)?;
                Ok(Status::of(report.sound))
            }
            Target::Database(path) => self.verify_database(&path, page),
        }
    }

    fn verify_database(&self, path: &Path, page: &mut Page) -> Result<Status> {
        let (database, error) = database::open_quietly(path, &self.read, &self.log)?;
        let progress = Progress::bytes("verifying", Some(database::size(&database)));
        let name = path.display().to_string();
        let mut status = Status::of(error.is_none());
        if let Some(error) = &error {
            complain(&format!("{error}; going on with the table files alone"));
        }
        for caveat in database.caveats() {
            complain(&format!("{name}: {caveat}"));
        }
        let mut printed = Ok(());
        let mut print = |report: &VerifyReport, page: &mut Page| {
            status.worsen(Status::of(report.sound));
            if printed.is_ok() {
                printed = self.print(page, report);
            }
        };
        verify_database(name, &database, error.as_ref(), |report| {
            progress.add(
                fs::metadata(&report.file).map_or(0, |it| if it.is_file() { it.len() } else { 0 }),
            );
            print(&report, page);
        });
        printed?;
        Ok(status)
    }

    fn verify_table(&self, path: &Path) -> Result<VerifyReport> {
        let name = path.display().to_string();
        let _progress = Progress::busy(format!("verifying {name}"));
        match TableFile::open(path, &self.read.table_options()?) {
            Ok(file) => Ok(VerifyReport::of_table(name, &file)),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                Ok(VerifyReport::of_error(name, &error))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn print(&self, page: &mut Page, report: &VerifyReport) -> io::Result<()> {
        if self.format.is_json() {
            return page.json(report);
        }
        if report.sound {
            let good = page.paint(GOOD, "sound").to_string();
            let mut line = format!("{}: {good}", report.file);
            // A blob file has no blocks, a directory no entries either.
            if report.blocks > 0 {
                line.push_str(&format!(", {}", units::counted(report.blocks, "block")));
            }
            if report.entries > 0 {
                line.push_str(&format!(", {}", units::counted(report.entries, "entry")));
            }
            if report.blocks > 0 && !report.order_checked {
                line.push_str("; the order of its keys is not known");
            }
            return writeln!(page, "{line}");
        }
        for problem in &report.problems {
            // The sentence names the file already, unless it is about no block of it.
            match problem.message.starts_with(&report.file) {
                true => writeln!(page, "{}", problem.message)?,
                false => writeln!(page, "{}: {}", report.file, problem.message)?,
            }
        }
        let count = units::counted(report.problem_count, "problem");
        let bad = page.paint(BAD, format!("damaged, {count}")).to_string();
        writeln!(page, "{}: {bad}", report.file)
    }
}
