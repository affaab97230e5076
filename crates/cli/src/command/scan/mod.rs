//! `sst scan`: prints visible keys and values, or internal entries.
//!
//! ```text
//! text, json               listing.rs    records, one by one
//! csv, tsv, raw, parquet   export.rs     record batches of sstkit-arrow
//! --count                  count.rs      nothing but their number
//! logs, blob files         single_file.rs    writes and values in file order
//! ```

mod count;
mod delimited;
mod export;
mod exported_batches;
mod listing;
#[cfg(feature = "parquet")]
mod parquet;
mod single_file;

use crate::remote::readable_path;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::slice;

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use serde::Serialize;
use sstkit_db::ColumnFamily;
use sstkit_inspect::{Encoding, InspectedTable};
use sstkit_table::visibility::Direction;
use sstkit_table::{Comparator, ReadOptions};

use super::output_args::file_target;
use crate::args::{
    DatabaseArgs, EncodingArgs, MergeArgs, OpenArgs, OwnerArgs, RangeArgs, SnapshotArgs,
};
use crate::output::{FileCompression, Page, ProgressBar};
use crate::status::Status;
use crate::target::Target;
use crate::{database, interrupt, table_order};

/// Records between updates of the progress bar.
const PROGRESS_INTERVAL: u64 = 4096;

/// Print keys and values: the visible ones, or all entries (--internal)
///
/// By default, prints the newest version of each key, with deletions and range deletions applied
/// and merge operands combined. With --internal, prints every entry in file order with its sequence
/// number and type, followed by the range deletions that overlap the range.
///
/// With --internal, PATH may also be a write-ahead log, whose writes are printed in order with the
/// ids of their column families, or a blob file; of a MANIFEST, OPTIONS or CURRENT file, prints the
/// records as `sst dump` does.
///
/// CSV and TSV have a header line: key and value, with --internal type, key, seq and value, and
/// timestamp after key if keys have them. Fields are the bytes as stored, unless --encoding is given;
/// `sst build` reads them back. Parquet has the columns key, value, timestamp (if keys have them),
/// columns (of entities, a map) and merge (operands that were not combined, a list); with --internal
/// also sequence and kind. Raw is the bytes of the key, a tab, those of the value and a line feed.
/// Where values end with the time of their write (--ttl), it is in the column written.
///
/// An output file appears when it is complete; after an error or Ctrl-C nothing is left behind.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst scan 000011.sst
  sst scan /var/lib/mydb --column-family meta --prefix user7/ --limit 10
  sst scan /var/lib/mydb --from a --to b --reverse --keys-only
  sst scan /var/lib/mydb --internal --prefix user7/ --at 4000
  sst scan /var/lib/mydb -o mydb.parquet
  sst scan 000011.sst --format csv --encoding hex
  sst scan 000011.sst --internal --format json | jq -r .type | sort | uniq -c
  sst scan 000012.log --internal
  sst scan 000011.sst --format json | sst build - -o copy.sst")]
pub(crate) struct Args {
    /// Table or database
    #[arg(value_parser = readable_path())]
    path: PathBuf,

    #[command(flatten)]
    range: RangeArgs,

    #[command(flatten)]
    snapshot: SnapshotArgs,

    /// Print at most N entries
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,

    /// Scan from the last key to the first
    #[arg(short, long)]
    reverse: bool,

    /// Print keys without values
    #[arg(short, long)]
    keys_only: bool,

    /// Print only the number of entries; a whole table is counted with one thread per core
    #[arg(long)]
    count: bool,

    /// Print every entry as stored, instead of the visible ones
    #[arg(short, long, conflicts_with = "merge_operator")]
    internal: bool,

    /// Output format [default: by the extension of the output file; text]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    format: Option<ScanFormat>,

    /// Same as --format json
    #[arg(short, long, conflicts_with = "format")]
    json: bool,

    /// Write CSV or TSV without a header line
    #[arg(long)]
    no_header: bool,

    /// Output file; compressed if its name ends in .gz or .zst [default: standard output]
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    output: Option<PathBuf>,

