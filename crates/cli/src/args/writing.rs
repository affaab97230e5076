//! Options for writing tables, shared by `build`, `compact` and `bench table`.

use std::io;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, ValueEnum};
use sstkit_coding::checksum::ChecksumType;
use sstkit_db::Duplicates;
use sstkit_filter::{BitsPerKey, Destination, FilterPolicy, PrefixExtractor, UsableSize};
use sstkit_inspect::setting_names::{self as names, Compression};
use sstkit_table::raw::{Codec, FormatVersion, IndexKind};
use sstkit_table::{Comparator, RocksDbVersion, TableOptions, TableWriter};

use super::SetIfGiven as _;
use super::compression_choice::CompressionChoice;
use crate::output::units;

/// Options for writing tables.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Table options")]
pub(crate) struct WriteArgs {
    /// Engine to write tables for
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub(crate) profile: Profile,

    /// Oldest RocksDB version that must read the output, such as rocksdb-9.8: selects the newest
    /// format version and checksum it supports, and rejects options it does not [default:
    /// rocksdb-10.4; for a database made from one, the version that wrote its OPTIONS]
    #[arg(long = "for", value_name = "VERSION")]
    pub(crate) readable_by: Option<RocksDbVersion>,

    /// RocksDB format version, 0 to 7 [default: 7, or the newest that --for supports]
    #[arg(long, value_name = "N", value_parser = names::format_version)]
    format_version: Option<FormatVersion>,

    // Not a doc comment: rustdoc would take the brackets for a link.
    #[arg(
        long,
        value_name = "POLICY",
        value_parser = names::filter,
        help = "Filter policy: none, bloomfilter:BITS or ribbonfilter:BITS[:LEVEL] [default: bloomfilter:10]"
    )]
    filter: Option<FilterPolicy>,

    /// Partition the filter; needs a two-level index, which is then the default
    #[arg(long)]
    partition_filters: bool,

    /// Prefix extractor, whose prefixes are added to the filter: fixed:N or capped:N
    #[arg(long, value_name = "EXTRACTOR", value_parser = names::prefix_extractor)]
    prefix_extractor: Option<PrefixExtractor>,

    /// Leave whole keys out of the filter; needs --prefix-extractor
    #[arg(long)]
    no_whole_key_filtering: bool,

    /// Round filter sizes to jemalloc's size classes, so that loading one wastes no memory
    #[arg(long)]
    optimize_filters_for_memory: bool,

    /// Compression: none, snappy, zlib, bzip2, lz4, lz4hc or zstd, optionally with a level as in
    /// zstd:9 [default: lz4, or snappy for leveldb]. With `compact`, all compares the codecs and writes
    /// nothing
    #[arg(long, value_name = "CODEC[:LEVEL]")]
    compression: Option<CompressionChoice>,

    /// Size of a compression dictionary per table; for small blocks that resemble each other [default:
    /// no dictionary]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    max_dict_bytes: Option<u64>,

    /// Bytes of samples that a zstd dictionary is trained on [default: none: the samples are the
    /// dictionary]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, requires = "max_dict_bytes")]
    zstd_max_train_bytes: Option<u64>,

    /// Bytes of data that are buffered until the dictionary is made [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, requires = "max_dict_bytes")]
    max_dict_buffer_bytes: Option<u64>,

    /// Block checksum: none, crc32c, xxhash, xxhash64 or xxh3 [default: xxh3]
    #[arg(long, value_name = "NAME", value_parser = names::checksum)]
    checksum: Option<ChecksumType>,

    /// Size of a data block before compression [default: 4KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    block_size: Option<u64>,

    /// Number of entries between restart points [default: 16]
    #[arg(long, value_name = "N")]
    restart_interval: Option<usize>,

    /// Index type: binary, hash, two-level or first-key [default: binary]
    #[arg(long, value_name = "KIND", value_parser = names::index)]
    index: Option<IndexKind>,

    /// Size of an index or filter partition [default: 4KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    metadata_block_size: Option<u64>,

    /// Add a hash index to each data block
    #[arg(long)]
    data_block_hash_index: bool,

    /// Key order: an engine's name, or a short name such as reverse. NAME=ORDER gives the order another
    /// name, or that of a comparator that the input names [default: bytewise]
    #[arg(long, value_name = "[NAME=]ORDER", value_parser = names::comparator)]
    pub(crate) comparator: Option<Comparator>,

    /// Level of the tables in the database [default: the last one]; for tables alone, the level they
    /// are for, where the filter depends on it (ribbonfilter:BITS:LEVEL)
    #[arg(long, value_name = "N")]
    pub(crate) level: Option<u32>,

    /// Number of threads for compression and writing [default: number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// The engine that tables are written for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// RocksDB, with the defaults of version 11.9
    #[default]
    Rocksdb,
    /// LevelDB
    Leveldb,
}

