//! Other filters for tables that exist, without rewriting their data.
//!
//! ```text
//! source table   | data blocks | filter | index | … | footer |
//!                     |  keys, read once ---> filter, index
//!                     v  copied by the system
//! new table      | data blocks | filter | index | … | footer |
//!
//! source         CURRENT  MANIFEST  OPTIONS  logs   tables          blob files
//!                                      |      |       |                 |
//! new database   CURRENT  MANIFEST  OPTIONS  copies  new filters    hard links
//!                new sizes, checksums   policy       same levels
//!                and unique ids         named        same numbers
//! ```
//!
//! | file | what |
//! |---|---|
//! | `table_settings.rs` | which tables change, and how they are written |
//! | `new_table.rs` | rewriting one table |
//! | `workers.rs` | several tables at once, within a limit of memory |
//! | `folder.rs` | a directory of tables |
//! | `database.rs` | a database; `family_options.rs`: its OPTIONS |
//! | `summary.rs` | the result |

mod database;
mod family_options;
mod folder;
mod new_table;
mod summary;
mod table_settings;
mod workers;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use sstkit_coding::{setters, with_defaults};
use sstkit_filter::{FilterPolicy, PrefixExtractor, UsableSize};
use sstkit_table::Table;
use sstkit_table::output::OutputPath;

use self::new_table::NewTable;
pub use self::summary::{RefilterSummary, RefilteredFile};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::output::{Phase, Progress, ProgressCallback, Reporter};

/// The default of [`Refilter::memory`]: 256 MiB.
pub const DEFAULT_REFILTER_MEMORY: u64 = 256 << 20;

with_defaults! {
    /// Gives tables other filters: one table, a directory of tables, or a whole database.
    ///
    /// ```no_run
    /// use sstkit_db::{Database, Refilter};
    ///
    /// let db = Database::open("path/to/db")?;
    /// let refilter = Refilter::new()
    ///     .filter("bloomfilter:12".parse().unwrap())
    ///     .level_filter(6, "ribbonfilter:9".parse().unwrap());
    /// refilter.database(&db, "path/to/new-db")?;
    /// # Ok::<(), sstkit_db::Error>(())
    /// ```
    ///
    /// The data blocks stay as they are, byte for byte, at the same offsets. Filter and index are rebuilt
    /// from the keys; each data block is read and decompressed once. See
    /// [`rewrite_tail`](sstkit_table::rewrite_tail) for what else stays. Tables without a policy for
    /// their level are taken over as they are.
    ///
    /// The result appears complete or not at all, and the source is only read.
    #[derive(Clone, Debug)]
    pub struct Refilter {
        filter: Option<FilterPolicy>,
        level_filters: BTreeMap<u32, FilterPolicy>,
        /// By name of the column family and level.
        family_filters: BTreeMap<(String, u32), FilterPolicy>,
        prefix_extractor: Option<PrefixExtractor>,
        whole_key_filtering: Option<bool>,
        partition_filters: Option<bool>,
        optimize_for_memory: Option<UsableSize>,
        threads: usize = 1,
        memory: u64 = DEFAULT_REFILTER_MEMORY,
        replace: bool,
        progress: Option<ProgressCallback>,
    }
}

