//! `sst refilter`: other filters for existing tables, without rewriting their data.

mod policies;
mod report;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use sstkit_db::{Database, DatabaseOptions, Refilter, RefilterSummary};
use sstkit_filter::{PrefixExtractor, UsableSize};
use sstkit_inspect::{FilterLevels, InspectedTable, PlannedKeys, RefilterReport};
use sstkit_table::TableReadOptions;

use self::policies::{FilterChoice, LevelPolicy, Policies};
use super::output_args::check_new_output;
use crate::args::{
    FormatArgs, KeyFormName, LimitArgs, OrderArgs, PathKind, ReadArgs, SetIfGiven as _,
    TableFolderArgs, names, reject_unused,
};
use crate::database::open_quietly;
use crate::output::{Page, ProgressBar, print_message, stop_or_show, units};
use crate::status::Status;
use crate::target::Target;
use crate::{interrupt, table_order};

/// Change filters without a compaction
///
/// Writes a copy of a table, of a directory of tables or of a whole database with other filters. Data
/// blocks are copied byte for byte, by the system where it can (on Btrfs and XFS without using space);
/// only filters, indexes and the rest of the tail are rebuilt. Keys are read once, and nothing is
/// compressed. The copy of a database has the same levels and file numbers and opens in its engine;
/// its OPTIONS name the new policy. Blob files, and tables that stay as they are, become hard links;
/// write-ahead logs are copied. PATH is not modified; after an error or Ctrl-C nothing is left behind.
///
/// With --budget, each level gets as many bits per key as make lookups of keys that are not found
/// waste the fewest reads of data blocks: the smaller the level, the more. RocksDB has one filter policy
/// for all levels of a column family, so its own compactions use the one in OPTIONS: that of the
/// largest level with filters.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst refilter /var/lib/mydb -o /var/lib/mydb.new --filter ribbonfilter:10
  sst refilter /var/lib/mydb -o /var/lib/mydb.new --filter bloomfilter:10 --per-level 6=none
  sst refilter /var/lib/mydb --budget 64MiB --dry-run
  sst refilter 000011.sst -o better.sst --bits-per-key 16 --prefix-extractor fixed:8")]
pub(crate) struct Args {
    /// Table, directory of tables or database
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Output file, or for a database or directory a new directory
    #[arg(short = 'o', long = "output", value_name = "OUT", required_unless_present = "dry_run")]
    output: Option<PathBuf>,

    /// Replace an existing output file. Directories are never replaced
    #[arg(long)]
    force: bool,

    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    filter: FilterArgs,

    /// Number of tables to rewrite at once [default: number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Approximate memory for filters that are being built: 8 bytes per key, 38 for Ribbon filters
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = units::parse_size)]
    memory: u64,

    /// List all files in the output, not only up to 20
    #[arg(long)]
    files: bool,

    #[command(flatten)]
    order: OrderArgs,

    /// Form of the keys in a table
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    key_form: KeyFormName,

    #[command(flatten)]
    tables: TableFolderArgs,

    /// Directory of the write-ahead logs [default: from OPTIONS, or beside the database]
    #[arg(long, value_name = "DIR")]
    wal_dir: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// Options of the new filters.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Filter options")]
pub(crate) struct FilterArgs {
    // Not a doc comment: rustdoc would take the brackets for a link.
    #[arg(
        long,
        value_name = "POLICY",
        value_parser = policies::filter_choice,
        help = "Filter policy: none, bloomfilter:BITS or ribbonfilter:BITS[:LEVEL]; without BITS if \
                --bits-per-key or --budget is given"
    )]
    filter: Option<FilterChoice>,

    /// Bits per key of the policy [kind: bloomfilter]
    #[arg(long, value_name = "N", conflicts_with = "budget")]
    bits_per_key: Option<f64>,

    /// Filter policy of a level, as in 6=none, or of a level of one column family, as in meta:6=none;
    /// may be repeated. Without --filter or --budget other levels stay as they are
    #[arg(long, value_name = "LEVEL=POLICY", value_parser = policies::level_policy)]
    per_level: Vec<LevelPolicy>,

    /// Memory for all filters together, distributed over the levels
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    budget: Option<u64>,

    /// Share of lookups that find their key, for --budget: filters of the last level do not help them
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, requires = "budget")]
    hit_rate: f64,

    /// Prefix extractor, whose prefixes are added to the filter: fixed:N or capped:N [default: as
    /// before]
    #[arg(long, value_name = "EXTRACTOR", value_parser = names::prefix_extractor)]
    prefix_extractor: Option<PrefixExtractor>,

    /// Leave whole keys out of the filter; needs a prefix extractor
    #[arg(long)]
    no_whole_key_filtering: bool,

    /// Partition the filter; the index then has two levels
    #[arg(long)]
    partition_filters: bool,

    /// Round filter sizes to jemalloc's size classes, so that loading one wastes no memory
    #[arg(long)]
    optimize_filters_for_memory: bool,
}

