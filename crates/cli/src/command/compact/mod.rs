//! `sst compact`: merges tables into new, non-overlapping ones.

mod duplicates;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use sstkit_db::{
    BulkManifest, ColumnFamily, Compaction, CompactionOptions, CompactionSummary, DatabaseOptions,
    SequenceNumbers,
};
use sstkit_table::{MergeOperator, Table, TableReadOptions};

use super::build::stop_or_show;
use super::output_args::OutputArgs;
use crate::args::{
    DatabaseArgs, DuplicatesName, EncodingArgs, FormatArgs, KeyFormName, LimitArgs, LogArgs,
    Profile, ReadArgs, SetIfGiven as _, WriteArgs, merge_operator_named, reject_unused,
};
use crate::output::{Grid, Page, units};
use crate::status::Status;
use crate::target::Target;
use crate::{database, interrupt};

/// Approximate memory per thread: a block and a buffer of each input, blocks being compressed, and
/// filter and index of the table being written.
const MEMORY_PER_THREAD: u64 = 32 << 20;

/// Merge tables, or the levels of a database, into new tables
///
/// The new tables do not overlap.
///
/// Keeps the newest version of each key: the one with the largest sequence number or, if these are
/// equal (as in tables for ingestion, which have none), the one from the later PATH. Within a
/// database, logs and levels determine which is newer, as for every read. Builds new filters. The
/// output is one file, or with --max-file-size a directory with a manifest.json. The inputs are not
/// modified; after an error or Ctrl-C nothing is left behind.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst compact old.sst new.sst -o merged.sst
  sst compact /var/lib/mydb -o out/ --max-file-size 64MiB --drop-tombstones
  sst compact 000011.sst -o better.sst --filter ribbonfilter:10 --compression zstd:6
  sst compact /var/lib/mydb --column-family meta -o meta.sst --sequence-numbers keep")]
pub(crate) struct Args {
    /// Tables or databases, the newest last
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    /// Drop deletions and range deletions: for the bottommost level, where they have nothing left
    /// to delete
    #[arg(long)]
    drop_tombstones: bool,

    /// Sequence numbers of the output
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    sequence_numbers: SequenceNumbersName,

    /// What to do with two entries that have the same key and sequence number: keep the one from
    /// the last PATH, keep the one from the first, or fail (which reads the inputs twice)
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    duplicates: DuplicatesName,

    /// Approximate memory for merging; uses fewer threads if it does not suffice for all [default:
    /// no limit]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    memory: Option<u64>,

    /// Merge operator, if the database does not name one
    #[arg(long, value_name = "NAME")]
    merge_operator: Option<String>,

    /// Form of the keys in the input tables
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    key_form: KeyFormName,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    log: LogArgs,

    #[command(flatten)]
    encoding: EncodingArgs,

    #[command(flatten)]
    write: WriteArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// The sequence numbers of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SequenceNumbersName {
    /// Set all to 0, as RocksDB's IngestExternalFile requires (before 10.4, also use --for)
    #[default]
    Zero,
    /// Keep them
    Keep,
}

/// An input.
enum Input {
    Table(Table),
    Database(ColumnFamily),
}

