//! The properties of a finished table, as the `SstFileWriter` of RocksDB 11.9 writes them, or that of
//! 6.20 for old tables.

use sstkit_coding::varint::put_varint64;

use super::counters::Counters;
use crate::options::TableOptions;
use crate::options::defaults::UNKNOWN_COLUMN_FAMILY_ID;
use crate::raw::property_names as names;
use crate::raw::{Codec, FormatVersion, Properties};

/// Sizes of the parts of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) data_end: u64,
    pub(crate) tail_start: u64,
    /// Uncompressed, without trailers except for one at the end, as RocksDB counts it.
    pub(crate) index_size: u64,
    /// Number of partitions, and the size of the top level.
    pub(crate) index_partitions: Option<(u64, u64)>,
    pub(crate) index_has_user_keys: bool,
    pub(crate) uniform_blocks: u64,
    pub(crate) filter_size: u64,
    pub(crate) filter_entries: u64,
}

/// The version of external tables that has a global sequence number.
const EXTERNAL_VERSION: u32 = 2;

/// Properties that RocksDB 6.20 did not write.
const AFTER_ROCKSDB6: [&str; 11] = [
    names::ORIGINAL_FILE_NUMBER,
    names::NUM_FILTER_ENTRIES,
    names::NUM_UNIFORM_BLOCKS,
    names::NEWEST_KEY_TIME,
    names::TAIL_START_OFFSET,
    names::KEY_LARGEST_SEQNO,
    names::KEY_SMALLEST_SEQNO,
    names::DATA_BLOCK_RESTART_INTERVAL,
    names::INDEX_BLOCK_RESTART_INTERVAL,
    names::NUM_DATA_BLOCKS_COMPRESSION_REJECTED,
    names::NUM_DATA_BLOCKS_COMPRESSION_BYPASSED,
];

/// RocksDB's value for no name.
const NOTHING: &str = "nullptr";

pub(crate) fn properties(options: &TableOptions, counters: &Counters, parts: &Parts) -> Properties {
    let mut properties = Properties::default();
    numbers(options, counters, parts, &mut properties);
    texts(options, counters, &mut properties);
    flags(options, counters, &mut properties);
    if options.is_of_rocksdb6() {
        AFTER_ROCKSDB6.iter().for_each(|name| properties.remove(name));
        insert_number(&mut properties, names::FORMAT_VERSION, 0);
        if let Some(policy) = options.filter.policy.compatibility_name() {
            properties.insert(names::FILTER_POLICY, policy);
        }
    }
    for (name, value) in &options.properties.user_properties {
        properties.insert(name.as_slice(), value.as_slice());
    }
    properties
}

fn numbers(
    options: &TableOptions,
    counters: &Counters,
    parts: &Parts,
    properties: &mut Properties,
) {
    let identity = &options.properties.identity;
    let family =
        options.properties.column_family.as_ref().map_or(UNKNOWN_COLUMN_FAMILY_ID, |(id, _)| *id);
    for (name, number) in [
        (names::ORIGINAL_FILE_NUMBER, identity.file_number),
        (names::RAW_KEY_SIZE, counters.raw_key_size),
        (names::RAW_VALUE_SIZE, counters.raw_value_size),
        (names::DATA_SIZE, parts.data_end),
        (names::INDEX_SIZE, parts.index_size),
        (names::INDEX_KEY_IS_USER_KEY, parts.index_has_user_keys.into()),
        (names::INDEX_VALUE_IS_DELTA_ENCODED, options.delta_index_values().into()),
        (names::NUM_ENTRIES, counters.entries),
        (names::NUM_FILTER_ENTRIES, parts.filter_entries),
        (names::DELETED_KEYS, counters.deletions),
        (names::MERGE_OPERANDS, counters.merges),
        (names::NUM_RANGE_DELETIONS, counters.range_deletions),
        (names::NUM_DATA_BLOCKS, counters.data_blocks),
        (names::NUM_UNIFORM_BLOCKS, parts.uniform_blocks),
        (names::FILTER_SIZE, parts.filter_size),
        (names::FORMAT_VERSION, options.format.version.number().into()),
        (names::FIXED_KEY_LENGTH, 0),
        (names::COLUMN_FAMILY_ID, family.into()),
        (names::CREATION_TIME, identity.creation_time),
        (names::OLDEST_KEY_TIME, identity.oldest_key_time),
        (names::NEWEST_KEY_TIME, identity.newest_key_time),
        (names::TAIL_START_OFFSET, parts.tail_start),
        (names::KEY_LARGEST_SEQNO, counters.largest_sequence),
        (names::DATA_BLOCK_RESTART_INTERVAL, options.blocks.restart_interval as u64),
        (names::INDEX_BLOCK_RESTART_INTERVAL, options.index.restart_interval as u64),
    ] {
        insert_number(properties, name, number);
    }
    // Omitted if empty.
    let partitions = parts.index_partitions.filter(|(count, _)| *count > 0);
    for (name, number) in [
        (names::INDEX_PARTITIONS, partitions.map(|(count, _)| count)),
        (names::TOP_LEVEL_INDEX_SIZE, partitions.map(|(_, size)| size)),
        (names::KEY_SMALLEST_SEQNO, counters.smallest_sequence),
    ] {
        if let Some(number) = number {
            insert_number(properties, name, number);
        }
    }
    for (name, number) in [
        (names::NUM_DATA_BLOCKS_COMPRESSION_REJECTED, counters.rejected_blocks),
        (names::NUM_DATA_BLOCKS_COMPRESSION_BYPASSED, counters.bypassed_blocks),
        (names::FILE_CREATION_TIME, identity.file_creation_time),
        (names::SEPARATE_KEY_VALUE_IN_DATA_BLOCK, options.blocks.separate_key_value.into()),
    ] {
        if number > 0 {
            insert_number(properties, name, number);
        }
    }
}

