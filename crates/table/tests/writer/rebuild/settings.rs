//! What a table says of its own settings.

use sstkit_filter::FilterLayout;
use sstkit_table::raw::{
    Block, Codec, Engine, FormatVersion, InternalKey, TableView, property_names as names,
};
use sstkit_table::{Identity, TableOptions};

use super::blocks::is_of_rocksdb6;

/// The options that `table` was written with, as far as it says them.
pub(crate) fn said(table: &TableView<'_>) -> TableOptions {
    if table.engine() == Engine::LevelDb {
        return TableOptions::leveldb()
            .bare_keys(has_bare_keys(table))
            .compression(codec_in_use(table));
    }
    let properties = table.properties();
    let text =
        |name: &str| String::from_utf8(properties.get(name).unwrap_or_default().to_vec()).unwrap();
    let number = |name: &str| properties.number(name).unwrap_or(0);
    let footer = table.footer();

    let mut options = TableOptions::rocksdb()
        .format_version(footer.version)
        .checksum(footer.checksum)
        .comparator(text(names::COMPARATOR).parse().unwrap())
        .index_kind(table.index_format().kind)
        .separate_key_value_in_data_block(number(names::SEPARATE_KEY_VALUE_IN_DATA_BLOCK) == 1)
        .whole_key_filtering(number(names::WHOLE_KEY_FILTERING) == 1)
        .decouple_partitioned_filters(number(names::DECOUPLED_PARTITIONED_FILTERS) == 1)
        .external_file(properties.number(names::EXTERNAL_SST_FILE_VERSION).is_some())
        .identity(identity(table));
    if is_of_rocksdb6(table) {
        options = options.readable_by("6.20".parse().unwrap());
    } else {
        options = options
            .block_restart_interval(number(names::DATA_BLOCK_RESTART_INTERVAL) as usize)
            .index_block_restart_interval(number(names::INDEX_BLOCK_RESTART_INTERVAL) as usize);
    }
    if footer.base_context_checksum != 0 {
        options = options.base_context_checksum(footer.base_context_checksum);
    }
    let extractor = text(names::PREFIX_EXTRACTOR_NAME);
    if extractor != "nullptr" {
        options = options.prefix_extractor(extractor.parse().unwrap());
    }
    let operator = text(names::MERGE_OPERATOR);
    if operator != "nullptr" {
        options = options.merge_operator(operator);
    }
    let family = number(names::COLUMN_FAMILY_ID);
    if family != u64::from(sstkit_table::options::defaults::UNKNOWN_COLUMN_FAMILY_ID) {
        options = options.column_family(family as u32, text(names::COLUMN_FAMILY_NAME));
    }
    let collectors = text(names::PROPERTY_COLLECTORS);
    for name in collectors.trim_matches(['[', ']']).split(',').filter(|name| !name.is_empty()) {
        options = options.property_collector(name);
    }
    for (name, value) in properties.user() {
        options = options.user_property(name, value);
    }
    if table.metaindex().filters().any(|(layout, ..)| layout == FilterLayout::Partitioned) {
        options = options.partition_filters(true);
    }
    if table
        .data_blocks()
        .unwrap()
        .any(|block| Block::parse(block.unwrap().contents).unwrap().hash_index().is_some())
    {
        options = options.data_block_hash_index(true);
    }
    let embedded = properties.embedded_blobs().is_some();
    // Index values are whole from version 4 on only where blocks may lie apart.
    if footer.version >= FormatVersion::V4
        && !properties.index_value_is_delta_encoded()
        && !embedded
    {
        options = options.block_align(true);
    }
    let codec = text(names::COMPRESSION);
    let codec = Codec::ALL.iter().copied().find(|known| known.name() == codec);
    with_compression(options, codec, &text(names::COMPRESSION_OPTIONS))
}

/// `name=value; …`, as RocksDB stores its compression options. RocksDB 6.20 stores the codec elsewhere.
fn with_compression(options: TableOptions, codec: Option<Codec>, text: &str) -> TableOptions {
    let setting = |name: &str| {
        let prefix = format!("{name}=");
        let value = text.split("; ").find_map(|part| part.strip_prefix(prefix.as_str()));
        value.map(|value| value.parse::<i64>().unwrap())
    };
    let codec = setting("_type").and_then(|byte| Codec::from_byte(byte as u8)).or(codec);
    let mut options = options
        .compression(codec.unwrap())
        .max_dict_bytes(setting("max_dict_bytes").unwrap() as usize)
        .zstd_max_train_bytes(setting("zstd_max_train_bytes").unwrap() as usize)
        .max_dict_buffer_bytes(setting("max_dict_buffer_bytes").unwrap() as u64);
    if let Some(limit) = setting("max_compressed_bytes_per_kb") {
        options = options.max_compressed_bytes_per_kb(limit as u32);
    }
    if let Some(level) = setting("level")
        && level != 32_767
    {
        options = options.compression_level(level as i32);
    }
    options
}

fn identity(table: &TableView<'_>) -> Identity {
    let properties = table.properties();
    let text =
        |name: &str| String::from_utf8(properties.get(name).unwrap_or_default().to_vec()).unwrap();
    let number = |name: &str| properties.number(name).unwrap_or(0);
    let mut identity = Identity::default();
    identity.db_id = text(names::DB_IDENTITY);
    identity.session_id = text(names::DB_SESSION_IDENTITY);
    identity.host_id = text(names::DB_HOST_IDENTITY);
    identity.file_number = number(names::ORIGINAL_FILE_NUMBER);
    identity.creation_time = number(names::CREATION_TIME);
    identity.oldest_key_time = number(names::OLDEST_KEY_TIME);
    identity.newest_key_time = number(names::NEWEST_KEY_TIME);
    identity.file_creation_time = number(names::FILE_CREATION_TIME);
    identity
}

/// Whether a table of LevelDB's has keys that are no internal keys.
pub(crate) fn has_bare_keys(table: &TableView<'_>) -> bool {
    let mut entries = table.entries().unwrap();
    while entries.advance().unwrap() {
        let key = InternalKey::decode_from(entries.key());
        if !key.is_ok_and(|key| key.kind as u8 <= 1) {
            return true;
        }
    }
    false
}

fn codec_in_use(table: &TableView<'_>) -> Codec {
    match super::blocks::codecs(table).into_iter().max() {
        Some(1) => Codec::Snappy,
        Some(2) => Codec::Zstd,
        _ => Codec::None,
    }
}