setters! {
    impl Refilter:

    /// The filter policy of all tables without a more specific one. Default: those tables stay as they
    /// are.
    pub fn filter(mut self, policy: FilterPolicy) { self.filter = Some(policy); }

    /// The filter policy of the tables in a level of a database.
    pub fn level_filter(mut self, level: u32, policy: FilterPolicy) {
        self.level_filters.insert(level, policy);
    }

    /// The filter policy of the tables in a level of one column family.
    pub fn column_family_filter(mut self, name: &str, level: u32, policy: FilterPolicy) {
        self.family_filters.insert((name.to_owned(), level), policy);
    }

    /// The prefix extractor whose prefixes are added to the filters. Default: as in the source.
    pub fn prefix_extractor(mut self, extractor: PrefixExtractor) {
        self.prefix_extractor = Some(extractor);
    }

    /// Whether whole keys are added to the filters. Default: as in the source.
    pub fn whole_key_filtering(mut self, on: bool) { self.whole_key_filtering = Some(on); }

    /// Whether filters are partitioned. Default: as in the source. If so, the index gets two levels,
    /// as RocksDB requires.
    pub fn partition_filters(mut self, on: bool) { self.partition_filters = Some(on); }

    /// Sizes filters to suit an allocator. Default: off.
    pub fn optimize_filters_for_memory(mut self, allocator: UsableSize) {
        self.optimize_for_memory = Some(allocator);
    }

    /// The number of tables that are rewritten at once. Default: 1.
    pub fn threads(mut self, threads: usize) { self.threads = threads.max(1); }

    /// The approximate memory for filters and indexes that are being built. Default:
    /// [`DEFAULT_REFILTER_MEMORY`]. Fewer tables are rewritten at once if it does not suffice; one
    /// that is too large for it is rewritten alone. A filter takes 8 bytes per key while it is
    /// built, a Ribbon filter 38.
    pub fn memory(mut self, bytes: u64) { self.memory = bytes; }

    /// Whether an existing output file is replaced, for a single table. Default: no. Directories are
    /// never replaced.
    pub fn replace(mut self, on: bool) { self.replace = on; }

    /// Called regularly with the number of bytes of data blocks done ([`Phase::Copying`]). `Break`
    /// stops the work with an error, and leaves nothing behind.
    pub fn progress(
        mut self,
        callback: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) {
        self.progress = Some(ProgressCallback::new(callback));
    }
}

impl Refilter {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a table with the data blocks of `table` and another filter to the file `target`.
    ///
    /// # Errors
    ///
    /// Fails if there is no [policy](Self::filter) or no known comparator, if the table is damaged,
    /// and for settings that its format does not have.
    pub fn table(&self, table: &Table, target: impl AsRef<Path>) -> Result<RefilterSummary> {
        let target = target.as_ref();
        let in_target = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::InvalidInput => {
                Error::invalid_input(error.to_string()).in_file(target)
            }
            _ => Error::from(error).in_file(target),
        };
        let Some(policy) = &self.filter else {
            return Err(Error::invalid_input("no filter policy is set"));
        };
        let path = OutputPath::new(target, self.replace).map_err(in_target)?;
        let file = path.create().map_err(in_target)?;
        let reporter = self.reporter(table.view().size());
        reporter.report()?;
        let new = NewTable::write(table, file, &self.settings(table, policy, None)?, &mut |done| {
            reporter.add(done)
        })
        .map_err(|error| error.in_file(target))?;
        let NewTable { file, summary, filter_bytes } = new;
        let mut result = RefilteredFile::new(table, policy, &summary, filter_bytes);
        result.name = path.file_name().map_err(in_target)?;
        path.commit(file).map_err(in_target)?;
        Ok(RefilterSummary { files: vec![result], ..RefilterSummary::default() })
    }

    /// Writes the tables of the directory `source` to the new directory `target`, under the same
    /// names. A `manifest.json` gets their new sizes and checksums.
    ///
    /// # Errors
    ///
    /// Those of [`table`](Self::table); `target` exists.
    pub fn folder(
        &self,
        source: impl AsRef<Path>,
        target: impl AsRef<Path>,
        options: &sstkit_table::TableReadOptions,
    ) -> Result<RefilterSummary> {
        folder::refilter(self, source.as_ref(), target.as_ref(), options)
    }

    /// Writes a new database to the directory `target`, which the engine opens as its own: the same
    /// column families, levels and file numbers. MANIFEST has the new sizes, checksums and unique ids,
    /// OPTIONS the new policy. Blob files, and tables that stay as they are, are hard links where the
    /// file system can link them. [Logs](Database::logs) are copied, not replayed: the engine
    /// replays them when it opens the new database.
    ///
    /// OPTIONS can name one policy for all levels. It is that of the largest level that has filters; if
    /// the last level has none, `optimize_filters_for_hits` is on.
    ///
    /// # Errors
    ///
    /// Those of [`table`](Self::table), except that tables without a policy are taken over; a
    /// database without a MANIFEST; `target` exists.
    pub fn database(
        &self,
        database: &Database,
        target: impl AsRef<Path>,
    ) -> Result<RefilterSummary> {
        database::refilter(self, database, target.as_ref())
    }

    fn reporter(&self, bytes: u64) -> Reporter {
        Reporter::new(self.progress.clone(), Phase::Copying, Some(bytes))
    }
}
