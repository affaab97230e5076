//! How a table is written: RocksDB's and LevelDB's settings under their own names.
//!
//! | file | settings of |
//! |---|---|
//! | `blocks.rs` | format version, checksum, data blocks |
//! | `index.rs` | the index |
//! | `filter.rs` | filter and prefixes |
//! | `compression.rs` | codec, level, dictionary, threads |
//! | `readers.rs` | which versions of RocksDB are to read the table |
//! | `identity.rs` | who made the table, and when |
//! | `check.rs` | which settings contradict each other |

mod blocks;
mod check;
mod compression;
pub mod defaults;
mod filter;
mod identity;
mod index;
mod readers;

use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::{Destination, FilterPolicy, PrefixExtractor, UsableSize};

use self::defaults::*;
use crate::comparator::Comparator;
use crate::compatibility::RocksDbVersion;
use crate::raw::{Codec, Engine, FormatVersion, IndexKind};

pub use self::identity::Identity;
pub use self::index::IndexShortening;

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
/// Every setting has a default, named in [`defaults`]. Settings that contradict each other are an
/// error when a writer is made, which names both.
#[derive(Clone, Debug)]
pub struct TableOptions {
    pub(crate) engine: Engine,
    /// The version of RocksDB that is to read the table, if it was given.
    pub(crate) readable_by: Option<RocksDbVersion>,
    /// Whether they were given, and are no defaults.
    pub(crate) format_version_is_given: bool,
    pub(crate) checksum_is_given: bool,
    pub(crate) comparator: Comparator,

    pub(crate) format_version: FormatVersion,
    pub(crate) checksum: ChecksumType,
    pub(crate) block_size: usize,
    pub(crate) block_size_deviation: u32,
    pub(crate) block_restart_interval: usize,
    pub(crate) use_delta_encoding: bool,
    pub(crate) data_block_hash_index: bool,
    pub(crate) data_block_hash_table_util_ratio: f64,
    pub(crate) separate_key_value_in_data_block: bool,
    pub(crate) block_align: bool,
    pub(crate) super_block_alignment_size: u64,
    pub(crate) super_block_alignment_space_overhead_ratio: u64,
    pub(crate) embedded_blobs: Option<usize>,
    pub(crate) bare_keys: bool,

    pub(crate) index_kind: IndexKind,
    pub(crate) index_shortening: IndexShortening,
    pub(crate) index_block_restart_interval: usize,
    pub(crate) metadata_block_size: usize,
    pub(crate) uniform_cv_threshold: Option<f64>,
    pub(crate) enable_index_compression: bool,

    pub(crate) filter: FilterPolicy,
    pub(crate) whole_key_filtering: bool,
    pub(crate) prefix_extractor: Option<PrefixExtractor>,
    pub(crate) partition_filters: bool,
    pub(crate) decouple_partitioned_filters: bool,
    pub(crate) optimize_filters_for_memory: Option<UsableSize>,
    pub(crate) destination: Destination,

    pub(crate) compression: Codec,
    pub(crate) compression_level: Option<i32>,
    pub(crate) max_compressed_bytes_per_kb: u32,
    pub(crate) max_dict_bytes: usize,
    pub(crate) zstd_max_train_bytes: usize,
    pub(crate) max_dict_buffer_bytes: u64,
    pub(crate) threads: usize,
    /// The property `rocksdb.compression_options`, where another table has settled it.
    pub(crate) compression_options_text: Option<String>,

    pub(crate) merge_operator: Option<String>,
    pub(crate) column_family: Option<(u32, String)>,
    pub(crate) user_properties: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) property_collectors: Vec<String>,
    pub(crate) external_file: bool,
    pub(crate) identity: Identity,
    pub(crate) context_seed: u64,
    pub(crate) base_context_checksum: Option<u32>,
}

