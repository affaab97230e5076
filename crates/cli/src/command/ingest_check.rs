//! `sst ingest-check`: whether RocksDB would ingest tables, and where it would put them.

use crate::remote::readable_path;
use sstkit_db::file_system;
use std::io;
use std::path::PathBuf;

use anyhow::{Result, bail};
use sstkit_db::{IngestionOptions, IngestionPlan};
use sstkit_inspect::{IngestedTableReport, IngestionReport, InspectedTable};
use sstkit_table::raw::Engine;
use sstkit_table::{ErrorKind, RocksDbVersion};

use crate::args::{DatabaseArgs, OpenArgs, PrintArgs, SetIfGiven as _};
use crate::database;
use crate::output::page::{BAD, GOOD, HEADING};
use crate::output::{Grid, Page};
use crate::status::Status;

/// Check whether RocksDB would ingest tables, and into which level
///
/// Applies the rules of IngestExternalFile, as of the RocksDB version that last opened the database,
/// to its current files: format version, comparator, column family and sequence numbers of the
/// tables, overlap with each other and with the levels. Shows the level of each table, whether it
/// gets a sequence number, and what that means for reads. Tables are given in the order of ingestion.
/// Nothing is modified. Compactions of a running database are not known.
///
/// Exit status: 0 if the tables would be ingested, 1 if not, 2 on failure.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst ingest-check new.sst --into /var/lib/mydb
  sst ingest-check part-*.sst --into /var/lib/mydb --column-family meta --for rocksdb-8.10
  sst ingest-check new.sst --into path/to/db --format json | jq '.tables[].level'")]
pub(crate) struct Args {
    /// Tables to ingest, in this order
    #[arg(required = true, value_name = "TABLE", value_parser = readable_path())]
    tables: Vec<PathBuf>,

    /// Database to ingest them into
    #[arg(long, value_name = "DB", value_parser = readable_path())]
    into: PathBuf,

    /// RocksDB version that ingests them, such as rocksdb-9.8 [default: the one in OPTIONS]
    #[arg(long = "for", value_name = "VERSION")]
    version: Option<RocksDbVersion>,

    /// With the option ingest_behind: below all existing entries
    #[arg(long)]
    ingest_behind: bool,

    /// With the option fail_if_not_bottommost_level
    #[arg(long)]
    fail_if_not_bottommost_level: bool,

    /// Assume that the running database has snapshots
    #[arg(long)]
    snapshots: bool,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    open: OpenArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let options = self.open.database_options();
        let database = database::open_whole(&self.into, &options)?;
        if database.engine() == Engine::LevelDb {
            bail!("{}: LevelDB cannot ingest tables: use sst compact", self.into.display());
        }
        let family = database::column_family(&database, self.database.name())?;
        let options = IngestionOptions::default()
            .ingest_behind(self.ingest_behind)
            .fail_if_not_bottommost_level(self.fail_if_not_bottommost_level)
            .has_snapshots(self.snapshots)
            .set_if_given(self.version, IngestionOptions::version);
        let table_options = self.open.table_options();
        let tables: Vec<_> = self
            .tables
            .iter()
            .map(|path| (path.clone(), file_system::open_table(path, &table_options)))
            .collect();
        // RocksDB would not refuse these, but fail to read them.
        let is_unreadable = |error: &&sstkit_table::Error| {
            matches!(error.kind(), ErrorKind::Io | ErrorKind::NotFound)
        };
        if let Some(error) = tables.iter().filter_map(|it| it.1.as_ref().err()).find(is_unreadable)
        {
            bail!("{error}");
        }
        let plan = IngestionPlan::new(&database, &family, &tables, &options)?;
        let inspected: Vec<Option<InspectedTable>> = tables
            .into_iter()
            .map(|(path, table)| Some(InspectedTable::of_table(table.ok()?, path)))
            .collect();
        let report =
            IngestionReport::of(&database, &family, &plan, &inspected, self.print.encoding());
        let mut page = Page::stdout();
        self.print.format.print(&mut page, &report, print)?;
        page.finish()?;
        Ok(Status::of(report.accepted))
    }
}

fn print(page: &mut Page, report: &IngestionReport) -> io::Result<()> {
    let assumed = if report.version_known { "" } else { " (assumed)" };
    let heading = format!(
        "into {}, column family {}, by RocksDB {}{assumed}",
        report.into, report.column_family, report.version
    );
    page.styled_line(HEADING, heading)?;
    for table in &report.tables {
        print_table(page, table)?;
    }
    for effect in &report.effects {
        writeln!(page, "{effect}")?;
    }
    for refusal in &report.refusals {
        print_refusal(page, "", refusal.status, &refusal.message, refusal.engine_message)?;
    }
    match report.accepted {
        true => page.styled_line(GOOD, "accepted"),
        false => page.styled_line(BAD, "refused: no table would be ingested"),
    }
}

fn print_table(page: &mut Page, table: &IngestedTableReport) -> io::Result<()> {
    let title = page.paint(HEADING, &table.file);
    match (table.level, table.seq) {
        (Some(level), Some(0)) => writeln!(page, "{title}  to level {level}")?,
        (Some(level), Some(sequence)) => {
            writeln!(page, "{title}  to level {level}, with sequence number {sequence}")?;
        }
        _ => writeln!(page, "{title}")?,
    }
    let mut grid = Grid::pairs();
    if let (Some(smallest), Some(largest)) = (&table.smallest_key, &table.largest_key) {
        let end = if table.largest_key_exclusive { ", exclusive" } else { "" };
        grid.pair("keys", format!("{smallest} to {largest}{end}"));
    }
    grid.pair_if(
        "overlap",
        table.overlap.as_ref().map(|place| match place.as_str() {
            "log" => "keys in the write-ahead log".to_owned(),
            level => format!("keys in level {level}"),
        }),
    );
    let levels: Vec<String> = table.occupied_levels.iter().map(ToString::to_string).collect();
    if !levels.is_empty() {
        grid.pair("does not fit", format!("a file is around it in level {}", levels.join(", ")));
    }
    grid.print(page)?;
    for effect in &table.effects {
        writeln!(page, "  {effect}")?;
    }
    for warning in &table.warnings {
        writeln!(page, "  warning: {warning}")?;
    }
    for refusal in &table.refusals {
        print_refusal(page, "  ", refusal.status, &refusal.message, refusal.engine_message)?;
    }
    Ok(())
}

fn print_refusal(
    page: &mut Page,
    indent: &str,
    status: &str,
    message: &str,
    engine_message: Option<&str>,
) -> io::Result<()> {
    let label = page.paint(BAD, "refused");
    write!(page, "{indent}{label}: {message}")?;
    match engine_message {
        Some(text) => writeln!(page, " ({status}: {text})"),
        None => writeln!(page, " ({status})"),
    }
}
