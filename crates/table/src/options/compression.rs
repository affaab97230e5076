//! Settings of compression.

use super::TableOptions;
use super::defaults::DEFAULT_DICT_BUFFER_LIMIT;
use crate::raw::{Codec, CompressionRecipe};

/// What RocksDB's `CompressionOptions::level` is when nobody has set it.
const LEVEL_NOT_SET: i32 = 32_767;

impl TableOptions {
    /// The codec. Default: [`DEFAULT_COMPRESSION`](super::defaults::DEFAULT_COMPRESSION), or
    /// [`DEFAULT_LEVELDB_COMPRESSION`](super::defaults::DEFAULT_LEVELDB_COMPRESSION). Blocks that
    /// do not become small enough are stored as they are.
    ///
    /// **LZ4HC is a label here**: there is one encoder for LZ4, the fast one. With
    /// [`Codec::Lz4hc`] blocks are as large as with [`Codec::Lz4`], only the stored type byte and
    /// the properties differ. Whoever wants smaller blocks takes [`Codec::Zstd`].
    #[must_use]
    pub fn compression(mut self, codec: Codec) -> Self {
        self.compression = codec;
        self
    }

    /// The codec's level. Default: its own (zlib 6, zstd 3, in LevelDB 1). snappy and bzip2 have
    /// none.
    ///
    /// **For LZ4 and LZ4HC no level changes how well or how fast blocks are compressed**: the
    /// encoder is always the fast one. A level only decides, as in RocksDB, which of the two is
    /// stored as the codec: LZ4 (0 and below) or LZ4HC (1 and above); and it is noted in the
    /// properties.
    #[must_use]
    pub fn compression_level(mut self, level: i32) -> Self {
        self.compression_level = Some(level);
        self
    }

    /// How many bytes of each 1024 a compressed block may have left to be stored so. Default:
    /// `DEFAULT_MAX_COMPRESSED_BYTES_PER_KB` of [`defaults`](super::defaults).
    #[must_use]
    pub fn max_compressed_bytes_per_kb(mut self, bytes: u32) -> Self {
        self.max_compressed_bytes_per_kb = bytes;
        self
    }

    /// Bytes of a compression dictionary made of samples of the table's data blocks; 0, the
    /// default, for none. Pays for small blocks that resemble each other.
    #[must_use]
    pub fn max_dict_bytes(mut self, bytes: usize) -> Self {
        self.max_dict_bytes = bytes;
        self
    }

    /// With zstd: bytes of samples that a dictionary is trained on. Default: 0, the samples
    /// themselves are the dictionary. A hundred times the dictionary's size is usual.
    #[must_use]
    pub fn zstd_max_train_bytes(mut self, bytes: usize) -> Self {
        self.zstd_max_train_bytes = bytes;
        self
    }

    /// Data that is held back uncompressed until the dictionary is made. Default: 0, which stands
    /// for [`DEFAULT_DICT_BUFFER_LIMIT`] (in RocksDB: for no limit).
    #[must_use]
    pub fn max_dict_buffer_bytes(mut self, bytes: u64) -> Self {
        self.max_dict_buffer_bytes = bytes;
        self
    }

    /// Threads that compress, the caller's included, which does so where the others do not keep up.
    /// Default: [`DEFAULT_THREADS`](super::defaults::DEFAULT_THREADS), the caller's alone. The bytes
    /// do not depend on it. Some tables are written by one thread whatever is asked for: LevelDB's,
    /// those without compression, with coupled filter partitions or with embedded blobs. A file
    /// above a megabyte is handed to the system by one more thread, which does nothing else.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// What compresses blocks without a dictionary.
    pub(crate) fn compression_recipe(&self) -> CompressionRecipe {
        CompressionRecipe {
            engine: self.engine,
            codec: self.compression,
            level: self.compression_level,
            max_bytes_per_kb: self.max_compressed_bytes_per_kb,
            dictionary: None,
        }
    }

    /// Whether data is held back for a dictionary.
    pub(crate) fn makes_dictionary(&self) -> bool {
        self.compression != Codec::None && self.max_dict_bytes > 0
    }

    pub(crate) fn dict_buffer_limit(&self) -> u64 {
        match self.max_dict_buffer_bytes {
            0 => DEFAULT_DICT_BUFFER_LIMIT,
            limit => limit,
        }
    }

    /// The property `rocksdb.compression_options`.
    pub(crate) fn compression_options_text(&self) -> String {
        if let Some(text) = &self.compression_options_text {
            return text.clone();
        }
        format!(
            "window_bits=-14; level={}; strategy=0; max_dict_bytes={}; zstd_max_train_bytes={}; \
             enabled=0; max_dict_buffer_bytes={}; use_zstd_dict_trainer=1; \
             max_compressed_bytes_per_kb={}; checksum=0; _type={}; ",
            self.compression_level.unwrap_or(LEVEL_NOT_SET),
            self.max_dict_bytes,
            self.zstd_max_train_bytes,
            self.max_dict_buffer_bytes,
            self.max_compressed_bytes_per_kb,
            self.compression as u8,
        )
    }
}
