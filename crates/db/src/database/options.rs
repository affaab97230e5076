//! How a database is opened and read.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use sstkit_filter::{PrefixExtractor, Registry};
use sstkit_table::raw::DEFAULT_MAX_BLOCK_SIZE;
use sstkit_table::{BlockCache, Comparator, MergeOperator};

use crate::merge_operators::MergeOperators;
use crate::raw::RecoveryMode;

/// The budget of the block cache that a database makes for itself: 32 MiB, as RocksDB does.
pub const DEFAULT_BLOCK_CACHE_SIZE: u64 = 32 << 20;

/// How many tables are kept open at once, and how many blob files: well below what systems let a
/// process have.
pub const DEFAULT_MAX_OPEN_FILES: usize = 400;

/// How much memory the write-ahead logs may take, if they are not large themselves: 512 MiB. See
/// [`DatabaseOptions::max_log_memory`].
pub const DEFAULT_MAX_LOG_MEMORY: u64 = 512 << 20;

/// How many times their own size the write-ahead logs may take in memory, if that is more than
/// [`DEFAULT_MAX_LOG_MEMORY`]: 16. The smallest write, of 2 bytes, takes 16 more in memory; only
/// compressed logs can take more than 9 times their size.
pub const DEFAULT_MAX_LOG_EXPANSION: u64 = 16;

/// How a [`Database`](crate::Database) is opened and read. The defaults suit most; what the files do
/// not say has to be said here: user-made comparators and merge operators.
///
/// ```
/// use sstkit_db::DatabaseOptions;
///
/// let options = DatabaseOptions::default()
///     .block_cache_size(1 << 30)
///     .column_family_merge_operator("default", sstkit_db::merge_operator("uint64add").unwrap());
/// ```
#[derive(Clone)]
pub struct DatabaseOptions {
    pub(super) block_cache: Option<BlockCache>,
    pub(super) block_cache_size: u64,
    pub(super) cache_index_and_filter_blocks: bool,
    pub(super) max_open_files: usize,
    pub(super) hold_files: bool,
    pub(super) verify_checksums: bool,
    pub(super) max_block_size: usize,
    pub(super) use_filters: bool,
    pub(super) comparators: Vec<Comparator>,
    pub(super) registry: Registry,
    pub(super) merge_operators: MergeOperators,
    pub(super) family_merge_operators: BTreeMap<String, Arc<dyn MergeOperator>>,
    pub(super) default_merge_operator: Option<Arc<dyn MergeOperator>>,
    pub(super) prefix_extractor: Option<PrefixExtractor>,
    pub(super) recovery_mode: Option<RecoveryMode>,
    pub(super) replay_logs: bool,
    pub(super) max_log_memory: Option<u64>,
    pub(super) table_folders: Vec<PathBuf>,
    pub(super) log_folder: Option<PathBuf>,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self {
            block_cache: None,
            block_cache_size: DEFAULT_BLOCK_CACHE_SIZE,
            cache_index_and_filter_blocks: false,
            max_open_files: DEFAULT_MAX_OPEN_FILES,
            hold_files: true,
            verify_checksums: true,
            max_block_size: DEFAULT_MAX_BLOCK_SIZE,
            use_filters: true,
            comparators: Vec::new(),
            registry: Registry::default(),
            merge_operators: MergeOperators::default(),
            family_merge_operators: BTreeMap::new(),
            default_merge_operator: None,
            prefix_extractor: None,
            recovery_mode: None,
            replay_logs: true,
            max_log_memory: None,
            table_folders: Vec::new(),
            log_folder: None,
        }
    }
}

impl DatabaseOptions {
    /// The budget of the block cache in bytes; [`DEFAULT_BLOCK_CACHE_SIZE`] by default.
    #[must_use]
    pub fn block_cache_size(mut self, bytes: u64) -> Self {
        self.block_cache_size = bytes;
        self
    }

    /// Uses a cache shared with others, instead of one of its own.
    #[must_use]
    pub fn block_cache(mut self, cache: &BlockCache) -> Self {
        self.block_cache = Some(cache.clone());
        self
    }

    /// Whether index and filter blocks live in the block cache rather than outside of its budget for
    /// as long as their table is open; off by default.
    #[must_use]
    pub fn cache_index_and_filter_blocks(mut self, on: bool) -> Self {
        self.cache_index_and_filter_blocks = on;
        self
    }

    /// How many tables are kept open, and how many blob files; [`DEFAULT_MAX_OPEN_FILES`] by
    /// default. A scan needs one for each run of tables besides.
    #[must_use]
    pub fn max_open_files(mut self, files: usize) -> Self {
        self.max_open_files = files;
        self
    }

