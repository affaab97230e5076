//! Partitioned filters and indexes, where one block is a large part of the block cache: it is read as a
//! whole, and evicts much else.

use super::{ChangedNumber, Suggestion};
use crate::advice::situation::{FamilyLevels, Situation};
use crate::error::Result;

/// RocksDB's cache has 64 shards by default; a block that is larger than a shard evicts all of it.
const SHARDS: u64 = 64;

/// `metadata_block_size`.
const PARTITION_SIZE: u64 = 4096;
/// A key and a handle in the index of partitions.
const ENTRY_SIZE: u64 = 32;

pub(super) fn suggest(
    situation: &Situation<'_>,
    family: &FamilyLevels,
) -> Result<Option<Suggestion>> {
    let largest = |of_file: fn(&crate::TableMemory) -> u64| {
        situation.files(&family.numbers).map(|file| of_file(&file.memory)).max().unwrap_or(0)
    };
    let filter = largest(|memory| memory.largest_filter_block);
    let index = largest(|memory| memory.largest_index_block);
    let shard = situation.options.cache_size / SHARDS;
    if !situation.is_rocksdb() || filter.max(index) <= shard.max(PARTITION_SIZE) {
        return Ok(None);
    }
    // The top level, and a partition of the filter or of the index.
    let after = |block: u64| match block > PARTITION_SIZE {
        true => PARTITION_SIZE + block.div_ceil(PARTITION_SIZE) * ENTRY_SIZE,
        false => block,
    };
    let is_cached = situation.is_on(&family.name, "cache_index_and_filter_blocks");
    let how = match is_cached {
        true => "they are in the block cache",
        false => {
            "set cache_index_and_filter_blocks, too: without it all filters stay in memory while \
                  their files are open, partitioned or not"
        }
    };
    Ok(Some(Suggestion {
        rule: "partitions",
        column_family: None,
        advised: true,
        text: format!(
            "Partition filters and indexes: the largest block is more than 1/{SHARDS} of the block cache, \
             a shard of it, and is read as a whole ({how})."
        ),
        numbers: vec![
            ChangedNumber::bytes(
                "read of a filter that is not cached, at most",
                filter,
                after(filter),
            ),
            ChangedNumber::bytes(
                "read of an index that is not cached, at most",
                index,
                after(index),
            ),
        ],
        options: format!(
            "block_based_table_factory={{partition_filters=true;index_type=kTwoLevelIndexSearch;\
             metadata_block_size={PARTITION_SIZE};cache_index_and_filter_blocks=true;\
             pin_top_level_index_and_filter=true;}};"
        ),
    }))
}
