//! `sst build`: builds tables from NDJSON, CSV, TSV or Parquet.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use sstkit_db::{
    BulkBuilder, BulkManifest, BulkOptions, BulkSummary, ColumnFamilyDescriptor, Duplicates,
};
use sstkit_table::raw::{ColumnValue, EntryKind, InternalKey, WideColumn, encode_wide_columns};
use sstkit_table::{Comparator, TableOptions};

use super::database_output::{DEFAULT_COLUMN_FAMILY, DatabaseOutputArgs, FamilyReport};
use super::output_args::{OutputArgs, OutputKind};
use crate::args::{DuplicatesName, EncodingArgs, FormatArgs, Profile, SetIfGiven as _, WriteArgs};
use crate::input::{
    self, Input, InputEncoding, InputFormat, InputRecord, InputSettings, ValueForm,
};
use crate::interrupt;
use crate::output::{Page, ProgressBar, stop_or_show, units};
use crate::status::Status;

/// Memory for sorting, by default.
const MEMORY: u64 = 256 << 20;

/// Records between updates of the progress bar.
const PROGRESS_INTERVAL: u64 = 1024;

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
/// mark is skipped.
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

    /// Input format [default: by file name; ndjson for standard input]
    #[arg(long, value_enum, value_name = "FORMAT")]
    input_format: Option<InputFormat>,

    // Not doc comments: rustdoc would take the brackets for links.
    #[arg(
        long,
        value_name = "COLUMN",
        help = "Key column of CSV, TSV or Parquet; for Parquet, repeat it for a key of several columns \
                [default: key]"
    )]
    key: Vec<String>,

    #[arg(
        long,
        value_name = "COLUMN",
        help = "Value column of CSV, TSV or Parquet; may be repeated, and * means all others [default: \
                value]"
    )]
    value: Vec<String>,

    /// What value columns become [default: plain for one, entity for several]
    #[arg(long, value_enum, value_name = "FORM")]
    values_as: Option<ValueForm>,

    /// Treat the first line of CSV or TSV as data; columns are numbers, starting at 1
    #[arg(long)]
    no_header: bool,

    /// Require sorted input: entries are written as they arrive, and one out of order is an error
    #[arg(long)]
    sorted: bool,

    /// What to do with several entries for one key: keep the last one read, keep the first, or fail
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    duplicates: DuplicatesName,

    /// Memory for sorting [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, conflicts_with = "sorted")]
    memory: Option<u64>,

    #[command(flatten)]
    encoding: EncodingArgs,

    /// Encoding of keys and values in the input only; raw uses the bytes unchanged [default:
    /// --encoding if given, else raw for CSV and TSV, escape for NDJSON]
    #[arg(long, value_name = "ENCODING", value_parser = input_encodings())]
    input_encoding: Option<InputEncoding>,

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
    pub(crate) fn run(self) -> Result<Status> {
        self.output.check(false)?;
        self.database_output.check(self.kind())?;
        ensure!(
            self.column_family.is_none() || self.kind() == OutputKind::Database,
            "--column-family has no effect without --as database"
        );
        self.check_input_options()?;
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
        let comparator = self.write.comparator.clone().unwrap_or(Comparator::Bytewise);
        let descriptor = ColumnFamilyDescriptor::new(name).comparator(comparator);
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

    /// Rejects options that apply to none of the inputs, or that contradict the output.
    fn check_input_options(&self) -> Result<()> {
        let makes_entities = match self.values_as {
            Some(form) => form == ValueForm::Entity,
            None => self.value.len() > 1 || self.value.iter().any(|it| it == "*"),
        };
        ensure!(
            !makes_entities || self.write.profile == Profile::Rocksdb,
            "LevelDB has no entities: use --values-as json for several value columns"
        );
        let formats: Vec<InputFormat> = self
            .inputs
            .iter()
            .map(|path| input::format_of(path, self.input_format))
            .collect::<Result<_>>()?;
        use InputFormat::{Csv, Ndjson, Parquet, Tsv};
        for (option, given, read_by) in [
            ("--key", !self.key.is_empty(), &[Csv, Tsv, Parquet][..]),
            ("--value", !self.value.is_empty(), &[Csv, Tsv, Parquet]),
            ("--values-as", self.values_as.is_some(), &[Csv, Tsv, Parquet]),
            ("--no-header", self.no_header, &[Csv, Tsv]),
            ("--input-encoding", self.input_encoding.is_some(), &[Ndjson, Csv, Tsv]),
        ] {
            let names: Vec<&str> = read_by.iter().map(|format| format.name()).collect();
            ensure!(
                !given || formats.iter().any(|format| read_by.contains(format)),
                "{option} applies only to {}, and no input has that format",
                names.join(", ")
            );
        }
        Ok(())
    }

    fn bulk_options(&self, table: TableOptions) -> BulkOptions {
        let duplicates = match self.duplicates {
            DuplicatesName::Last => Duplicates::Last,
            DuplicatesName::First => Duplicates::First,
            DuplicatesName::Error => Duplicates::Error,
        };
        let extension = (self.write.profile == Profile::Leveldb).then_some("ldb");
        BulkOptions::new(table)
            .max_file_size(self.output.max_file_size(self.write.profile, false))
            .replace(self.output.force)
            .memory(usize::try_from(self.memory.unwrap_or(MEMORY)).unwrap_or(usize::MAX))
            .threads(self.write.threads())
            .duplicates(duplicates)
            .sorted(self.sorted)
            .progress(stop_or_show())
            .set_if_given(extension, BulkOptions::extension)
            .set_if_given(self.write.comparator.clone(), BulkOptions::comparator)
    }

    fn read_all(&self, builder: &mut BulkBuilder) -> Result<()> {
        let settings = InputSettings {
            format: self.input_format,
            encoding: self.input_encoding.or(self.encoding.given().map(InputEncoding::Text)),
            key: self.key.clone(),
            value: self.value.clone(),
            values_as: self.values_as,
            no_header: self.no_header,
        };
        let comparator = self.write.comparator.clone().unwrap_or(Comparator::Bytewise);
        let progress = ProgressBar::bytes("reading", total_size(&self.inputs));
        let bytes = Rc::new(Cell::new(0));
        let mut record = InputRecord::default();
        let mut count = 0;
        for path in &self.inputs {
            let mut records = match input::open(path, &settings, &bytes)? {
                Input::Records(records) => records,
                #[cfg(feature = "parquet")]
                Input::Parquet(mut batches) => {
                    let before = bytes.get();
                    while let Some(rows) = batches.write_batch(builder)? {
                        interrupt::check()?;
                        count += rows;
                        bytes.set(before + batches.bytes_read());
                        progress.set(bytes.get());
                    }
                    continue;
                }
            };
            while records.next(&mut record)? {
                interrupt::check()?;
                add(builder, &record, &comparator).with_context(|| records.location())?;
                count += 1;
                if count % PROGRESS_INTERVAL == 0 {
                    progress.set(bytes.get());
                }
            }
        }
        ensure!(count > 0, "the input has no records; nothing was written");
        Ok(())
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
                output: self.output.path().display().to_string(),
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
                let encoding = self.encoding.shown(!self.format.is_json());
                self.output.print_files(page, manifest, encoding, false)
            }
        }
    }
}

