//! A table, as a MANIFEST describes it.

use serde::Serialize;
use sstkit_coding::fixed::decode_fixed64;
use sstkit_db::raw::FileMetaData;
use sstkit_table::UniqueId;
use sstkit_table::raw::EntryKind;

use crate::encoding::Encoding;
use crate::names;

/// A table of a MANIFEST.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableRecord {
    /// The level.
    pub level: u32,
    /// The file number.
    pub number: u64,
    /// The size in bytes.
    pub size: u64,
    /// Its first key.
    pub smallest: BoundRecord,
    /// Its last key.
    pub largest: BoundRecord,
    /// The smallest sequence number; not in a LevelDB MANIFEST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_seq: Option<u64>,
    /// The largest sequence number; not in a LevelDB MANIFEST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_seq: Option<u64>,
    /// The index of its directory in `db_paths`, if it is not the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_id: Option<u32>,
    /// Newer files of level 0 have larger ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_number: Option<u64>,
    /// The oldest blob file that it refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_blob_file: Option<u64>,
    /// The checksum of the whole file, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_checksum: Option<String>,
    /// The name of the function of that checksum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_checksum_func_name: Option<String>,
    /// The unique id, as RocksDB's tools show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_id: Option<String>,
    /// The smallest user timestamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_timestamp: Option<String>,
    /// The largest user timestamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_timestamp: Option<String>,
    /// When the oldest data in it was written, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_ancestor_time: Option<u64>,
    /// When the file was written, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_creation_time: Option<u64>,
    /// RocksDB's number of the temperature of its storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<u8>,
    /// Whether the engine wanted to compact it soon.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub marked_for_compaction: bool,
    /// Estimated bytes in lower levels that its range tombstones delete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compensated_range_deletion_size: Option<u64>,
    /// Bytes from the end of the data blocks to the end of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_size: Option<u64>,
}

/// A bound of a table: an internal key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BoundRecord {
    /// The user key, with its timestamp if it has one.
    pub key: String,
    /// The sequence number.
    pub seq: u64,
    /// The type, as in `scan --internal`; a number if tables have no entries of it.
    #[serde(rename = "type")]
    pub kind: String,
}

impl BoundRecord {
    pub(super) fn of(bound: &[u8], encoding: Encoding) -> Self {
        let (key, tail) =
            bound.split_last_chunk().map_or((bound, 0), |(key, tail)| (key, decode_fixed64(*tail)));
        let kind = EntryKind::from_byte(tail as u8).map(names::entry_kind);
        Self {
            key: encoding.encode(key),
            seq: tail >> 8,
            kind: kind.map_or_else(|| (tail as u8).to_string(), str::to_owned),
        }
    }
}

impl TableRecord {
    pub(super) fn of(level: u32, file: &FileMetaData, encoding: Encoding) -> Self {
        let hex = |bytes: &[u8]| Encoding::Hex.encode(bytes);
        let checksum = file.file_checksum.as_ref();
        Self {
            level,
            number: file.number,
            size: file.size,
            smallest: BoundRecord::of(&file.smallest, encoding),
            largest: BoundRecord::of(&file.largest, encoding),
            smallest_seq: file.smallest_sequence,
            largest_seq: file.largest_sequence,
            path_id: Some(file.path_id).filter(|&id| id > 0),
            epoch_number: file.epoch_number,
            oldest_blob_file: file.oldest_blob_file,
            file_checksum: checksum.map(|(_, checksum)| hex(checksum)),
            file_checksum_func_name: checksum.map(|(name, _)| name.clone()),
            unique_id: file.unique_id.filter(|id| *id != [0; 16]).map(unique_id),
            min_timestamp: file.min_timestamp.as_ref().map(|it| encoding.encode(it)),
            max_timestamp: file.max_timestamp.as_ref().map(|it| encoding.encode(it)),
            oldest_ancestor_time: file.oldest_ancestor_time,
            file_creation_time: file.file_creation_time,
            temperature: file.temperature,
            marked_for_compaction: file.marked_for_compaction,
            compensated_range_deletion_size: Some(file.compensated_range_deletion_size)
                .filter(|&size| size > 0),
            tail_size: Some(file.tail_size).filter(|&size| size > 0),
        }
    }
}

/// The external form of a unique id of a MANIFEST: two words, the lower one first.
fn unique_id(bytes: [u8; 16]) -> String {
    let word = |at: usize| decode_fixed64(std::array::from_fn(|byte| bytes[at + byte]));
    UniqueId::from_internal([word(0), word(8)]).to_string()
}
