//! Describes a table.

mod census;
mod readers;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use sstkit_table::raw::property_names::{self, PropertyEncoding};
use sstkit_table::raw::{BlockHandle, BlockKind, Engine, IndexKind, Properties, Trailer};
use sstkit_table::{Result, UniqueId};

use self::census::Census;
pub use self::readers::{Readers, VersionRange};
use crate::encoding::Encoding;
use crate::filter_report::FilterReport;
use crate::inspected_table::InspectedTable;
use crate::names;
use crate::verify::Problem;

/// The description of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TableInfo {
    /// The file.
    pub file: String,
    /// `leveldb-table` or `rocksdb-table`.
    pub kind: &'static str,
    /// RocksDB's format version; 0 for LevelDB.
    pub format_version: u32,
    /// The checksum type of the blocks.
    pub checksum: &'static str,
    /// The name of the comparator: the table's, or else that of the MANIFEST beside it; `None` if neither
    /// names it.
    pub comparator: Option<String>,
    /// `internal`: with sequence number and type; `user`: user keys only.
    pub key_form: &'static str,
    /// The engines that can read it.
    pub readable_by: Readers,
    /// The size of the file in bytes.
    pub size: u64,
    /// Whether the whole file was read and counted. Otherwise the numbers are those of the
    /// properties, and fields that require reading the data blocks are `None`.
    pub full: bool,
    /// The number of entries, including range deletions; `None` if neither counted nor in the
    /// properties.
    pub entries: Option<u64>,
    /// The number of entries of each type; `None` if not counted.
    pub entries_by_kind: Option<BTreeMap<&'static str, u64>>,
    /// The smallest and largest key of the entries, without timestamps; `None` if there are only
    /// range deletions, or the first or last data block cannot be read.
    pub smallest_key: Option<String>,
    /// See `smallest_key`.
    pub largest_key: Option<String>,
    /// The smallest and largest sequence number; `None` in tables of user keys, or if neither
    /// counted nor in the properties.
    pub smallest_seq: Option<u64>,
    /// See `smallest_seq`.
    pub largest_seq: Option<u64>,
    /// The global sequence number of an ingested table, which replaces those of all entries.
    pub global_seq: Option<u64>,
    /// The data blocks by codec, largest total size first; `None` if they were not read.
    pub codecs: Option<Vec<CodecShare>>,
    /// The index.
    pub index: IndexInfo,
    /// The bytes of the file by purpose; they add up to `size`.
    pub sizes: Sizes,
    /// The filter; `None` if there is none.
    pub filter: Option<FilterReport>,
    /// RocksDB's unique id of the table, independent of its path.
    pub unique_id: Option<String>,
    /// The properties by RocksDB's names.
    pub properties: BTreeMap<String, PropertyValue>,
    /// Parts that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// The value of a property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum PropertyValue {
    /// A number.
    Number(u64),
    /// Bytes, in the escape form.
    Text(String),
}

impl fmt::Display for PropertyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// The data blocks of one codec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CodecShare {
    /// The codec.
    pub codec: String,
    /// The number of blocks.
    pub blocks: u64,
    /// The stored size in bytes, without trailers.
    pub bytes: u64,
    /// The decompressed size in bytes.
    pub uncompressed: u64,
}

/// The index of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexInfo {
    /// The type: `binary`, `hash`, `two-level` or `first-key`.
    pub kind: &'static str,
    /// The number of partitions; 0 if it has one level.
    pub partitions: u64,
    /// Whether its keys are user keys, without sequence number and type.
    pub user_keys: bool,
    /// Whether its values are delta-encoded.
    pub delta_values: bool,
}

/// The bytes of a file by purpose, including trailers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Sizes {
    /// Data blocks.
    pub data: u64,
    /// Embedded blobs.
    pub blobs: u64,
    /// The index with its partitions and hash tables.
    pub index: u64,
    /// The filter with its partitions.
    pub filter: u64,
    /// Dictionary, range deletions, properties, metaindex and unknown blocks.
    pub other: u64,
    /// The footer.
    pub footer: u64,
    /// Zeros between blocks.
    pub padding: u64,
}

