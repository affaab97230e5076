//! Replaying the edits of a MANIFEST.
//!
//! * An edit is about one column family; `default`, with id 0, exists from the start.
//! * Edits of an atomic group are applied when the last one has been read, or not at all.
//! * Within an edit: new blob files, garbage in blob files, deleted tables, new tables. A table that
//!   is deleted in one level and new in another has moved.

use std::io::Read;

use sstkit_table::raw::Engine;

use super::file_meta_data::{BlobFileGarbage, BlobFileMetaData, FileMetaData};
use super::state::{ColumnFamilyState, ManifestState};
use super::version_edit::VersionEdit;
use crate::error::{Error, Result};
use crate::raw::log::{LogEvent, LogProblem, LogProblemKind, LogReader, Reaction, RecoveryMode};

/// Sees an edit before it is applied, and where it is in the file. An error ends the replay.
pub(super) type Observer<'o> = &'o mut dyn FnMut(u64, &VersionEdit) -> Result<()>;

pub(super) struct Replay<'o> {
    state: ManifestState,
    dialect: Engine,
    observer: Observer<'o>,
    /// The edits of an incomplete group, with their places in the file, as stored: decoded edits
    /// take many times their bytes, and a forged group may never end.
    group: Vec<(u64, Box<[u8]>)>,
    /// The number of edits that should follow the last one of the group.
    group_remaining: Option<u32>,
    // What every MANIFEST must say.
    has_log_number: bool,
    has_next_file_number: bool,
    has_last_sequence: bool,
}

impl<'o> Replay<'o> {
    pub(super) fn run(
        reader: impl Read,
        dialect: Engine,
        observer: Observer<'o>,
    ) -> Result<ManifestState> {
        let mut replay = Self::new(dialect, observer);
        let mut log = LogReader::new(reader, dialect, 0);
        while let Some(event) = log.next_record()? {
            let record = match event {
                LogEvent::Record(record) => record,
                LogEvent::Problem(problem) => {
                    match RecoveryMode::TolerateCorruptedTailRecords.react(&problem, false) {
                        Reaction::End => {
                            replay.state.torn_tail = Some(problem);
                            break;
                        }
                        _ => return Err(problem.into()),
                    }
                }
            };
            VersionEdit::decode_from(record.payload, dialect)
                .and_then(|edit| replay.accept(edit, record.offset, record.payload))
                .map_err(|error| error.at_offset(record.offset))?;
        }
        replay.finish()
    }

    fn new(dialect: Engine, observer: Observer<'o>) -> Self {
        let mut state = ManifestState::default();
        let default = ColumnFamilyState { name: "default".into(), ..Default::default() };
        state.column_families.insert(0, default);
        Self {
            state,
            dialect,
            observer,
            group: Vec::new(),
            group_remaining: None,
            has_log_number: false,
            has_next_file_number: false,
            has_last_sequence: false,
        }
    }

    /// Takes an edit, of which `stored` are the bytes, from this offset of the file.
    fn accept(&mut self, edit: VersionEdit, offset: u64, stored: &[u8]) -> Result<()> {
        let last = self.group_remaining.take();
        let Some(remaining) = edit.atomic_group_remaining else {
            if last.is_some() {
                return Err(Error::corrupt("an edit inside an atomic group does not belong to it"));
            }
            return self.apply(edit, offset);
        };
        if let Some(last) = last
            && last.checked_sub(1) != Some(remaining)
        {
            let what = "the edits of an atomic group are numbered incorrectly";
            return Err(Error::mismatch(what, last.saturating_sub(1), remaining));
        }
        if remaining > 0 {
            self.group.push((offset, stored.into()));
            self.group_remaining = Some(remaining);
            return Ok(());
        }
        for (offset, stored) in std::mem::take(&mut self.group) {
            self.apply(VersionEdit::decode_from(&stored, self.dialect)?, offset)?;
        }
        self.apply(edit, offset)
    }

    fn apply(&mut self, edit: VersionEdit, offset: u64) -> Result<()> {
        (self.observer)(offset, &edit)?;
        self.state.edits += 1;
        self.apply_scalars(&edit);
        if let Some(name) = &edit.column_family_add {
            self.add_column_family(edit.column_family, name)?;
        } else if edit.column_family_drop {
            return self.drop_column_family(edit.column_family);
        } else if !edit.wal_additions.is_empty() || edit.wal_deletion.is_some() {
            self.apply_wals(&edit);
            return Ok(());
        }
        let dialect = self.dialect;
        match self.state.column_families.get_mut(&edit.column_family) {
            Some(family) => family.apply(edit, dialect),
            None => Err(Error::corrupt(format!(
                "an edit refers to the unknown column family {}",
                edit.column_family
            ))),
        }
    }

    fn add_column_family(&mut self, id: u32, name: &str) -> Result<()> {
        let family = ColumnFamilyState { id, name: name.into(), ..Default::default() };
        match self.state.column_families.insert(id, family) {
            None => Ok(()),
            Some(_) => Err(Error::corrupt(format!("column family {id} is added twice"))),
        }
    }

    fn drop_column_family(&mut self, id: u32) -> Result<()> {
        match self.state.column_families.remove(&id) {
            Some(_) => Ok(()),
            None => Err(Error::corrupt(format!("the unknown column family {id} is dropped"))),
        }
    }

