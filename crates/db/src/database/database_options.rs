//! Options for opening and reading a database.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sstkit_coding::{setters, with_defaults};
use sstkit_filter::{PrefixExtractor, Registry};
use sstkit_table::raw::DEFAULT_MAX_BLOCK_SIZE;
use sstkit_table::{BlockCache, Comparator, MergeOperator};

use crate::caveat::Caveat;
use crate::merge_operators::MergeOperators;
use crate::raw::RecoveryMode;

/// The default size of the block cache: 32 MiB, as in RocksDB.
pub const DEFAULT_BLOCK_CACHE_SIZE: u64 = 32 << 20;

/// The default number of tables kept open, and of blob files: well below the usual limits for a
/// process.
pub const DEFAULT_MAX_OPEN_FILES: usize = 400;

/// The default memory limit for the write-ahead logs, unless they are large themselves: 512 MiB.
/// See [`DatabaseOptions::max_log_memory`].
pub const DEFAULT_MAX_LOG_MEMORY: u64 = 512 << 20;

/// The multiple of their size that write-ahead logs may take in memory, if that is more than
/// [`DEFAULT_MAX_LOG_MEMORY`]: 16. The smallest write, of 2 bytes, takes 16 more in memory; only
/// compressed logs can take more than 9 times their size.
pub const DEFAULT_MAX_LOG_EXPANSION: u64 = 16;

with_defaults! {
    /// Options for opening and reading a [`Database`](crate::Database). Custom comparators and merge
    /// operators must be given here, since the files only name them.
    ///
    /// ```
    /// use sstkit_db::DatabaseOptions;
    ///
    /// let options = DatabaseOptions::default()
    ///     .block_cache_size(1 << 30)
    ///     .column_family_merge_operator("default", sstkit_db::merge_operator("uint64add").unwrap());
    /// ```
    #[derive(Clone, Debug)]
    pub struct DatabaseOptions {
        pub(super) block_cache: Option<BlockCache>,
        pub(super) block_cache_size: u64 = DEFAULT_BLOCK_CACHE_SIZE,
        pub(super) cache_index_and_filter_blocks: bool,
        pub(super) max_open_files: usize = DEFAULT_MAX_OPEN_FILES,
        pub(super) hold_files: bool = true,
        pub(super) verify_checksums: bool = true,
        pub(super) bytes_read: Option<Arc<AtomicU64>>,
        pub(crate) max_block_size: usize = DEFAULT_MAX_BLOCK_SIZE,
        pub(super) use_filters: bool = true,
        pub(crate) comparators: Vec<Comparator>,
        pub(super) registry: Registry,
        pub(super) merge_operators: MergeOperators,
        pub(super) family_merge_operators: BTreeMap<String, Arc<dyn MergeOperator>>,
        pub(super) default_merge_operator: Option<Arc<dyn MergeOperator>>,
        pub(super) prefix_extractor: Option<PrefixExtractor>,
        pub(super) recovery_mode: Option<RecoveryMode>,
        pub(crate) replay_logs: bool = true,
        pub(super) list_logs: bool,
        pub(crate) max_log_memory: Option<u64>,
        pub(crate) table_folders: Vec<PathBuf>,
        pub(super) log_folder: Option<PathBuf>,
        pub(super) ttl: Option<bool>,
        pub(crate) backup: Option<u32>,
        /// Where the tables and blob files are, by number, if they are not in the database directory.
        /// Logs are then beside the MANIFEST and nowhere else.
        pub(crate) placed_files: Option<Arc<BTreeMap<u64, PathBuf>>>,
        /// What is known to be missing before the database is opened.
        pub(crate) caveats: Vec<Caveat>,
    }
}