/// What to do with several entries for one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DuplicatesName {
    /// Keep the last one
    #[default]
    Last,
    /// Keep the first one
    First,
    /// Fail
    Error,
}

impl From<DuplicatesName> for Duplicates {
    fn from(name: DuplicatesName) -> Self {
        match name {
            DuplicatesName::Last => Self::Last,
            DuplicatesName::First => Self::First,
            DuplicatesName::Error => Self::Error,
        }
    }
}

impl WriteArgs {
    /// The level of the compression, if given.
    pub(crate) fn compression_level(&self) -> Result<Option<i32>> {
        Ok(self.codec()?.and_then(|compression| compression.level))
    }

    /// The number of threads to use.
    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Combines all settings. Fails if they contradict each other.
    pub(crate) fn options(&self) -> Result<TableOptions> {
        ensure!(
            self.level.is_none() || self.profile == Profile::Leveldb || self.differs_by_level(),
            "--level has no effect on {}: only ribbonfilter:BITS:LEVEL depends on it",
            self.filter.clone().unwrap_or_else(default_filter)
        );
        if self.profile == Profile::Leveldb && self.level.is_some() {
            bail!("LevelDB tables do not support --level: omit it, or use --profile rocksdb");
        }
        let options = self.options_like(self.default_options())?;
        let level = self.level.map(Destination::Level);
        Ok(options.set_if_given(level, TableOptions::destination))
    }

    /// What is written if nothing else is given.
    pub(crate) fn default_options(&self) -> TableOptions {
        match self.profile {
            Profile::Rocksdb => TableOptions::rocksdb().filter(default_filter()),
            Profile::Leveldb => {
                TableOptions::leveldb().filter(FilterPolicy::LevelDb { bits_per_key: DEFAULT_BITS })
            }
        }
    }

    /// Options like these, except for what is given. Fails if settings contradict each other.
    pub(crate) fn options_like(&self, base: TableOptions) -> Result<TableOptions> {
        ensure!(self.threads != Some(0), "--threads must be 1 or more");
        let (of_family, of_tables) = base.rocksdb_options();
        let has_prefixes = of_family.iter().any(|(name, _)| *name == "prefix_extractor");
        ensure!(
            !self.no_whole_key_filtering || self.prefix_extractor.is_some() || has_prefixes,
            "--no-whole-key-filtering leaves the filter empty: use --prefix-extractor, or \
             --filter none"
        );
        let is_two_level = of_tables.contains(&("index_type", "kTwoLevelIndexSearch".into()));
        let options = match self.profile {
            Profile::Rocksdb => self.rocksdb(base, is_two_level)?,
            Profile::Leveldb => self.leveldb(base)?,
        };
        let compression = self.codec()?;
        let level = compression.and_then(|compression| compression.level);
        let options = options
            .threads(self.threads())
            .set_if_given(self.block_size.map(to_usize), TableOptions::block_size)
            .set_if_given(self.restart_interval, TableOptions::block_restart_interval)
            .set_if_given(compression.map(|it| it.codec), TableOptions::compression)
            .set_if_given(level, TableOptions::compression_level)
            .set_if_given(self.comparator.clone(), TableOptions::comparator)
            .set_if_given(self.readable_by, TableOptions::readable_by);
        // Creating a writer validates them.
        TableWriter::to_sink(io::sink(), &options)?;
        Ok(options)
    }

    /// Whether the filter policy is given.
    pub(crate) fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether codecs are to be compared.
    pub(crate) fn compares_codecs(&self) -> bool {
        self.compression == Some(CompressionChoice::All)
    }

    /// The codec that is given.
    fn codec(&self) -> Result<Option<Compression>> {
        match self.compression {
            Some(CompressionChoice::One(compression)) => Ok(Some(compression)),
            Some(CompressionChoice::All) => {
                bail!("--compression all compares codecs: use it with sst compact, without -o")
            }
            None => Ok(None),
        }
    }

    /// Options like these with a dictionary, if one is given.
    fn with_dictionary(&self, options: TableOptions) -> Result<TableOptions> {
        let codec = self.codec()?.map(|it| it.codec);
        ensure!(
            self.max_dict_bytes.is_none() || codec.is_none_or(uses_dictionaries),
            "--max-dict-bytes has no effect: only zlib, lz4, lz4hc and zstd use dictionaries"
        );
        ensure!(
            self.zstd_max_train_bytes.is_none() || codec == Some(Codec::Zstd),
            "--zstd-max-train-bytes has no effect without --compression zstd"
        );
        Ok(options
            .set_if_given(self.max_dict_bytes.map(to_usize), TableOptions::max_dict_bytes)
            .set_if_given(
                self.zstd_max_train_bytes.map(to_usize),
                TableOptions::zstd_max_train_bytes,
            )
            .set_if_given(self.max_dict_buffer_bytes, TableOptions::max_dict_buffer_bytes))
    }