/// The result, as JSON.
#[derive(Serialize)]
struct Report<'s> {
    output: String,
    bytes_in: u64,
    entries_in: u64,
    entries_out: u64,
    shadowed: u64,
    tombstones: u64,
    covered: u64,
    merged: u64,
    seconds: f64,
    manifest: &'s BulkManifest,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        self.output.check()?;
        let given = self.read_args().given().into_iter().chain(self.log.given());
        let paths = self.paths.iter().map(PathBuf::as_path);
        reject_unused(paths, given.chain(self.database.given()))?;
        interrupt::listen();
        let start = Instant::now();
        let mut compaction = Compaction::new(&self.compaction_options()?);
        let mut inputs =
            self.paths.iter().map(|path| self.open(path)).collect::<Result<Vec<_>>>()?;
        // Inputs added later count as newer.
        if self.duplicates == DuplicatesName::First {
            inputs.reverse();
        }
        for input in &inputs {
            match input {
                Input::Table(table) => compaction.add_table(table)?,
                Input::Database(family) => compaction.add_column_family(family, ..)?,
            };
        }
        if self.duplicates == DuplicatesName::Error {
            duplicates::refuse(&inputs, self.encoding.encoding)?;
        }
        drop(inputs);
        let output = &self.output.path;
        let result = compaction.run(output).map_err(|error| error.in_file(output));
        // Drops the progress bar before anything is printed.
        drop(compaction);
        let summary = interrupt::outcome(result.map_err(Into::into))?;
        interrupt::done();
        let mut page = Page::stdout();
        self.report(&summary, start.elapsed(), &mut page)?;
        page.finish()?;
        Ok(Status::Fine)
    }

    fn open(&self, path: &Path) -> Result<Input> {
        Ok(match Target::of(path)? {
            Target::Table(path) => Input::Table(Table::open_file(&path, &self.table_options())?),
            Target::Database(path) => {
                let database = database::open_whole(&path, &self.database_options()?)?;
                let name = self.database.name();
                Input::Database(database::column_family(&database, name)?)
            }
        })
    }

    /// The number of threads that the memory suffices for.
    fn threads(&self) -> usize {
        let threads = self.write.threads();
        let room = self.memory.map(|memory| memory / MEMORY_PER_THREAD);
        let room = room.and_then(|room| usize::try_from(room).ok()).unwrap_or(usize::MAX);
        threads.min(room).max(1)
    }

    fn compaction_options(&self) -> Result<CompactionOptions> {
        let numbers = match self.sequence_numbers {
            SequenceNumbersName::Zero => SequenceNumbers::Zero,
            SequenceNumbersName::Keep => SequenceNumbers::Keep,
        };
        let extension = (self.write.profile == Profile::Leveldb).then_some("ldb");
        Ok(CompactionOptions::new(self.write.options()?)
            .max_file_size(self.output.max_file_size)
            .replace(self.output.force)
            .threads(self.threads())
            .bottommost(self.drop_tombstones)
            .sequence_numbers(numbers)
            .progress(stop_or_show())
            .set_if_given(extension, CompactionOptions::extension)
            .set_if_given(self.write.comparator.clone(), CompactionOptions::comparator)
            .set_if_given(self.operator()?, CompactionOptions::merge_operator))
    }

    /// Options for reading the inputs. Blocks are read once, so a cache would not help.
    fn table_options(&self) -> TableReadOptions {
        self.read_args().table_options().no_block_cache()
    }

    fn database_options(&self) -> Result<DatabaseOptions> {
        let options = self.read_args().database_options(&self.log);
        Ok(options.set_if_given(self.operator()?, DatabaseOptions::default_merge_operator))
    }

    fn operator(&self) -> Result<Option<Arc<dyn MergeOperator>>> {
        self.merge_operator.as_deref().map(merge_operator_named).transpose()
    }

    fn read_args(&self) -> ReadArgs {
        ReadArgs {
            comparator: self.write.comparator.clone(),
            prefix_extractor: None,
            key_form: self.key_form,
            limits: self.limits,
        }
    }

    fn report(
        &self,
        summary: &CompactionSummary,
        time: Duration,
        page: &mut Page,
    ) -> io::Result<()> {
        let (manifest, counts) = (&summary.manifest, &summary.counts);
        if self.format.is_json() {
            return page.json(&Report {
                output: self.output.path.display().to_string(),
                bytes_in: summary.bytes_in,
                entries_in: counts.entries_in,
                entries_out: counts.entries_out,
                shadowed: counts.shadowed,
                tombstones: counts.tombstones,
                covered: counts.covered,
                merged: counts.merged,
                seconds: time.as_secs_f64(),
                manifest,
            });
        }
        self.output.print_done(page, manifest, time)?;
        let mut grid = Grid::pairs();
        let read = (units::counted(counts.entries_in, "entry"), units::size(summary.bytes_in));
        grid.pair("read", format!("{}, {}", read.0, read.1));
        for (what, number) in [
            ("older versions dropped", counts.shadowed),
            ("deletions dropped", counts.tombstones),
            ("deleted by range tombstones", counts.covered),
            ("merge operands combined", counts.merged),
        ] {
            if number > 0 {
                grid.pair(what, units::count(number));
            }
        }
        grid.print(page)?;
        self.output.print_files(page, manifest, self.encoding.encoding)
    }
}
