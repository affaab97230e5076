//! Records to build tables from: NDJSON, CSV, TSV and Parquet, read one by one in bounded memory.
//! Text may be compressed with gzip or zstd. Errors name the file and the line.

mod byte_order_mark;
mod decompression;
mod delimited;
mod encoding;
mod lines;
mod ndjson;
#[cfg(feature = "parquet")]
mod parquet;
mod record_limit;
mod rows;
mod standard_input;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use sstkit_coding::with_defaults;
use sstkit_inspect::suggest::hint;
use sstkit_inspect::{Encoding, names};
use sstkit_table::raw::EntryKind;

use self::delimited::Delimited;
pub(crate) use self::encoding::InputEncoding;
pub(crate) use self::lines::Lines;
#[cfg(feature = "parquet")]
pub(crate) use self::parquet::ParquetInput;
use self::rows::Dialect;

/// What `sst scan` writes into the metadata of a Parquet file, so that `sst build` recognizes it.
#[cfg(feature = "parquet")]
pub(crate) const SCAN_METADATA: (&str, &str) = ("sstkit.scan", "1");

with_defaults! {
    /// One entry to write.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct InputRecord {
        /// The type of the entry.
        pub(crate) kind: EntryKind = EntryKind::Value,
        /// The sequence number; 0 if no database has assigned one.
        pub(crate) sequence: u64,
        /// The user key without timestamp; the begin key of a range deletion.
        pub(crate) key: Vec<u8>,
        /// The value; the end key of a range deletion.
        pub(crate) value: Vec<u8>,
        /// The timestamp; empty if there is none.
        pub(crate) timestamp: Vec<u8>,
        /// The columns of an entity.
        pub(crate) columns: Vec<(Vec<u8>, Vec<u8>)>,
    }
}

pub(crate) trait InputRecords {
    /// Reads the next record into `record`; false at the end.
    fn next(&mut self, record: &mut InputRecord) -> Result<bool>;

    /// The location of the last record, for messages: `users.csv: line 7`.
    fn location(&self) -> String;
}

/// The format of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// One JSON object per line
    Ndjson,
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// Apache Parquet; not from standard input
    Parquet,
}

impl InputFormat {
    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ndjson => "NDJSON",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Parquet => "Parquet",
        }
    }
}

/// How to read the input.
#[derive(Clone, Debug)]
pub(crate) struct InputSettings {
    /// `None`: determined by the file name.
    pub(crate) format: Option<InputFormat>,
    /// `None`: raw for CSV and TSV, escape for NDJSON.
    pub(crate) encoding: Option<InputEncoding>,
    /// The key columns of CSV, TSV and Parquet; `key` if there are none.
    pub(crate) key: Vec<String>,
    /// The value columns; `value` if there are none.
    pub(crate) value: Vec<String>,
    /// What several value columns become.
    pub(crate) values_as: Option<ValueForm>,
    /// The first line is data, not a header; columns are numbers.
    pub(crate) no_header: bool,
}

/// What the value columns of a row become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ValueForm {
    /// The value, of one column
    Plain,
    /// An entity with these columns (RocksDB)
    Entity,
    /// A JSON object
    Json,
}

/// Stands for all columns that are not key columns.
const ALL_OTHERS: &str = "*";

impl InputSettings {
    /// Whether columns are given.
    fn has_columns(&self) -> bool {
        !self.key.is_empty() || !self.value.is_empty()
    }

    fn key_columns(&self) -> Vec<String> {
        if self.key.is_empty() { vec!["key".into()] } else { self.key.clone() }
    }

    /// The value columns, of an input with all these columns.
    fn value_columns<'n>(&self, all: impl Iterator<Item = &'n str>) -> Vec<String> {
        let key = self.key_columns();
        match &self.value[..] {
            [] => vec!["value".into()],
            [one] if one == ALL_OTHERS => {
                all.filter(|name| !key.iter().any(|it| it == name)).map(str::to_owned).collect()
            }
            given => given.to_vec(),
        }
    }

    /// What this number of value columns become.
    fn value_form(&self, columns: usize) -> ValueForm {
        let is_one = columns == 1 && !self.value.iter().any(|it| it == ALL_OTHERS);
        self.values_as.unwrap_or(if is_one { ValueForm::Plain } else { ValueForm::Entity })
    }
}