    /// Replace an existing output file
    #[arg(long, requires = "output")]
    force: bool,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    encoding: EncodingArgs,

    #[command(flatten)]
    open: OpenArgs,

    #[command(flatten)]
    merge: MergeArgs,

    #[command(flatten)]
    owner: OwnerArgs,
}

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ScanFormat {
    /// Human-readable text
    Text,
    /// JSON: one object per line
    Json,
    /// Comma-separated values (RFC 4180)
    Csv,
    /// Tab-separated values, without quoting
    Tsv,
    /// Apache Parquet
    Parquet,
    /// The bytes of keys and values
    Raw,
}

impl ScanFormat {
    /// By the extension of a file, before that of its compression: none of them is text.
    fn of_file(path: &Path) -> Option<Self> {
        let path = match extension(path) {
            Some(of_all) if FileCompression::of_extension(&of_all).is_some() => {
                path.with_extension("")
            }
            _ => path.to_owned(),
        };
        let Some(extension) = extension(&path) else { return Some(Self::Text) };
        Some(match extension.as_str() {
            "txt" | "text" => Self::Text,
            "json" | "ndjson" | "jsonl" => Self::Json,
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "parquet" | "pq" => Self::Parquet,
            _ => return None,
        })
    }
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// What is scanned.
enum Source {
    Table(InspectedTable),
    Family(ColumnFamily),
}

impl Source {
    fn comparator(&self) -> Option<&Comparator> {
        match self {
            Self::Table(file) => file.table().comparator().ok(),
            Self::Family(family) => family.comparator().ok(),
        }
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        self.open.check(slice::from_ref(&self.path), self.database.given())?;
        self.check_format()?;
        let target = match self.file() {
            Some(path) => Some(file_target(path, self.force)?),
            None => None,
        };
        if let Some(kind) = single_file::kind_of(&self.path) {
            self.check_file(kind)?;
            let mut page = match target {
                Some(target) => Page::file(target, self.compression())?,
                None => Page::stdout(),
            };
            let status = self.print_file(kind, &mut page)?;
            page.finish()?;
            return Ok(status);
        }
        let (source, status) = self.source()?;
        self.range.decoded(self.encoding)?.check(source.comparator())?;
        if self.file().is_some() {
            interrupt::listen();
        }
        let write = || -> Result<()> {
            if !matches!(self.format(), ScanFormat::Text | ScanFormat::Json) {
                return self.export(&source, target);
            }
            let mut page = match target {
                Some(target) => Page::file(target, self.compression())?,
                None => Page::stdout(),
            };
            self.print(&source, &mut page)?;
            Ok(page.finish()?)
        };
        let written = match self.file() {
            Some(path) => write().with_context(|| path.display().to_string()),
            None => write(),
        };
        interrupt::outcome(written)?;
        interrupt::done();
        Ok(status)
    }

    /// The output file, unless it is standard output.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    fn format(&self) -> ScanFormat {
        let by_name = || self.file().and_then(ScanFormat::of_file).unwrap_or(ScanFormat::Text);
        if self.json { ScanFormat::Json } else { self.format.unwrap_or_else(by_name) }
    }

    /// How the output file is compressed, by its name.
    fn compression(&self) -> Option<FileCompression> {
        FileCompression::of_extension(&extension(self.file()?)?)
    }

