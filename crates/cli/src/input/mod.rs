//! Records to build tables from: NDJSON, CSV, TSV and Parquet, read one by one in bounded memory.
//! Errors name the file and the line.

mod byte_order_mark;
mod delimited;
mod encoding;
mod ndjson;
#[cfg(feature = "parquet")]
mod parquet;
mod record_limit;
mod rows;
mod standard_input;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use sstkit_inspect::Encoding;
use sstkit_table::raw::EntryKind;

use self::delimited::Delimited;
pub(crate) use self::encoding::InputEncoding;
use self::rows::Dialect;

/// One entry to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputRecord {
    /// The type of the entry.
    pub(crate) kind: EntryKind,
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

impl Default for InputRecord {
    fn default() -> Self {
        Self {
            kind: EntryKind::Value,
            sequence: 0,
            key: Vec::new(),
            value: Vec::new(),
            timestamp: Vec::new(),
            columns: Vec::new(),
        }
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
    /// The key column of CSV, TSV and Parquet.
    pub(crate) key_column: String,
    /// The value column.
    pub(crate) value_column: String,
    /// The first line is data, not a header; columns are numbers.
    pub(crate) no_header: bool,
}

/// Opens an input; `-` is standard input. Adds the number of bytes read to `bytes`.
pub(crate) fn open(
    path: &Path,
    settings: &InputSettings,
    bytes: &Rc<Cell<u64>>,
) -> Result<Box<dyn InputRecords>> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "standard input".into() } else { path.display().to_string() };
    let format = format_of(path, settings.format)?;
    let open = || -> Result<_> {
        let inner: Box<dyn Read> = match is_stdin {
            true => Box::new(standard_input::StandardInput::new()),
            false => Box::new(File::open(path).with_context(|| name.clone())?),
        };
        let counting = Counting { inner, bytes: Rc::clone(bytes) };
        byte_order_mark::skip(counting).with_context(|| name.clone())
    };
    Ok(match format {
        InputFormat::Ndjson => {
            let encoding = settings.encoding.unwrap_or(InputEncoding::Text(Encoding::Escape));
            Box::new(ndjson::Ndjson::new(open()?, name, encoding))
        }
        InputFormat::Csv => Box::new(Delimited::new(open()?, Dialect::Csv, name, settings)?),
        InputFormat::Tsv => Box::new(Delimited::new(open()?, Dialect::Tsv, name, settings)?),
        InputFormat::Parquet if is_stdin => {
            bail!("Parquet cannot be read from standard input: pass a file")
        }
        #[cfg(feature = "parquet")]
        InputFormat::Parquet => Box::new(parquet::Parquet::open(path, name, settings)?),
        #[cfg(not(feature = "parquet"))]
        InputFormat::Parquet => {
            bail!("{name}: sst was built without Parquet support (cargo feature \"parquet\")")
        }
    })
}

/// The format of an input: as given, or by its file name.
pub(crate) fn format_of(path: &Path, said: Option<InputFormat>) -> Result<InputFormat> {
    if let Some(format) = said {
        return Ok(format);
    }
    if path == Path::new("-") {
        return Ok(InputFormat::Ndjson);
    }
    let extension = path.extension().and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
    match extension.as_deref() {
        Some("ndjson" | "jsonl" | "json") => Ok(InputFormat::Ndjson),
        Some("csv") => Ok(InputFormat::Csv),
        Some("tsv" | "tab") => Ok(InputFormat::Tsv),
        Some("parquet" | "pq") => Ok(InputFormat::Parquet),
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
