//! Whether the tables are those that a MANIFEST lists.
//!
//! ```text
//! MANIFEST     42: size, unique id, keys     44: size, unique id, keys
//!               ^                             ^
//! 000042.sst ---+------- another table -------'    renamed: it is found by what it is
//! 000044.sst    no table at all that is listed      a MANIFEST of another database
//! ```

use std::collections::BTreeMap;

use sstkit_table::Comparator;
use sstkit_table::visibility::UserKeys;

use super::database_survey::Survey;
use super::manifest_evidence::{Evidence, TableEvidence};
use super::table_examination::{Condition, ExaminedTable, TableHints, user_key};
use crate::raw::FileMetaData;
use crate::regular_file;

/// IDENTITY holds a UUID.
const MAX_IDENTITY_SIZE: u64 = 4096;

impl Survey<'_> {
    /// The order of the column family that a MANIFEST lists a table in, if it is known.
    pub(super) fn order_of(&self, listed: Option<&TableEvidence>) -> Option<Comparator> {
        let family = self.choice.evidence.families.get(&listed?.column_family)?;
        let name = family.comparator.as_deref()?;
        let given = self.options.read.comparators.iter().rfind(|it| it.name() == name);
        given.cloned().or_else(|| name.parse().ok())
    }

    /// Finds the sound tables that have the name of another one. They get the number that they are
    /// listed with, or are not listed. Returns how many are not what the MANIFEST describes.
    pub(super) fn find_renamed(
        &mut self,
        tables: &mut [ExaminedTable],
        hints: &TableHints,
    ) -> usize {
        let evidence = &self.choice.evidence;
        let mut free: BTreeMap<u64, TableEvidence> = evidence
            .tables
            .iter()
            .filter(|(number, _)| !self.inventory.has_table(**number))
            .map(|(number, listed)| (*number, listed.clone()))
            .collect();
        let mut strangers = Vec::new();
        for (at, table) in tables.iter().enumerate() {
            let Condition::Sound { meta, .. } = &table.condition else { continue };
            match &table.listed {
                Some(listed) if describes(&listed.meta, meta, self.order_of(Some(listed))) => {}
                listed => {
                    strangers.push((at, listed.is_some()));
                    free.extend(listed.clone().map(|it| (table.number, it)));
                }
            }
        }
        let (mut mismatches, mut claimed) = (0, Vec::new());
        for &(at, was_listed) in &strangers {
            let table = &tables[at];
            let Condition::Sound { meta, .. } = &table.condition else { continue };
            let number = free.iter().find(|(_, it)| is_the_same(&it.meta, meta)).map(|it| *it.0);
            let listed = number.and_then(|it| free.remove(&it));
            if !was_listed && listed.is_none() {
                continue;
            }
            let note = match number {
                Some(number) => format!("it is table {number:06} of the MANIFEST, renamed"),
                None => "it is not the table that the MANIFEST lists with its number".to_owned(),
            };
            mismatches += usize::from(listed.is_none());
            let (path, order) = (table.path.clone(), self.order_of(listed.as_ref()));
            let number = number.unwrap_or(table.number);
            claimed.extend(listed.is_some().then_some(number));
            let mut found = hints.examine(number, &path, order.as_ref(), listed);
            found.notes.push(note);
            tables[at] = found;
        }
        // No two tables of the result have the same number.
        for table in tables.iter_mut() {
            if table.listed.is_none() && claimed.contains(&table.number) {
                self.inventory.largest_number = self.inventory.largest_number.saturating_add(1);
                table.number = self.inventory.largest_number;
            }
        }
        mismatches
    }

    /// Why the MANIFEST is that of another database: it describes tables, and none of those that
    /// exist.
    pub(super) fn foreign_manifest(
        &self,
        tables: &[ExaminedTable],
        deleted: usize,
        mismatches: usize,
    ) -> Option<String> {
        let evidence = &self.choice.evidence;
        let says_nothing = evidence.tables.is_empty() && evidence.deleted.is_empty();
        let has_listed = tables.iter().any(|it| it.listed.is_some());
        let has_others = tables.len() + deleted > 0;
        if says_nothing || has_listed || !has_others || self.has_identity_of(evidence) {
            return None;
        }
        Some(match mismatches {
            0 => "it lists none of the tables that exist".into(),
            _ => "the tables are not those that it lists".into(),
        })
    }

    /// Whether IDENTITY has the id that the MANIFEST names.
    fn has_identity_of(&self, evidence: &Evidence) -> bool {
        let path = self.inventory.path.join("IDENTITY");
        let identity = regular_file::read(&path, MAX_IDENTITY_SIZE).ok().flatten();
        let id = evidence.db_id.as_deref().filter(|it| !it.is_empty());
        id.zip(identity).is_some_and(|(id, file)| id.as_bytes() == file.trim_ascii())
    }
}

/// The unique ids, if both are known.
fn unique_ids(listed: &FileMetaData, found: &FileMetaData) -> Option<([u8; 16], [u8; 16])> {
    listed.unique_id.filter(|id| *id != [0; 16]).zip(found.unique_id)
}

/// Whether a sound table may be the one that a MANIFEST describes.
fn describes(listed: &FileMetaData, found: &FileMetaData, order: Option<Comparator>) -> bool {
    if listed.size != found.size {
        return false;
    }
    if let Some((a, b)) = unique_ids(listed, found) {
        return a == b;
    }
    let Some(keys) = order.map(UserKeys::new) else { return true };
    let bare = |key: &[u8]| keys.bare(&user_key(key)).to_vec();
    keys.compare(&bare(&listed.smallest), &bare(&found.smallest)).is_le()
        && keys.compare(&bare(&found.largest), &bare(&listed.largest)).is_le()
}

/// Whether it is that one, whatever it is called.
fn is_the_same(listed: &FileMetaData, found: &FileMetaData) -> bool {
    let has_same_keys = || listed.smallest == found.smallest && listed.largest == found.largest;
    listed.size == found.size
        && unique_ids(listed, found).map_or_else(has_same_keys, |(a, b)| a == b)
}