fn texts(options: &TableOptions, counters: &Counters, properties: &mut Properties) {
    let extractor = options.filter.prefix_extractor.as_ref().map(|extractor| extractor.name());
    let collectors = format!("[{}]", options.properties.collectors.join(","));
    for (name, text) in [
        (names::COMPARATOR, &*options.comparator.name()),
        (names::MERGE_OPERATOR, options.properties.merge_operator.as_deref().unwrap_or(NOTHING)),
        (names::PREFIX_EXTRACTOR_NAME, extractor.as_deref().unwrap_or(NOTHING)),
        (names::PROPERTY_COLLECTORS, &collectors),
        (names::COMPRESSION, &compression_name(options, counters)),
        (names::COMPRESSION_OPTIONS, &options.compression_options_text()),
    ] {
        properties.insert(name, text);
    }
    let identity = &options.properties.identity;
    let family = options.properties.column_family.as_ref().map_or("", |(_, name)| name);
    for (name, text) in [
        (names::DB_IDENTITY, identity.db_id.as_str()),
        (names::DB_SESSION_IDENTITY, &identity.session_id),
        (names::DB_HOST_IDENTITY, &identity.host_id),
        (names::FILTER_POLICY, options.filter.policy.name()),
        (names::COLUMN_FAMILY_NAME, family),
    ] {
        if !text.is_empty() {
            properties.insert(name, text);
        }
    }
}

/// The properties of RocksDB's own collectors.
fn flags(options: &TableOptions, counters: &Counters, properties: &mut Properties) {
    let digit = |on: bool| if on { "1" } else { "0" };
    properties.insert(names::INDEX_TYPE, (options.index.kind as u32).to_le_bytes());
    properties.insert(names::WHOLE_KEY_FILTERING, digit(options.filter.whole_key_filtering));
    properties.insert(names::PREFIX_FILTERING, digit(options.filter.prefix_extractor.is_some()));
    if options.filter.decoupled {
        properties.insert(names::DECOUPLED_PARTITIONED_FILTERS, digit(true));
    }
    if options.properties.external_file {
        properties.insert(names::EXTERNAL_SST_FILE_VERSION, EXTERNAL_VERSION.to_le_bytes());
        properties.insert(names::GLOBAL_SEQNO, 0u64.to_le_bytes());
    }
    if options.comparator.timestamp_size() > 0 {
        let (oldest, newest) = counters.timestamps.clone().unwrap_or_default();
        properties.insert(names::TIMESTAMP_MIN, oldest);
        properties.insert(names::TIMESTAMP_MAX, newest);
    }
    if let Some((count, bytes)) = counters.embedded_blobs {
        let mut stats = Vec::new();
        put_varint64(&mut stats, count);
        put_varint64(&mut stats, bytes);
        properties.insert(names::EMBEDDED_BLOB_STATS, stats);
    }
}

/// The property `rocksdb.compression`: up to version 6 a name, of zstd if it is in use at all;
/// then `manager;codecs;`.
fn compression_name(options: &TableOptions, counters: &Counters) -> String {
    if options.format.version >= FormatVersion::V7 {
        let manager = if options.compression.codec == Codec::None { "" } else { "BuiltinV2" };
        let codecs: String = counters.codecs().map(|byte| format!("{byte:02X}")).collect();
        return format!("{manager};{codecs};");
    }
    let used: Vec<u8> = counters.codecs().collect();
    let codec = match used.first() {
        _ if used.contains(&(Codec::Zstd as u8)) => Some(Codec::Zstd),
        Some(&byte) => Codec::from_byte(byte),
        None => None,
    };
    codec.unwrap_or_else(|| options.compression_recipe().stored_codec()).name().into()
}

fn insert_number(properties: &mut Properties, name: &str, number: u64) {
    let mut value = Vec::new();
    put_varint64(&mut value, number);
    properties.insert(name, value);
}
