//! `sst salvage`: what is left of damaged tables and databases.

mod counted_file;
mod report_text;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use sstkit_db::{DatabaseSalvage, DatabaseSalvageOptions};
use sstkit_inspect::SalvageDescription;
use sstkit_table::raw::Engine;
use sstkit_table::{SalvageOptions, TableSalvage, TableWriter};

use self::counted_file::CountedFile;
use super::output_args::{OutputKind, check_new_output};
use crate::args::{
    EncodingArgs, FormatArgs, KeyFormName, LimitArgs, LogArgs, OrderArgs, PathKind, ReadArgs,
    SetIfGiven as _, reject_unused,
};
use crate::interrupt;
use crate::output::{Page, print_message, stop_or_show};
use crate::status::Status;
use crate::target::Target;

/// Entries between two checks for a signal.
const STEP: u64 = 4096;

/// Get out of a damaged table or database what is left of it
///
/// Reads all that can be read, and reports what is saved, what is lost (bytes and key ranges), and
/// what cannot be known, such as whether deleted keys may be back. Without -o, nothing is written.
///
/// Tables: bad blocks are skipped. If the index, properties, metaindex or footer is bad, blocks are
/// found in the bytes of the file by their checksums. An entry is saved only if its block is whole and
/// in order. Databases: sound tables and blob files are copied (where the file system can, the copies
/// share their blocks on disk), what is left of damaged ones is rewritten, and logs become tables. A lost CURRENT or MANIFEST is rebuilt from the
/// tables and logs: levels by key ranges and sequence numbers. Logs are read up to the first damage,
/// or past it with --past-damage. A key whose value is lost with a blob file is deleted, so that no
/// older value of it is visible. Files that a sound MANIFEST does not name are not used.
///
/// PATH is only read; it must not be in use. The output appears whole or not at all.
///
/// Exit status: 0 if everything is saved, 1 if something is lost, 2 on failure.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst salvage /var/lib/mydb
  sst salvage /var/lib/mydb -o /var/lib/mydb.new
  sst salvage /var/lib/mydb -o tables/ --as folder --past-damage
  sst salvage 000011.sst -o saved.sst
  sst salvage path/to/db --format json | jq '.files[] | select(.outcome == \"lost\")'")]
pub(crate) struct Args {
    /// Table, directory of tables or database
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Output file, or new output directory (see --as) [default: none, a dry run]
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    output: Option<PathBuf>,

    /// Kind of output [default: that of PATH]
    #[arg(long = "as", value_enum, value_name = "KIND", requires = "output")]
    kind: Option<SalvagedKind>,

    /// Replace an existing output file. Directories are never replaced
    #[arg(long, requires = "output")]
    force: bool,

    /// Use what follows a damaged part of a write-ahead log. The result may be a state that the
    /// database never had
    #[arg(long)]
    past_damage: bool,

    /// List all files in the output, not only those that are not sound
    #[arg(long)]
    files: bool,

    /// Number of threads that verify a table [default: number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Engine, where no file says it
    #[arg(long, value_enum, value_name = "ENGINE", help_heading = "Interpretation of the file")]
    engine: Option<EngineName>,

    #[command(flatten)]
    order: OrderArgs,

    /// Form of the keys in a table
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        help_heading = "Interpretation of the file"
    )]
    key_form: KeyFormName,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    log: LogArgs,

    #[command(flatten)]
    encoding: EncodingArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SalvagedKind {
    /// One table file; for a table
    Table,
    /// A directory of tables, which may overlap
    Folder,
    /// A new database directory, which RocksDB or LevelDB opens as its own
    Database,
}

impl From<SalvagedKind> for OutputKind {
    fn from(kind: SalvagedKind) -> Self {
        match kind {
            SalvagedKind::Table => Self::Table,
            SalvagedKind::Folder => Self::Folder,
            SalvagedKind::Database => Self::Database,
        }
    }
}