impl Sizes {
    /// The total.
    pub fn total(&self) -> u64 {
        let Self { data, blobs, index, filter, other, footer, padding } = *self;
        [data, blobs, index, filter, other, footer, padding].iter().sum()
    }

    /// Counts the rest of the file as padding.
    fn pad(&mut self, size: u64) {
        self.padding = 0;
        self.padding = size.saturating_sub(self.total());
    }

    fn add(&mut self, kind: BlockKind, handle: BlockHandle) {
        let part = match kind {
            BlockKind::Data => &mut self.data,
            BlockKind::EmbeddedBlob => &mut self.blobs,
            BlockKind::Index
            | BlockKind::IndexPartition
            | BlockKind::HashIndex
            | BlockKind::UserDefinedIndex => &mut self.index,
            BlockKind::Filter | BlockKind::FilterPartition => &mut self.filter,
            _ => &mut self.other,
        };
        *part += handle.size + Trailer::LENGTH as u64;
    }
}

/// Files up to this size are always read completely, since that takes no noticeable time.
pub const COUNTED_SIZE: u64 = 4 << 20;

impl TableInfo {
    /// Describes a table. Reads its tail and the first and last data block, or the whole file if it
    /// has at most [`COUNTED_SIZE`] bytes. Keys are in `encoding`.
    pub fn of(name: impl Into<String>, file: &InspectedTable, encoding: Encoding) -> Result<Self> {
        match file.table().size() <= COUNTED_SIZE {
            true => Self::full(name, file, encoding),
            false => Self::of_tail(name, file, encoding),
        }
    }

    /// Describes a table. Reads all of it, one block at a time, and counts.
    pub fn full(
        name: impl Into<String>,
        file: &InspectedTable,
        encoding: Encoding,
    ) -> Result<Self> {
        let mut info = Self::of_tail(name, file, encoding)?;
        let census = Census::take(file)?;
        let num_entries = file.table().properties().num_entries();
        info.full = true;
        info.entries = Some(match census.problems.is_empty() || num_entries == 0 {
            true => census.by_kind.values().sum(),
            false => num_entries,
        });
        info.smallest_key = census.first_key.as_deref().map(|key| encoding.encode(key));
        info.largest_key = census.last_key.as_deref().map(|key| encoding.encode(key));
        info.smallest_seq = census.sequences.map(|(smallest, _)| smallest);
        info.largest_seq = census.sequences.map(|(_, largest)| largest);
        info.codecs = Some(census.codecs());
        info.readable_by = Readers::of(file, &census.features(), info.filter.as_ref());
        info.entries_by_kind = Some(census.by_kind);
        info.problems.splice(..0, census.problems);
        if file.table().properties().embedded_blobs().is_some()
            && let Ok(layout) = file.layout()
        {
            info.sizes.blobs = 0;
            for block in layout.blocks.iter().filter(|it| it.kind == BlockKind::EmbeddedBlob) {
                info.sizes.add(block.kind, block.handle);
            }
            info.sizes.pad(info.size);
        }
        Ok(info)
    }

    /// Describes a table as [`of`](Self::of) does. If its index is damaged, what is known without the blocks
    /// after the damage, which is among the problems.
    pub fn of_readable(name: &str, file: &InspectedTable, encoding: Encoding) -> Self {
        Self::of(name, file, encoding).unwrap_or_else(|error| {
            let found = file.readable_block_handles(&|| true);
            let handles = found.map(|(handles, _)| handles).unwrap_or_default();
            let mut info = Self::of_handles(name.to_owned(), file, encoding, handles);
            info.problems.insert(0, Problem::from(&error));
            info
        })
    }

    /// Describes a table by its tail and the first and last data block.
    pub fn of_tail(
        name: impl Into<String>,
        file: &InspectedTable,
        encoding: Encoding,
    ) -> Result<Self> {
        Ok(Self::of_handles(name.into(), file, encoding, file.block_handles()?))
    }

