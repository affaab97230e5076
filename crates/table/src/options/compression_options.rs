//! Settings of compression.

use sstkit_coding::{setters, with_defaults};

use super::TableOptions;
use super::check::refuse;
use super::defaults::{
    DEFAULT_COMPRESSION, DEFAULT_DICT_BUFFER_LIMIT, DEFAULT_MAX_COMPRESSED_BYTES_PER_KB,
    DEFAULT_THREADS,
};
use crate::error::Result;
use crate::raw::{Codec, CompressionRecipe};

/// RocksDB's `CompressionOptions::level` if it is not set.
const LEVEL_NOT_SET: i32 = 32_767;

with_defaults! {
    #[derive(Clone, Debug)]
    pub(crate) struct CompressionOptions {
        pub(crate) codec: Codec = DEFAULT_COMPRESSION,
        pub(crate) level: Option<i32>,
        pub(crate) max_compressed_bytes_per_kb: u32 = DEFAULT_MAX_COMPRESSED_BYTES_PER_KB,
        pub(crate) max_dict_bytes: usize,
        pub(crate) zstd_max_train_bytes: usize,
        pub(crate) max_dict_buffer_bytes: u64,
        pub(crate) threads: usize = DEFAULT_THREADS,
        /// The property `rocksdb.compression_options`, where it is taken from another table.
        pub(crate) options_text: Option<String>,
    }
}

impl CompressionOptions {
    pub(super) fn check(&self) -> Result<()> {
        refuse(self.threads == 0, || "threads = 0".into())
    }
}

setters! {
    impl TableOptions:

    /// The codec. Default: [`DEFAULT_COMPRESSION`], or
    /// [`DEFAULT_LEVELDB_COMPRESSION`](super::defaults::DEFAULT_LEVELDB_COMPRESSION). Blocks that
    /// do not become small enough are stored uncompressed.
    ///
    /// **LZ4HC is a label here**: there is one encoder for LZ4, the fast one. With
    /// [`Codec::Lz4hc`] blocks are as large as with [`Codec::Lz4`], only the stored type byte and
    /// the properties differ. For smaller blocks use [`Codec::Zstd`].
    pub fn compression(mut self, codec: Codec) { self.compression.codec = codec; }

    /// The codec's level. Default: its own (zlib 6, zstd 3, in LevelDB 1). snappy and bzip2 have
    /// none.
    ///
    /// **For LZ4 and LZ4HC no level changes how well or how fast blocks are compressed**: the
    /// encoder is always the fast one. A level only decides, as in RocksDB, which of the two is
    /// stored as the codec: LZ4 (0 and below) or LZ4HC (1 and above); and it is noted in the
    /// properties.
    pub fn compression_level(mut self, level: i32) { self.compression.level = Some(level); }

    /// A block is stored compressed if at most this many of each 1024 bytes remain. Default:
    /// `DEFAULT_MAX_COMPRESSED_BYTES_PER_KB` of [`defaults`](super::defaults).
    pub fn max_compressed_bytes_per_kb(mut self, bytes: u32) {
        self.compression.max_compressed_bytes_per_kb = bytes;
    }

    /// Size of a compression dictionary made from samples of the data blocks, in bytes; 0, the
    /// default, for none. Useful for small blocks that resemble each other.
    pub fn max_dict_bytes(mut self, bytes: usize) { self.compression.max_dict_bytes = bytes; }

    /// With zstd: bytes of samples that a dictionary is trained on. Default: 0, the samples
    /// themselves are the dictionary. A hundred times the dictionary's size is usual.
    pub fn zstd_max_train_bytes(mut self, bytes: usize) {
        self.compression.zstd_max_train_bytes = bytes;
    }

    /// Bytes of data that are buffered until the dictionary is made. Default: 0, which means
    /// [`DEFAULT_DICT_BUFFER_LIMIT`] (in RocksDB: no limit).
    pub fn max_dict_buffer_bytes(mut self, bytes: u64) {
        self.compression.max_dict_buffer_bytes = bytes;
    }

    /// Threads that compress, including the caller's, which helps when the others do not keep up.
    /// Default: [`DEFAULT_THREADS`], the caller's alone. The bytes
    /// do not depend on it. Some tables always use one thread: LevelDB's, and those without
    /// compression, with coupled filter partitions or with embedded blobs. Files above a megabyte
    /// are written by one more thread.
    pub fn threads(mut self, threads: usize) { self.compression.threads = threads; }
}

impl TableOptions {
    /// How blocks are compressed without a dictionary.
    pub(crate) fn compression_recipe(&self) -> CompressionRecipe {
        CompressionRecipe {
            engine: self.engine,
            version: self.format.version,
            is_of_rocksdb6: self.is_of_rocksdb6(),
            codec: self.compression.codec,
            level: self.compression.level,
            max_bytes_per_kb: self.compression.max_compressed_bytes_per_kb,
            dictionary: None,
        }
    }

    /// Whether data is buffered for a dictionary.
    pub(crate) fn makes_dictionary(&self) -> bool {
        self.compression.codec != Codec::None && self.compression.max_dict_bytes > 0
    }

    pub(crate) fn dict_buffer_limit(&self) -> u64 {
        match self.compression.max_dict_buffer_bytes {
            0 => DEFAULT_DICT_BUFFER_LIMIT,
            limit => limit,
        }
    }

    /// The property `rocksdb.compression_options`.
    pub(crate) fn compression_options_text(&self) -> String {
        if let Some(text) = &self.compression.options_text {
            return text.clone();
        }
        let mut text = format!(
            "window_bits=-14; level={}; strategy=0; max_dict_bytes={}; zstd_max_train_bytes={}; \
             enabled=0; max_dict_buffer_bytes={}; ",
            self.compression.level.unwrap_or(LEVEL_NOT_SET),
            self.compression.max_dict_bytes,
            self.compression.zstd_max_train_bytes,
            self.compression.max_dict_buffer_bytes,
        );
        if !self.is_of_rocksdb6() {
            text.push_str(&format!(
                "use_zstd_dict_trainer=1; max_compressed_bytes_per_kb={}; checksum=0; _type={}; ",
                self.compression.max_compressed_bytes_per_kb, self.compression.codec as u8,
            ));
        }
        text
    }
}
