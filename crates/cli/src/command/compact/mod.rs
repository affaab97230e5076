//! `sst compact`: merges tables into new, non-overlapping ones.

mod compare_codecs;
mod duplicates;
mod write_database;

use crate::remote::readable_path;
use sstkit_db::file_system;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use serde::Serialize;
use sstkit_db::{
    BulkManifest, ColumnFamily, Compaction, CompactionCounts, CompactionOptions, CompactionSummary,
    Database, DatabaseOptions, SequenceNumbers,
};
use sstkit_inspect::InspectedTable;
use sstkit_table::{Comparator, MergeOperator, Table, TableOptions, TableReadOptions};

use super::database_output::{DatabaseOutputArgs, FamilyReport};
use super::output_args::{OutputArgs, OutputKind, check_outside};
use crate::args::{
    DatabaseArgs, DuplicatesName, EncodingArgs, FormatArgs, KeyFormName, LimitArgs, LogArgs,
    OrderArgs, Profile, RangeArgs, ReadArgs, SelectedKeys, SetIfGiven as _, WriteArgs,
    merge_operator_named, reject_unused,
};
use crate::output::{Grid, Page, stop_or_show, units};
use crate::status::Status;
use crate::target::Target;
use crate::{database, interrupt, table_order};

/// Approximate memory per thread: a block and a buffer of each input, blocks being compressed, and
/// filter and index of the table being written.
const MEMORY_PER_THREAD: u64 = 32 << 20;

/// Merge tables or databases into new tables, or into a new database
///
/// The new tables do not overlap.
///
/// Keeps the newest version of each key: the one with the largest sequence number or, if these are
/// equal (as in tables for ingestion, which have none), the one from the later PATH. Within a
/// database, logs and levels determine which is newer, as for every read. Builds new filters. The
/// inputs are not modified; after an error or Ctrl-C nothing is left behind.
///
/// The output is one file, or with --max-file-size or --split-at a directory with a manifest.json.
/// With --as database it is a new database that RocksDB (or LevelDB, with --profile leveldb) opens as
/// its own: with all column families of the inputs, or those given, with the sequence numbers, and
/// without deletions, as there is nothing below. Its tables and options are like those of the source,
/// except for what is given. Blob files of a single RocksDB database are taken over as hard links (or
/// copies); otherwise, and with --inline-blobs, their values are stored in the tables.
///
/// With --compression all, nothing is written: each table is compressed with every codec, entry by
/// entry as it is, with the other table options given, and sizes and speeds are printed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst compact old.sst new.sst -o merged.sst
  sst compact /var/lib/mydb -o out/ --max-file-size 64MiB --drop-tombstones
  sst compact 000011.sst -o better.sst --filter ribbonfilter:10 --compression zstd:6
  sst compact 000011.sst --compression all --block-size 16KiB
  sst compact /var/lib/mydb --column-family meta -o meta.sst --sequence-numbers keep
  sst compact leveldb/ -o rocksdb/ --as database
  sst compact rocksdb/ -o leveldb/ --as database --profile leveldb
  sst compact /var/lib/mydb -o part/ --as database --prefix user7/ --for rocksdb-9.8
  sst compact /var/lib/mydb -o copy/ --as database --keep-levels --compression zstd")]
pub(crate) struct Args {
    /// Tables or databases, the newest last
    #[arg(required = true, value_name = "PATH", value_parser = readable_path())]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    keys: RangeArgs,

    /// Start a new file at each KEY; without --max-file-size, only there
    #[arg(long, value_name = "KEY", num_args = 1..)]
    split_at: Vec<String>,

    /// Drop deletions and range deletions: for the bottommost level, where they have nothing left
    /// to delete. Always so with --as database
    #[arg(long)]
    drop_tombstones: bool,

    /// Sequence numbers of the output [default: zero; keep with --as database]
    #[arg(long, value_enum, value_name = "WHAT")]
    sequence_numbers: Option<SequenceNumbersName>,

    /// Keep every table in its level: rewrites each level on its own, with all versions and deletions
    /// that others need
    #[arg(long, conflicts_with_all = ["level", "drop_tombstones", "duplicates"])]
    keep_levels: bool,

