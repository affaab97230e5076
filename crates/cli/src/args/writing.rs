//! Options for writing tables, shared by `build`, `compact` and `bench table`.

use std::io;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::{Destination, FilterPolicy, PrefixExtractor, UsableSize};
use sstkit_table::raw::{Codec, FormatVersion, IndexKind};
use sstkit_table::{Comparator, RocksDbVersion, TableOptions, TableWriter};

use super::SetIfGiven as _;
use super::names::{self, Compression};
use crate::output::units;

/// Options for writing tables.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Table options")]
pub(crate) struct WriteArgs {
    /// Engine to write tables for
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub(crate) profile: Profile,

    /// Oldest RocksDB version that must read the tables, such as rocksdb-9.8: selects the newest
    /// format version and checksum it supports, and rejects options it does not [default:
    /// rocksdb-10.4]
    #[arg(long = "for", value_name = "VERSION")]
    readable_by: Option<RocksDbVersion>,

    /// RocksDB format version, 2 to 7 [default: 7, or the newest that --for supports]
    #[arg(long, value_name = "N", value_parser = names::format_version)]
    format_version: Option<FormatVersion>,

    // Not a doc comment: rustdoc would take the brackets for a link.
    #[arg(
        long,
        value_name = "POLICY",
        default_value = "bloomfilter:10",
        value_parser = names::filter,
        help = "Filter policy: none, bloomfilter:BITS or ribbonfilter:BITS[:LEVEL]"
    )]
    filter: FilterPolicy,

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
    /// zstd:9 [default: lz4, or snappy for leveldb]
    #[arg(long, value_name = "CODEC[:LEVEL]")]
    compression: Option<Compression>,

    /// Block checksum: none, crc32c, xxhash, xxhash64 or xxh3 [default: xxh3]
    #[arg(long, value_name = "NAME", value_parser = names::checksum)]
    checksum: Option<ChecksumType>,

    /// Size of a data block before compression
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = units::parse_size)]
    block_size: u64,

    /// Number of entries between restart points
    #[arg(long, value_name = "N", default_value_t = 16)]
    restart_interval: usize,

    /// Index type: binary, hash, two-level or first-key [default: binary]
    #[arg(long, value_name = "KIND", value_parser = names::index)]
    index: Option<IndexKind>,

    /// Size of an index or filter partition [default: 4KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    metadata_block_size: Option<u64>,

    /// Add a hash index to each data block
    #[arg(long)]
    data_block_hash_index: bool,

    /// Key order, by the engine's name [default: leveldb.BytewiseComparator]
    #[arg(long, value_name = "NAME", value_parser = names::comparator)]
    pub(crate) comparator: Option<Comparator>,

    /// Level the tables are for, where the filter depends on it (ribbonfilter:BITS:LEVEL)
    #[arg(long, value_name = "N")]
    level: Option<u32>,

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

impl WriteArgs {
    /// The number of threads to use.
    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Combines all settings. Fails if they contradict each other.
    pub(crate) fn options(&self) -> Result<TableOptions> {
        ensure!(self.threads != Some(0), "--threads must be 1 or more");
        ensure!(
            !self.no_whole_key_filtering || self.prefix_extractor.is_some(),
            "--no-whole-key-filtering leaves the filter empty: use --prefix-extractor, or \
             --filter none"
        );
        let options = match self.profile {
            Profile::Rocksdb => self.rocksdb()?,
            Profile::Leveldb => self.leveldb()?,
        };
        let level = self.compression.and_then(|compression| compression.level);
        let options = options
            .block_size(to_usize(self.block_size))
            .block_restart_interval(self.restart_interval)
            .threads(self.threads())
            .set_if_given(self.compression.map(|it| it.codec), TableOptions::compression)
            .set_if_given(level, TableOptions::compression_level)
            .set_if_given(self.comparator.clone(), TableOptions::comparator)
            .set_if_given(self.readable_by, TableOptions::readable_by);
        // Creating a writer validates them.
        TableWriter::to_sink(io::sink(), &options)?;
        Ok(options)
    }

    fn rocksdb(&self) -> Result<TableOptions> {
        let index = match (self.index, self.partition_filters) {
            (None, true) => IndexKind::TwoLevel,
            (index, _) => index.unwrap_or(IndexKind::BinarySearch),
        };
        ensure!(
            self.metadata_block_size.is_none() || index == IndexKind::TwoLevel,
            "--metadata-block-size has no effect without partitions: use --index two-level or \
             --partition-filters"
        );
        ensure!(
            self.level.is_none() || differs_by_level(&self.filter),
            "--level has no effect on {}: only ribbonfilter:BITS:LEVEL depends on it",
            self.filter
        );
        let sizes = self.optimize_filters_for_memory.then_some(UsableSize::Jemalloc);
        Ok(TableOptions::rocksdb()
            .filter(self.filter.clone())
            .partition_filters(self.partition_filters)
            .whole_key_filtering(!self.no_whole_key_filtering)
            .index_kind(index)
            .data_block_hash_index(self.data_block_hash_index)
            .set_if_given(self.metadata_block_size.map(to_usize), TableOptions::metadata_block_size)
            .set_if_given(self.format_version, TableOptions::format_version)
            .set_if_given(self.checksum, TableOptions::checksum)
            .set_if_given(self.prefix_extractor.clone(), TableOptions::prefix_extractor)
            .set_if_given(self.level.map(Destination::Level), TableOptions::destination)
            .set_if_given(sizes, TableOptions::optimize_filters_for_memory))
    }

    /// LevelDB has one format, one checksum, one index and one filter.
    fn leveldb(&self) -> Result<TableOptions> {
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
            ("--level", self.level.is_some()),
        ] {
            if given {
                bail!("LevelDB tables do not support {option}: omit it, or use --profile rocksdb");
            }
        }
        if let Some(Compression { codec, .. }) = self.compression
            && !matches!(codec, Codec::None | Codec::Snappy | Codec::Zstd)
        {
            bail!("LevelDB does not support {codec}: use --compression none, snappy or zstd");
        }
        Ok(TableOptions::leveldb().filter(leveldb_filter(&self.filter)?))
    }
}

fn differs_by_level(policy: &FilterPolicy) -> bool {
    match *policy {
        FilterPolicy::Ribbon { bloom_before_level, .. } => {
            (0..i32::MAX).contains(&bloom_before_level)
        }
        _ => false,
    }
}

/// With LevelDB, `bloomfilter:10` means LevelDB's own Bloom filter.
fn leveldb_filter(policy: &FilterPolicy) -> Result<FilterPolicy> {
    match policy {
        FilterPolicy::None | FilterPolicy::LevelDb { .. } => Ok(policy.clone()),
        FilterPolicy::Bloom(bits) => Ok(FilterPolicy::LevelDb {
            bits_per_key: u16::try_from(bits.whole_bits()).unwrap_or(u16::MAX),
        }),
        _ => bail!("LevelDB tables do not support {policy}: use --filter bloomfilter:BITS or none"),
    }
}

/// Saturates: the writer rejects block sizes that no machine can hold.
fn to_usize(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
