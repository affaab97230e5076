//! New databases: what they are like, and what was written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Serialize;
use sstkit_db::raw::OptionsFile;
use sstkit_db::{
    ColumnFamilyDescriptor, Database, DatabaseWriter, DatabaseWriterOptions, ManifestFile,
};
use sstkit_table::TableOptions;
use sstkit_table::raw::Engine;

use super::output_args::OutputKind;
use crate::args::{Profile, SetIfGiven as _, WriteArgs};
use crate::output::{Align, Grid, Page, units};

/// RocksDB's default; LevelDB has no other number.
const DEFAULT_LEVELS: u32 = 7;

/// The name of the column family that every database has.
pub(super) const DEFAULT_COLUMN_FAMILY: &str = "default";

/// Options for new databases.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Database options (--as database)")]
pub(super) struct DatabaseOutputArgs {
    /// OPTIONS file with the options of the new RocksDB database [default: that of the source
    /// database, if it has one]
    #[arg(long = "options", value_name = "FILE")]
    options_file: Option<PathBuf>,
}

/// What a new database is like.
pub(super) struct DatabasePlan<'a> {
    write: &'a WriteArgs,
    /// Options of the new database; empty for LevelDB.
    options_file: OptionsFile,
    writer_options: DatabaseWriterOptions,
}

impl DatabaseOutputArgs {
    /// Rejects options that have no effect on the output.
    pub(super) fn check(&self, kind: OutputKind) -> Result<()> {
        ensure!(
            self.options_file.is_none() || kind == OutputKind::Database,
            "--options has no effect without --as database"
        );
        Ok(())
    }

    /// A database like `source`, if there is one, except for what is given.
    pub(super) fn plan<'a>(
        &self,
        write: &'a WriteArgs,
        source: Option<&Database>,
    ) -> Result<DatabasePlan<'a>> {
        if write.profile == Profile::Leveldb {
            ensure!(
                self.options_file.is_none() && write.readable_by.is_none(),
                "--options and --for are for RocksDB: a LevelDB database has no options"
            );
            let writer_options = DatabaseWriterOptions::leveldb();
            return Ok(DatabasePlan {
                write,
                options_file: OptionsFile::default(),
                writer_options,
            });
        }
        let source = source.filter(|source| source.engine() == Engine::RocksDb);
        let given = self.options_file.as_deref().map(read_options).transpose()?;
        let writer_options = source.map_or_else(DatabaseWriterOptions::rocksdb, |source| {
            // Its blob files keep their numbers.
            DatabaseWriterOptions::like(source)
        });
        let writer_options = writer_options
            .set_if_given(given.clone(), DatabaseWriterOptions::options_file)
            .set_if_given(write.readable_by, DatabaseWriterOptions::rocksdb_version);
        let inherited = || source.map(|source| source.options_file().clone());
        let options_file = given.or_else(inherited).unwrap_or_default();
        Ok(DatabasePlan { write, options_file, writer_options })
    }
}

fn read_options(path: &Path) -> Result<OptionsFile> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    OptionsFile::parse(&text).with_context(|| path.display().to_string())
}

