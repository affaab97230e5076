//! What a table takes in memory: its filter and its index, block by block.

use sstkit_filter::{FilterLayout, UsableSize};
use sstkit_table::raw::{Engine, property_names as names};

use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// The sizes of filter and index of a table, and of what they lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TableMemory {
    /// The largest block of the filter: the whole filter, unless it is partitioned.
    pub largest_filter_block: u64,
    /// The memory of all blocks of the filter with jemalloc, which rounds sizes up.
    pub allocated_filter_bytes: u64,
    /// The index, with all partitions.
    pub index_bytes: u64,
    /// The largest block of the index, if it is not partitioned the whole index.
    pub largest_index_block: u64,
    /// Entries.
    pub entries: u64,
    /// Data blocks.
    pub data_blocks: u64,
    /// Their size in the file.
    pub data_bytes: u64,
    /// Keys and values without compression; as in the file, if it is not known.
    pub raw_bytes: u64,
}

impl TableMemory {
    /// `keys` is the number of entries of a table without properties.
    pub(super) fn of(table: &InspectedTable, keys: u64) -> Result<Self> {
        let mut memory = match table.table().view().engine() {
            Engine::RocksDb => Self::of_rocksdb(table),
            Engine::LevelDb => Self::of_leveldb(table, keys)?,
        };
        for size in filter_blocks(table)? {
            let allocated = UsableSize::Jemalloc.of(usize::try_from(size).unwrap_or(usize::MAX));
            memory.allocated_filter_bytes += allocated as u64;
            memory.largest_filter_block = memory.largest_filter_block.max(size);
        }
        Ok(memory)
    }

    fn of_rocksdb(table: &InspectedTable) -> Self {
        let number = |name: &str| table.table().properties().number(name).unwrap_or(0);
        let index_bytes = number(names::INDEX_SIZE);
        let partitions = number(names::INDEX_PARTITIONS).max(1);
        let top_level = number(names::TOP_LEVEL_INDEX_SIZE);
        let partition = index_bytes.saturating_sub(top_level).div_ceil(partitions);
        let data_bytes = number(names::DATA_SIZE);
        let raw_bytes = number(names::RAW_KEY_SIZE).saturating_add(number(names::RAW_VALUE_SIZE));
        Self {
            index_bytes,
            largest_index_block: partition.max(top_level),
            entries: number(names::NUM_ENTRIES),
            data_blocks: number(names::NUM_DATA_BLOCKS),
            data_bytes,
            raw_bytes: if raw_bytes == 0 { data_bytes } else { raw_bytes },
            ..Self::default()
        }
    }

    /// Without properties, the index tells.
    fn of_leveldb(table: &InspectedTable, keys: u64) -> Result<Self> {
        let mut memory = Self { entries: keys, ..Self::default() };
        let mut index = table.index()?;
        while index.advance()? {
            memory.data_blocks += 1;
            memory.data_bytes += index.handle().size;
        }
        memory.index_bytes = table.index_handle().size;
        memory.largest_index_block = memory.index_bytes;
        memory.raw_bytes = memory.data_bytes;
        Ok(memory)
    }
}

/// The sizes of the blocks of the filter: partitions, and their index.
fn filter_blocks(table: &InspectedTable) -> Result<Vec<u64>> {
    let Some((layout, _, handle)) = table.table().metaindex().filters().next() else {
        return Ok(Vec::new());
    };
    let mut sizes = vec![handle.size];
    if layout == FilterLayout::Partitioned
        && let Some(filter) = table.table().filter()
    {
        sizes.extend(filter.partitions()?.iter().map(|partition| partition.size));
    }
    Ok(sizes)
}
