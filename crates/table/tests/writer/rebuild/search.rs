//! Finding the settings that a table does not say, by trying.
//!
//! In three steps, each judged by the blocks it decides about: data, index, filter.

use sstkit_filter::UsableSize;
use sstkit_filter::sizing::GLIBC_MMAP_THRESHOLD;
use sstkit_table::raw::{
    Block, BlockKind, Engine, FormatVersion, IndexKind, TableView, property_names as names,
};
use sstkit_table::{IndexShortening, TableOptions};

use super::blocks::{contents, data_handles, has_filter_block, is_compressed, is_of_rocksdb6};
use super::{rebuild, settings};

const INDEX: [BlockKind; 2] = [BlockKind::Index, BlockKind::IndexPartition];
const FILTER: [BlockKind; 2] = [BlockKind::Filter, BlockKind::FilterPartition];

/// Numbers of bits per key that are tried.
const TRIED: usize = 60;

/// The options that make `table` again.
pub(crate) fn find(table: &TableView<'_>) -> Result<TableOptions, String> {
    let said = settings::said(table);
    if table.engine() == Engine::LevelDb {
        return find_leveldb(table, &said);
    }
    // A filter does not change the data.
    let with_data = data_candidates(table, &said)
        .into_iter()
        .find(|options| same_data(table, options))
        .ok_or("no settings make the same data blocks")?;
    let coupled = table.properties().number(names::DECOUPLED_PARTITIONED_FILTERS).is_none()
        && is_partitioned(table);
    let mut with_index = index_candidates(table, &with_data);
    if !coupled {
        with_index.retain(|options| same_index(table, options));
    }
    if with_index.is_empty() {
        return Err("no settings make the same index".into());
    }
    let glibc = UsableSize::Glibc { mmap_threshold: GLIBC_MMAP_THRESHOLD };
    let sizings: &[_] = match is_partitioned(table) {
        true => &[None],
        false => &[None, Some(UsableSize::Exact), Some(glibc), Some(UsableSize::Jemalloc)],
    };
    for policy in policies(table) {
        for &sizing in sizings {
            for index in &with_index {
                let mut options = with_policy(index.clone(), policy.as_deref());
                if let Some(sizing) = sizing {
                    options = options.optimize_filters_for_memory(sizing);
                }
                // Coupled, index and filter decide about each other.
                if same_filter(table, &options) && (!coupled || same_index(table, &options)) {
                    return Ok(options);
                }
            }
        }
    }
    Err("no settings make the same filter".into())
}

fn find_leveldb(table: &TableView<'_>, said: &TableOptions) -> Result<TableOptions, String> {
    let blocks = block_sizes()
        .map(|size| said.clone().block_size(size))
        .find(|options| same_data(table, options))
        .ok_or("no settings make the same data blocks")?;
    if table.metaindex().filters().next().is_none() || is_compressed(table) {
        // Which keys share a filter depends on where the blocks lie, and so on the encoder.
        return Ok(blocks);
    }
    (0..=30)
        .map(|bits| {
            let policy = format!("leveldb.BuiltinBloomFilter2:{bits}");
            blocks.clone().filter(policy.parse().unwrap())
        })
        .find(|options| same_blocks(table, options, &[BlockKind::Filter]))
        .ok_or("no bits per key make the same filter".into())
}

fn is_partitioned(table: &TableView<'_>) -> bool {
    table.blocks().unwrap().iter().any(|(kind, _)| *kind == BlockKind::FilterPartition)
}

fn block_sizes() -> impl Iterator<Item = usize> {
    // The default first, then what people set.
    [4096].into_iter().chain((6..21).map(|log| 1 << log)).chain((1..64).map(|kilo| kilo * 1000))
}

fn data_candidates(table: &TableView<'_>, said: &TableOptions) -> Vec<TableOptions> {
    // Without the filter: it only takes time here.
    let mut base = vec![said.clone().partition_filters(false)];
    if table.properties().embedded_blobs().is_some() {
        base = (0..20).map(|log| said.clone().embedded_blobs(1 << log)).collect();
    }
    let handles = data_handles(table);
    let gaps = handles.windows(2).any(|pair| pair[0].end().unwrap() != pair[1].offset);
    let aligned = table.footer().version >= FormatVersion::V4
        && !table.properties().index_value_is_delta_encoded();
    if gaps && !aligned {
        base = (9..25)
            .flat_map(|log| [128, 4, 8, 16, 32, 64, 256].map(|ratio| (1u64 << log, ratio)))
            .map(|(size, ratio)| {
                said.clone()
                    .partition_filters(false)
                    .super_block_alignment_size(size)
                    .super_block_alignment_space_overhead_ratio(ratio)
            })
            .collect();
    }
    let hashed = table
        .data_blocks()
        .unwrap()
        .any(|block| Block::parse(block.unwrap().contents).unwrap().hash_index().is_some());
    let ratios: &[f64] = if hashed { &[0.75, 0.5, 0.6, 0.8, 0.9, 1.0] } else { &[0.75] };
    let sizes: Vec<usize> =
        block_sizes().filter(|size| !aligned || size.is_power_of_two()).collect();
    let mut candidates = Vec::new();
    for deviation in [10, 0, 5, 20, 50, 100] {
        for &ratio in ratios {
            // Odd sizes and odd deviations together are too much to try.
            let sizes = sizes.iter().filter(|size| deviation == 10 || size.is_power_of_two());
            for &size in sizes {
                for (options, delta) in
                    base.iter().flat_map(|options| [(options, true), (options, false)])
                {
                    candidates.push(
                        options
                            .clone()
                            .block_size(size)
                            .block_size_deviation(deviation)
                            .use_delta_encoding(delta)
                            .data_block_hash_table_util_ratio(ratio),
                    );
                }
            }
        }
    }
    candidates
}