    /// Whether tables and blob files are held open from the time when the database is opened, up to
    /// a third of the limit of open files for all databases of the process; on by default. What is
    /// held can be read even when a running engine has deleted it since. Where files cannot be opened
    /// because of the limit, databases close some that they hold. Off for directories that nobody writes to.
    #[must_use]
    pub fn hold_files(mut self, on: bool) -> Self {
        self.hold_files = on;
        self
    }

    /// Whether checksums of tables are verified; on by default. Off is for looking into damaged
    /// files.
    #[must_use]
    pub fn verify_checksums(mut self, verify: bool) -> Self {
        self.verify_checksums = verify;
        self
    }

    /// The most bytes a block of a table may decompress to;
    /// [`DEFAULT_MAX_BLOCK_SIZE`] by default, and always
    /// [`ALWAYS_JUSTIFIED_EXPANSION`](sstkit_table::raw::ALWAYS_JUSTIFIED_EXPANSION) times its stored
    /// size.
    #[must_use]
    pub fn max_block_size(mut self, bytes: usize) -> Self {
        self.max_block_size = bytes;
        self
    }

    /// Whether filters are asked at all; on by default.
    #[must_use]
    pub fn use_filters(mut self, on: bool) -> Self {
        self.use_filters = on;
        self
    }

    /// Makes a user-made order known, to be used where the database names it. Where the database
    /// names none, or one that is not known, the last one given is used; the latter is a
    /// [caveat](crate::CaveatKind::UnknownOrder). May be called more than once.
    #[must_use]
    pub fn comparator(mut self, comparator: Comparator) -> Self {
        self.comparators.push(comparator);
        self
    }

    /// User-made filter policies and prefix extractors, found by the names in tables and OPTIONS.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Makes a user-made merge operator known, to be used where the database names it. May be called
    /// more than once.
    #[must_use]
    pub fn merge_operator(mut self, operator: Arc<dyn MergeOperator>) -> Self {
        self.merge_operators.register(operator);
        self
    }

    /// The merge operator of a column family, whatever the database calls it.
    #[must_use]
    pub fn column_family_merge_operator(
        mut self,
        column_family: impl Into<String>,
        operator: Arc<dyn MergeOperator>,
    ) -> Self {
        self.family_merge_operators.insert(column_family.into(), operator);
        self
    }

    /// The merge operator of all column families that have no other one, whatever the database calls
    /// it.
    #[must_use]
    pub fn default_merge_operator(mut self, operator: Arc<dyn MergeOperator>) -> Self {
        self.default_merge_operator = Some(operator);
        self
    }

    /// The prefix extractor of all column families; by default what OPTIONS say, or the tables.
    #[must_use]
    pub fn prefix_extractor(mut self, extractor: PrefixExtractor) -> Self {
        self.prefix_extractor = Some(extractor);
        self
    }

    /// How much damage of a write-ahead log is put up with; by default what OPTIONS say, or what the
    /// engine does by default.
    #[must_use]
    pub fn recovery_mode(mut self, mode: RecoveryMode) -> Self {
        self.recovery_mode = Some(mode);
        self
    }

    /// Whether the write-ahead logs are read; on by default. Off shows what is in tables.
    #[must_use]
    pub fn replay_logs(mut self, on: bool) -> Self {
        self.replay_logs = on;
        self
    }

    /// How many bytes of memory the write-ahead logs may take: what they hold when decompressed, and
    /// 16 bytes for each write. Opening a database that needs more is an error. By default
    /// [`DEFAULT_MAX_LOG_MEMORY`], or [`DEFAULT_MAX_LOG_EXPANSION`] times the size of the logs,
    /// whichever is more: what engines write stays below.
    #[must_use]
    pub fn max_log_memory(mut self, bytes: u64) -> Self {
        self.max_log_memory = Some(bytes);
        self
    }

    /// The folders of tables, in the order of RocksDB's `db_paths` or `cf_paths`, which no file of
    /// the database tells; by default its own alone.
    #[must_use]
    pub fn table_folders(mut self, folders: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.table_folders = folders.into_iter().map(Into::into).collect();
        self
    }

    /// The folder of the write-ahead logs; by default the one that OPTIONS name, and its own.
    #[must_use]
    pub fn log_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.log_folder = Some(folder.into());
        self
    }
}

impl fmt::Debug for DatabaseOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseOptions")
            .field("block_cache_size", &self.block_cache_size)
            .field("max_open_files", &self.max_open_files)
            .field("comparators", &self.comparators)
            .field("prefix_extractor", &self.prefix_extractor)
            .finish_non_exhaustive()
    }
}
