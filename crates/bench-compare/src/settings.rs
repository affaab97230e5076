//! The settings that both sides share, in the types of each.

use std::fmt;

use sstkit::TableOptions;
use sstkit::coding::checksum::ChecksumType;
use sstkit::table::raw::{Codec as TableCodec, FormatVersion};

/// Bytes of a block before compression: the default of both.
pub(crate) const BLOCK_SIZE: usize = 4096;
/// The default of both.
pub(crate) const FORMAT_VERSION: u32 = 7;
/// Bytes of the prefixes in the filters of a database of several files.
pub(crate) const PREFIX: usize = 14;
/// The filter of all tables.
pub(crate) const FILTER: &str = "bloomfilter:10";

/// How data blocks are compressed, each at its default level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    None,
    Lz4,
    Zstd,
}

impl Codec {
    pub(crate) const ALL: [Self; 3] = [Self::None, Self::Lz4, Self::Zstd];
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        })
    }
}

/// What guards blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// RocksDB's default.
    Xxh3,
    Crc32c,
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Xxh3 => "xxh3",
            Self::Crc32c => "crc32c",
        })
    }
}

/// How a table is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) codec: Codec,
    pub(crate) checksum: Checksum,
    /// Threads that compress.
    pub(crate) threads: usize,
}

impl Settings {
    pub(crate) fn new(codec: Codec) -> Self {
        Self { codec, checksum: Checksum::Xxh3, threads: 1 }
    }

    /// For sstkit.
    pub(crate) fn table_options(self) -> TableOptions {
        TableOptions::rocksdb()
            .block_size(BLOCK_SIZE)
            .format_version(FormatVersion::V7)
            .filter(FILTER.parse().expect("a name of RocksDB's"))
            .checksum(match self.checksum {
                Checksum::Xxh3 => ChecksumType::Xxh3,
                Checksum::Crc32c => ChecksumType::Crc32c,
            })
            .compression(match self.codec {
                Codec::None => TableCodec::None,
                Codec::Lz4 => TableCodec::Lz4,
                Codec::Zstd => TableCodec::Zstd,
            })
            .threads(self.threads)
    }
}

/// What a reader may keep in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheSize {
    /// Everything, twice over.
    All,
    /// A tenth of keys and values.
    Tenth,
}

impl CacheSize {
    pub(crate) const BOTH: [Self; 2] = [Self::All, Self::Tenth];

    pub(crate) fn bytes(self, raw: u64) -> u64 {
        match self {
            Self::All => 2 * raw + (64 << 20),
            Self::Tenth => raw / 10,
        }
    }
}

impl fmt::Display for CacheSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "in cache",
            Self::Tenth => "cache of a tenth",
        })
    }
}
