//! What MANIFESTs say, as far as they can be read.
//!
//! ```text
//! MANIFEST   | add 5, 6 | delete 5, 6; add 9 | damaged | add 12 |
//!
//! 5, 6       deleted: obsolete, for certain
//! 9, 12      added: live, unless the damaged part deleted them
//! 11         nothing is said about it: it may be live
//! ```
//!
//! Numbers of files are never used again, so a deletion holds whatever was lost before it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use sstkit_table::Comparator;
use sstkit_table::raw::Engine;
use sstkit_table::visibility::UserKeys;

use super::table_examination::user_key;
use crate::error::Result;
use crate::raw::{BlobFileMetaData, FileMetaData, LogEvent, LogReader, ManifestState, VersionEdit};
use crate::version::TableFile;

/// A column family, as MANIFESTs describe it.
#[derive(Clone, Debug, Default)]
pub(super) struct FamilyEvidence {
    pub(super) name: String,
    pub(super) comparator: Option<String>,
    pub(super) persist_timestamps: Option<bool>,
    pub(super) full_history_timestamp_low: Option<Vec<u8>>,
}

/// A table that was added.
#[derive(Clone, Debug)]
pub(super) struct TableEvidence {
    pub(super) column_family: u32,
    pub(super) level: u32,
    pub(super) meta: FileMetaData,
}

impl TableEvidence {
    /// The smallest and the largest user key.
    pub(super) fn bounds(&self) -> (Vec<u8>, Vec<u8>) {
        (user_key(&self.meta.smallest), user_key(&self.meta.largest))
    }

    /// The table, with its bounds; `None` if they cannot be decoded.
    pub(super) fn file(&self, keys: &UserKeys) -> Option<TableFile> {
        TableFile::new(self.meta.clone(), self.level, Vec::new(), keys).ok()
    }

    /// Whether the points of a table, from one key to another, are within the bounds.
    pub(super) fn contains(&self, points: &(Vec<u8>, Vec<u8>), order: Option<&Comparator>) -> bool {
        let Some(keys) = order.cloned().map(UserKeys::new) else { return true };
        let Some(file) = self.file(&keys) else { return false };
        let bare = |key| if self.meta.timestamps_persisted { keys.bare(key) } else { key };
        [&points.0, &points.1].iter().all(|key| file.key_bounds().contains(bare(key), &keys))
    }
}

/// What edits say.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    /// The id of the database.
    pub(super) db_id: Option<String>,
    pub(super) families: BTreeMap<u32, FamilyEvidence>,
    pub(super) dropped: BTreeSet<u32>,
    /// Tables that were added and not deleted, by number.
    pub(super) tables: BTreeMap<u64, TableEvidence>,
    /// Tables that were deleted.
    pub(super) deleted: BTreeSet<u64>,
    /// All tables that were added, also those that were deleted later.
    pub(super) added: BTreeMap<u64, TableEvidence>,
    /// By column family and number. Their garbage is recounted.
    pub(super) blob_files: BTreeMap<(u32, u64), BlobFileMetaData>,
    pub(super) last_sequence: u64,
}

impl Evidence {
    /// What a whole MANIFEST says.
    pub(super) fn of_state(state: &ManifestState) -> Self {
        let mut evidence = Self {
            db_id: state.db_id.clone(),
            last_sequence: state.last_sequence,
            ..Self::default()
        };
        for (&id, family) in &state.column_families {
            let described = FamilyEvidence {
                name: family.name.clone(),
                comparator: family.comparator.clone(),
                persist_timestamps: family.persist_timestamps,
                full_history_timestamp_low: family.full_history_timestamp_low.clone(),
            };
            evidence.families.insert(id, described);
            for (level, meta) in family.files() {
                let table = TableEvidence { column_family: id, level, meta: meta.clone() };
                evidence.tables.insert(meta.number, table);
            }
            for file in family.live_blob_files() {
                evidence.blob_files.insert((id, file.number), file.clone());
            }
        }
        evidence
    }

    /// Adds what the readable records of a MANIFEST say, oldest MANIFEST first. Returns what is wrong
    /// with it, if something is.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read from disk.
    pub(super) fn read(&mut self, reader: impl Read, engine: Engine) -> Result<Option<String>> {
        let mut problem = None;
        let mut log = LogReader::new(reader, engine, 0).past_damage();
        // Edits of a group that is not complete yet: they count together or not at all.
        let mut group: Vec<VersionEdit> = Vec::new();
        while let Some(event) = log.next_record()? {
            let edit = match event {
                LogEvent::Record(record) => VersionEdit::decode_from(record.payload, engine).ok(),
                LogEvent::Problem(found) => {
                    problem.get_or_insert(found.kind.to_string());
                    None
                }
            };
            match edit {
                Some(edit) if edit.atomic_group_remaining.is_some_and(|it| it > 0) => {
                    group.push(edit);
                }
                Some(edit) => {
                    if edit.atomic_group_remaining.is_none() {
                        group.clear();
                    }
                    group.drain(..).chain([edit]).for_each(|edit| self.apply(edit));
                }
                None => group.clear(),
            }
        }
        Ok(problem)
    }

    fn apply(&mut self, edit: VersionEdit) {
        let id = edit.column_family;
        self.db_id = edit.db_id.clone().or(self.db_id.take());
        self.last_sequence = self.last_sequence.max(edit.last_sequence.unwrap_or(0));
        if edit.column_family_drop {
            self.dropped.insert(id);
            return;
        }
        let family = self.families.entry(id).or_default();
        if let Some(name) = edit.column_family_add {
            family.name = name;
        }
        family.comparator = edit.comparator.or(family.comparator.take());
        family.persist_timestamps = edit.persist_timestamps.or(family.persist_timestamps);
        family.full_history_timestamp_low =
            edit.full_history_timestamp_low.or(family.full_history_timestamp_low.take());
        for (_, number) in edit.deleted_files {
            self.tables.remove(&number);
            self.deleted.insert(number);
        }
        for (level, meta) in edit.new_files {
            // Deleted from one level and added to another in the same edit: moved.
            self.deleted.remove(&meta.number);
            let number = meta.number;
            let table = TableEvidence { column_family: id, level, meta };
            self.added.insert(number, table.clone());
            self.tables.insert(number, table);
        }
        for file in edit.blob_file_additions {
            self.blob_files.insert((id, file.number), file);
        }
    }
}
