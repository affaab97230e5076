//! How a table is written: RocksDB's and LevelDB's settings under their own names.
//!
//! | file | settings of |
//! |---|---|
//! | `format_options.rs` | format version, checksums |
//! | `block_options.rs` | data blocks |
//! | `index_options.rs` | the index |
//! | `filter_options.rs` | filter and prefixes |
//! | `compression_options.rs` | codec, level, dictionary, threads |
//! | `property_options.rs`, `identity.rs` | what is recorded of the table; who created it, and when |
//! | `like_table.rs` | the settings of an existing table |
//! | `readers.rs` | which versions of RocksDB must read the table |
//! | `engine_options.rs` | the same settings as options of RocksDB |
//! | `check.rs` | which settings contradict each other |

mod block_options;
mod check;
mod compression_options;
pub mod defaults;
mod engine_options;
mod filter_options;
mod format_options;
mod identity;
mod index_options;
mod like_table;
mod property_options;
mod readers;

use sstkit_coding::checksum::ChecksumType;

use self::block_options::BlockOptions;
use self::compression_options::CompressionOptions;
use self::defaults::DEFAULT_LEVELDB_COMPRESSION;
use self::filter_options::FilterOptions;
use self::format_options::FormatOptions;
use self::index_options::IndexOptions;
use self::property_options::PropertyOptions;
use crate::comparator::Comparator;
use crate::compatibility::RocksDbVersion;
use crate::raw::{Engine, FormatVersion};

pub use self::identity::Identity;
pub use self::index_options::IndexShortening;

/// How a table is written.
///
/// ```
/// use sstkit_table::TableOptions;
///
/// let options = TableOptions::rocksdb()
///     .filter("bloomfilter:10".parse()?)
///     .block_size(16 << 10)
///     .threads(4);
/// # Ok::<(), sstkit_filter::Error>(())
/// ```
///
/// Every setting has a default, named in [`defaults`]. Creating a writer fails if two settings
/// contradict each other; the error names both.
#[derive(Clone, Debug)]
pub struct TableOptions {
    pub(crate) engine: Engine,
    pub(crate) comparator: Comparator,
    /// The oldest version of RocksDB that must read the table, if it was set.
    pub(crate) readable_by: Option<RocksDbVersion>,
    pub(crate) format: FormatOptions,
    pub(crate) blocks: BlockOptions,
    pub(crate) index: IndexOptions,
    pub(crate) filter: FilterOptions,
    pub(crate) compression: CompressionOptions,
    pub(crate) properties: PropertyOptions,
}

impl TableOptions {
    /// RocksDB's table, with the defaults of RocksDB 11.9.
    ///
    /// RocksDB reads it **from 10.4 on**, because of its format version, 7. For older versions see
    /// [`readable_by`](Self::readable_by).
    ///
    /// One default differs: [`optimize_filters_for_memory`](Self::optimize_filters_for_memory) is
    /// off, because with it the bytes of a filter depend on the allocator.
    pub fn rocksdb() -> Self {
        Self {
            engine: Engine::RocksDb,
            comparator: Comparator::Bytewise,
            readable_by: None,
            format: FormatOptions::default(),
            blocks: BlockOptions::default(),
            index: IndexOptions::default(),
            filter: FilterOptions::default(),
            compression: CompressionOptions::default(),
            properties: PropertyOptions::default(),
        }
    }

    /// LevelDB's table, with LevelDB's defaults.
    ///
    /// It has few settings: block size, restart interval, codec and level, comparator, a LevelDB
    /// filter policy, and whether keys are [bare](Self::bare_keys). Others are refused unless they
    /// have their default, except for these, which have no effect: [`threads`](Self::threads),
    /// [`external_file`](Self::external_file), and those that only refine a setting that is
    /// refused: `data_block_hash_table_util_ratio`,
    /// `super_block_alignment_space_overhead_ratio`, `metadata_block_size`,
    /// `decouple_partitioned_filters`, `zstd_max_train_bytes`, `max_dict_buffer_bytes`.
    pub fn leveldb() -> Self {
        let mut options = Self { engine: Engine::LevelDb, ..Self::rocksdb() };
        options.format.version = FormatVersion::V0;
        options.format.checksum = ChecksumType::Crc32c;
        // LevelDB always shortens the last key, too.
        options.index.shortening = IndexShortening::SeparatorsAndSuccessor;
        options.compression.codec = DEFAULT_LEVELDB_COMPRESSION;
        options
    }

    /// The engine whose table is written.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The most important settings as texts, under RocksDB's names, to be recorded beside a table: not
    /// all of them can be read from the file.
    ///
    /// ```
    /// # use sstkit_table::TableOptions;
    /// let options = TableOptions::rocksdb().filter("bloomfilter:10".parse()?);
    /// assert!(options.settings().contains(&("filter_policy", "bloomfilter:10".to_owned())));
    /// # Ok::<(), sstkit_filter::Error>(())
    /// ```
    pub fn settings(&self) -> [(&'static str, String); 5] {
        [
            ("format_version", self.format.version.number().to_string()),
            ("checksum", self.format.checksum.to_string()),
            ("block_size", self.blocks.size.to_string()),
            ("compression", self.compression.codec.to_string()),
            ("filter_policy", self.filter.policy.to_string()),
        ]
    }

    /// The order of the user keys. Default: by bytes. It must be that of the database that ingests the
    /// table.
    #[must_use]
    pub fn comparator(mut self, comparator: Comparator) -> Self {
        self.comparator = comparator;
        self
    }

    /// The options of one table, with a session of its own if that is random.
    pub(crate) fn of_one_table(&self) -> Self {
        let mut options = self.clone();
        options.properties.identity.draw();
        options
    }

    /// Whether the table is what RocksDB 6.20 wrote, not 11.9: fewer properties, and another tail of
    /// shortened keys. RocksDB 11 writes neither format versions 0 and 1 nor block-based filters.
    pub(crate) fn is_of_rocksdb6(&self) -> bool {
        self.engine == Engine::RocksDb
            && (self.readable_by.is_some_and(|version| version < RocksDbVersion::new(7, 0))
                || self.format.version < FormatVersion::V2
                || self.filter.is_block_based())
    }

    /// Whether index values are stored as differences: not if there may be gaps between blocks.
    pub(crate) fn delta_index_values(&self) -> bool {
        self.format.version >= FormatVersion::V4
            && !self.blocks.align
            && self.blocks.embedded_blobs.is_none()
    }
}
