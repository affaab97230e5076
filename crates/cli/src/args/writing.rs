//! How tables are written: the settings of `build`, `compact` and `bench table`.

use std::io;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::{Destination, FilterPolicy, PrefixExtractor, UsableSize};
use sstkit_table::raw::{Codec, FormatVersion, IndexKind};
use sstkit_table::{Comparator, RocksDbVersion, TableOptions, TableWriter};

use super::names::{self, Compression};
use crate::output::units;

/// How tables are written.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "How tables are written")]
pub(crate) struct WriteArgs {
    /// Whose tables
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub(crate) profile: Profile,

    /// The oldest RocksDB that is to read the tables, such as rocksdb-9.8: picks the newest format
    /// version and checksum it reads, and refuses options it does not [default: rocksdb-10.4]
    #[arg(long = "for", value_name = "VERSION")]
    readable_by: Option<RocksDbVersion>,

    /// RocksDB's format version, 2 to 7 [default: 7, or the newest that --for reads]
    #[arg(long, value_name = "N", value_parser = names::format_version)]
    format_version: Option<FormatVersion>,

    // Not a comment for rustdoc, which would take the brackets for a link.
    #[arg(
        long,
        value_name = "POLICY",
        default_value = "bloomfilter:10",
        value_parser = names::filter,
        help = "The filter: none, bloomfilter:BITS or ribbonfilter:BITS[:LEVEL]"
    )]
    filter: FilterPolicy,

    /// Cuts the filter into partitions; needs, and without --index means, a two-level index
    #[arg(long)]
    partition_filters: bool,

    /// What part of a key is its prefix, which then is in the filter, too: fixed:N or capped:N
    #[arg(long, value_name = "EXTRACTOR", value_parser = names::prefix_extractor)]
    prefix_extractor: Option<PrefixExtractor>,

    /// Leaves whole keys out of the filter; prefixes only
    #[arg(long)]
    no_whole_key_filtering: bool,

    /// Sizes filters so that no memory is wasted in an allocation of jemalloc, RocksDB's usual one
    #[arg(long)]
    optimize_filters_for_memory: bool,

    /// The codec: none, snappy, zlib, bzip2, lz4, lz4hc or zstd, perhaps with a level as in zstd:9
    /// [default: lz4; for leveldb: snappy]
    #[arg(long, value_name = "CODEC[:LEVEL]")]
    compression: Option<Compression>,

    /// The checksum of blocks: none, crc32c, xxhash, xxhash64 or xxh3 [default: xxh3]
    #[arg(long, value_name = "NAME", value_parser = names::checksum)]
    checksum: Option<ChecksumType>,

    /// Bytes of a data block before compression
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = units::parse_size)]
    block_size: u64,

    /// Entries from one restart point to the next
    #[arg(long, value_name = "N", default_value_t = 16)]
    restart_interval: usize,

    /// The kind of index: binary, hash, two-level or first-key [default: binary]
    #[arg(long, value_name = "KIND", value_parser = names::index)]
    index: Option<IndexKind>,

    /// Bytes of a partition of index or filter [default: 4KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    metadata_block_size: Option<u64>,

    /// Puts a hash index into each data block
    #[arg(long)]
    data_block_hash_index: bool,

    /// The order of the keys, by the engine's name [default: leveldb.BytewiseComparator]
    #[arg(long, value_name = "NAME", value_parser = names::comparator)]
    pub(crate) comparator: Option<Comparator>,

    /// The level the tables go to, for filters that differ by level (ribbonfilter:BITS:LEVEL)
    #[arg(long, value_name = "N")]
    level: Option<u32>,

    /// Threads that compress and write [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Whose tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// RocksDB's, with the defaults of 11.9
    #[default]
    Rocksdb,
    /// LevelDB's
    Leveldb,
}

/// Which of several entries of one key stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DuplicatesName {
    /// The last one
    #[default]
    Last,
    /// The first one
    First,
    /// They are an error
    Error,
}

impl WriteArgs {
    /// Threads to be used.
    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// All settings together; an error if they contradict each other.
    pub(crate) fn options(&self) -> Result<TableOptions> {
        ensure!(self.threads != Some(0), "--threads must be 1 or more");
        ensure!(
            !self.no_whole_key_filtering || self.prefix_extractor.is_some(),
            "--no-whole-key-filtering leaves nothing in the filter: use --prefix-extractor, or \
             --filter none"
        );
        let options = match self.profile {
            Profile::Rocksdb => self.rocksdb()?,
            Profile::Leveldb => self.leveldb()?,
        };
        let mut options = options
            .block_size(to_usize(self.block_size))
            .block_restart_interval(self.restart_interval)
            .threads(self.threads());
        if let Some(Compression { codec, level }) = self.compression {
            options = options.compression(codec);
            if let Some(level) = level {
                options = options.compression_level(level);
            }
        }
        if let Some(comparator) = &self.comparator {
            options = options.comparator(comparator.clone());
        }
        if let Some(version) = self.readable_by {
            options = options.readable_by(version);
        }
        // Making a writer checks them.
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
            "--level has no effect on {}: only ribbonfilter:BITS:LEVEL differs by level",
            self.filter
        );
        let mut options = TableOptions::rocksdb()
            .filter(self.filter.clone())
            .partition_filters(self.partition_filters)
            .whole_key_filtering(!self.no_whole_key_filtering)
            .index_kind(index)
            .data_block_hash_index(self.data_block_hash_index);
        if let Some(size) = self.metadata_block_size {
            options = options.metadata_block_size(to_usize(size));
        }
        if let Some(version) = self.format_version {
            options = options.format_version(version);
        }
        if let Some(checksum) = self.checksum {
            options = options.checksum(checksum);
        }
        if let Some(extractor) = &self.prefix_extractor {
            options = options.prefix_extractor(extractor.clone());
        }
        if let Some(level) = self.level {
            options = options.destination(Destination::Level(level));
        }
        if self.optimize_filters_for_memory {
            options = options.optimize_filters_for_memory(UsableSize::Jemalloc);
        }
        Ok(options)
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
                bail!("LevelDB's tables know no {option}: leave it out, or use --profile rocksdb");
            }
        }
        if let Some(Compression { codec, .. }) = self.compression
            && !matches!(codec, Codec::None | Codec::Snappy | Codec::Zstd)
        {
            bail!("LevelDB knows no {codec}: use --compression none, snappy or zstd");
        }
        Ok(TableOptions::leveldb().filter(leveldb_filter(&self.filter)?))
    }
}

/// Whether it builds other filters for some levels than for others.
fn differs_by_level(policy: &FilterPolicy) -> bool {
    match *policy {
        FilterPolicy::Ribbon { bloom_before_level, .. } => {
            (0..i32::MAX).contains(&bloom_before_level)
        }
        _ => false,
    }
}

/// `bloomfilter:10` means LevelDB's Bloom filter there.
fn leveldb_filter(policy: &FilterPolicy) -> Result<FilterPolicy> {
    match policy {
        FilterPolicy::None | FilterPolicy::LevelDb { .. } => Ok(policy.clone()),
        FilterPolicy::Bloom(bits) => Ok(FilterPolicy::LevelDb {
            bits_per_key: u16::try_from(bits.whole_bits()).unwrap_or(u16::MAX),
        }),
        _ => bail!("LevelDB's tables have no {policy}: use --filter bloomfilter:BITS or none"),
    }
}

/// Sizes of blocks that no machine could hold are refused by the writer.
fn to_usize(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