    /// Options with another codec, to compare several. Those that use no dictionary do without.
    pub(crate) fn options_for(&self, compression: Compression) -> Result<TableOptions> {
        let codec = compression.codec;
        let one = Self {
            compression: Some(CompressionChoice::One(compression)),
            max_dict_bytes: self.max_dict_bytes.filter(|_| uses_dictionaries(codec)),
            zstd_max_train_bytes: self.zstd_max_train_bytes.filter(|_| codec == Codec::Zstd),
            ..self.clone()
        };
        one.options()
    }

    /// Whether the codec is given.
    pub(crate) fn has_compression(&self) -> bool {
        self.compression.is_some()
    }

    fn differs_by_level(&self) -> bool {
        match self.filter {
            Some(FilterPolicy::Ribbon { bloom_before_level, .. }) => {
                (0..i32::MAX).contains(&bloom_before_level)
            }
            _ => false,
        }
    }

    fn rocksdb(&self, base: TableOptions, is_two_level: bool) -> Result<TableOptions> {
        let index = match (self.index, self.partition_filters) {
            (None, true) => Some(IndexKind::TwoLevel),
            (index, _) => index,
        };
        let is_two_level = index.map_or(is_two_level, |index| index == IndexKind::TwoLevel);
        ensure!(
            self.metadata_block_size.is_none() || is_two_level,
            "--metadata-block-size has no effect without partitions: use --index two-level or \
             --partition-filters"
        );
        let partition_filters = match (self.partition_filters, is_two_level) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        };
        let whole_keys = self.no_whole_key_filtering.then_some(false);
        let hash_index = self.data_block_hash_index.then_some(true);
        let base = self.with_dictionary(base)?;
        let sizes = self.optimize_filters_for_memory.then_some(UsableSize::Jemalloc);
        Ok(base
            .set_if_given(self.filter.clone(), TableOptions::filter)
            .set_if_given(partition_filters, TableOptions::partition_filters)
            .set_if_given(whole_keys, TableOptions::whole_key_filtering)
            .set_if_given(index, TableOptions::index_kind)
            .set_if_given(hash_index, TableOptions::data_block_hash_index)
            .set_if_given(self.metadata_block_size.map(to_usize), TableOptions::metadata_block_size)
            .set_if_given(self.format_version, TableOptions::format_version)
            .set_if_given(self.checksum, TableOptions::checksum)
            .set_if_given(self.prefix_extractor.clone(), TableOptions::prefix_extractor)
            .set_if_given(sizes, TableOptions::optimize_filters_for_memory))
    }

    /// LevelDB has one format, one checksum, one index and one filter.
    fn leveldb(&self, base: TableOptions) -> Result<TableOptions> {
        for (option, given) in [
            ("--format-version", self.format_version.is_some()),
            ("--partition-filters", self.partition_filters),
            ("--prefix-extractor", self.prefix_extractor.is_some()),
            ("--no-whole-key-filtering", self.no_whole_key_filtering),
            ("--optimize-filters-for-memory", self.optimize_filters_for_memory),
            ("--checksum", self.checksum.is_some_and(|it| it != ChecksumType::Crc32c)),
            ("--index", self.index.is_some_and(|it| it != IndexKind::BinarySearch)),
            ("--data-block-hash-index", self.data_block_hash_index),
            ("--metadata-block-size", self.metadata_block_size.is_some()),
            ("--max-dict-bytes", self.max_dict_bytes.is_some()),
        ] {
            if given {
                bail!("LevelDB tables do not support {option}: omit it, or use --profile rocksdb");
            }
        }
        if let Some(Compression { codec, .. }) = self.codec()?
            && !matches!(codec, Codec::None | Codec::Snappy | Codec::Zstd)
        {
            bail!("LevelDB does not support {codec}: use --compression none, snappy or zstd");
        }
        let filter = self.filter.as_ref().map(leveldb_filter).transpose()?;
        Ok(base.set_if_given(filter, TableOptions::filter))
    }
}

fn uses_dictionaries(codec: Codec) -> bool {
    !matches!(codec, Codec::None | Codec::Snappy | Codec::Bzip2)
}

/// Bits per key of the default filter.
const DEFAULT_BITS: u16 = 10;

fn default_filter() -> FilterPolicy {
    FilterPolicy::Bloom(BitsPerKey::new(f64::from(DEFAULT_BITS)))
}

/// With LevelDB, `bloomfilter:10` means LevelDB's own Bloom filter.
pub(crate) fn leveldb_filter(policy: &FilterPolicy) -> Result<FilterPolicy> {
    names::leveldb_filter(policy).with_context(|| {
        format!("LevelDB tables do not support {policy}: use --filter bloomfilter:BITS or none")
    })
}

/// Saturates: the writer rejects block sizes that no machine can hold.
fn to_usize(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
