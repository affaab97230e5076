//! How a table is read.

use std::fmt;
use std::sync::Arc;

use sstkit_coding::setters;
use sstkit_filter::{PrefixExtractor, Registry};

use crate::comparator::Comparator;
use crate::raw;
use crate::reader::cache::{BlockCache, Priority};
use crate::reader::scan::merge_operator::MergeOperator;
use crate::reader::tickers::Tickers;

/// The budget of the cache that a table makes for itself: 8 MiB, as LevelDB does.
pub const DEFAULT_CACHE_SIZE: u64 = 8 << 20;

/// What the keys of a table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyForm {
    /// As the file looks: internal keys in RocksDB's tables; in LevelDB's, user keys if a key of
    /// the index cannot be an internal one.
    #[default]
    Auto,
    /// User key, sequence number and kind: tables of a database.
    Internal,
    /// The user's keys and nothing else: tables made with LevelDB's bare `TableBuilder`.
    User,
}

/// How a table is opened and read. The defaults suit a single file.
///
/// ```
/// use std::sync::Arc;
/// use sstkit_table::{BlockCache, TableReadOptions, Tickers};
///
/// let cache = BlockCache::new(1 << 30);
/// let tickers = Arc::new(Tickers::default());
/// let options = TableReadOptions::default()
///     .block_cache(&cache)
///     .cache_index_and_filter_blocks(true)
///     .tickers(&tickers);
/// ```
#[derive(Clone)]
pub struct TableReadOptions {
    pub(crate) blocks: raw::ReadOptions,
    pub(crate) comparators: Vec<Comparator>,
    pub(crate) unknown_order: Option<String>,
    pub(crate) registry: Registry,
    pub(crate) prefix_extractor: Option<PrefixExtractor>,
    pub(crate) whole_key_filtering: bool,
    pub(crate) use_filters: bool,
    pub(crate) merge_operator: Option<Arc<dyn MergeOperator>>,
    pub(crate) key_form: KeyForm,
    pub(crate) cache: Caching,
    pub(crate) cache_index_and_filter_blocks: bool,
    pub(crate) high_priority: bool,
    pub(crate) pin_top_level: bool,
    pub(crate) global_sequence_number: Option<u64>,
    pub(crate) is_last_level: bool,
    pub(crate) tickers: Option<Arc<Tickers>>,
}

/// Which cache a table uses.
#[derive(Clone)]
pub(crate) enum Caching {
    Own(u64),
    Shared(BlockCache),
    None,
}

impl Default for TableReadOptions {
    fn default() -> Self {
        Self {
            blocks: raw::ReadOptions::default(),
            comparators: Vec::new(),
            unknown_order: None,
            registry: Registry::default(),
            prefix_extractor: None,
            whole_key_filtering: true,
            use_filters: true,
            merge_operator: None,
            key_form: KeyForm::default(),
            cache: Caching::Own(DEFAULT_CACHE_SIZE),
            cache_index_and_filter_blocks: false,
            high_priority: true,
            pin_top_level: true,
            global_sequence_number: None,
            is_last_level: false,
            tickers: None,
        }
    }
}

