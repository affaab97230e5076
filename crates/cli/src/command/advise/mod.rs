//! `sst advise`: what filters and indexes cost, and what to change.

mod advice_text;

use crate::remote::readable_path;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use sstkit_db::DatabaseOptions;
use sstkit_inspect::{Advice, AdviceOptions, WhatIf};

use crate::args::{FormatArgs, LimitArgs, OrderArgs, SetIfGiven as _, TableFolderArgs};
use crate::database;
use crate::output::{Page, ProgressBar, units};
use crate::status::Status;
use crate::target::Target;

/// Lookups of `--measure` without a number.
///
/// With a rate of 1 %, the count of needless reads is then off by about 3 %.
const DEFAULT_LOOKUPS: &str = "100000";

/// Show what filters and indexes cost, and what to change
///
/// Prints the memory of filters and indexes by level, and how many data blocks a point lookup reads
/// needlessly: for keys that are not found, and with --hit-rate for a mix. Then what to change, each with
/// the numbers before and after; RocksDB's option string; the `sst refilter` line that changes the
/// filters now, without a compaction; and a plot of memory against wasted reads.
///
/// RocksDB has one filter policy for all levels of a column family, so that its options come close to
/// the best filters, but do not reach them; `sst refilter` does. Everything is computed from the tails of
/// the tables and a sample of their keys. With --measure, lookups and seeks are done and counted, too.
///
/// --what-if evaluates any choice. Settings are separated by `;`: filter=POLICY, filter.LEVEL=POLICY,
/// optimize_filters_for_hits, partition_filters, optimize_filters_for_memory, whole_key_filtering,
/// prefix_extractor, block_size.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst advise /var/lib/mydb
  sst advise /var/lib/mydb --budget 64MiB --hit-rate 0.9
  sst advise /var/lib/mydb --measure
  sst advise /var/lib/mydb --what-if 'filter=ribbonfilter:8;filter.0=bloomfilter:12'
  sst advise /var/lib/mydb --format json | jq '.suggestions[] | select(.advised) | .text'")]
pub(crate) struct Args {
    /// Database, or directory of tables
    #[arg(value_name = "DB", value_parser = readable_path())]
    path: PathBuf,

    /// Memory for all filters together [default: as much as now, or 10 bits per key]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    budget: Option<u64>,

    /// Share of lookups that find their key, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    hit_rate: f64,

    /// Size of the block cache, for partitioned filters
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = units::parse_size)]
    cache_size: u64,

    /// Do N lookups and seeks, and count what they read [default N: 100000]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true,
          default_missing_value = DEFAULT_LOOKUPS)]
    measure: Option<u64>,

    /// Evaluate these settings, too
    #[arg(long, value_name = "SETTINGS")]
    what_if: Option<WhatIf>,

    #[command(flatten)]
    order: OrderArgs,

    #[command(flatten)]
    tables: TableFolderArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    format: FormatArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let share = self.hit_rate;
        ensure!((0.0..=1.0).contains(&share), "--hit-rate must be from 0 to 1, not {share}");
        ensure!(self.measure != Some(0), "--measure must be 1 or more");
        let path = match Target::table_or_database(&self.path)? {
            Target::Database(path) => path,
            Target::Table(path) => bail!(
                "{}: a single table has no levels; use `sst filter` or `sst refilter --dry-run`",
                path.display()
            ),
        };
        let (advice, status) = self.advice(&path)?;
        let mut page = Page::stdout();
        self.format.print(&mut page, &advice, advice_text::print)?;
        page.finish()?;
        Ok(status)
    }

    fn advice(&self, path: &Path) -> Result<(Advice, Status)> {
        let (database, status) = database::open(path, &self.database_options())?;
        database::print_family_caveats(&database);
        let options = AdviceOptions::default()
            .hit_rate(self.hit_rate)
            .cache_size(self.cache_size)
            .measure(self.measure.unwrap_or(0))
            .set_if_given(self.budget, AdviceOptions::budget)
            .set_if_given(self.what_if.clone(), AdviceOptions::what_if);
        let _progress = ProgressBar::busy("reading the filters".into());
        let advice = Advice::of(&database, &path.display().to_string(), &options)?;
        ensure!(
            !advice.levels.is_empty(),
            "{}: no tables, and so no filters: all entries are in the write-ahead logs",
            path.display()
        );
        Ok((advice, status))
    }

    /// Logs do not matter, as their entries have no filters.
    fn database_options(&self) -> DatabaseOptions {
        let options = DatabaseOptions::default()
            .max_block_size(self.limits.max_block_size)
            .replay_logs(false)
            .table_folders(&self.tables.db_path);
        self.order.add_to_database(options)
    }
}
