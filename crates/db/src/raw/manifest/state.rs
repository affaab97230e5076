//! The state after all edits of a MANIFEST.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use sstkit_table::raw::Engine;

use super::file_meta_data::{BlobFileMetaData, FileMetaData};
use super::replay::Replay;
use super::version_edit::VersionEdit;
use crate::error::Result;
use crate::raw::log::LogProblem;

/// What a whole MANIFEST says about the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestState {
    /// The database's id; the file `IDENTITY` holds the same.
    pub db_id: Option<String>,
    /// The number that the next new file will get.
    pub next_file_number: u64,
    /// The largest sequence number in use, not counting the logs.
    pub last_sequence: u64,
    /// Logs with smaller numbers are obsolete.
    pub min_log_number_to_keep: u64,
    /// A second log that LevelDB may still need; 0 if there is none.
    pub prev_log_number: u64,
    /// The largest id that a column family has had.
    pub max_column_family: u32,
    /// All column families that were not dropped, by id. 0 is `default`.
    pub column_families: BTreeMap<u32, ColumnFamilyState>,
    /// The synced sizes of the logs that are tracked in the MANIFEST, by number.
    pub wals: BTreeMap<u64, Option<u64>>,
    /// How many edits there were.
    pub edits: u64,
    /// Where the file ends within a record or an atomic group of edits, which is ignored:
    /// the state is the one before it.
    pub torn_tail: Option<LogProblem>,
    /// An edit names the previous log, as each of an engine does that opened the database.
    pub(crate) has_previous_log_number: bool,
}

/// One column family: its files and its place in the logs.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnFamilyState {
    /// Its number in logs and blob files.
    pub id: u32,
    /// Its name. Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// The comparator's name.
    pub comparator: Option<String>,
    /// Logs with smaller numbers hold nothing for it.
    pub log_number: u64,
    /// Whether keys in tables keep their timestamps; set only if the comparator has timestamps.
    pub persist_timestamps: Option<bool>,
    /// History below this timestamp may be gone.
    pub full_history_timestamp_low: Option<Vec<u8>>,
    /// The live tables: by level, then by number.
    pub levels: BTreeMap<u32, BTreeMap<u64, FileMetaData>>,
    /// The blob files, by number.
    pub blob_files: BTreeMap<u64, BlobFileMetaData>,
    /// Where the engine's next compaction of a level starts: encoded internal keys, by level.
    pub compact_cursors: BTreeMap<u32, Vec<u8>>,
}

sstkit_coding::debug_struct!(ColumnFamilyState {
    id,
    name,
    comparator,
    log_number,
    persist_timestamps,
    full_history_timestamp_low: bytes,
    levels,
    blob_files,
    compact_cursors: bytes,
});

impl ManifestState {
    /// Reads a whole MANIFEST and applies its edits. An unfinished record or group of edits at the
    /// end is ignored and reported by [`torn_tail`](Self::torn_tail); any other damage is
    /// an error.
    pub fn replay(reader: impl Read, dialect: Engine) -> Result<Self> {
        Self::replay_observed(reader, dialect, |_, _| Ok(()))
    }

    /// [`replay`](Self::replay) that shows each edit, with its offset in the file, before it is
    /// applied, and ends with the error of `observe`. Edits of an atomic group are shown when the group
    /// is complete.
    pub fn replay_observed(
        reader: impl Read,
        dialect: Engine,
        mut observe: impl FnMut(u64, &VersionEdit) -> Result<()>,
    ) -> Result<Self> {
        Replay::run(reader, dialect, &mut observe)
    }

    /// The column family with this name.
    pub fn column_family(&self, name: &str) -> Option<&ColumnFamilyState> {
        self.column_families.values().find(|family| family.name == name)
    }
}

impl ColumnFamilyState {
    /// All live tables with their levels, top level first.
    pub fn files(&self) -> impl Iterator<Item = (u32, &FileMetaData)> {
        self.levels.iter().flat_map(|(&level, files)| files.values().map(move |file| (level, file)))
    }

    /// The level that a table is in.
    pub fn level_of(&self, number: u64) -> Option<u32> {
        let mut levels = self.levels.iter();
        levels.find(|(_, files)| files.contains_key(&number)).map(|(&level, _)| level)
    }

    /// The blob files that RocksDB keeps: not those older than the oldest blob file of every table,
    /// and not those that are all garbage and not the oldest blob file of any table.
    ///
    /// Other files may have been deleted from the directory.
    pub fn live_blob_files(&self) -> impl Iterator<Item = &BlobFileMetaData> {
        let linked: BTreeSet<u64> =
            self.files().filter_map(|(_, file)| file.oldest_blob_file).collect();
        let oldest = linked.iter().find(|number| self.blob_files.contains_key(number)).copied();
        let from = oldest.unwrap_or(u64::MAX);
        self.blob_files.range(from..).map(|(_, file)| file).filter(move |file| {
            file.garbage_count < file.blob_count || linked.contains(&file.number)
        })
    }
}
