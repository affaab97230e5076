//! What properties count, against what is there.

use super::Verification;
use super::contents::Counts;
use crate::error::Error;
use crate::raw::{BlockKind, property_names as names};
use crate::reader::core::Core;

/// Compares all properties that count something. Those that are absent were not written yet by the
/// version that wrote the table.
pub(super) fn compare(core: &Core, counts: &Counts, found: &mut Verification) {
    let properties = &core.properties;
    let mut counted = vec![
        (names::NUM_ENTRIES, counts.entries + counts.range_deletions),
        (names::NUM_RANGE_DELETIONS, counts.range_deletions),
        (names::DELETED_KEYS, counts.deletions + counts.range_deletions),
        (names::MERGE_OPERANDS, counts.merges),
        (names::RAW_KEY_SIZE, counts.raw_key_size),
        (names::RAW_VALUE_SIZE, counts.raw_value_size),
    ];
    if !may_have_held_back(core) {
        counted.push((names::NUM_DATA_BLOCKS, counts.data_blocks));
    } else if let Some(stored) = properties.number(names::NUM_DATA_BLOCKS)
        && stored > counts.data_blocks
    {
        let expected = format!("{} or less", counts.data_blocks);
        found.add(wrong(core, names::NUM_DATA_BLOCKS, &expected, &stored.to_string()));
    }
    // Timestamps that were cut off had been counted.
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
        // Old versions of RocksDB wrote 0 here whatever the version.
        && stored != version
        && stored != 0
    {
        found.add(wrong(core, names::FORMAT_VERSION, &version.to_string(), &stored.to_string()));
    }
}

/// RocksDB does not count the blocks it holds back while it samples them for a dictionary, be it
/// that no dictionary comes of it.
fn may_have_held_back(core: &Core) -> bool {
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
