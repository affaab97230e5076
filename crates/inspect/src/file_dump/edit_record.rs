//! A record of a MANIFEST.

use serde::Serialize;
use sstkit_db::raw::{BlobFileMetaData, LogRecord, VersionEdit, WalAddition};

use super::progress_record::ProgressRecord;
use super::state_record::WalRecord;
use super::table_record::{BoundRecord, TableRecord};
use crate::encoding::Encoding;

/// A version edit. Fields that it does not set are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EditRecord {
    /// Its index in the MANIFEST.
    pub index: u64,
    /// The offset of its first physical record.
    pub offset: u64,
    /// The bytes that it takes in the file, with headers.
    pub length: u64,
    /// The id of the column family that it is about.
    pub column_family: u32,
    /// The name of the column family that it creates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_family_add: Option<String>,
    /// Whether the column family is dropped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub column_family_drop: bool,
    /// The largest id that a column family has had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_column_family: Option<u32>,
    /// The id of the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub db_id: Option<String>,
    /// The name of the comparator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparator: Option<String>,
    /// Whether keys in tables keep their timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persist_timestamps: Option<bool>,
    /// Logs with smaller numbers have no writes for the column family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_number: Option<u64>,
    /// A second log that may still be needed (LevelDB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev_log_number: Option<u64>,
    /// Logs with smaller numbers are obsolete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_log_number_to_keep: Option<u64>,
    /// The number of the next file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_file_number: Option<u64>,
    /// The last sequence number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<u64>,
    /// History below this timestamp may be gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_history_timestamp_low: Option<String>,
    /// The edit belongs to an atomic group; this number of edits follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomic_group_remaining: Option<u32>,
    /// Tables that are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deleted_files: Vec<FileAtLevel>,
    /// Tables that are new.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_files: Vec<TableRecord>,
    /// Where the next compaction of a level starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compact_cursors: Vec<(u32, BoundRecord)>,
    /// Blob files that are new.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blob_file_additions: Vec<BlobFileAdditionRecord>,
    /// Values of blob files that became garbage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blob_file_garbage: Vec<BlobGarbageRecord>,
    /// Logs to track.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wal_additions: Vec<WalRecord>,
    /// Logs with smaller numbers are no longer tracked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_deletion: Option<u64>,
    /// How far a compaction has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subcompaction_progress: Option<ProgressRecord>,
}

/// A table that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileAtLevel {
    /// The level.
    pub level: u32,
    /// The file number.
    pub number: u64,
}

/// A blob file of a MANIFEST.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlobFileAdditionRecord {
    /// The file number.
    pub number: u64,
    /// The number of values.
    pub blobs: u64,
    /// The bytes of their records.
    pub bytes: u64,
    /// The number of values that are garbage.
    pub garbage_blobs: u64,
    /// The bytes of their records.
    pub garbage_bytes: u64,
    /// The checksum of the whole file, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_checksum: Option<String>,
    /// The name of the function of that checksum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_checksum_func_name: Option<String>,
}

/// Values of a blob file that became garbage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlobGarbageRecord {
    /// The file number.
    pub number: u64,
    /// The number of values.
    pub blobs: u64,
    /// The bytes of their records.
    pub bytes: u64,
}

impl From<&BlobFileMetaData> for BlobFileAdditionRecord {
    fn from(file: &BlobFileMetaData) -> Self {
        let checksum = file.file_checksum.as_ref();
        Self {
            number: file.number,
            blobs: file.blob_count,
            bytes: file.blob_bytes,
            garbage_blobs: file.garbage_count,
            garbage_bytes: file.garbage_bytes,
            file_checksum: checksum.map(|(_, checksum)| Encoding::Hex.encode(checksum)),
            file_checksum_func_name: checksum.map(|(name, _)| name.clone()),
        }
    }
}

impl From<&WalAddition> for WalRecord {
    fn from(wal: &WalAddition) -> Self {
        Self { number: wal.number, synced_size: wal.synced_size }
    }
}

impl EditRecord {
    pub(super) fn of(
        index: u64,
        record: &LogRecord<'_>,
        edit: &VersionEdit,
        encoding: Encoding,
    ) -> Self {
        let cursors = edit.compact_cursors.iter();
        Self {
            index,
            offset: record.offset,
            length: record.stored_length,
            column_family: edit.column_family,
            column_family_add: edit.column_family_add.clone(),
            column_family_drop: edit.column_family_drop,
            max_column_family: edit.max_column_family,
            db_id: edit.db_id.clone(),
            comparator: edit.comparator.clone(),
            persist_timestamps: edit.persist_timestamps,
            log_number: edit.log_number,
            prev_log_number: edit.prev_log_number,
            min_log_number_to_keep: edit.min_log_number_to_keep,
            next_file_number: edit.next_file_number,
            last_seq: edit.last_sequence,
            full_history_timestamp_low: edit
                .full_history_timestamp_low
                .as_ref()
                .map(|it| encoding.encode(it)),
            atomic_group_remaining: edit.atomic_group_remaining,
            deleted_files: edit
                .deleted_files
                .iter()
                .map(|&(level, number)| FileAtLevel { level, number })
                .collect(),
            new_files: edit
                .new_files
                .iter()
                .map(|(level, file)| TableRecord::of(*level, file, encoding))
                .collect(),
            compact_cursors: cursors
                .map(|(level, key)| (*level, BoundRecord::of(key, encoding)))
                .collect(),
            blob_file_additions: edit.blob_file_additions.iter().map(Into::into).collect(),
            blob_file_garbage: edit
                .blob_file_garbage
                .iter()
                .map(|it| BlobGarbageRecord { number: it.number, blobs: it.count, bytes: it.bytes })
                .collect(),
            wal_additions: edit.wal_additions.iter().map(Into::into).collect(),
            wal_deletion: edit.wal_deletion,
            subcompaction_progress: edit
                .subcompaction_progress
                .as_ref()
                .map(|it| ProgressRecord::of(it, encoding)),
        }
    }
}