fn index_candidates(table: &TableView<'_>, options: &TableOptions) -> Vec<TableOptions> {
    let partitioned = is_partitioned(table);
    let options = options.clone().partition_filters(partitioned);
    let metadata_sizes: Vec<usize> = match table.index_format().kind {
        IndexKind::TwoLevel => {
            let logs = (5..17).map(|log| 1 << log);
            [4096].into_iter().chain(logs).chain([1000, 2000, 10_000]).collect()
        }
        _ => vec![4096],
    };
    let uniform = table.properties().number(names::NUM_UNIFORM_BLOCKS).unwrap_or(0) != 0;
    let thresholds: &[f64] = if uniform { &[0.2, 0.1, 0.5, 1.0, 2.0] } else { &[-1.0] };
    let mut candidates = Vec::new();
    for &size in &metadata_sizes {
        for shortening in [
            IndexShortening::Separators,
            IndexShortening::None,
            IndexShortening::SeparatorsAndSuccessor,
        ] {
            for &threshold in thresholds {
                candidates.push(
                    options
                        .clone()
                        .metadata_block_size(size)
                        .index_shortening(shortening)
                        .uniform_cv_threshold(threshold),
                );
            }
        }
    }
    candidates
}

/// Policies of the class that the table names, those first whose size fits best.
fn policies(table: &TableView<'_>) -> Vec<Option<String>> {
    let Some(class) = table.properties().get(names::FILTER_POLICY) else { return vec![None] };
    let class = match is_of_rocksdb6(table) {
        // All policies of RocksDB 6 have the same name.
        true => "bloomfilter",
        false => std::str::from_utf8(class).unwrap(),
    };
    let flag = if has_filter_block(table) { ":true" } else { "" };
    let number = |name: &str| table.properties().number(name).map(|number| number as f64);
    let entries = number(names::NUM_FILTER_ENTRIES).or(number(names::NUM_ENTRIES));
    let measured =
        number(names::FILTER_SIZE).unwrap_or(0.0) * 8.0 / entries.unwrap_or(0.0).max(1.0);
    // Ribbon is given the bits of a Bloom filter of the same rate and needs fewer.
    let expected = if class.contains("ibbon") { measured * 1.35 } else { measured };
    let mut bits: Vec<u32> = (10..300).collect();
    bits.sort_by_key(|&tenths| ((f64::from(tenths) / 10.0 - expected).abs() * 1000.0) as u64);
    // The usual one first: it settles small filters, which any number of bits may have made.
    let bits = [100].into_iter().chain(bits.into_iter().take(TRIED));
    bits.map(|tenths| Some(format!("{class}:{}{flag}", f64::from(tenths) / 10.0))).collect()
}

fn with_policy(options: TableOptions, policy: Option<&str>) -> TableOptions {
    match policy {
        Some(policy) => options.filter(policy.parse().unwrap()),
        None => options,
    }
}

fn same_data(table: &TableView<'_>, options: &TableOptions) -> bool {
    let again = rebuild(table, options);
    let again = TableView::open(&again).unwrap();
    if is_compressed(table) {
        return contents(table, &[BlockKind::Data]) == contents(&again, &[BlockKind::Data]);
    }
    let handles = data_handles(table);
    let end = handles.last().map_or(0, |handle| handle.end().unwrap()) as usize;
    handles == data_handles(&again) && table.file()[..end] == again.file()[..end]
}

/// The offsets in an index are those of compressed blocks, so only its keys are compared then.
fn same_index(table: &TableView<'_>, options: &TableOptions) -> bool {
    if !is_compressed(table) {
        return same_blocks_of(table, options, &INDEX);
    }
    let keys = |table: &TableView<'_>| {
        let (mut keys, mut index) = (Vec::new(), table.index().unwrap());
        while index.advance().unwrap() {
            keys.push(index.key().to_vec());
        }
        keys
    };
    let again = rebuild(table, options);
    keys(table) == keys(&TableView::open(&again).unwrap())
}

/// Without a filter, index blocks lie elsewhere; the top level knows where.
fn same_blocks_of(table: &TableView<'_>, options: &TableOptions, kinds: &[BlockKind]) -> bool {
    let kinds: &[BlockKind] = match table.index_format().kind {
        IndexKind::TwoLevel => &[BlockKind::IndexPartition],
        _ => kinds,
    };
    same_blocks(table, options, kinds)
}

fn same_filter(table: &TableView<'_>, options: &TableOptions) -> bool {
    if is_compressed(table) && has_filter_block(table) {
        // Which keys share a filter depends on where the blocks lie, and so on the encoder.
        return true;
    }
    let kinds: &[BlockKind] = match is_partitioned(table) {
        // The index of the partitions has offsets, too.
        true if is_compressed(table) => &[BlockKind::FilterPartition],
        _ => &FILTER,
    };
    same_blocks(table, options, kinds)
}

fn same_blocks(table: &TableView<'_>, options: &TableOptions, kinds: &[BlockKind]) -> bool {
    let again = rebuild(table, options);
    contents(table, kinds) == contents(&TableView::open(&again).unwrap(), kinds)
}
