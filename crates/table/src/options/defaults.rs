//! The defaults, each with its name: those of RocksDB 11.9 and of LevelDB, unless the comment
//! says otherwise.

use sstkit_coding::checksum::ChecksumType;

use crate::raw::{Codec, FormatVersion};

/// `format_version` of RocksDB.
pub const DEFAULT_FORMAT_VERSION: FormatVersion = FormatVersion::V7;
/// `checksum` of RocksDB. LevelDB knows CRC-32C only.
pub const DEFAULT_CHECKSUM: ChecksumType = ChecksumType::Xxh3;
/// `block_size` of both engines, in bytes before compression.
pub const DEFAULT_BLOCK_SIZE: usize = 4096;
/// `block_size_deviation` of RocksDB, in percent.
pub const DEFAULT_BLOCK_SIZE_DEVIATION: u32 = 10;
/// `block_restart_interval` of both engines.
pub const DEFAULT_BLOCK_RESTART_INTERVAL: usize = 16;
/// `index_block_restart_interval` of RocksDB; LevelDB's is fixed at the same.
pub const DEFAULT_INDEX_BLOCK_RESTART_INTERVAL: usize = 1;
/// `metadata_block_size` of RocksDB.
pub const DEFAULT_METADATA_BLOCK_SIZE: usize = 4096;
/// `data_block_hash_table_util_ratio` of RocksDB: keys per bucket.
pub const DEFAULT_HASH_TABLE_UTIL_RATIO: f64 = 0.75;
/// `super_block_alignment_space_overhead_ratio` of RocksDB.
pub const DEFAULT_SUPER_BLOCK_ALIGNMENT_SPACE_OVERHEAD_RATIO: u64 = 128;
/// `compression` of RocksDB since 11.5.
pub const DEFAULT_COMPRESSION: Codec = Codec::Lz4;
/// `compression` of LevelDB.
pub const DEFAULT_LEVELDB_COMPRESSION: Codec = Codec::Snappy;
/// `max_compressed_bytes_per_kb` of RocksDB: compressed blocks save an eighth or more.
pub const DEFAULT_MAX_COMPRESSED_BYTES_PER_KB: u32 = 896;
/// The meaning of `max_dict_buffer_bytes` = 0 (RocksDB: no limit): data buffered while samples for a
/// dictionary are collected, so that memory stays bounded.
pub const DEFAULT_DICT_BUFFER_LIMIT: u64 = 256 << 20;
/// The column family of a table whose column family is unknown.
pub const UNKNOWN_COLUMN_FAMILY_ID: u32 = i32::MAX as u32;
/// The database that RocksDB's `SstFileWriter` records as the creator of its tables.
pub const DEFAULT_DB_ID: &str = "SST Writer";
/// The number of the first file of an `SstFileWriter`.
pub const DEFAULT_FILE_NUMBER: u64 = 1;
/// Threads that compress: one, the caller's own.
pub const DEFAULT_THREADS: usize = 1;