    /// Store the values of blob files in the tables
    #[arg(long)]
    inline_blobs: bool,

    /// What to do with two entries that have the same key and sequence number: keep the one from
    /// the last PATH, keep the one from the first, or fail (which reads the inputs twice) [default:
    /// last]
    #[arg(long, value_enum, value_name = "WHICH")]
    duplicates: Option<DuplicatesName>,

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
    database_output: DatabaseOutputArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// The sequence numbers of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SequenceNumbersName {
    /// Set all to 0, as RocksDB's IngestExternalFile requires (before 10.4, also use --for)
    Zero,
    /// Keep them
    Keep,
}

/// A path that was opened.
enum Source {
    Table(Table),
    Database(Database),
}

/// An input of a compaction.
enum Input {
    Table(Table),
    ColumnFamily(ColumnFamily),
}

impl Input {
    fn comparator(&self) -> Option<&Comparator> {
        match self {
            Self::Table(table) => table.comparator().ok(),
            Self::ColumnFamily(family) => family.comparator().ok(),
        }
    }

    fn add_to(&self, compaction: &mut Compaction) -> Result<()> {
        match self {
            Self::Table(table) => compaction.add_table(table)?,
            Self::ColumnFamily(family) => compaction.add_column_family(family, ..)?,
        };
        Ok(())
    }
}

/// What was written.
#[derive(Default)]
struct Written {
    counts: CompactionCounts,
    bytes_in: u64,
    /// Of tables.
    manifest: Option<BulkManifest>,
    /// Of a database.
    column_families: Option<Vec<FamilyReport>>,
}

impl Written {
    fn add(&mut self, summary: &CompactionSummary) {
        self.counts += summary.counts;
        self.bytes_in += summary.bytes_in;
    }
}

/// The result, as JSON.
#[derive(Serialize)]
struct Report<'s> {
    output: String,
    #[serde(rename = "as")]
    kind: OutputKind,
    bytes_in: u64,
    entries_in: u64,
    entries_out: u64,
    shadowed: u64,
    tombstones: u64,
    covered: u64,
    merged: u64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<&'s BulkManifest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column_families: Option<&'s [FamilyReport]>,
}

impl Args {
    pub(crate) fn run(mut self) -> Result<Status> {
        if self.write.compares_codecs() {
            return self.compare_codecs();
        }
        self.output.stage(self.is_split())?;
        self.output.check(self.is_split())?;
        self.paths.iter().try_for_each(|path| check_outside(path, self.output.path()))?;
        self.database_output.check(self.kind())?;
        let is_database = self.kind() == OutputKind::Database;
        let given = self.read_args().given().into_iter().chain(self.log.given());
        // Tables can be put into a column family of a new database.
        let selected = self.database.given().into_iter().filter(|_| !is_database);
        reject_unused(self.paths.iter().map(PathBuf::as_path), given.chain(selected))?;
        ensure!(is_database || !self.keep_levels, "--keep-levels needs --as database");
        if let Some(path) =
            self.paths.iter().find(|path| is_database && file_system::is_remote(path))
        {
            bail!("{}: --as database takes over local files only; use --as folder", path.display());
        }
        interrupt::listen();
        let start = Instant::now();
        let written = match is_database {
            true => self.write_database(),
            false => self.write_tables(),
        };
        let written = written.and_then(|it| self.output.publish().map(|()| it));
        let written = interrupt::outcome(written)?;
        interrupt::done();
        let mut page = Page::stdout();
        self.report(&written, start.elapsed(), &mut page)?;
        page.finish()?;
        Ok(Status::Fine)
    }

    fn is_split(&self) -> bool {
        !self.split_at.is_empty()
    }

    fn kind(&self) -> OutputKind {
        self.output.kind(self.is_split())
    }

    /// Merges everything into tables.
    fn write_tables(&self) -> Result<Written> {
        let input = |path: &PathBuf| match self.open(path)? {
            Source::Table(table) => Ok(Input::Table(table)),
            Source::Database(database) => {
                let name = self.database.name();
                Ok(Input::ColumnFamily(database::column_family(&database, name)?))
            }
        };
        let inputs = self.paths.iter().map(input).collect::<Result<Vec<_>>>()?;
        let options = self.compaction_options(self.write.options()?)?;
        let compaction = self.compaction(inputs, &options)?;
        drop(options);
        let output = self.output.path();
        let summary = compaction.run(output).map_err(|error| error.in_file(output))?;
        let mut written = Written::default();
        written.add(&summary);
        written.manifest = Some(summary.manifest);
        Ok(written)
    }

