//! The input of `build`, `plan` and `part`: NDJSON, CSV, TSV or Parquet.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sstkit_arrow::EntrySink;
use sstkit_table::Comparator;
use sstkit_table::raw::{ColumnValue, EntryKind, InternalKey, WideColumn, encode_wide_columns};

use crate::args::{EncodingArgs, Profile};
use crate::input::{
    self, Input, InputEncoding, InputFormat, InputRecord, InputSettings, ValueForm,
};
use crate::interrupt;
use crate::output::ProgressBar;

/// Records between updates of the progress bar.
const PROGRESS_INTERVAL: u64 = 1024;

/// How to read the input.
#[derive(Debug, clap::Args)]
pub(super) struct InputArgs {
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

    #[command(flatten)]
    pub(super) encoding: EncodingArgs,

    /// Encoding of keys and values in the input only; raw uses the bytes unchanged [default:
    /// --encoding if given, else raw for CSV and TSV, escape for NDJSON]
    #[arg(long, value_name = "ENCODING", value_parser = input_encodings())]
    input_encoding: Option<InputEncoding>,
}

impl InputArgs {
    /// Rejects options that apply to none of the inputs, or that contradict the output.
    pub(super) fn check(&self, inputs: &[PathBuf], profile: Profile) -> Result<()> {
        inputs.iter().try_for_each(|input| crate::remote::require_local(input))?;
        let makes_entities = match self.values_as {
            Some(form) => form == ValueForm::Entity,
            None => self.value.len() > 1 || self.value.iter().any(|it| it == "*"),
        };
        ensure!(
            !makes_entities || profile == Profile::Rocksdb,
            "LevelDB has no entities: use --values-as json for several value columns"
        );
        let formats: Vec<InputFormat> = inputs
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

    /// Reads all records, passes them on and returns their number. Shows the progress, and stops after Ctrl-C.
    pub(super) fn read_all(
        &self,
        inputs: &[PathBuf],
        comparator: &Comparator,
        sink: &mut impl EntrySink,
    ) -> Result<u64> {
        let settings = InputSettings {
            format: self.input_format,
            encoding: self.input_encoding.or(self.encoding.given().map(InputEncoding::Text)),
            key: self.key.clone(),
            value: self.value.clone(),
            values_as: self.values_as,
            no_header: self.no_header,
        };
        let progress = ProgressBar::bytes("reading", total_size(inputs));
        let bytes = Rc::new(Cell::new(0));
        let mut record = InputRecord::default();
        let mut count = 0;
        for path in inputs {
            let mut records = match input::open(path, &settings, &bytes)? {
                Input::Records(records) => records,
                #[cfg(feature = "parquet")]
                Input::Parquet(mut batches) => {
                    batches.check_timestamps(comparator)?;
                    let before = bytes.get();
                    while let Some(rows) = batches.write_batch(sink)? {
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
                add(sink, &record, comparator).with_context(|| records.location())?;
                count += 1;
                if count % PROGRESS_INTERVAL == 0 {
                    progress.set(bytes.get());
                }
            }
        }
        Ok(count)
    }
}

fn add(sink: &mut impl EntrySink, record: &InputRecord, comparator: &Comparator) -> Result<()> {
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
            sink.add(&internal_key, &entity)?;
        }
        EntryKind::RangeDeletion => {
            sink.add(&internal_key, &[&value[..], timestamp].concat())?;
        }
        _ => sink.add(&internal_key, value)?,
    }
    Ok(())
}

/// The user key without its timestamp.
pub(super) fn bare<'k>(
    key: &InternalKey<'k>,
    comparator: &Comparator,
) -> sstkit_arrow::Result<&'k [u8]> {
    let split = key.split_timestamp(comparator.timestamp_size());
    let (bare, _) =
        split.ok_or_else(|| sstkit_table::Error::invalid_input("a key without timestamp"))?;
    Ok(bare)
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