fn add(builder: &mut BulkBuilder, record: &InputRecord, comparator: &Comparator) -> Result<()> {
    let InputRecord { kind, sequence, key, value, timestamp, columns } = record;
    let (length, size) = (timestamp.len(), comparator.timestamp_size());
    ensure!(length == size, "the timestamp has {length} bytes, but {comparator} expects {size}");
    // Keys with timestamps have their own type of deletion.
    let kind = match (kind, timestamp.is_empty()) {
        (EntryKind::Deletion, false) => EntryKind::DeletionWithTimestamp,
        (EntryKind::DeletionWithTimestamp, true) => EntryKind::Deletion,
        _ => *kind,
    };
    let user_key = [&key[..], timestamp].concat();
    let internal_key = InternalKey { user_key: &user_key, sequence: *sequence, kind };
    match kind {
        EntryKind::WideColumnEntity => {
            let mut columns: Vec<WideColumn<'_>> = columns
                .iter()
                .map(|(name, value)| WideColumn { name, value: ColumnValue::Inline(value) })
                .collect();
            columns.sort_by_key(|column| column.name);
            let mut entity = Vec::new();
            encode_wide_columns(&columns, &mut entity)?;
            builder.add_internal(&internal_key, &entity)?;
        }
        EntryKind::RangeDeletion => {
            builder.add_internal(&internal_key, &[&value[..], timestamp].concat())?;
        }
        _ => builder.add_internal(&internal_key, value)?,
    }
    Ok(())
}

fn input_encodings() -> impl TypedValueParser<Value = InputEncoding> {
    PossibleValuesParser::new(InputEncoding::NAMES).try_map(|name| name.parse::<InputEncoding>())
}

/// The size of all inputs in bytes; `None` if unknown.
fn total_size(inputs: &[PathBuf]) -> Option<u64> {
    let size = |path: &PathBuf| match path == Path::new("-") {
        true => None,
        false => fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|it| it.len()),
    };
    inputs.iter().map(size).sum()
}