impl TableOptions {
    /// RocksDB's table, with the defaults of RocksDB 11.9.
    ///
    /// RocksDB reads it **from 10.4 on**, because of its format version, 7. For a database of an older
    /// version see [`readable_by`](Self::readable_by).
    ///
    /// One default differs: [`optimize_filters_for_memory`](Self::optimize_filters_for_memory) is
    /// off, because with it the bytes of a filter depend on the allocator.
    pub fn rocksdb() -> Self {
        Self {
            engine: Engine::RocksDb,
            readable_by: None,
            format_version_is_given: false,
            checksum_is_given: false,
            comparator: Comparator::Bytewise,
            format_version: DEFAULT_FORMAT_VERSION,
            checksum: DEFAULT_CHECKSUM,
            block_size: DEFAULT_BLOCK_SIZE,
            block_size_deviation: DEFAULT_BLOCK_SIZE_DEVIATION,
            block_restart_interval: DEFAULT_BLOCK_RESTART_INTERVAL,
            use_delta_encoding: true,
            data_block_hash_index: false,
            data_block_hash_table_util_ratio: DEFAULT_HASH_TABLE_UTIL_RATIO,
            separate_key_value_in_data_block: false,
            block_align: false,
            super_block_alignment_size: 0,
            super_block_alignment_space_overhead_ratio:
                DEFAULT_SUPER_BLOCK_ALIGNMENT_SPACE_OVERHEAD_RATIO,
            embedded_blobs: None,
            bare_keys: false,
            index_kind: IndexKind::BinarySearch,
            index_shortening: IndexShortening::Separators,
            index_block_restart_interval: DEFAULT_INDEX_BLOCK_RESTART_INTERVAL,
            metadata_block_size: DEFAULT_METADATA_BLOCK_SIZE,
            uniform_cv_threshold: None,
            enable_index_compression: true,
            filter: FilterPolicy::None,
            whole_key_filtering: true,
            prefix_extractor: None,
            partition_filters: false,
            decouple_partitioned_filters: true,
            optimize_filters_for_memory: None,
            destination: Destination::Unknown,
            compression: DEFAULT_COMPRESSION,
            compression_level: None,
            max_compressed_bytes_per_kb: DEFAULT_MAX_COMPRESSED_BYTES_PER_KB,
            max_dict_bytes: 0,
            zstd_max_train_bytes: 0,
            max_dict_buffer_bytes: 0,
            threads: DEFAULT_THREADS,
            compression_options_text: None,
            merge_operator: None,
            column_family: None,
            user_properties: Vec::new(),
            property_collectors: Vec::new(),
            external_file: true,
            identity: Identity::default(),
            context_seed: 0,
            base_context_checksum: None,
        }
    }

    /// LevelDB's table, with LevelDB's defaults.
    ///
    /// It has few settings: block size, restart interval, codec and level, comparator, a filter
    /// policy of LevelDB's kind, and whether keys are [bare](Self::bare_keys). Others are refused
    /// if they are changed from their default, except for these, which have no effect:
    /// [`threads`](Self::threads), [`external_file`](Self::external_file), and what only refines a
    /// setting that is refused: `data_block_hash_table_util_ratio`,
    /// `super_block_alignment_space_overhead_ratio`, `metadata_block_size`,
    /// `decouple_partitioned_filters`, `zstd_max_train_bytes`, `max_dict_buffer_bytes`.
    pub fn leveldb() -> Self {
        Self {
            engine: Engine::LevelDb,
            format_version: FormatVersion::V0,
            checksum: ChecksumType::Crc32c,
            // LevelDB always shortens the last key, too.
            index_shortening: IndexShortening::SeparatorsAndSuccessor,
            compression: DEFAULT_LEVELDB_COMPRESSION,
            ..Self::rocksdb()
        }
    }

