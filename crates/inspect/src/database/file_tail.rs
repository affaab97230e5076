//! What the tail of a table tells about it, for many tables at once.

use serde::Serialize;
use sstkit_db::LevelFile;
use sstkit_table::raw::property_names;

use super::open_level_file;
use crate::encoding::Encoding;
use crate::error::Result;
use crate::inspected_table::InspectedTable;
use crate::names;

/// A table by its tail. Nothing but the footer, the metaindex and the properties is read.
///
/// LevelDB's tables have no properties, so their counts are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileTail {
    /// The file number.
    pub number: u64,
    /// The number of entries, including range deletions.
    pub entries: Option<u64>,
    /// The number of deletions of all kinds.
    pub deletions: Option<u64>,
    /// The number of range deletions.
    pub range_deletions: Option<u64>,
    /// The number of data blocks.
    pub data_blocks: Option<u64>,
    /// Bytes of all keys and values before compression.
    pub raw_bytes: Option<u64>,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// Bytes of the filter.
    pub filter_bytes: u64,
    /// The number of keys and prefixes in the filter.
    pub filter_keys: Option<u64>,
    /// The layout of the filter: `none`, `full`, `partitioned` or `block`.
    pub filter: &'static str,
    /// The name of its policy.
    pub filter_policy: Option<String>,
    /// The codec, as the properties name it.
    pub compression: Option<String>,
    /// When the file was made, in seconds since 1970.
    pub created: Option<u64>,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl FileTail {
    /// Opens a table of a database and reads its tail. An error is part of the description.
    pub fn of(file: &LevelFile) -> Self {
        let number = file.number();
        match Self::read(file) {
            Ok(tail) => Self { number, ..tail },
            Err(error) => {
                Self { number, filter: "none", problem: Some(error.to_string()), ..Self::default() }
            }
        }
    }

    fn read(file: &LevelFile) -> Result<Self> {
        Ok(Self::of_table(&open_level_file(file)?))
    }

    /// The tail of an open table.
    pub fn of_table(file: &InspectedTable) -> Self {
        let table = file.table();
        let number = |name| table.properties().number(name);
        let text = |name| {
            let value = table.properties().get(name).filter(|value| !value.is_empty());
            value.map(|value| Encoding::Escape.encode(value))
        };
        let filter = table.metaindex().filters().next();
        let raw = number(property_names::RAW_KEY_SIZE)
            .zip(number(property_names::RAW_VALUE_SIZE))
            .map(|(keys, values)| keys.saturating_add(values));
        Self {
            number: 0,
            entries: number(property_names::NUM_ENTRIES),
            deletions: number(property_names::DELETED_KEYS),
            range_deletions: number(property_names::NUM_RANGE_DELETIONS),
            data_blocks: number(property_names::NUM_DATA_BLOCKS),
            raw_bytes: raw,
            index_bytes: number(property_names::INDEX_SIZE)
                .unwrap_or_else(|| file.index_handle().size),
            filter_bytes: match &filter {
                // The property counts the partitions, too.
                Some((_, _, handle)) => number(property_names::FILTER_SIZE).unwrap_or(handle.size),
                None => 0,
            },
            filter_keys: number(property_names::NUM_FILTER_ENTRIES),
            filter: filter.map_or("none", |(layout, _, _)| names::filter_layout(layout)),
            filter_policy: text(property_names::FILTER_POLICY)
                .or_else(|| filter.map(|(_, policy, _)| policy.to_owned())),
            compression: text(property_names::COMPRESSION),
            created: number(property_names::FILE_CREATION_TIME).filter(|&time| time > 0),
            problem: None,
        }
    }
}
