//! The counts in the properties against the contents of the table.

use std::ops::RangeInclusive;

use sstkit_filter::FilterLayout;

use super::Verification;
use super::counts::{Counts, Tail};
use crate::error::Error;
use crate::raw::{BlockKind, Trailer, property_names as names};
use crate::reader::open::core::Core;

/// Compares all properties that count something. Older versions do not write all of them, so a missing
/// one is no problem.
pub(super) fn compare(core: &Core, counts: &Counts, tail: &Tail, found: &mut Verification) {
    compare_sequences(core, counts, found);
    if tail.complete {
        compare_sizes(core, counts, tail, found);
        compare_filter_entries(core, counts, tail, found);
    }
    let properties = &core.properties;
    let mut counted = vec![
        (names::NUM_ENTRIES, counts.entries + counts.range_deletions),
        (names::NUM_RANGE_DELETIONS, counts.range_deletions),
        (names::DELETED_KEYS, counts.deletions + counts.range_deletions),
        (names::MERGE_OPERANDS, counts.merges),
        (names::RAW_KEY_SIZE, counts.raw_key_size),
        (names::RAW_VALUE_SIZE, counts.raw_value_size),
    ];
    if !may_have_buffered(core) {
        counted.push((names::NUM_DATA_BLOCKS, counts.data_blocks));
    } else if let Some(stored) = properties.number(names::NUM_DATA_BLOCKS)
        && stored > counts.data_blocks
    {
        let expected = format!("{} or less", counts.data_blocks);
        found.add(wrong(core, names::NUM_DATA_BLOCKS, &expected, &stored.to_string()));
    }
    // Timestamps that were stripped had been counted.
    if !properties.has_persisted_timestamps() {
        counted.retain(|&(name, _)| name != names::RAW_KEY_SIZE && name != names::RAW_VALUE_SIZE);
    }
    for (name, expected) in counted {
        if let Some(stored) = properties.number(name)
            && stored != expected
        {
            found.add(wrong(core, name, &expected.to_string(), &stored.to_string()));
        }
    }
    if let Some(stored) = properties.embedded_blobs()
        && stored != (counts.blobs, counts.blob_bytes)
    {
        let expected = format!("{} values of {} bytes", counts.blobs, counts.blob_bytes);
        let stored = format!("{} of {}", stored.0, stored.1);
        found.add(wrong(core, names::EMBEDDED_BLOB_STATS, &expected, &stored));
    }
    let version = u64::from(core.footer.version.number());
    if let Some(stored) = properties.number(names::FORMAT_VERSION)
        // Old versions of RocksDB wrote 0 here for every version.
        && stored != version
        && stored != 0
    {
        found.add(wrong(core, names::FORMAT_VERSION, &version.to_string(), &stored.to_string()));
    }
}

/// Sizes and offsets of parts of the file.
fn compare_sizes(core: &Core, counts: &Counts, tail: &Tail, found: &mut Verification) {
    let properties = &core.properties;
    let mut sizes = vec![
        (names::TAIL_START_OFFSET, tail.start),
        (names::FILTER_SIZE, tail.filter + tail.filter_partitions),
    ];
    if core.has_two_levels() {
        sizes.push((names::INDEX_PARTITIONS, tail.index_partition_count));
        sizes.push((names::TOP_LEVEL_INDEX_SIZE, tail.index));
    }
    // Decompressed, all levels, with one trailer. Versions before this property counted in other ways,
    // and user-defined indexes count in their own.
    if properties.get(names::INDEX_KEY_IS_USER_KEY).is_some()
        && properties.number(names::UDI_IS_PRIMARY_INDEX).unwrap_or(0) == 0
    {
        let size = tail.index + tail.index_partitions + tail.hash_index;
        sizes.push((names::INDEX_SIZE, size + Trailer::LENGTH as u64));
    }
    for (name, expected) in sizes {
        expect(core, name, expected..=expected, found);
    }
    // It may include the padding behind the last data block.
    expect(core, names::DATA_SIZE, counts.data_end..=tail.start, found);
}

/// Sequence numbers as stored. Those of range tombstones may or may not be included.
fn compare_sequences(core: &Core, counts: &Counts, found: &mut Verification) {
    let points = counts.point_sequences.ends();
    let ranges = counts.range_sequences.ends();
    let Some(of_all) = points.into_iter().chain(ranges).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    else {
        return;
    };
    let of_points = points.unwrap_or(of_all);
    let smallest = of_all.0..=of_points.0;
    let largest = of_points.1..=of_all.1;
    for (name, range) in
        [(names::KEY_SMALLEST_SEQNO, smallest), (names::KEY_LARGEST_SEQNO, largest)]
    {
        // All bits set: unknown.
        if core.properties.number(name).is_some_and(|stored| stored != u64::MAX) {
            expect(core, name, range, found);
        }
    }
}

/// Keys and prefixes added to the filter, consecutive equal ones counted once. A prefix may be in two
/// partitions, and a key may be its own prefix.
fn compare_filter_entries(core: &Core, counts: &Counts, tail: &Tail, found: &mut Verification) {
    let (keys, prefixes) = (counts.keys, counts.prefixes.count);
    let Some(filter) = &core.filter else {
        if core.metaindex.filters().next().is_none() {
            expect(core, names::NUM_FILTER_ENTRIES, 0..=0, found);
        }
        return;
    };
    if filter.layout() == FilterLayout::Block {
        return;
    }
    let repeated = tail.filter_partition_count;
    let range = match (filter.has_whole_keys, filter.has_prefixes()) {
        (true, Some(false)) => keys..=keys,
        (false, Some(true)) => prefixes..=prefixes + repeated,
        (true, Some(true)) => keys.max(prefixes)..=keys + prefixes + repeated,
        // An unknown prefix extractor, or a filter of nothing.
        _ => return,
    };
    expect(core, names::NUM_FILTER_ENTRIES, range, found);
}

/// Reports a property whose value is outside of a range.
fn expect(core: &Core, name: &str, range: RangeInclusive<u64>, found: &mut Verification) {
    let Some(stored) = core.properties.number(name).filter(|stored| !range.contains(stored)) else {
        return;
    };
    let expected = match range.start() == range.end() {
        true => range.start().to_string(),
        false => format!("{} to {}", range.start(), range.end()),
    };
    found.add(wrong(core, name, &expected, &stored.to_string()));
}

/// RocksDB does not count the blocks that it buffers to sample them for a dictionary, even if it then
/// uses none.
fn may_have_buffered(core: &Core) -> bool {
    let options = core.properties.get(names::COMPRESSION_OPTIONS).unwrap_or_default();
    let max_dict_bytes = options.split(|&byte| byte == b';').find_map(|option| {
        option.trim_ascii().strip_prefix(b"max_dict_bytes=").map(<[u8]>::trim_ascii)
    });
    max_dict_bytes.is_some_and(|bytes| bytes != b"0")
        || core.metaindex.compression_dictionary().is_some()
}

fn wrong(core: &Core, name: &str, expected: &str, stored: &str) -> Error {
    let error = Error::mismatch(format!("the property {name} is wrong"), expected, stored);
    let offset = core.metaindex.properties().map_or(0, |handle| handle.offset);
    core.blocks.locate(error, BlockKind::Properties, offset)
}
