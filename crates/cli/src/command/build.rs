//! `sst build`: builds tables from NDJSON, CSV, TSV or Parquet.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Serialize;
use sstkit_db::{BulkBuilder, BulkManifest, BulkOptions, BulkSummary, ColumnFamilyDescriptor};
use sstkit_table::{Comparator, TableOptions};

use super::database_output::{DEFAULT_COLUMN_FAMILY, DatabaseOutputArgs, FamilyReport};
use super::input_args::InputArgs;
use super::output_args::{OutputArgs, OutputKind};
use crate::args::{DuplicatesName, FormatArgs, Profile, SetIfGiven as _, WriteArgs};
use crate::interrupt;
use crate::output::{Page, stop_or_show, units};
use crate::status::Status;

/// Memory for sorting, by default.
pub(super) const MEMORY: u64 = 256 << 20;

/// Build tables or a database from NDJSON, CSV, TSV or Parquet
///
/// The input may be in any order; it is sorted in bounded memory. The output is one file, or with
/// --max-file-size a directory of non-overlapping files and a manifest.json. RocksDB 10.4 and later
/// ingests them with IngestExternalFile; use --for for older versions. With --as database, the output
/// is a new database that RocksDB (or LevelDB, with --profile leveldb) opens as its own. The output
/// appears only when it is complete; after an error or Ctrl-C nothing is left behind.
///
/// NDJSON has one object per line, {"key": …, "value": …}, with an optional "type" as in `sst scan
/// --internal`: put (the default), delete, single_delete, merge, range_delete ("value" is the end
/// key), put_entity (the default with "columns": [[name, value], …]). The output of `sst scan
/// --format json` builds the same table again: "seq" is kept (RocksDB ingests only tables without
/// sequence numbers), blob_index and put_preferred_seqno become put with their value, and "merge"
/// (operands that were not combined) is rejected. --duplicates selects among several entries with
/// the same key and "seq".
///
/// Keys and values in NDJSON are escaped as `sst scan` prints them (\\ for a backslash, \xHH for
/// any byte) unless --encoding or --input-encoding is given. In CSV and TSV they are the bytes of
/// the fields. CSV follows RFC 4180. TSV has no quoting: write tabs and line ends in values as \t
/// and \n and use --encoding escape. Every row must have as many fields as the header. A byte-order
/// mark is skipped. With the header that `sst scan` writes, types, sequence numbers and timestamps
/// are used, too, unless --key or --value is given.
///
/// Text may be compressed with gzip or zstd. Several value columns become an entity (RocksDB's wide
/// columns) or, with --values-as json, a JSON object.
///
/// Keys from Parquet sort as their columns do: strings and binary are used unchanged, integers
/// big-endian with the sign bit inverted (docs/formats/key-encoding.md has all types). Values may be
/// binary, strings or integers (big-endian). Of a file that `sst scan` wrote, all columns are used: it
/// builds the same table again.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst build users.ndjson -o users.sst
  sst build users.ndjson -o users.sst --for rocksdb-9.8
  sst build users.csv --key id --value name -o users.sst --filter ribbonfilter:10
  sst build part-*.parquet --key id --value payload -o out/ --max-file-size 64MiB
  sst build dump.ndjson.gz -o all.sst --memory 1GiB --compression zstd:6
  sst build users.csv --key id --value '*' --values-as json -o users.sst
  sst build users.tsv --no-header --key 1 --value 2 -o 000005.ldb --profile leveldb
  sst build users.csv --key id --value name -o usersdb --as database --for rocksdb-9.8
  sst build users.csv --key id --value name -o usersdb --as database --profile leveldb")]
pub(crate) struct Args {
    /// Input files, or - for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    input: InputArgs,

    /// Require sorted input: entries are written as they arrive, and one out of order is an error
    #[arg(long)]
    sorted: bool,

    /// What to do with several entries for one key: keep the last one read, keep the first, or fail
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    duplicates: DuplicatesName,

    /// Memory for sorting [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, conflicts_with = "sorted")]
    memory: Option<u64>,

    /// Column family of the database that the entries go to [default: default]
    #[arg(long, value_name = "NAME")]
    column_family: Option<String>,

    #[command(flatten)]
    write: WriteArgs,

    #[command(flatten)]
    database_output: DatabaseOutputArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Report<'s> {
    output: String,
    #[serde(rename = "as")]
    kind: OutputKind,
    entries_read: u64,
    duplicates_dropped: u64,
    runs: u64,
    spilled_bytes: u64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<&'s BulkManifest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column_families: Option<&'s [FamilyReport]>,
}

