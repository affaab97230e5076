//! How many keys and prefixes a new filter of a table would have.
//!
//! Properties tell the number of entries, and that of the existing filter. Where a new filter has
//! other prefixes, and in LevelDB tables, which have no properties, it is estimated from pairs of
//! neighbouring data blocks: the first of a pair tells the key before the second.

use sstkit_filter::{FilterPartitions, KeyFiltering, PrefixExtractor};
use sstkit_table::TableOptions;
use sstkit_table::options::defaults::{DEFAULT_BLOCK_SIZE_DEVIATION, DEFAULT_METADATA_BLOCK_SIZE};
use sstkit_table::raw::{BlockHandle, BlockKind, Engine, InternalKey, property_names as names};

use super::PlannedKeys;
use crate::error::Result;
use crate::filter_report::FilterReport;
use crate::inspected_table::InspectedTable;

/// Pairs of blocks that are read, of all files together and of one.
const PAIRS: usize = 2048;
const PAIRS_OF_FILE: std::ops::RangeInclusive<usize> = 4..=64;

/// A filter of a filter block is for the data blocks that start in a part of the file of 2^11 bytes.
const LEVELDB_FILTER_PART: u32 = 11;
/// Its offset in the filter block.
const FILTER_OFFSET: u64 = 4;
/// The offset of the offsets, and the logarithm above.
const FILTER_BLOCK_END: u64 = 5;

/// In percent. It is not stored.
const BLOCK_SIZE_DEVIATION: usize = DEFAULT_BLOCK_SIZE_DEVIATION as usize;

/// How many pairs of blocks of a file are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleSize(usize);

impl SampleSize {
    pub(super) fn of_one_in(files: usize) -> Self {
        let pairs = PAIRS / files.max(1);
        Self(pairs.clamp(*PAIRS_OF_FILE.start(), *PAIRS_OF_FILE.end()))
    }
}

/// How many classes of filters there are by the share of their keys that are different, and one more for
/// those without duplicates.
const CLASSES: usize = 8;

/// The different keys of filters, and the same times their share of all keys there, by that share.
pub(super) type DistinctShares = [(f64, f64); CLASSES + 1];

/// The keys of a new filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyCount {
    pub(super) keys: u64,
    /// Those that are different.
    pub(super) distinct: u64,
    /// The filters of a filter block by the duplicates in them.
    pub(super) distinct_shares: DistinctShares,
    /// Filters over which they are distributed.
    pub(super) filters: u64,
    /// Bytes that these take besides.
    pub(super) overhead: u64,
    pub(super) partitions: Option<FilterPartitions>,
    pub(super) is_estimated: bool,
}

impl KeyCount {
    pub(super) fn of(
        table: &InspectedTable,
        planned: &PlannedKeys,
        sample: SampleSize,
    ) -> Result<Self> {
        if table.table().view().engine() == Engine::LevelDb {
            let filtering = KeyFiltering::new(true, None);
            return Ok(estimate(table, filtering, sample)?.in_filter_block());
        }
        let properties = table.table().properties();
        let number = |name: &str| properties.number(name).unwrap_or(0);
        let own_extractor = own_extractor(table);
        let own_whole_key = properties.get(names::WHOLE_KEY_FILTERING) != Some(b"0");
        let exact = |keys| Self {
            keys,
            distinct: keys,
            distinct_shares: DistinctShares::default(),
            filters: 1,
            overhead: 0,
            partitions: None,
            is_estimated: false,
        };
        let extractor = planned.prefix_extractor.clone().or_else(|| own_extractor.clone());
        let whole_key = planned.whole_key_filtering.unwrap_or(own_whole_key);
        let name = |it: &Option<PrefixExtractor>| {
            it.as_ref().map(|extractor| extractor.name().into_owned())
        };
        let is_same = whole_key == own_whole_key && name(&extractor) == name(&own_extractor);
        match number(names::NUM_FILTER_ENTRIES) {
            counted @ 1.. if is_same => Ok(exact(counted)),
            _ if extractor.is_none() => {
                let entries = number(names::NUM_ENTRIES);
                Ok(exact(entries.saturating_sub(number(names::NUM_RANGE_DELETIONS))))
            }
            _ => {
                let filtering = KeyFiltering::new(whole_key, extractor);
                let estimated = estimate(table, filtering, sample)?;
                Ok(Self { is_estimated: estimated.is_estimated, ..exact(estimated.added) })
            }
        }
    }
}

fn own_extractor(table: &InspectedTable) -> Option<PrefixExtractor> {
    let name = table.table().properties().get(names::PREFIX_EXTRACTOR_NAME)?;
    std::str::from_utf8(name).ok()?.parse().ok()
}

impl KeyCount {
    /// The same keys in partitions, if the filter has them now: of `metadata_block_size` bytes, or as
    /// large as those of the index are.
    pub(super) fn in_partitions(
        mut self,
        table: &InspectedTable,
        now: &FilterReport,
        planned: &PlannedKeys,
        metadata_block_size: Option<usize>,
    ) -> Self {
        let filter = table.table().metaindex().filters().next();
        let (Some((_, _, top_level)), 1..) = (filter, now.partitions) else { return self };
        let size = match metadata_block_size {
            Some(size) => size,
            None => like_index(table).unwrap_or(DEFAULT_METADATA_BLOCK_SIZE),
        };
        let mut partitions = FilterPartitions::new(size, BLOCK_SIZE_DEVIATION)
            .entry_length(top_level.size / now.partitions);
        let number = |name: &str| table.table().properties().number(name).unwrap_or(0);
        if planned.prefix_extractor.is_some() || own_extractor(table).is_some() {
            let whole_keys = planned.whole_key_filtering.unwrap_or(now.whole_key);
            let of_table =
                number(names::NUM_ENTRIES).saturating_sub(number(names::NUM_RANGE_DELETIONS));
            let each = self.keys as f64 / of_table.max(1) as f64;
            partitions = partitions.prefixes(if whole_keys { each - 1.0 } else { 0.0 });
        }
        if number(names::DECOUPLED_PARTITIONED_FILTERS) != 1 {
            let index =
                number(names::INDEX_SIZE).saturating_sub(number(names::TOP_LEVEL_INDEX_SIZE));
            let of_partition = size * (100 - BLOCK_SIZE_DEVIATION) / 100;
            let keys = u128::from(self.keys) * of_partition as u128 / u128::from(index.max(1));
            let of_block = self.keys / number(names::NUM_DATA_BLOCKS).max(1);
            partitions = partitions.coupled(u64::try_from(keys).unwrap_or(u64::MAX), of_block);
        }
        self.partitions = Some(partitions);
        self
    }
}