setters! {
    impl TableReadOptions:

    /// Whether checksums are verified; on by default. Off is for looking into damaged files.
    pub fn verify_checksums(mut self, verify: bool) { self.blocks.verify_checksums = verify; }

    /// The most bytes a block may decompress to;
    /// [`DEFAULT_MAX_BLOCK_SIZE`](raw::DEFAULT_MAX_BLOCK_SIZE) by default, and always
    /// [`ALWAYS_JUSTIFIED_EXPANSION`](raw::ALWAYS_JUSTIFIED_EXPANSION) times its stored size.
    pub fn max_block_size(mut self, bytes: usize) { self.blocks.max_block_size = bytes; }

    /// An order to be used in tables that name it, and in LevelDB's tables, which name none. The
    /// built-in ones need not be given for RocksDB's tables. May be called more than once; for
    /// LevelDB's tables the last one counts.
    pub fn comparator(mut self, comparator: Comparator) { self.comparators.push(comparator); }

    /// The name of an order that is not known here, for tables that do not name theirs, such as
    /// LevelDB's: it is then not taken to be bytewise, and not checked. None by default; for databases
    /// whose MANIFEST names an unknown comparator.
    pub fn unknown_order(mut self, name: impl Into<String>) {
        self.unknown_order = Some(name.into());
    }

    /// User-made filter policies and prefix extractors, found by the names in the table.
    pub fn registry(mut self, registry: Registry) { self.registry = registry; }

    /// The prefix extractor of the reader; by default, the table's own. If it differs from the table's,
    /// prefixes in the filter are used only where that cannot change a result.
    pub fn prefix_extractor(mut self, extractor: PrefixExtractor) {
        self.prefix_extractor = Some(extractor);
    }

    /// Whether lookups probe the filter for whole keys, if it has them; on by default. Otherwise they
    /// probe it for prefixes.
    pub fn whole_key_filtering(mut self, on: bool) { self.whole_key_filtering = on; }

    /// Whether filters are used at all; on by default. Off is for lookups of keys that are known to
    /// be there (RocksDB's `optimize_filters_for_hits`).
    pub fn use_filters(mut self, on: bool) { self.use_filters = on; }

    /// What combines merge operands. Without it, a key that needs it gives an error.
    pub fn merge_operator(mut self, operator: Arc<dyn MergeOperator>) {
        self.merge_operator = Some(operator);
    }

    /// What the keys are; found out by default.
    pub fn key_form(mut self, form: KeyForm) { self.key_form = form; }

    /// Uses a cache shared with others, instead of one of its own of [`DEFAULT_CACHE_SIZE`].
    pub fn block_cache(mut self, cache: &BlockCache) {
        self.cache = Caching::Shared(cache.clone());
    }

    /// Keeps nothing but what is pinned: each block is read as often as it is needed.
    pub fn no_block_cache(mut self) { self.cache = Caching::None; }

    /// Whether index and filter live in the block cache rather than outside of its budget for as
    /// long as the table is open; off by default. Partitions live in the cache in any case.
    pub fn cache_index_and_filter_blocks(mut self, on: bool) {
        self.cache_index_and_filter_blocks = on;
    }

    /// Whether index and filter blocks in the cache go to its part for high priority; on by
    /// default, and without effect in a cache without such a part.
    pub fn cache_index_and_filter_blocks_with_high_priority(mut self, on: bool) {
        self.high_priority = on;
    }

    /// Whether the top levels of partitioned indexes and filters are held outside of the cache even
    /// if [`cache_index_and_filter_blocks`](Self::cache_index_and_filter_blocks) is on; on by
    /// default.
    pub fn pin_top_level_index_and_filter(mut self, on: bool) { self.pin_top_level = on; }

    /// The sequence number of all entries of an ingested table, as the MANIFEST knows it: the
    /// file's largest. Without effect on tables that a database wrote itself.
    pub fn global_sequence_number(mut self, sequence: u64) {
        self.global_sequence_number = Some(sequence);
    }

    /// In which of how many levels the file is: statistics are kept apart for the last one. By
    /// default it is in none.
    pub fn level(mut self, level: u32, num_levels: u32) {
        self.is_last_level = level.checked_add(1) == Some(num_levels);
    }

    /// Counts what happens; off by default.
    pub fn tickers(mut self, tickers: &Arc<Tickers>) { self.tickers = Some(Arc::clone(tickers)); }
}

impl TableReadOptions {
    /// Of index and filter blocks in the cache.
    pub(crate) fn index_priority(&self) -> Priority {
        if self.high_priority { Priority::High } else { Priority::Low }
    }
}

impl fmt::Debug for TableReadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableReadOptions")
            .field("blocks", &self.blocks)
            .field("comparators", &self.comparators)
            .field("key_form", &self.key_form)
            .field("prefix_extractor", &self.prefix_extractor)
            .finish_non_exhaustive()
    }
}
