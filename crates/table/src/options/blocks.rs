//! Settings of the file as a whole and of its data blocks.

use sstkit_coding::checksum::ChecksumType;

use super::TableOptions;
use crate::raw::FormatVersion;

impl TableOptions {
    /// RocksDB's `format_version`, 2 to 7. Default:
    /// [`DEFAULT_FORMAT_VERSION`](super::defaults::DEFAULT_FORMAT_VERSION). To be lowered for old
    /// readers: 7 needs RocksDB 10.4, 6 needs 8.6, 5 needs 6.6;
    /// [`readable_by`](Self::readable_by) picks one.
    #[must_use]
    pub fn format_version(mut self, version: FormatVersion) -> Self {
        self.format_version = version;
        self.format_version_is_given = true;
        self
    }

    /// How blocks are protected. Default: [`DEFAULT_CHECKSUM`](super::defaults::DEFAULT_CHECKSUM).
    #[must_use]
    pub fn checksum(mut self, checksum: ChecksumType) -> Self {
        self.checksum = checksum;
        self.checksum_is_given = true;
        self
    }

    /// About how many bytes a data block holds before compression. Default:
    /// [`DEFAULT_BLOCK_SIZE`](super::defaults::DEFAULT_BLOCK_SIZE). Larger blocks compress better
    /// and make the index smaller; a lookup then reads more than it needs.
    #[must_use]
    pub fn block_size(mut self, bytes: usize) -> Self {
        self.block_size = bytes;
        self
    }

    /// By how many percent a block may stay below its size so that the next entry does not burst
    /// it; 0 for not at all, in which case blocks are larger than the size, not smaller. Default:
    /// [`DEFAULT_BLOCK_SIZE_DEVIATION`](super::defaults::DEFAULT_BLOCK_SIZE_DEVIATION).
    #[must_use]
    pub fn block_size_deviation(mut self, percent: u32) -> Self {
        self.block_size_deviation = percent;
        self
    }

    /// Entries from one restart point of a data block to the next. Default:
    /// [`DEFAULT_BLOCK_RESTART_INTERVAL`](super::defaults::DEFAULT_BLOCK_RESTART_INTERVAL). A
    /// lookup reads half as many on average; larger ones save space.
    #[must_use]
    pub fn block_restart_interval(mut self, entries: usize) -> Self {
        self.block_restart_interval = entries;
        self
    }

    /// Whether keys leave out what they share with the key before. Default: yes.
    #[must_use]
    pub fn use_delta_encoding(mut self, share: bool) -> Self {
        self.use_delta_encoding = share;
        self
    }

    /// RocksDB's `data_block_index_type` = `kDataBlockBinaryAndHash`: a hash table in each data
    /// block, which finds a key's restart interval in one step. Default: no. For point lookups. Not
    /// with a comparator that finds keys of different bytes equal.
    #[must_use]
    pub fn data_block_hash_index(mut self, on: bool) -> Self {
        self.data_block_hash_index = on;
        self
    }

    /// Keys per bucket of that hash table. Default:
    /// [`DEFAULT_HASH_TABLE_UTIL_RATIO`](super::defaults::DEFAULT_HASH_TABLE_UTIL_RATIO).
    #[must_use]
    pub fn data_block_hash_table_util_ratio(mut self, ratio: f64) -> Self {
        self.data_block_hash_table_util_ratio = ratio;
        self
    }

    /// Whether values lie behind all keys of their block. Default: no. Needs RocksDB 11.0.
    #[must_use]
    pub fn separate_key_value_in_data_block(mut self, separate: bool) -> Self {
        self.separate_key_value_in_data_block = separate;
        self
    }

    /// Whether data blocks start at multiples of the page size (or of the block size, if that is
    /// smaller), with zeros between them. Default: no. Not with compression; the block size must
    /// be a power of two.
    #[must_use]
    pub fn block_align(mut self, align: bool) -> Self {
        self.block_align = align;
        self
    }

    /// The size of units, a power of two, that data blocks should not straddle if a little padding
    /// avoids it; 0, the default, for none. For file systems with large stripes.
    #[must_use]
    pub fn super_block_alignment_size(mut self, bytes: u64) -> Self {
        self.super_block_alignment_size = bytes;
        self
    }

    /// What part of such a unit, at most, is spent on padding: one in so many bytes. Default:
    /// `DEFAULT_SUPER_BLOCK_ALIGNMENT_SPACE_OVERHEAD_RATIO` of [`defaults`](super::defaults).
    #[must_use]
    pub fn super_block_alignment_space_overhead_ratio(mut self, ratio: u64) -> Self {
        self.super_block_alignment_space_overhead_ratio = ratio;
        self
    }

    /// Keeps values of `min_size` bytes and more between the data blocks, with a reference in
    /// their place: RocksDB's `OpenWithEmbeddedBlobs`. Default: none. Needs format version 7.
    #[must_use]
    pub fn embedded_blobs(mut self, min_size: usize) -> Self {
        self.embedded_blobs = Some(min_size);
        self
    }

    /// LevelDB only: whether keys are stored bare, without sequence number and kind, as by a
    /// program that uses LevelDB's `TableBuilder` itself. Default: no, as in a database.
    #[must_use]
    pub fn bare_keys(mut self, bare: bool) -> Self {
        self.bare_keys = bare;
        self
    }
}
