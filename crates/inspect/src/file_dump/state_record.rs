//! The state that the edits of a MANIFEST add up to.

use serde::Serialize;
use sstkit_db::raw::{ColumnFamilyState, ManifestState};

use super::edit_record::BlobFileAdditionRecord;
use super::table_record::TableRecord;
use crate::encoding::Encoding;

/// The state after all edits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StateRecord {
    /// The number of edits.
    pub edits: u64,
    /// The id of the database.
    pub db_id: Option<String>,
    /// The last sequence number, not counting the logs.
    pub last_seq: u64,
    /// The number of the next file.
    pub next_file_number: u64,
    /// Logs with smaller numbers are obsolete.
    pub min_log_number_to_keep: u64,
    /// A second log that LevelDB may still need; 0 if there is none.
    pub prev_log_number: u64,
    /// The largest id that a column family has had.
    pub max_column_family: u32,
    /// The column families, by id.
    pub column_families: Vec<FamilyStateRecord>,
    /// The logs that are tracked, by number.
    pub wals: Vec<WalRecord>,
}

/// A column family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FamilyStateRecord {
    /// The id.
    pub id: u32,
    /// The name.
    pub name: String,
    /// The comparator.
    pub comparator: Option<String>,
    /// Logs with smaller numbers have no writes for it.
    pub log_number: u64,
    /// Whether keys in tables keep their timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persist_timestamps: Option<bool>,
    /// The live tables, by level and number.
    pub files: Vec<TableRecord>,
    /// The blob files, by number.
    pub blob_files: Vec<BlobFileAdditionRecord>,
}

/// A log that is tracked in a MANIFEST.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WalRecord {
    /// The number.
    pub number: u64,
    /// The size up to which it was synced.
    pub synced_size: Option<u64>,
}

impl StateRecord {
    pub(super) fn of(state: &ManifestState, encoding: Encoding) -> Self {
        let wals = state.wals.iter();
        Self {
            edits: state.edits,
            db_id: state.db_id.clone(),
            last_seq: state.last_sequence,
            next_file_number: state.next_file_number,
            min_log_number_to_keep: state.min_log_number_to_keep,
            prev_log_number: state.prev_log_number,
            max_column_family: state.max_column_family,
            column_families: state
                .column_families
                .values()
                .map(|family| FamilyStateRecord::of(family, encoding))
                .collect(),
            wals: wals.map(|(&number, &synced_size)| WalRecord { number, synced_size }).collect(),
        }
    }
}

impl FamilyStateRecord {
    fn of(family: &ColumnFamilyState, encoding: Encoding) -> Self {
        Self {
            id: family.id,
            name: family.name.clone(),
            comparator: family.comparator.clone(),
            log_number: family.log_number,
            persist_timestamps: family.persist_timestamps,
            files: family
                .files()
                .map(|(level, file)| TableRecord::of(level, file, encoding))
                .collect(),
            blob_files: family.blob_files.values().map(Into::into).collect(),
        }
    }
}
