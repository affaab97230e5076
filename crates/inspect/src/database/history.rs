//! The history of a column family: the edits of its MANIFEST.
//!
//! ```text
//! edit       0         1        2        3            4
//!            snapshot  flush    flush    compaction   move
//! files      2         3        4        3            3
//!                      '------ window -------'
//!                      base: the files before it
//! ```
//!
//! A window is described at a time, with the files that were live before it.

use std::collections::BTreeMap;
use std::io::BufReader;

use serde::Serialize;
use sstkit_db::raw::{FileMetaData, FileName, ManifestState, VersionEdit};
use sstkit_db::{ColumnFamily, Database, Result};
use sstkit_table::Comparator;
use sstkit_table::raw::InternalKey;

use crate::encoding::Encoding;
use crate::key_axis::KeyAxis;

/// A window of the history of a column family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ManifestHistory {
    /// The MANIFEST.
    pub file: String,
    /// The column family.
    pub column_family: String,
    /// The number of edits of the column family in the whole MANIFEST.
    pub total: u64,
    /// The index of the first edit of the window.
    pub from: u64,
    /// The key axis of all files of the window.
    pub axis: KeyAxis,
    /// All files of the window, by number.
    pub files: Vec<HistoryFile>,
    /// The files that were live before the first edit: level and number.
    pub base: Vec<(u32, u64)>,
    /// The edits.
    pub edits: Vec<EditInfo>,
}

/// A file of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HistoryFile {
    /// The file number.
    pub number: u64,
    /// The size in bytes.
    pub size: u64,
    /// The first of its slots on the key axis.
    pub first: usize,
    /// The last of its slots.
    pub last: usize,
    /// The largest sequence number; not in a LevelDB MANIFEST.
    pub largest_seq: Option<u64>,
    /// When it was written, in seconds since 1970.
    pub created: Option<u64>,
}

/// An edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EditInfo {
    /// Its index among the edits of the column family.
    pub index: u64,
    /// The offset of its record in the MANIFEST.
    pub offset: u64,
    /// What it records, as far as its fields tell: `snapshot`, `flush`, `compaction`, `move`,
    /// `addition`, `deletion`, `column family added`, `column family dropped` or `bookkeeping`.
    pub reason: &'static str,
    /// The added files: level and number.
    pub added: Vec<(u32, u64)>,
    /// The deleted files: level and number.
    pub deleted: Vec<(u32, u64)>,
    /// The last sequence number, if it sets one.
    pub last_seq: Option<u64>,
    /// The log number, if it sets one.
    pub log_number: Option<u64>,
}

impl ManifestHistory {
    /// The most edits in a window.
    pub const MAX_EDITS: u64 = 2_000;
    /// The most files in a window: it has fewer edits if they name more.
    pub const MAX_FILES: usize = 20_000;

    /// Describes `limit` edits from `from` on; without `from`, the last ones. Reads the MANIFEST
    /// twice. `None` if the database has none. [Cancelled](sstkit_db::Error::is_cancelled) when
    /// `keep_going` returns false.
    pub fn of(
        database: &Database,
        family: &ColumnFamily,
        from: Option<u64>,
        limit: u64,
        encoding: Encoding,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<Option<Self>> {
        let Some(number) = database.manifest_number().filter(|_| database.manifest().is_some())
        else {
            return Ok(None);
        };
        let path = database.path().join(FileName::Manifest(number).to_string());
        let replay = |observe: &mut dyn FnMut(u64, &VersionEdit)| {
            let file = sstkit_db::file_system::open(&path).map_err(sstkit_db::Error::from)?;
            let reader = BufReader::new(file);
            ManifestState::replay_observed(reader, database.engine(), |offset, edit| {
                if edit.column_family == family.id() {
                    observe(offset, edit);
                }
                if keep_going() { Ok(()) } else { Err(sstkit_db::Error::cancelled()) }
            })
        };
        let mut total = 0u64;
        replay(&mut |_, _| total += 1).map_err(|error| error.in_file(&path))?;
        let limit = limit.clamp(1, Self::MAX_EDITS);
        let from = from.unwrap_or(total.saturating_sub(limit)).min(total);
        let mut window = Window { from, end: from.saturating_add(limit), ..Window::default() };
        replay(&mut |offset, edit| window.see(offset, edit))
            .map_err(|error| error.in_file(&path))?;
        Ok(Some(window.describe(path.display().to_string(), family, total, encoding)))
    }
}

#[derive(Default)]
struct Window {
    from: u64,
    end: u64,
    /// The edits seen so far.
    seen: u64,
    /// The live files before the window: number to level.
    live: BTreeMap<u64, u32>,
    /// All files that are live before or named in the window.
    files: BTreeMap<u64, FileMetaData>,
    edits: Vec<EditInfo>,
}

impl Window {
    fn see(&mut self, offset: u64, edit: &VersionEdit) {
        let index = self.seen;
        self.seen += 1;
        if index >= self.end || index > self.from && self.files.len() > ManifestHistory::MAX_FILES {
            self.end = self.end.min(index);
            return;
        }
        let is_before = index < self.from;
        if is_before {
            for (_, number) in &edit.deleted_files {
                self.live.remove(number);
                self.files.remove(number);
            }
        }
        for (level, file) in &edit.new_files {
            self.files.insert(file.number, file.clone());
            if is_before {
                self.live.insert(file.number, *level);
            }
        }
        if !is_before {
            self.edits.push(EditInfo {
                index,
                offset,
                reason: reason(edit, index == 0),
                added: edit.new_files.iter().map(|(level, file)| (*level, file.number)).collect(),
                deleted: edit.deleted_files.clone(),
                last_seq: edit.last_sequence,
                log_number: edit.log_number,
            });
        }
    }