setters! {
    impl DatabaseOptions:

    /// The size of the block cache in bytes; default [`DEFAULT_BLOCK_CACHE_SIZE`].
    pub fn block_cache_size(mut self, bytes: u64) { self.block_cache_size = bytes; }

    /// Uses a shared cache instead of a private one.
    pub fn block_cache(mut self, cache: &BlockCache) { self.block_cache = Some(cache.clone()); }

    /// Adds the number of bytes of each read of a table to a counter, which another thread can watch;
    /// default: none.
    pub fn count_bytes_read(mut self, counter: &Arc<AtomicU64>) {
        self.bytes_read = Some(Arc::clone(counter));
    }

    /// Whether index and filter blocks are stored in the block cache, instead of outside its limit
    /// for as long as their table is open; default off.
    pub fn cache_index_and_filter_blocks(mut self, on: bool) {
        self.cache_index_and_filter_blocks = on;
    }

    /// The number of tables to keep open, and of blob files; default [`DEFAULT_MAX_OPEN_FILES`]. A
    /// scan also needs one for each sorted run.
    pub fn max_open_files(mut self, files: usize) { self.max_open_files = files; }

    /// Whether tables and blob files are kept open from the start, up to a third of the limit for
    /// open files over all databases of the process; default on. Files that are kept open stay
    /// readable if a running engine deletes them. If the limit prevents other files from being
    /// opened, databases close some of theirs. Switch it off for directories that nothing writes
    /// to.
    pub fn hold_files(mut self, on: bool) { self.hold_files = on; }

    /// Whether checksums of tables are verified; default on. Switch it off to inspect damaged
    /// files.
    pub fn verify_checksums(mut self, verify: bool) { self.verify_checksums = verify; }

    /// The maximum decompressed size of a table block; default [`DEFAULT_MAX_BLOCK_SIZE`], and
    /// always at least
    /// [`ALWAYS_JUSTIFIED_EXPANSION`](sstkit_table::raw::ALWAYS_JUSTIFIED_EXPANSION) times its
    /// stored size.
    pub fn max_block_size(mut self, bytes: usize) { self.max_block_size = bytes; }

    /// Whether filters are used; default on.
    pub fn use_filters(mut self, on: bool) { self.use_filters = on; }

    /// Registers a custom comparator for databases that name it. A database that names no
    /// comparator, or an unknown one, uses the last one registered; the latter is a
    /// [caveat](crate::CaveatKind::UnknownOrder). May be called more than once.
    pub fn comparator(mut self, comparator: Comparator) { self.comparators.push(comparator); }

    /// Custom filter policies and prefix extractors, found by the names in tables and OPTIONS.
    pub fn registry(mut self, registry: Registry) { self.registry = registry; }

    /// Registers a custom merge operator for databases that name it. May be called more than once.
    pub fn merge_operator(mut self, operator: Arc<dyn MergeOperator>) {
        self.merge_operators.register(operator);
    }

    /// Sets the merge operator of a column family, regardless of the name in the database.
    pub fn column_family_merge_operator(
        mut self,
        column_family: impl Into<String>,
        operator: Arc<dyn MergeOperator>,
    ) {
        self.family_merge_operators.insert(column_family.into(), operator);
    }

    /// Sets the merge operator of all column families without another one, regardless of the name
    /// in the database.
    pub fn default_merge_operator(mut self, operator: Arc<dyn MergeOperator>) {
        self.default_merge_operator = Some(operator);
    }

    /// Sets the prefix extractor of all column families; default: from OPTIONS, or from the tables.
    pub fn prefix_extractor(mut self, extractor: PrefixExtractor) {
        self.prefix_extractor = Some(extractor);
    }

    /// Sets how to handle damaged write-ahead logs; default: from OPTIONS, or the engine's default.
    pub fn recovery_mode(mut self, mode: RecoveryMode) { self.recovery_mode = Some(mode); }

    /// Whether the write-ahead logs are read; default on. If off, only data in tables is visible.
    pub fn replay_logs(mut self, on: bool) { self.replay_logs = on; }

    /// The backup to open, if the path is a [folder of backups](crate::BackupFolder); default: the
    /// newest. Opening anything else fails.
    pub fn backup(mut self, id: u32) { self.backup = Some(id); }

    /// Whether [`Database::logs`](crate::Database::logs) lists logs that are not replayed, too; default
    /// off. For passes that take logs over without reading them.
    pub fn list_logs(mut self, on: bool) { self.list_logs = on; }

    /// The memory limit for the write-ahead logs: their decompressed contents, and 16 bytes for
    /// each write. Opening a database that needs more fails. The default is
    /// [`DEFAULT_MAX_LOG_MEMORY`], or [`DEFAULT_MAX_LOG_EXPANSION`] times the size of the logs if
    /// that is more; logs written by the engines stay below it.
    pub fn max_log_memory(mut self, bytes: u64) { self.max_log_memory = Some(bytes); }

    /// The directories of the tables, in the order of RocksDB's `db_paths` or `cf_paths`, which the
    /// database does not store. Default: the database directory; for files that it does not have, also
    /// directories beside it, which is a [caveat](crate::CaveatKind::Assumed).
    pub fn table_folders(mut self, folders: impl IntoIterator<Item = impl Into<PathBuf>>) {
        self.table_folders = folders.into_iter().map(Into::into).collect();
    }

    /// The directory of the write-ahead logs; default: from OPTIONS, and the database directory. If
    /// neither has logs that are needed, a directory beside that of the database is used that has
    /// them, which is a [caveat](crate::CaveatKind::Assumed).
    pub fn log_folder(mut self, folder: impl Into<PathBuf>) {
        self.log_folder = Some(folder.into());
    }

    /// Whether values end with the time of their write ([`Ttl`](crate::Ttl)); default: if OPTIONS says
    /// so.
    pub fn ttl(mut self, on: bool) { self.ttl = Some(on); }
}