/// The size of partitions that suits those of the index.
fn like_index(table: &InspectedTable) -> Option<usize> {
    let (_, options) = TableOptions::like(table.table()).ok()?.rocksdb_options();
    let (_, size) = options.into_iter().find(|(name, _)| *name == "metadata_block_size")?;
    size.parse().ok()
}

/// Keys and places of data blocks.
struct Estimate {
    entries: u64,
    /// Keys and prefixes that differ from the one before.
    added: u64,
    distinct_shares: DistinctShares,
    is_estimated: bool,
    /// Parts of the file in which a data block starts.
    parts_with_blocks: u64,
    /// Where the last data block starts.
    last_block: u64,
}

impl Estimate {
    /// LevelDB adds every entry. A filter block has an offset for each part of the file, and a filter for each in which a data
    /// block starts.
    fn in_filter_block(self) -> KeyCount {
        let parts = (self.last_block >> LEVELDB_FILTER_PART) + 2;
        KeyCount {
            keys: self.entries,
            distinct: self.added,
            distinct_shares: self.distinct_shares,
            filters: self.parts_with_blocks.max(1),
            overhead: FILTER_BLOCK_END + FILTER_OFFSET * (parts - self.parts_with_blocks),
            partitions: None,
            is_estimated: self.is_estimated,
        }
    }
}

fn estimate(
    table: &InspectedTable,
    filtering: KeyFiltering,
    sample: SampleSize,
) -> Result<Estimate> {
    let view = table.table().view();
    let (mut blocks, mut parts_with_blocks) = (0_u64, 0);
    let mut last_block: Option<u64> = None;
    let mut index = view.index()?;
    while index.advance()? {
        let offset = index.handle().offset;
        let part = |offset: u64| offset >> LEVELDB_FILTER_PART;
        parts_with_blocks += u64::from(last_block.map(part) != Some(part(offset)));
        last_block = Some(offset);
        blocks += 1;
    }
    let mut counted =
        Counted { entries: 0, added: 0, filtering, last_key: None, last_prefix: None };
    let step = blocks.div_ceil(sample.0 as u64).max(1);
    let mut index = view.index()?;
    let mut before: Option<BlockHandle> = None;
    let (mut number, mut read) = (0, 0);
    let mut distinct_shares = DistinctShares::default();
    while index.advance()? {
        // In the middle of each part.
        if number % step == step / 2 {
            counted.forget();
            if let Some(before) = before {
                counted.block(table, before, false)?;
            }
            let so_far = (counted.entries, counted.added);
            counted.block(table, index.handle(), true)?;
            let (entries, added) = (counted.entries - so_far.0, counted.added - so_far.1);
            // The versions of a key may be in two blocks, and so in two filters.
            let keys = added.max(1) as f64;
            let distinct = (keys / entries.max(1) as f64).min(1.0);
            let class = &mut distinct_shares[(distinct * CLASSES as f64) as usize];
            *class = (class.0 + keys, class.1 + keys * distinct);
            read += 1;
        }
        before = Some(index.handle());
        number += 1;
    }
    let scaled = |counted: u64| match read {
        0 => 0,
        _ => (u128::from(counted) * u128::from(blocks) / u128::from(read)) as u64,
    };
    Ok(Estimate {
        entries: scaled(counted.entries),
        added: scaled(counted.added),
        distinct_shares,
        is_estimated: read < blocks,
        parts_with_blocks,
        last_block: last_block.unwrap_or(0),
    })
}

/// Entries, and what a filter of RocksDB gets of them.
struct Counted {
    entries: u64,
    added: u64,
    filtering: KeyFiltering,
    last_key: Option<Vec<u8>>,
    last_prefix: Option<Vec<u8>>,
}

impl Counted {
    /// Continues elsewhere.
    fn forget(&mut self) {
        (self.last_key, self.last_prefix) = (None, None);
    }

    /// Goes over the entries of a block, and counts them or not.
    fn block(&mut self, table: &InspectedTable, handle: BlockHandle, counts: bool) -> Result<()> {
        let tail = match table.table().has_internal_keys() {
            true => InternalKey::TAIL_LENGTH,
            false => 0,
        };
        let mut entries = table.block(BlockKind::Data, handle)?.into_entries();
        while entries.advance()? {
            self.entries += u64::from(counts);
            let key = entries.key();
            let key = table.bare(&key[..key.len().saturating_sub(tail)]);
            let prefix = self.filtering.prefix(key);
            if let Some(prefix) = prefix
                && self.last_prefix.as_deref() != Some(prefix)
            {
                self.added += u64::from(counts);
                self.last_prefix = Some(prefix.to_vec());
            }
            if self.last_key.as_deref() != Some(key) {
                self.added += u64::from(counts && self.filtering.whole_key());
                self.last_key = Some(key.to_vec());
            }
        }
        Ok(())
    }
}