    fn check_format(&self) -> Result<()> {
        use ScanFormat::{Csv, Json, Parquet, Raw, Text, Tsv};
        let format = self.format();
        if let Some(path) = self.file().filter(|path| ScanFormat::of_file(path).is_none()) {
            let name = path.display();
            ensure!(
                extension(path).is_none_or(|it| !matches!(it.as_str(), "sst" | "ldb")),
                "{name}: a scan is no table: use `sst compact`, or `sst scan --format json PATH | sst \
                 build - -o {name}`"
            );
            ensure!(
                self.json || self.format.is_some(),
                "{name}: the extension names no format: use --format"
            );
        }
        ensure!(
            format != Parquet || self.compression().is_none(),
            "Parquet is compressed as it is: use -o FILE.parquet"
        );
        ensure!(
            !self.internal || !self.owner.has_ttl(),
            "--ttl has no effect: --internal prints values as they are stored"
        );
        ensure!(
            !self.no_header || matches!(format, Csv | Tsv),
            "--no-header applies only to CSV and TSV"
        );
        ensure!(
            !self.count || matches!(format, Text | Json),
            "--count prints a number: use --format text or json"
        );
        ensure!(
            self.encoding.given().is_none()
                || !matches!(format, Parquet | Raw)
                || self.range.is_given(),
            "--encoding has no effect: Parquet and raw output have the bytes themselves"
        );
        ensure!(
            !self.owner.decode_keys || matches!(format, Text | Json),
            "--decode-keys applies only to text and JSON"
        );
        let is_to_terminal = self.file().is_none() && io::stdout().is_terminal();
        if format == Parquet && is_to_terminal {
            bail!("Parquet is binary: use -o FILE, or redirect standard output");
        }
        if format == Parquet && !cfg!(feature = "parquet") {
            bail!("sst was built without Parquet support (cargo feature \"parquet\")");
        }
        Ok(())
    }

    fn source(&self) -> Result<(Source, Status)> {
        Ok(match Target::of(&self.path)? {
            Target::Table(path) => {
                // Each block is read once.
                let options = self.open.table_options().no_block_cache();
                let mut file = InspectedTable::open(&path, &self.merge.add_to_table(options)?)?;
                if self.range.is_given() {
                    file = table_order::detect(&file, &path)?;
                }
                (Source::Table(file), Status::Fine)
            }
            Target::Database(path) => {
                let options = self.merge.add_to(self.open.database_options())?;
                let (database, opened) = database::open(&path, &self.owner.add_to(options))?;
                let family = database::column_family(&database, self.database.name())?;
                (Source::Family(self.snapshot.family(&family, self.encoding)?), opened)
            }
        })
    }

    /// Which entries are selected.
    fn scan_options(&self, source: &Source) -> Result<ReadOptions> {
        let range = self.range.decoded(self.encoding)?;
        let view = self.snapshot.view(self.encoding, source.comparator())?;
        Ok(range.scan_options().at(&view))
    }

    fn direction(&self) -> Direction {
        if self.reverse { Direction::Backward } else { Direction::Forward }
    }

    fn print(&self, source: &Source, page: &mut Page) -> Result<()> {
        let scan = self.scan_options(source)?;
        match (source, self.count) {
            (Source::Table(file), true) => self.count_table(file, &scan, page),
            (Source::Table(file), false) => self.list_table(file, &scan, page),
            (Source::Family(family), true) => self.count_family(family, &scan, page),
            (Source::Family(family), false) => self.list_family(family, &scan, page),
        }
    }

    fn is_json(&self) -> bool {
        self.format() == ScanFormat::Json
    }

    /// The encoding of keys and values in text and JSON.
    fn encoding(&self) -> Encoding {
        self.encoding.shown(!self.is_json() && self.file().is_none())
    }

    fn print_result<T: Serialize>(
        &self,
        page: &mut Page,
        result: &T,
        text: impl FnOnce(&mut Page, &T) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_json() { page.json(result) } else { text(page, result) }
    }

    /// Shows a progress bar, unless records are printed to the terminal.
    fn progress(&self, total: Option<u64>) -> Option<ProgressBar> {
        if io::stdout().is_terminal() && !self.count && self.file().is_none() {
            return None;
        }
        let limit = self.limit.unwrap_or(u64::MAX);
        Some(ProgressBar::items("scanning", total.map(|total| total.min(limit))))
    }
}

/// Shows how many records were passed, not too often. After Ctrl-C, an output file is removed.
fn show(progress: Option<&ProgressBar>, count: u64) -> Result<()> {
    if let Some(progress) = progress.filter(|_| count.is_multiple_of(PROGRESS_INTERVAL)) {
        progress.set(count);
    }
    interrupt::check()
}