/// What is to get other filters.
enum Source {
    Table(InspectedTable, PathBuf),
    /// A directory of tables.
    Folder(Database),
    Database(Database),
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        self.check()?;
        let start = Instant::now();
        let source = self.open(&self.path, &self.source_options())?;
        let before = self.levels(&source)?;
        let policies = Policies::new(&self.filter, &before, source.database())?;
        let report = RefilterReport::planned(&before, &policies.by_level, self.filter.hit_rate);
        let report = match &self.output {
            Some(output) if !self.dry_run => {
                interrupt::listen();
                let written = self.write((&source, &before), output, &policies);
                let summary = interrupt::outcome(written)?;
                interrupt::done();
                let after = self.levels(&self.open_output(&source, output)?)?;
                let both = (&before, &after);
                report.done(output, &summary, both, &policies.by_level, start.elapsed())
            }
            _ => report,
        };
        let mut page = Page::stdout();
        match self.format.is_json() {
            true => page.json(&report)?,
            false => report::print(&report, self.files, &mut page)?,
        }
        page.finish()?;
        Ok(Status::Fine)
    }

    /// Rejects what cannot work before anything is read.
    fn check(&self) -> Result<()> {
        ensure!(self.threads != Some(0), "--threads must be 1 or more");
        let share = self.filter.hit_rate;
        ensure!((0.0..=1.0).contains(&share), "--hit-rate must be from 0 to 1, not {share}");
        let database = &[PathKind::Database][..];
        let per_level = ("--per-level", !self.filter.per_level.is_empty(), database);
        let wal_dir = ("--wal-dir", self.wal_dir.is_some(), database);
        let more = [per_level, wal_dir, self.tables.given()];
        let given = self.read_args().given().into_iter().chain(more);
        reject_unused([self.path.as_path()], given)?;
        let Some(output) = self.output.as_deref().filter(|_| !self.dry_run) else { return Ok(()) };
        check_new_output(&self.path, output, self.path.is_dir(), self.force)
    }

    fn read_args(&self) -> ReadArgs {
        ReadArgs {
            order: self.order.clone(),
            prefix_extractor: None,
            key_form: self.key_form,
            limits: self.limits,
        }
    }

    /// Blocks are read once, so a cache would not help.
    fn table_options(&self) -> TableReadOptions {
        self.read_args().table_options().no_block_cache()
    }

    /// Logs are taken over, not read, and filters do not stay in memory.
    fn database_options(&self) -> DatabaseOptions {
        let options = DatabaseOptions::default()
            .max_block_size(self.limits.max_block_size)
            .replay_logs(false)
            .list_logs(true)
            .cache_index_and_filter_blocks(true);
        self.order.add_to_database(options)
    }

    /// The files of the source may be in other directories; those of the output are in one.
    fn source_options(&self) -> DatabaseOptions {
        self.database_options()
            .table_folders(&self.tables.db_path)
            .set_if_given(self.wal_dir.as_ref(), DatabaseOptions::log_folder)
    }

    fn open(&self, path: &Path, options: &DatabaseOptions) -> Result<Source> {
        let path = match Target::of(path)? {
            Target::Table(path) => {
                let table = InspectedTable::open(&path, &self.table_options())?;
                let table = table_order::detect(&table, &path)?;
                return Ok(Source::Table(table, path));
            }
            Target::Database(path) => path,
        };
        if let Some(folder) = Database::open_folder_with(&path, options)? {
            return Ok(Source::Folder(folder));
        }
        let database = Database::open_with(&path, options).or_else(|error| {
            // A directory without any tables is no database.
            open_quietly(&path, options)?;
            Err(error).context(
                "cannot tell which tables are live; `sst compact` can merge the tables themselves",
            )
        })?;
        for caveat in database.caveats() {
            print_message(&format!("{}: {caveat}", path.display()));
        }
        Ok(Source::Database(database))
    }

    /// The result, which may be a table or a directory, like the source.
    fn open_output(&self, source: &Source, output: &Path) -> Result<Source> {
        let result = self.open(output, &self.database_options())?;
        debug_assert_eq!(std::mem::discriminant(source), std::mem::discriminant(&result));
        Ok(result)
    }

    fn levels(&self, source: &Source) -> Result<FilterLevels> {
        let keys = PlannedKeys {
            prefix_extractor: self.filter.prefix_extractor.clone(),
            whole_key_filtering: self.filter.no_whole_key_filtering.then_some(false),
        };
        let _progress = ProgressBar::busy("reading the filters".into());
        Ok(match source {
            Source::Table(table, path) => {
                FilterLevels::of_table(&path.display().to_string(), table, &keys)?
            }
            Source::Folder(database) | Source::Database(database) => {
                let filters = FilterLevels::of(database, &keys)?;
                match self.filter.hit_rate > 0.0 {
                    true => filters.with_found_keys(database)?,
                    false => filters,
                }
            }
        })
    }

    fn write(
        &self,
        (source, levels): (&Source, &FilterLevels),
        output: &Path,
        policies: &Policies,
    ) -> Result<RefilterSummary> {
        let refilter = self.refilter(levels, policies);
        Ok(match source {
            Source::Table(table, _) => refilter.table(table.table(), output)?,
            Source::Folder(folder) => {
                refilter.folder(folder.path(), output, &self.table_options())?
            }
            Source::Database(database) => refilter.database(database, output)?,
        })
    }

    fn refilter(&self, levels: &FilterLevels, policies: &Policies) -> Refilter {
        let filter = &self.filter;
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let mut refilter = policies
            .apply(levels, Refilter::new())
            .replace(self.force)
            .threads(self.threads.unwrap_or_else(cores))
            .memory(self.memory)
            .progress(stop_or_show());
        if let Some(extractor) = &filter.prefix_extractor {
            refilter = refilter.prefix_extractor(extractor.clone());
        }
        if filter.no_whole_key_filtering {
            refilter = refilter.whole_key_filtering(false);
        }
        if filter.partition_filters {
            refilter = refilter.partition_filters(true);
        }
        if filter.optimize_filters_for_memory {
            refilter = refilter.optimize_filters_for_memory(UsableSize::Jemalloc);
        }
        refilter
    }
}

impl Source {
    fn database(&self) -> Option<&Database> {
        match self {
            Self::Database(database) => Some(database),
            Self::Table(..) | Self::Folder(_) => None,
        }
    }
}