    fn of_handles(
        name: String,
        file: &InspectedTable,
        encoding: Encoding,
        handles: Vec<(BlockKind, BlockHandle)>,
    ) -> Self {
        let table = file.table();
        let properties = table.properties();
        let mut sizes = Sizes { footer: table.size() - table.footer().offset, ..Sizes::default() };
        let mut partitions = 0;
        for (kind, handle) in handles {
            sizes.add(kind, handle);
            partitions += u64::from(kind == BlockKind::IndexPartition);
        }
        if let Some((count, bytes)) = properties.embedded_blobs() {
            sizes.blobs = bytes.saturating_add(count.saturating_mul(Trailer::LENGTH as u64));
        }
        sizes.pad(table.size());
        let format = file.index_format();
        let mut problems = Vec::new();
        let filter = FilterReport::of_existing(&name, file).unwrap_or_else(|error| {
            problems.push(Problem::from(&error));
            Some(FilterReport::unreadable(&name, file))
        });
        let (smallest_key, largest_key) = end_keys(file).unzip();
        let (smallest_seq, largest_seq) = sequences(file).unzip();
        Self {
            kind: table_kind(table.engine()),
            format_version: table.footer().version.number(),
            checksum: names::checksum(table.footer().checksum),
            comparator: file.comparator_name().map(|name| Encoding::Escape.encode(name)),
            key_form: if table.has_internal_keys() { "internal" } else { "user" },
            readable_by: Readers::of(file, &[], filter.as_ref()),
            size: table.size(),
            full: false,
            entries: properties.number(property_names::NUM_ENTRIES),
            entries_by_kind: None,
            smallest_key: smallest_key.map(|key| encoding.encode(&key)),
            largest_key: largest_key.map(|key| encoding.encode(&key)),
            smallest_seq,
            largest_seq,
            global_seq: table.global_sequence_number(),
            codecs: None,
            index: IndexInfo {
                kind: names::index_kind(format.kind),
                partitions: if format.kind == IndexKind::TwoLevel { partitions } else { 0 },
                user_keys: format.user_keys,
                delta_values: format.delta_values,
            },
            sizes,
            filter,
            unique_id: UniqueId::of(properties).map(|id| id.to_string()),
            properties: property_values(properties),
            problems,
            file: name,
        }
    }
}

/// The first and last key, without timestamps, from two data blocks; `None` if one of them cannot
/// be read, which a full read reports.
fn end_keys(file: &InspectedTable) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut cursor = file.table().entry_cursor();
    if !cursor.seek_to_first().ok()? {
        return None;
    }
    let first = file.bare(cursor.user_key()).to_vec();
    cursor.seek_to_last().ok()?.then(|| (first, file.bare(cursor.user_key()).to_vec()))
}

/// The smallest and largest sequence number, if the tail contains them.
fn sequences(file: &InspectedTable) -> Option<(u64, u64)> {
    let table = file.table();
    if let Some(global) = table.global_sequence_number() {
        return Some((global, global));
    }
    let number = |name| table.properties().number(name);
    number(property_names::KEY_SMALLEST_SEQNO).zip(number(property_names::KEY_LARGEST_SEQNO))
}

/// What a table is.
pub(crate) fn table_kind(engine: Engine) -> &'static str {
    match engine {
        Engine::LevelDb => "leveldb-table",
        Engine::RocksDb => "rocksdb-table",
    }
}

/// All properties: numbers as numbers, everything else in the escape form.
pub(crate) fn property_values(properties: &Properties) -> BTreeMap<String, PropertyValue> {
    let value = |name: &[u8], value: &[u8]| {
        let is_number =
            property_names::encoding(name).is_some_and(|it| it != PropertyEncoding::Text);
        let name = std::str::from_utf8(name).ok().filter(|_| is_number);
        match name.and_then(|name| properties.number(name)) {
            Some(number) => PropertyValue::Number(number),
            None => PropertyValue::Text(Encoding::Escape.encode(value)),
        }
    };
    properties
        .iter()
        .map(|(name, stored)| (Encoding::Escape.encode(name), value(name, stored)))
        .collect()
}
