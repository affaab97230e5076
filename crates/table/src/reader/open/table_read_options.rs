//! Options for reading a table.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sstkit_coding::{setters, with_defaults};
use sstkit_filter::{PrefixExtractor, Registry};

use crate::comparator::Comparator;
use crate::raw;
use crate::reader::cache::{BlockCache, Priority};
use crate::reader::scan::merge_operator::MergeOperator;
use crate::reader::tickers::Tickers;

/// The default size of a private block cache: 8 MiB, as in LevelDB.
pub const DEFAULT_CACHE_SIZE: u64 = 8 << 20;

/// The format of the keys of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyForm {
    /// Detected: internal keys in RocksDB's tables; in LevelDB's, user keys if a key of the index
    /// cannot be an internal key.
    #[default]
    Auto,
    /// User key, sequence number and kind: tables of a database.
    Internal,
    /// Only user keys: tables written with LevelDB's bare `TableBuilder`.
    User,
}

with_defaults! {
    /// Options for opening and reading a table. The defaults suit a single file.
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
    #[derive(Clone, Debug)]
    pub struct TableReadOptions {
        pub(crate) blocks: raw::DecodeOptions,
        pub(crate) comparators: Vec<Comparator>,
        pub(crate) unknown_order: Option<String>,
        pub(crate) order_of_unknown: Option<Comparator>,
        pub(crate) registry: Registry,
        pub(crate) prefix_extractor: Option<PrefixExtractor>,
        pub(crate) whole_key_filtering: bool = true,
        pub(crate) use_filters: bool = true,
        pub(crate) merge_operator: Option<Arc<dyn MergeOperator>>,
        pub(crate) key_form: KeyForm,
        pub(crate) cache: Caching = Caching::Own(DEFAULT_CACHE_SIZE),
        pub(crate) cache_index_and_filter_blocks: bool,
        pub(crate) high_priority: bool = true,
        pub(crate) pin_top_level: bool = true,
        pub(crate) global_sequence_number: Option<u64>,
        pub(crate) is_last_level: bool,
        pub(crate) tickers: Option<Arc<Tickers>>,
        pub(crate) bytes_read: Option<Arc<AtomicU64>>,
    }
}

/// The block cache of a table.
#[derive(Clone, Debug)]
pub(crate) enum Caching {
    Own(u64),
    Shared(BlockCache),
    None,
}

impl TableReadOptions {
    /// Whether the order is given for tables that do not name theirs.
    pub fn gives_order(&self) -> bool {
        !self.comparators.is_empty() || self.unknown_order.is_some()
    }
}

setters! {
    impl TableReadOptions:

    /// Whether checksums are verified; default on. Switch it off to inspect damaged files.
    pub fn verify_checksums(mut self, verify: bool) { self.blocks.verify_checksums = verify; }

    /// The maximum decompressed size of a block; default
    /// [`DEFAULT_MAX_BLOCK_SIZE`](raw::DEFAULT_MAX_BLOCK_SIZE), and always at least
    /// [`ALWAYS_JUSTIFIED_EXPANSION`](raw::ALWAYS_JUSTIFIED_EXPANSION) times its stored size.
    pub fn max_block_size(mut self, bytes: usize) { self.blocks.max_block_size = bytes; }

    /// Registers a custom comparator for tables that name it, and for LevelDB's tables, which name
    /// none. Built-in comparators need not be given for RocksDB's tables. May be called more than
    /// once; for LevelDB's tables the last one counts.
    pub fn comparator(mut self, comparator: Comparator) { self.comparators.push(comparator); }

    /// The name of an unknown comparator, for tables that do not name theirs, such as LevelDB's: it
    /// is then not assumed to be bytewise. Default: none. For databases whose MANIFEST names an
    /// unknown comparator.
    pub fn unknown_order(mut self, name: impl Into<String>) {
        self.unknown_order = Some(name.into());
    }

    /// The order of tables that name a comparator which is not known by its name. Default: none. Such
    /// a table can be scanned, but not searched.
    pub fn order_of_unknown(mut self, order: Comparator) { self.order_of_unknown = Some(order); }

    /// Custom filter policies and prefix extractors, found by the names in the table.
    pub fn registry(mut self, registry: Registry) { self.registry = registry; }

    /// The prefix extractor of the reader; default: that of the table. If they differ, prefixes in
    /// the filter are used only where that cannot change a result.
    pub fn prefix_extractor(mut self, extractor: PrefixExtractor) {
        self.prefix_extractor = Some(extractor);
    }

    /// Whether lookups make whole-key probes, if the filter has whole keys; default on. Otherwise
    /// they make prefix probes.
    pub fn whole_key_filtering(mut self, on: bool) { self.whole_key_filtering = on; }

    /// Whether filters are used; default on. Switch it off for lookups of keys that are known to
    /// exist (RocksDB's `optimize_filters_for_hits`).
    pub fn use_filters(mut self, on: bool) { self.use_filters = on; }

    /// The merge operator. Without it, reading a key that needs it fails.
    pub fn merge_operator(mut self, operator: Arc<dyn MergeOperator>) {
        self.merge_operator = Some(operator);
    }

    /// The format of the keys; default: detected.
    pub fn key_form(mut self, form: KeyForm) { self.key_form = form; }

    /// Uses a shared cache instead of a private one of [`DEFAULT_CACHE_SIZE`].
    pub fn block_cache(mut self, cache: &BlockCache) {
        self.cache = Caching::Shared(cache.clone());
    }

    /// Caches nothing except pinned blocks: every other block is read each time it is needed.
    pub fn no_block_cache(mut self) { self.cache = Caching::None; }

    /// Whether index and filter blocks are stored in the block cache, instead of outside its limit
    /// for as long as the table is open; default off. Partitions are always in the cache.
    pub fn cache_index_and_filter_blocks(mut self, on: bool) {
        self.cache_index_and_filter_blocks = on;
    }

    /// Whether index and filter blocks have high priority in the cache; default on. Has no effect
    /// in a cache without a high-priority part.
    pub fn cache_index_and_filter_blocks_with_high_priority(mut self, on: bool) {
        self.high_priority = on;
    }

    /// Whether the top levels of partitioned indexes and filters are pinned outside of the cache
    /// even if [`cache_index_and_filter_blocks`](Self::cache_index_and_filter_blocks) is on;
    /// default on.
    pub fn pin_top_level_index_and_filter(mut self, on: bool) { self.pin_top_level = on; }

    /// The global sequence number of an ingested table, as in the MANIFEST: the largest of the
    /// file. Has no effect on tables that a database wrote itself.
    pub fn global_sequence_number(mut self, sequence: u64) {
        self.global_sequence_number = Some(sequence);
    }

    /// The level of the file and the number of levels: statistics are separate for the last level.
    /// Default: none.
    pub fn level(mut self, level: u32, num_levels: u32) {
        self.is_last_level = level.checked_add(1) == Some(num_levels);
    }

    /// Where events are counted; default: nowhere.
    pub fn tickers(mut self, tickers: &Arc<Tickers>) { self.tickers = Some(Arc::clone(tickers)); }

    /// Adds the number of bytes of each read to a counter, which another thread can watch; default:
    /// none.
    pub fn count_bytes_read(mut self, counter: &Arc<AtomicU64>) {
        self.bytes_read = Some(Arc::clone(counter));
    }
}

impl TableReadOptions {
    /// The priority of index and filter blocks in the cache.
    pub(crate) fn index_priority(&self) -> Priority {
        if self.high_priority { Priority::High } else { Priority::Low }
    }
}
