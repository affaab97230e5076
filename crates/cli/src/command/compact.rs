//! `sst compact`: tables merged into new ones that do not overlap.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use sstkit_db::{BulkManifest, Compaction, CompactionOptions, CompactionSummary, SequenceNumbers};
use sstkit_table::{Table, TableReadOptions};

use super::build::{files, stop_or_show};
use super::place;
use crate::args::{
    DatabaseArgs, EncodingArgs, FormatArgs, KeyFormName, Profile, ReadArgs, WriteArgs,
    merge_operator_named,
};
use crate::output::page::HEADING;
use crate::output::{Grid, Page, units};
use crate::status::Status;
use crate::target::Target;
use crate::{database, interrupt};

/// Merges tables or a database's levels into new tables that do not overlap
///
/// Of each key the newest version stays: that with the largest sequence number, and where these are
/// the same, that of the later PATH. Filters are built anew. The result is one file, or with
/// --max-file-size a folder and a manifest.json. The inputs are not changed; after an error or
/// Ctrl-C nothing is left behind.
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

    /// The table to be; with --max-file-size, the folder
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Leaves out deletions and range deletions: for the bottom level, where they have nothing left
    /// to delete
    #[arg(long)]
    drop_tombstones: bool,

    /// What becomes of sequence numbers
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    sequence_numbers: SequenceNumbersName,

    /// Begins a new file when one has so many bytes of data
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    max_file_size: Option<u64>,

    /// Replaces what is there
    #[arg(long)]
    force: bool,

    /// What combines merge operands, where a database does not say it
    #[arg(long, value_name = "NAME")]
    merge_operator: Option<String>,

    /// What the keys of the tables that are read are
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    key_form: KeyFormName,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    encoding: EncodingArgs,

    #[command(flatten)]
    write: WriteArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// What becomes of sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SequenceNumbersName {
    /// All become 0: RocksDB's IngestExternalFile takes the tables in
    #[default]
    Zero,
    /// They stay
    Keep,
}

/// What was done.
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
        place::check(&self.output, self.max_file_size, self.force)?;
        interrupt::listen()?;
        let start = Instant::now();
        let mut compaction = Compaction::new(&self.compaction_options()?);
        for path in &self.paths {
            match Target::of(path)? {
                Target::Table(path) => {
                    let table = Table::open_file(&path, &self.table_options())?;
                    compaction.add_table(&table)?;
                }
                Target::Database(path) => {
                    let database = database::open(&path, &self.read_args())?;
                    let name = &self.database.column_family;
                    let family = database::column_family(&database, name)?;
                    compaction.add_column_family(&family, ..)?;
                }
            }
        }
        let result = compaction.run(&self.output).map_err(|error| error.in_file(&self.output));
        // With it goes the progress bar, before anything is printed.
        drop(compaction);
        let summary = interrupt::outcome(result.map_err(Into::into))?;
        let mut page = Page::stdout();
        self.report(&summary, start.elapsed(), &mut page)?;
        page.finish()?;
        Ok(Status::Fine)
    }

    fn compaction_options(&self) -> Result<CompactionOptions> {
        let numbers = match self.sequence_numbers {
            SequenceNumbersName::Zero => SequenceNumbers::Zero,
            SequenceNumbersName::Keep => SequenceNumbers::Keep,
        };
        let mut options = CompactionOptions::new(self.write.options()?)
            .max_file_size(self.max_file_size)
            .replace(self.force)
            .threads(self.write.threads())
            .bottommost(self.drop_tombstones)
            .sequence_numbers(numbers)
            .progress(stop_or_show());
        if self.write.profile == Profile::Leveldb {
            options = options.extension("ldb");
        }
        if let Some(comparator) = &self.write.comparator {
            options = options.comparator(comparator.clone());
        }
        if let Some(name) = &self.merge_operator {
            options = options.merge_operator(merge_operator_named(name)?);
        }
        Ok(options)
    }

    /// How inputs are read. Blocks are read once, so that a cache would be of no use.
    fn table_options(&self) -> TableReadOptions {
        let options = TableReadOptions::default().key_form(self.key_form.into()).no_block_cache();
        match &self.write.comparator {
            Some(comparator) => options.comparator(comparator.clone()),
            None => options,
        }
    }

    fn read_args(&self) -> ReadArgs {
        ReadArgs {
            comparator: self.write.comparator.clone(),
            prefix_extractor: None,
            merge_operator: self.merge_operator.clone(),
            key_form: self.key_form,
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
                output: self.output.display().to_string(),
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
        let title = page.paint(HEADING, self.output.display()).to_string();
        let (entries, bytes) = (units::count(manifest.entries), units::size(manifest.bytes));
        writeln!(page, "{title}: {entries} entries, {bytes}, in {}", units::time(time))?;
        let mut grid = Grid::pairs();
        let read = (units::count(counts.entries_in), units::size(summary.bytes_in));
        grid.pair("read", format!("{} entries, {}", read.0, read.1));
        for (what, number) in [
            ("older versions left out", counts.shadowed),
            ("deletions left out", counts.tombstones),
            ("deleted by ranges", counts.covered),
            ("merged into others", counts.merged),
        ] {
            if number > 0 {
                grid.pair(what, units::count(number));
            }
        }
        grid.print(page)?;
        if self.max_file_size.is_some() {
            files(manifest, self.encoding).print(page)?;
        }
        Ok(())
    }
}