impl Args {
    pub(crate) fn run(mut self) -> Result<Status> {
        self.output.stage(false)?;
        self.output.check(false)?;
        self.database_output.check(self.kind())?;
        ensure!(
            self.column_family.is_none() || self.kind() == OutputKind::Database,
            "--column-family has no effect without --as database"
        );
        self.input.check(&self.inputs, self.write.profile)?;
        interrupt::listen();
        let start = Instant::now();
        let written = match self.kind() {
            OutputKind::Database => {
                self.write_database().map(|(summary, family)| (summary, Some([family])))
            }
            OutputKind::Table | OutputKind::Folder => {
                self.write_tables().map(|summary| (summary, None))
            }
        };
        let written = written.and_then(|it| self.output.publish().map(|()| it));
        let (summary, families) = interrupt::outcome(written)?;
        interrupt::done();
        let mut page = Page::stdout();
        let families = families.as_ref().map(<[FamilyReport; 1]>::as_slice);
        self.report(&summary, families, start.elapsed(), &mut page)?;
        page.finish()?;
        Ok(Status::Fine)
    }

    fn kind(&self) -> OutputKind {
        self.output.kind(false)
    }

    fn write_tables(&self) -> Result<BulkSummary> {
        let path = self.output.path();
        let mut builder = BulkBuilder::create(path, &self.bulk_options(self.write.options()?))?;
        self.read_all(&mut builder)?;
        Ok(builder.finish().map_err(|error| error.in_file(path))?)
    }

    fn write_database(&self) -> Result<(BulkSummary, FamilyReport)> {
        let plan = self.database_output.plan(&self.write, None)?;
        let name = self.column_family.as_deref().unwrap_or(DEFAULT_COLUMN_FAMILY);
        let level = plan.level(name);
        let descriptor = ColumnFamilyDescriptor::new(name).comparator(self.comparator());
        let mut writer = plan.writer(self.output.path())?;
        let id = writer.column_family(plan.describe(descriptor, level)?)?;
        let options = self.bulk_options(plan.table_options(name, level)?);
        let options = match self.write.profile {
            Profile::Rocksdb => options.level(level),
            Profile::Leveldb => options,
        };
        let mut builder = BulkBuilder::for_database(&writer, id, &options)?;
        // The progress bar goes with the builder.
        drop(options);
        self.read_all(&mut builder)?;
        let summary = builder.finish_into(&mut writer, id, level)?;
        interrupt::check()?;
        writer.finish()?;
        let mut report = FamilyReport::new(name);
        report.add(level, &summary.manifest.files);
        Ok((summary, report))
    }

    fn comparator(&self) -> Comparator {
        self.write.comparator.clone().unwrap_or(Comparator::Bytewise)
    }

    fn read_all(&self, builder: &mut BulkBuilder) -> Result<()> {
        let count = self.input.read_all(&self.inputs, &self.comparator(), builder)?;
        ensure!(count > 0, "the input has no records; nothing was written");
        Ok(())
    }

    fn bulk_options(&self, table: TableOptions) -> BulkOptions {
        let extension = (self.write.profile == Profile::Leveldb).then_some("ldb");
        BulkOptions::new(table)
            .max_file_size(self.output.max_file_size(self.write.profile, false))
            .replace(self.output.force)
            .memory(usize::try_from(self.memory.unwrap_or(MEMORY)).unwrap_or(usize::MAX))
            .threads(self.write.threads())
            .duplicates(self.duplicates.into())
            .sorted(self.sorted)
            .progress(stop_or_show())
            .set_if_given(extension, BulkOptions::extension)
            .set_if_given(self.write.comparator.clone(), BulkOptions::comparator)
    }

    fn report(
        &self,
        summary: &BulkSummary,
        column_families: Option<&[FamilyReport]>,
        time: Duration,
        page: &mut Page,
    ) -> io::Result<()> {
        let manifest = &summary.manifest;
        if self.format.is_json() {
            return page.json(&Report {
                output: self.output.name().display().to_string(),
                kind: self.kind(),
                entries_read: summary.entries_added,
                duplicates_dropped: summary.duplicates_dropped,
                runs: summary.runs,
                spilled_bytes: summary.spilled_bytes,
                seconds: time.as_secs_f64(),
                manifest: column_families.is_none().then_some(manifest),
                column_families,
            });
        }
        self.output.print_done(page, (manifest.entries, manifest.bytes), time)?;
        if summary.duplicates_dropped > 0 {
            let dropped = units::counted(summary.duplicates_dropped, "entry");
            writeln!(page, "  {dropped} dropped as duplicates")?;
        }
        match column_families {
            Some(families) => FamilyReport::print(families, page),
            None => {
                let encoding = self.input.encoding.shown(!self.format.is_json());
                self.output.print_files(page, manifest, encoding, false)
            }
        }
    }
}