    fn apply_scalars(&mut self, edit: &VersionEdit) {
        let state = &mut self.state;
        self.has_log_number |= edit.log_number.is_some();
        if let Some(number) = edit.next_file_number {
            state.next_file_number = number;
            self.has_next_file_number = true;
        }
        if let Some(sequence) = edit.last_sequence {
            state.last_sequence = sequence;
            self.has_last_sequence = true;
        }
        if let Some(number) = edit.prev_log_number {
            state.prev_log_number = number;
            state.has_previous_log_number = true;
        }
        if let Some(number) = edit.min_log_number_to_keep {
            state.min_log_number_to_keep = state.min_log_number_to_keep.max(number);
        }
        let added = edit.column_family_add.as_ref().map(|_| edit.column_family);
        for id in edit.max_column_family.into_iter().chain(added) {
            state.max_column_family = state.max_column_family.max(id);
        }
        if edit.db_id.is_some() {
            state.db_id.clone_from(&edit.db_id);
        }
    }

    fn apply_wals(&mut self, edit: &VersionEdit) {
        for wal in &edit.wal_additions {
            let synced = self.state.wals.entry(wal.number).or_default();
            *synced = (*synced).max(wal.synced_size);
        }
        if let Some(first_kept) = edit.wal_deletion {
            self.state.wals = self.state.wals.split_off(&first_kept);
        }
    }

    fn finish(mut self) -> Result<ManifestState> {
        if let Some(&(offset, _)) = self.group.first() {
            let dropped = self.group.iter().map(|(_, edit)| edit.len() as u64).sum();
            let kind = LogProblemKind::UnfinishedGroup;
            self.state.torn_tail = Some(LogProblem { kind, offset, dropped });
        }
        let needed = [
            (self.has_log_number, "log number"),
            (self.has_next_file_number, "next file number"),
            (self.has_last_sequence, "last sequence number"),
        ];
        match needed.into_iter().find(|(is_there, _)| !is_there) {
            None => Ok(self.state),
            Some((_, name)) => Err(Error::corrupt(format!("no edit has a {name}"))),
        }
    }
}

impl ColumnFamilyState {
    fn apply(&mut self, edit: VersionEdit, dialect: Engine) -> Result<()> {
        if let Some(name) = edit.comparator {
            self.set_comparator(name)?;
        }
        self.persist_timestamps = edit.persist_timestamps.or(self.persist_timestamps);
        self.log_number = self.log_number.max(edit.log_number.unwrap_or(0));
        if edit.full_history_timestamp_low.is_some() {
            self.full_history_timestamp_low = edit.full_history_timestamp_low;
        }
        self.compact_cursors.extend(edit.compact_cursors);
        edit.blob_file_additions.into_iter().try_for_each(|file| self.add_blob_file(file))?;
        edit.blob_file_garbage.into_iter().try_for_each(|garbage| self.add_garbage(garbage))?;
        for (level, number) in edit.deleted_files {
            self.delete_file(level, number, dialect)?;
        }
        edit.new_files.into_iter().try_for_each(|(level, file)| self.add_file(level, file))
    }

    fn set_comparator(&mut self, name: String) -> Result<()> {
        match &self.comparator {
            Some(known) if *known != name => {
                Err(Error::mismatch("the comparator changes", known, name))
            }
            _ => {
                self.comparator = Some(name);
                Ok(())
            }
        }
    }

    fn add_blob_file(&mut self, file: BlobFileMetaData) -> Result<()> {
        let number = file.number;
        match self.blob_files.insert(number, file) {
            None => Ok(()),
            Some(_) => Err(Error::corrupt(format!("blob file {number} is added twice"))),
        }
    }

    fn add_garbage(&mut self, garbage: BlobFileGarbage) -> Result<()> {
        let BlobFileGarbage { number, count, bytes } = garbage;
        let Some(file) = self.blob_files.get_mut(&number) else {
            return Err(Error::corrupt(format!(
                "garbage is recorded for blob file {number}, which does not exist"
            )));
        };
        file.garbage_count = file.garbage_count.saturating_add(count);
        file.garbage_bytes = file.garbage_bytes.saturating_add(bytes);
        if file.garbage_count > file.blob_count || file.garbage_bytes > file.blob_bytes {
            return Err(Error::corrupt(format!("blob file {number} has more garbage than blobs")));
        }
        Ok(())
    }

    /// LevelDB ignores the deletion of a file that does not exist.
    fn delete_file(&mut self, level: u32, number: u64, dialect: Engine) -> Result<()> {
        let files = self.levels.get_mut(&level);
        let deleted = files.and_then(|files| files.remove(&number));
        if deleted.is_none() && dialect == Engine::RocksDb {
            let what =
                format!("table {number} is deleted from level {level}, which does not have it");
            return Err(Error::corrupt(what));
        }
        Ok(())
    }

    fn add_file(&mut self, level: u32, file: FileMetaData) -> Result<()> {
        let number = file.number;
        if let Some(other) = self.level_of(number) {
            return Err(Error::corrupt(format!(
                "table {number} is added to level {level}, but is already in level {other}"
            )));
        }
        self.levels.entry(level).or_default().insert(number, file);
        Ok(())
    }
}