    fn describe(
        self,
        file: String,
        family: &ColumnFamily,
        total: u64,
        encoding: Encoding,
    ) -> ManifestHistory {
        let order = family.comparator().ok();
        let timestamp = order.map_or(0, Comparator::timestamp_size);
        let bounds: Vec<_> = self
            .files
            .values()
            .map(|file| {
                let timestamp = if file.timestamps_persisted { timestamp } else { 0 };
                let bare = |key| user_key(key, timestamp);
                (bare(&file.smallest), bare(&file.largest), file.size)
            })
            .collect();
        let (axis, slots) = KeyAxis::of(&bounds, order, encoding);
        let files = self.files.values().zip(slots).map(|(file, slots)| HistoryFile {
            number: file.number,
            size: file.size,
            first: *slots.start(),
            last: *slots.end(),
            largest_seq: file.largest_sequence,
            created: file.file_creation_time.filter(|&time| time > 0),
        });
        ManifestHistory {
            file,
            column_family: family.name().to_owned(),
            total,
            from: self.from,
            axis,
            files: files.collect(),
            base: self.live.into_iter().map(|(number, level)| (level, number)).collect(),
            edits: self.edits,
        }
    }
}

/// The user key of a bound, without timestamp.
fn user_key(bound: &[u8], timestamp: usize) -> &[u8] {
    let end = bound.len().saturating_sub(InternalKey::TAIL_LENGTH + timestamp);
    &bound[..end]
}

/// What an edit records. The engines do not store it; this follows from what they write for each.
fn reason(edit: &VersionEdit, is_first: bool) -> &'static str {
    let has = |files: usize| files > 0;
    match (has(edit.new_files.len()), has(edit.deleted_files.len())) {
        _ if edit.column_family_drop => "column family dropped",
        // A new MANIFEST starts with the state so far.
        (true, false)
            if is_first || edit.comparator.is_some() || edit.column_family_add.is_some() =>
        {
            "snapshot"
        }
        _ if edit.column_family_add.is_some() => "column family added",
        (true, false) if edit.log_number.is_some() => "flush",
        (true, false) => "addition",
        (true, true) if is_move(edit) => "move",
        (true, true) => "compaction",
        (false, true) => "deletion",
        (false, false) => "bookkeeping",
    }
}

/// Whether the same files are in other levels now.
fn is_move(edit: &VersionEdit) -> bool {
    let mut added: Vec<u64> = edit.new_files.iter().map(|(_, file)| file.number).collect();
    let mut deleted: Vec<u64> = edit.deleted_files.iter().map(|&(_, number)| number).collect();
    added.sort_unstable();
    deleted.sort_unstable();
    added == deleted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(added: &[(u32, u64)], deleted: &[(u32, u64)], log_number: Option<u64>) -> VersionEdit {
        let file = |&(level, number): &(u32, u64)| {
            (level, FileMetaData::new(number, 100, b"a........".into(), b"b........".into()))
        };
        let mut edit = VersionEdit::default();
        edit.new_files = added.iter().map(file).collect();
        edit.deleted_files = deleted.to_vec();
        edit.log_number = log_number;
        edit
    }

    #[test]
    fn reasons_follow_from_the_fields() {
        let is = |edit: &VersionEdit, expected| assert_eq!(reason(edit, false), expected);
        is(&edit(&[(0, 7)], &[], Some(9)), "flush");
        is(&edit(&[(6, 7)], &[], None), "addition");
        is(&edit(&[(1, 9), (1, 10)], &[(0, 7), (1, 8)], None), "compaction");
        is(&edit(&[(2, 7)], &[(1, 7)], None), "move");
        is(&edit(&[], &[(1, 7)], None), "deletion");
        is(&edit(&[], &[], Some(3)), "bookkeeping");
        assert_eq!(reason(&edit(&[(0, 7)], &[], Some(9)), true), "snapshot");
        let mut dropped = VersionEdit::default();
        dropped.column_family_drop = true;
        is(&dropped, "column family dropped");
    }

    #[test]
    fn a_window_starts_with_the_files_before_it() {
        let mut window = Window { from: 2, end: 4, ..Window::default() };
        window.see(0, &edit(&[(0, 1), (0, 2)], &[], Some(1)));
        window.see(50, &edit(&[(1, 3)], &[(0, 1)], None));
        window.see(90, &edit(&[(0, 4)], &[], Some(2)));
        window.see(95, &edit(&[(1, 5)], &[(0, 2), (1, 3)], None));
        window.see(99, &edit(&[(0, 6)], &[], Some(3)));
        assert_eq!(window.live, BTreeMap::from([(2, 0), (3, 1)]));
        assert_eq!(window.edits.iter().map(|it| it.index).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(window.files.keys().copied().collect::<Vec<_>>(), [2, 3, 4, 5]);
    }
}