impl DatabasePlan<'_> {
    pub(super) fn writer(&self, path: &Path) -> Result<DatabaseWriter> {
        Ok(DatabaseWriter::create(path, self.writer_options.clone())?)
    }

    /// The level of the tables of a column family: the one that is given, or the last one.
    pub(super) fn level(&self, column_family: &str) -> u32 {
        let options = self.options_file.column_family(column_family);
        let style = options.get("compaction_style").and_then(|style| style.as_text());
        let last = match style {
            // It has no other.
            Some("kCompactionStyleFIFO") => 0,
            _ => options.num_levels().unwrap_or(DEFAULT_LEVELS).saturating_sub(1),
        };
        self.write.level.unwrap_or(last)
    }

    /// What the OPTIONS file says about the tables of a level, if it knows the column family.
    fn configured(&self, column_family: &str, level: u32) -> Option<TableOptions> {
        let is_known = self.options_file.section("CFOptions", Some(column_family)).is_some();
        let base = || self.write.default_options();
        is_known.then(|| self.options_file.table_options(column_family, level, base()))
    }

    /// Whether the options name a merge operator.
    pub(super) fn has_merge_operator(&self, column_family: &str) -> bool {
        self.options_file.column_family(column_family).merge_operator().is_some()
    }

    /// Whether the last level of a column family has no filters.
    pub(super) fn optimizes_filters_for_hits(&self, column_family: &str) -> bool {
        let configured = self.options_file.column_family(column_family);
        configured.optimize_filters_for_hits() == Some(true) && !self.write.has_filter()
    }

    /// How the tables of a level of a column family are written.
    pub(super) fn table_options(&self, column_family: &str, level: u32) -> Result<TableOptions> {
        let base = self.configured(column_family, level);
        self.write.options_like(base.unwrap_or_else(|| self.write.default_options()))
    }

    /// Adds the options with which RocksDB writes such tables.
    pub(super) fn describe(
        &self,
        descriptor: ColumnFamilyDescriptor,
        level: u32,
    ) -> Result<ColumnFamilyDescriptor> {
        let name = descriptor.name().to_owned();
        let tables = self.table_options(&name, level)?;
        let descriptor = match self.configured(&name, level) {
            Some(base) => descriptor.table_changes(&base, &tables),
            None => descriptor.tables_like(&tables),
        };
        Ok(match self.write.has_compression() {
            // It is that of all levels.
            true => descriptor
                .option("bottommost_compression", "kDisableCompressionOption")
                .option("compression_per_level", ""),
            false => descriptor,
        })
    }
}

/// A column family that was written, as JSON.
#[derive(Serialize)]
pub(super) struct FamilyReport {
    name: String,
    entries: u64,
    range_deletions: u64,
    bytes: u64,
    /// How many were taken over.
    pub(super) blob_files: u64,
    files: Vec<FileReport>,
}

/// A table of a column family.
#[derive(Serialize)]
struct FileReport {
    level: u32,
    #[serde(flatten)]
    file: ManifestFile,
}

impl FamilyReport {
    pub(super) fn new(name: &str) -> Self {
        let (name, files) = (name.to_owned(), Vec::new());
        Self { name, entries: 0, range_deletions: 0, bytes: 0, blob_files: 0, files }
    }

    /// Adds tables of a level.
    pub(super) fn add(&mut self, level: u32, files: &[ManifestFile]) {
        self.entries += files.iter().map(|file| file.entries).sum::<u64>();
        self.range_deletions += files.iter().map(|file| file.range_deletions).sum::<u64>();
        self.bytes += files.iter().map(|file| file.bytes).sum::<u64>();
        self.files.extend(files.iter().map(|file| FileReport { level, file: file.clone() }));
    }

    /// Entries and bytes of several.
    pub(super) fn totals(reports: &[Self]) -> (u64, u64) {
        let sum = |of: fn(&Self) -> u64| reports.iter().map(of).sum();
        (sum(|it| it.entries), sum(|it| it.bytes))
    }

    /// Prints a line for each level of each.
    pub(super) fn print(reports: &[Self], page: &mut Page) -> io::Result<()> {
        let mut grid = Grid::new(&[
            ("column family", Align::Shorten),
            ("level", Align::Right),
            ("files", Align::Right),
            ("size", Align::Right),
            ("entries", Align::Right),
            ("blob files", Align::Right),
        ])
        .indent(2);
        for report in reports {
            let mut blob_files = Some(report.blob_files).filter(|&number| number > 0);
            let mut levels: Vec<u32> = report.files.iter().map(|file| file.level).collect();
            levels.sort_unstable();
            levels.dedup();
            if levels.is_empty() {
                let empty = String::new;
                grid.row([report.name.clone(), empty(), "0".into(), empty(), "0".into(), empty()]);
            }
            for level in levels {
                let of_level = || report.files.iter().filter(|file| file.level == level);
                grid.row([
                    report.name.clone(),
                    level.to_string(),
                    units::count(of_level().count() as u64),
                    units::size(of_level().map(|it| it.file.bytes).sum()),
                    units::count(of_level().map(|it| it.file.entries).sum()),
                    blob_files.take().map(units::count).unwrap_or_default(),
                ]);
            }
        }
        grid.print(page)
    }
}

/// The names of the column families that LevelDB gets: it has one.
pub(super) fn only_one(names: &[String]) -> Result<()> {
    if let [_, _, ..] = names {
        bail!(
            "LevelDB has no column families: choose one with --column-family (found {})",
            names.join(", ")
        );
    }
    Ok(())
}
