//! The options of a table whose data blocks exist already.

use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::options::defaults::DEFAULT_BLOCK_SIZE;
use crate::raw::property_names as names;
use crate::raw::{Codec, Engine, FormatVersion, TableView};

/// The options, completed and corrected by what is fixed in the source.
pub(crate) fn settle(source: &TableView<'_>, options: &TableOptions) -> Result<TableOptions> {
    let (engine, wanted) = (source.engine(), options.engine);
    if engine != wanted {
        return Err(Error::unsupported(format!(
            "a {engine:?} table cannot become a {wanted:?} table by a new tail"
        )));
    }
    let mut options = options.of_one_table();
    if engine == Engine::LevelDb {
        options.check()?;
        return Ok(options);
    }
    check_comparator(source, &options)?;
    settle_blocks(source, &mut options);
    settle_compression(source, &mut options)?;
    settle_names(source, &mut options);
    options.check()?;
    // After the check, which refuses them from a user: RocksDB's own properties that describe the
    // data and stay as they are.
    for name in [names::GLOBAL_SEQNO, names::SEQNO_TIME_MAP] {
        if let Some(value) = source.properties().get(name) {
            options.properties.user_properties.push((name.into(), value.to_vec()));
        }
    }
    Ok(options)
}

fn check_comparator(source: &TableView<'_>, options: &TableOptions) -> Result<()> {
    let properties = source.properties();
    if let Some(name) = properties.comparator()
        && name != options.comparator.name().as_bytes()
    {
        return Err(Error::invalid_input(format!(
            "comparator = {} contradicts the source, whose comparator is {}",
            options.comparator,
            name.escape_ascii()
        )));
    }
    if !properties.has_persisted_timestamps() {
        return Err(Error::unsupported("its keys have no timestamps (they were stripped)"));
    }
    Ok(())
}

fn settle_blocks(source: &TableView<'_>, options: &mut TableOptions) {
    let properties = source.properties();
    let number = |name: &str| properties.number(name).unwrap_or(0);
    // Only recorded in the properties: no data block is built.
    options.blocks.size = DEFAULT_BLOCK_SIZE;
    if let Ok(interval @ 1..) = usize::try_from(number(names::DATA_BLOCK_RESTART_INTERVAL)) {
        options.blocks.restart_interval = interval;
    }
    options.blocks.separate_key_value = number(names::SEPARATE_KEY_VALUE_IN_DATA_BLOCK) == 1;
    options.blocks.super_block_alignment_size = 0;
    // With values between the blocks, index values cannot be stored as differences.
    options.blocks.embedded_blobs = properties.embedded_blobs().map(|_| usize::MAX);
    options.blocks.align = source.footer().version >= FormatVersion::V4
        && !properties.index_value_is_delta_encoded()
        && options.blocks.embedded_blobs.is_none();
    let base = source.footer().base_context_checksum;
    if options.format.base_context_checksum.is_none() && base != 0 {
        options.format.base_context_checksum = Some(base);
    }
}

/// The codec of the source, which is then used for index blocks, too, and its settings as they are.
fn settle_compression(source: &TableView<'_>, options: &mut TableOptions) -> Result<()> {
    let properties = source.properties();
    let text = |name: &str| properties.get(name).and_then(|text| std::str::from_utf8(text).ok());
    let settings = text(names::COMPRESSION_OPTIONS).unwrap_or_default();
    let setting = |name: &str| {
        let mut parts = settings.split("; ").filter_map(|part| part.split_once('='));
        parts.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse::<u8>().ok())
    };
    let named = || Codec::from_name(text(names::COMPRESSION)?);
    let codec = setting("_type").and_then(Codec::from_byte).or_else(named);
    options.compression.codec = match codec {
        Some(Codec::Xpress | Codec::ZstdNotFinal) => Codec::Zstd,
        Some(codec) => codec,
        None => Codec::None,
    };
    options.compression.level = None;
    if !settings.is_empty() {
        options.compression.options_text = Some(settings.into());
    }
    Ok(())
}

fn settle_names(source: &TableView<'_>, options: &mut TableOptions) {
    let properties = source.properties();
    let text =
        |name: &str| properties.get(name).map(|text| String::from_utf8_lossy(text).into_owned());
    let number = |name: &str| properties.number(name).unwrap_or(0);
    if options.properties.merge_operator.is_none() {
        options.properties.merge_operator =
            text(names::MERGE_OPERATOR).filter(|name| name != "nullptr");
    }
    if let (None, Some(id)) =
        (&options.properties.column_family, properties.number(names::COLUMN_FAMILY_ID))
        && let Ok(id) = u32::try_from(id)
    {
        options.properties.column_family =
            Some((id, text(names::COLUMN_FAMILY_NAME).unwrap_or_default()));
    }
    for (name, value) in properties.user() {
        if !options.properties.user_properties.iter().any(|(own, _)| own == name) {
            options.properties.user_properties.push((name.to_vec(), value.to_vec()));
        }
    }
    options.properties.external_file =
        properties.number(names::EXTERNAL_SST_FILE_VERSION).is_some();
    let identity = &mut options.properties.identity;
    for (time, name) in [
        (&mut identity.creation_time, names::CREATION_TIME),
        (&mut identity.oldest_key_time, names::OLDEST_KEY_TIME),
        (&mut identity.newest_key_time, names::NEWEST_KEY_TIME),
    ] {
        if *time == 0 {
            *time = number(name);
        }
    }
}