/// The engine of a table or database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// RocksDB
    Rocksdb,
    /// LevelDB
    Leveldb,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Rocksdb => Self::RocksDb,
            EngineName::Leveldb => Self::LevelDb,
        }
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        self.check()?;
        let start = Instant::now();
        let is_table = self.kind.is_none_or(|kind| kind == SalvagedKind::Table);
        let description = match Target::of(&self.path)? {
            Target::Table(path) if is_table => self.salvage_table(&path)?,
            Target::Table(path) | Target::Database(path) => self.salvage_database(&path)?,
        };
        let description = description.in_time(start.elapsed());
        let mut page = Page::stdout();
        self.format.print(&mut page, &description, |page, description| {
            report_text::print(page, description, self.files)
        })?;
        page.finish()?;
        Ok(Status::of(description.complete))
    }

    /// Rejects what cannot work before anything is read.
    fn check(&self) -> Result<()> {
        ensure!(self.threads != Some(0), "--threads must be 1 or more");
        let past_damage = ("--past-damage", self.past_damage, &[PathKind::Database][..]);
        let given = self.read_args().given().into_iter().chain(self.log.given());
        reject_unused([self.path.as_path()], given.chain([past_damage]))?;
        let is_directory = match self.kind {
            None => self.path.is_dir(),
            Some(SalvagedKind::Table) if self.path.is_dir() => bail!(
                "--as table is for a table: use --as folder, or `sst compact` to merge what is saved"
            ),
            Some(kind) => kind != SalvagedKind::Table,
        };
        ensure!(
            !(is_directory && self.force),
            "--force has no effect: directories are never replaced"
        );
        match &self.output {
            Some(output) => check_new_output(&self.path, output, is_directory, self.force),
            None => Ok(()),
        }
    }

    fn read_args(&self) -> ReadArgs {
        ReadArgs {
            order: self.order.clone(),
            prefix_extractor: None,
            key_form: self.key_form,
            limits: self.limits,
        }
    }

    fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(cores)
    }

    fn salvage_table(&self, path: &Path) -> Result<SalvageDescription> {
        let mut options = SalvageOptions::default();
        options.comparator = self.order.last().cloned();
        options.key_form = self.key_form.into();
        options.engine = self.engine.map(Into::into);
        options.max_block_size = self.limits.max_block_size;
        options.threads = self.threads();
        let file = CountedFile::open(path).with_context(|| path.display().to_string())?;
        let salvage =
            TableSalvage::from_source(file, &options).map_err(|error| error.in_file(path))?;
        let report = salvage.report();
        let is_empty = report.entries + report.range_tombstones == 0;
        if is_empty && !report.sound && !is_named_as_table(path) {
            bail!("{}: nothing of a table was found in it", path.display());
        }
        let description =
            SalvageDescription::of_table(path, report, self.encoding.shown(!self.format.is_json()));
        let Some(output) = &self.output else { return Ok(description) };
        if is_empty {
            print_message(&format!("{}: not written: nothing is saved", output.display()));
            return Ok(description);
        }
        interrupt::listen();
        interrupt::outcome(write_table(&salvage, output))?;
        interrupt::done();
        Ok(description.written((output, OutputKind::Table.name()), None))
    }

    fn salvage_database(&self, path: &Path) -> Result<SalvageDescription> {
        let options = DatabaseSalvageOptions::default()
            .read(self.read_args().database_options(&self.log))
            .past_damage(self.past_damage)
            .threads(self.threads())
            .progress(stop_or_show())
            .set_if_given(self.engine.map(Into::into), DatabaseSalvageOptions::engine);
        let salvage = DatabaseSalvage::open(path, &options)?;
        let report = salvage.report();
        let description =
            SalvageDescription::of_database(report, self.encoding.shown(!self.format.is_json()));
        let Some(output) = &self.output else { return Ok(description) };
        let kind = match self.kind {
            Some(kind) => kind.into(),
            None if report.is_folder => OutputKind::Folder,
            None => OutputKind::Database,
        };
        interrupt::listen();
        let written = match kind {
            OutputKind::Database => salvage.write_database(output),
            _ => salvage.write_tables(output),
        };
        let summary = interrupt::outcome(written.map_err(Into::into))?;
        interrupt::done();
        Ok(description.written((output, kind.name()), Some(&summary)))
    }
}

/// Whether a file is a table by its name, so that all of it is lost if nothing is found.
fn is_named_as_table(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sst" || extension == "ldb")
}

fn write_table(salvage: &TableSalvage, output: &Path) -> Result<()> {
    let mut writer = TableWriter::create(output, &salvage.table_options())?;
    let mut count = 0_u64;
    salvage.for_each(|key, value| {
        count += 1;
        if count.is_multiple_of(STEP) && interrupt::is_interrupted() {
            return Err(std::io::Error::from(std::io::ErrorKind::Interrupted).into());
        }
        writer.add(key, value)
    })?;
    writer.finish()?;
    Ok(())
}