    /// A compaction of these inputs, the newest last.
    fn compaction(
        &self,
        mut inputs: Vec<Input>,
        options: &CompactionOptions,
    ) -> Result<Compaction> {
        let keys = self.keys.decoded(self.encoding)?;
        inputs.iter().try_for_each(|input| keys.check(input.comparator()))?;
        let mut compaction = Compaction::new(options);
        // Inputs added later count as newer.
        if self.duplicates == Some(DuplicatesName::First) {
            inputs.reverse();
        }
        for input in &inputs {
            input.add_to(&mut compaction)?;
        }
        if self.duplicates == Some(DuplicatesName::Error) {
            duplicates::refuse(&inputs, self.encoding.shown(!self.format.is_json()))?;
        }
        Ok(compaction)
    }

    fn open(&self, path: &Path) -> Result<Source> {
        Ok(match Target::of(path)? {
            Target::Table(path) => {
                let file = InspectedTable::open(&path, &self.table_options())?;
                Source::Table(table_order::detect(&file, &path)?.table().clone())
            }
            Target::Database(path) => {
                Source::Database(database::open_whole(&path, &self.database_options()?)?)
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

    fn compaction_options(&self, table: TableOptions) -> Result<CompactionOptions> {
        let is_database = self.kind() == OutputKind::Database;
        let numbers = match (self.sequence_numbers, is_database) {
            (Some(SequenceNumbersName::Zero), _) | (None, false) => SequenceNumbers::Zero,
            (Some(SequenceNumbersName::Keep), _) | (None, true) => SequenceNumbers::Keep,
        };
        let SelectedKeys { range, prefix } = self.keys.decoded(self.encoding)?;
        let split_at = self.split_at.iter().map(|key| self.encoding.key(key));
        let extension = (self.write.profile == Profile::Leveldb).then_some("ldb");
        Ok(CompactionOptions::new(table)
            .range(range)
            .max_file_size(self.output.max_file_size(self.write.profile, self.is_split()))
            .split_at(split_at.collect::<Result<_>>()?)
            .replace(self.output.force)
            .threads(self.threads())
            .bottommost(self.drop_tombstones || is_database)
            .sequence_numbers(numbers)
            .progress(stop_or_show())
            .set_if_given(prefix, CompactionOptions::prefix)
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
            order: OrderArgs::of(self.write.comparator.clone()),
            prefix_extractor: None,
            key_form: self.key_form,
            limits: self.limits,
        }
    }

    fn report(&self, written: &Written, time: Duration, page: &mut Page) -> io::Result<()> {
        let Written { counts, bytes_in, manifest, column_families } = written;
        if self.format.is_json() {
            return page.json(&Report {
                output: self.output.name().display().to_string(),
                kind: self.kind(),
                bytes_in: *bytes_in,
                entries_in: counts.entries_in,
                entries_out: counts.entries_out,
                shadowed: counts.shadowed,
                tombstones: counts.tombstones,
                covered: counts.covered,
                merged: counts.merged,
                seconds: time.as_secs_f64(),
                manifest: manifest.as_ref(),
                column_families: column_families.as_deref(),
            });
        }
        let families = column_families.as_deref().unwrap_or_default();
        let of_tables = manifest.as_ref().map(|manifest| (manifest.entries, manifest.bytes));
        let totals = of_tables.unwrap_or_else(|| FamilyReport::totals(families));
        self.output.print_done(page, totals, time)?;
        let mut grid = Grid::pairs();
        let read = (units::counted(counts.entries_in, "entry"), units::size(*bytes_in));
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
        match manifest {
            Some(manifest) => {
                let encoding = self.encoding.shown(!self.format.is_json());
                self.output.print_files(page, manifest, encoding, self.is_split())
            }
            None => FamilyReport::print(families, page),
        }
    }
}