/// The kind of an entry that `sst scan --internal` calls `name`.
fn kind_of_scan(name: &str) -> Result<EntryKind> {
    match names::parse_entry_kind(name) {
        // Values stored elsewhere are printed, so they are plain values here.
        Some(EntryKind::BlobIndex | EntryKind::ValuePreferredSeqno) => Ok(EntryKind::Value),
        Some(kind) => Ok(kind),
        None => {
            let hint = hint(name, EntryKind::ALL.iter().map(|&kind| names::entry_kind(kind)));
            bail!("unknown \"type\" {name:?}{hint}")
        }
    }
}

/// An open input.
pub(crate) enum Input {
    /// One record after another.
    Records(Box<dyn InputRecords>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetInput>),
}

/// Opens an input; `-` is standard input. Adds the number of bytes read to `bytes`.
pub(crate) fn open(path: &Path, settings: &InputSettings, bytes: &Rc<Cell<u64>>) -> Result<Input> {
    let name = name_of(path);
    let format = format_of(path, settings.format)?;
    let open = || open_text(path, bytes);
    Ok(Input::Records(match format {
        InputFormat::Ndjson => {
            let encoding = settings.encoding.unwrap_or(InputEncoding::Text(Encoding::Escape));
            Box::new(ndjson::Ndjson::new(open()?, name, encoding))
        }
        InputFormat::Csv => Box::new(Delimited::new(open()?, Dialect::Csv, name, settings)?),
        InputFormat::Tsv => Box::new(Delimited::new(open()?, Dialect::Tsv, name, settings)?),
        InputFormat::Parquet if is_stdin(path) => {
            bail!("Parquet cannot be read from standard input: pass a file")
        }
        #[cfg(feature = "parquet")]
        InputFormat::Parquet => {
            let input = ParquetInput::open(path, name, settings)?;
            return Ok(Input::Parquet(Box::new(input)));
        }
        #[cfg(not(feature = "parquet"))]
        InputFormat::Parquet => {
            bail!("{name}: sst was built without Parquet support (cargo feature \"parquet\")")
        }
    }))
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// What an input is called in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

/// Opens a file of lines; `-` is standard input.
pub(crate) fn open_lines(path: &Path) -> Result<Lines<impl Read + use<>>> {
    Ok(Lines::new(open_text(path, &Rc::default())?, name_of(path)))
}

/// Opens text; `-` is standard input. It is decompressed, without a byte-order mark. Adds the number
/// of bytes read to `bytes`.
fn open_text(path: &Path, bytes: &Rc<Cell<u64>>) -> Result<impl Read + use<>> {
    let inner: Box<dyn Read> = match is_stdin(path) {
        true => Box::new(standard_input::StandardInput::new()),
        false => Box::new(File::open(path).with_context(|| name_of(path))?),
    };
    let counting = Counting { inner, bytes: Rc::clone(bytes) };
    let text = decompression::decompress(counting).and_then(byte_order_mark::skip);
    text.with_context(|| name_of(path))
}

/// The format of an input: as given, or by its file name.
pub(crate) fn format_of(path: &Path, said: Option<InputFormat>) -> Result<InputFormat> {
    if let Some(format) = said {
        return Ok(format);
    }
    if path == Path::new("-") {
        return Ok(InputFormat::Ndjson);
    }
    let extension =
        |path: &Path| path.extension().and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
    let is_compressed =
        extension(path).is_some_and(|it| decompression::EXTENSIONS.contains(&it.as_str()));
    let named = if is_compressed { path.with_extension("") } else { PathBuf::from(path) };
    match extension(&named).as_deref() {
        Some("ndjson" | "jsonl" | "json") => Ok(InputFormat::Ndjson),
        Some("csv") => Ok(InputFormat::Csv),
        Some("tsv" | "tab") => Ok(InputFormat::Tsv),
        Some("parquet" | "pq") if !is_compressed => Ok(InputFormat::Parquet),
        _ => bail!(
            "{}: unknown input format: use --input-format ndjson, csv, tsv or parquet",
            path.display()
        ),
    }
}

/// Counts the bytes read.
struct Counting<R> {
    inner: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}