    /// The engine whose table is written.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The settings that a person asks for first, by RocksDB's names for them, as texts: what to
    /// write down beside a table, since not all of it can be read from there again.
    ///
    /// ```
    /// # use sstkit_table::TableOptions;
    /// let options = TableOptions::rocksdb().filter("bloomfilter:10".parse()?);
    /// assert!(options.settings().contains(&("filter_policy", "bloomfilter:10".to_owned())));
    /// # Ok::<(), sstkit_filter::Error>(())
    /// ```
    pub fn settings(&self) -> [(&'static str, String); 5] {
        [
            ("format_version", self.format_version.number().to_string()),
            ("checksum", self.checksum.to_string()),
            ("block_size", self.block_size.to_string()),
            ("compression", self.compression.to_string()),
            ("filter_policy", self.filter.to_string()),
        ]
    }

    /// The order of the user keys. Default: by bytes. To be set to that of the database that is to
    /// take the table in.
    #[must_use]
    pub fn comparator(mut self, comparator: Comparator) -> Self {
        self.comparator = comparator;
        self
    }

    /// The merge operator's name. Default: none. Nothing is merged here; the name tells RocksDB
    /// what the operands are for.
    #[must_use]
    pub fn merge_operator(mut self, name: impl Into<String>) -> Self {
        self.merge_operator = Some(name.into());
        self
    }

    /// The column family the table is for. Default: not known, and any takes it.
    #[must_use]
    pub fn column_family(mut self, id: u32, name: impl Into<String>) -> Self {
        self.column_family = Some((id, name.into()));
        self
    }

    /// Adds a property of the user's own; the last of a name counts. Names that RocksDB uses itself
    /// are refused.
    #[must_use]
    pub fn user_property(mut self, name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        self.user_properties.push((name.into(), value.into()));
        self
    }

    /// Adds a name to `rocksdb.property.collectors`: who made the properties of the user's own.
    #[must_use]
    pub fn property_collector(mut self, name: impl Into<String>) -> Self {
        self.property_collectors.push(name.into());
        self
    }

    /// Whether the table is made outside of a database, to be ingested by RocksDB's
    /// `IngestExternalFile` (of a version that [reads it](Self::readable_by): by default 10.4 or
    /// later). Default: yes, as `SstFileWriter` does. All its sequence numbers are
    /// then 0, and each user key comes once; a table with numbers of its own, or several entries of
    /// one key, needs `false`.
    #[must_use]
    pub fn external_file(mut self, external: bool) -> Self {
        self.external_file = external;
        self
    }

    /// Who made the table, and when. Default: [`Identity::default`].
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// The options of one of several tables that are written with the same ones: its [file
    /// number](Identity::file_number) is larger by `nth`, so that no two of them have the same.
    /// LevelDB's tables have no number.
    #[must_use]
    pub fn numbered(mut self, nth: u64) -> Self {
        if self.engine == Engine::RocksDb {
            self.identity.file_number = self.identity.file_number.wrapping_add(nth);
        }
        self
    }

    /// The options of the table that is written now.
    pub(crate) fn of_one_table(&self) -> Self {
        let mut options = self.clone();
        options.identity.draw();
        options
    }

    /// What the base context checksum (format version 6 and later) is made of, together with the
    /// identity. RocksDB draws a random number for each file. Default: 0. To be varied by whoever
    /// writes many files with one identity and wants a block of one to fail in another.
    #[must_use]
    pub fn context_seed(mut self, seed: u64) -> Self {
        self.context_seed = seed;
        self
    }

    /// The base context checksum itself, not 0, for files that must equal a given one. Default:
    /// made of identity and seed.
    #[must_use]
    pub fn base_context_checksum(mut self, base: u32) -> Self {
        self.base_context_checksum = Some(base);
        self
    }

    /// What ties the blocks to this file; 0 before format version 6.
    pub(crate) fn context_checksum(&self) -> u32 {
        if !self.format_version.has_context_checksums() {
            return 0;
        }
        self.base_context_checksum
            .unwrap_or_else(|| self.identity.context_checksum(self.context_seed))
    }

    /// Whether index values are stored as differences: not where blocks may have gaps between
    /// them.
    pub(crate) fn delta_index_values(&self) -> bool {
        self.format_version >= FormatVersion::V4
            && !self.block_align
            && self.embedded_blobs.is_none()
    }
}
