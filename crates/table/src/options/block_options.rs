//! Settings of the data blocks.

use sstkit_coding::{setters, with_defaults};

use super::TableOptions;
use super::check::refuse;
use super::defaults::*;
use crate::error::Result;

/// RocksDB counts offsets in blocks with 32 bits.
const MAX_BLOCK_SIZE: usize = u32::MAX as usize;
/// RocksDB refuses more padding than a quarter.
const MIN_OVERHEAD_RATIO: u64 = 4;

with_defaults! {
    #[derive(Clone, Debug)]
    pub(crate) struct BlockOptions {
        pub(crate) size: usize = DEFAULT_BLOCK_SIZE,
        pub(crate) size_deviation: u32 = DEFAULT_BLOCK_SIZE_DEVIATION,
        pub(crate) restart_interval: usize = DEFAULT_BLOCK_RESTART_INTERVAL,
        pub(crate) use_delta_encoding: bool = true,
        pub(crate) hash_index: bool,
        pub(crate) hash_table_util_ratio: f64 = DEFAULT_HASH_TABLE_UTIL_RATIO,
        pub(crate) separate_key_value: bool,
        pub(crate) align: bool,
        pub(crate) super_block_alignment_size: u64,
        pub(crate) super_block_alignment_space_overhead_ratio: u64 =
            DEFAULT_SUPER_BLOCK_ALIGNMENT_SPACE_OVERHEAD_RATIO,
        pub(crate) embedded_blobs: Option<usize>,
        pub(crate) bare_keys: bool,
    }
}

impl BlockOptions {
    pub(super) fn check(&self) -> Result<()> {
        refuse(self.size == 0 || self.size > MAX_BLOCK_SIZE, || {
            format!("block_size = {} is not between 1 and 4 GiB", self.size)
        })?;
        refuse(self.size_deviation > 100, || {
            format!("block_size_deviation = {} is more than 100 percent", self.size_deviation)
        })?;
        refuse(self.restart_interval == 0, || "block_restart_interval = 0".into())?;
        let ratio = self.hash_table_util_ratio;
        refuse(!(ratio > 0.0 && ratio.is_finite()), || {
            format!("data_block_hash_table_util_ratio = {ratio} is not above 0")
        })?;
        let size = self.super_block_alignment_size;
        refuse(size != 0 && (!size.is_power_of_two() || size > MAX_BLOCK_SIZE as u64), || {
            format!("super_block_alignment_size = {size} is not a power of two below 4 GiB")
        })?;
        let ratio = self.super_block_alignment_space_overhead_ratio;
        refuse(ratio != 0 && ratio < MIN_OVERHEAD_RATIO, || {
            format!("super_block_alignment_space_overhead_ratio = {ratio} must be 0, or 4 or more")
        })
    }
}

setters! {
    impl TableOptions:

    /// Approximate size of a data block before compression, in bytes. Default:
    /// [`DEFAULT_BLOCK_SIZE`]. Larger blocks compress better
    /// and make the index smaller, but a lookup reads more than it needs.
    pub fn block_size(mut self, bytes: usize) { self.blocks.size = bytes; }

    /// A block is finished early if it is less than this many percent below its size and the next
    /// entry would exceed it. With 0, blocks become larger than the size instead. Default:
    /// [`DEFAULT_BLOCK_SIZE_DEVIATION`].
    pub fn block_size_deviation(mut self, percent: u32) { self.blocks.size_deviation = percent; }

    /// Entries between two restart points of a data block. Default:
    /// [`DEFAULT_BLOCK_RESTART_INTERVAL`]. A
    /// lookup decodes half as many on average; larger intervals save space.
    pub fn block_restart_interval(mut self, entries: usize) {
        self.blocks.restart_interval = entries;
    }

    /// Whether keys omit the prefix that they share with the previous key. Default: yes.
    pub fn use_delta_encoding(mut self, share: bool) { self.blocks.use_delta_encoding = share; }

    /// RocksDB's `data_block_index_type` = `kDataBlockBinaryAndHash`: a hash table in each data
    /// block, which finds a key's restart interval in one step. Default: no. For point lookups. Not
    /// with a comparator for which different bytes can be equal.
    pub fn data_block_hash_index(mut self, on: bool) { self.blocks.hash_index = on; }

    /// Keys per bucket of that hash table. Default:
    /// [`DEFAULT_HASH_TABLE_UTIL_RATIO`].
    pub fn data_block_hash_table_util_ratio(mut self, ratio: f64) {
        self.blocks.hash_table_util_ratio = ratio;
    }

    /// Whether values are stored after all keys of their block. Default: no. Needs RocksDB 11.0.
    pub fn separate_key_value_in_data_block(mut self, separate: bool) {
        self.blocks.separate_key_value = separate;
    }

    /// Whether data blocks start at multiples of the page size (or of the block size, if that is
    /// smaller), padded with zeros. Default: no. Not with compression; the block size must be a
    /// power of two.
    pub fn block_align(mut self, align: bool) { self.blocks.align = align; }

    /// Unit, a power of two, whose boundaries data blocks should not cross if a little padding avoids
    /// it; 0, the default, for none. For file systems with large stripes.
    pub fn super_block_alignment_size(mut self, bytes: u64) {
        self.blocks.super_block_alignment_size = bytes;
    }

    /// At most one byte in this many of such a unit is padding. Default:
    /// `DEFAULT_SUPER_BLOCK_ALIGNMENT_SPACE_OVERHEAD_RATIO` of [`defaults`](super::defaults).
    pub fn super_block_alignment_space_overhead_ratio(mut self, ratio: u64) {
        self.blocks.super_block_alignment_space_overhead_ratio = ratio;
    }

    /// Stores values of `min_size` bytes and more between the data blocks, with a blob index in
    /// their place: RocksDB's `OpenWithEmbeddedBlobs`. Default: none. Needs format version 7.
    pub fn embedded_blobs(mut self, min_size: usize) {
        self.blocks.embedded_blobs = Some(min_size);
    }

    /// LevelDB only: whether keys are stored without sequence number and kind, as by a program that
    /// uses LevelDB's `TableBuilder` itself. Default: no, as in a database.
    pub fn bare_keys(mut self, bare: bool) { self.blocks.bare_keys = bare; }
}
