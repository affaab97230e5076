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

use super::database_survey::Survey;
use super::manifest_evidence::{Evidence, TableEvidence};
use super::table_examination::{Condition, ExaminedTable, TableHints};
use crate::database_writer::unique_id;
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

    /// Finds the tables that have the name of another one. They get the number that they are
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
            match &table.listed {
                Some(listed) if describes(listed, table) => {}
                listed => {
                    strangers.push((at, listed.is_some()));
                    free.extend(listed.clone().map(|it| (table.number, it)));
                }
            }
        }
        let (mut mismatches, mut claimed) = (0, Vec::new());
        for &(at, was_listed) in &strangers {
            let table = &tables[at];
            let same = free.iter().find(|(_, it)| is_the_same(it, table, self.order_of(Some(it))));
            let number = same.map(|it| *it.0);
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
        tables.iter_mut().for_each(ExaminedTable::take_recorded_bounds);
        // No two tables of the result have the same number.
        for table in tables.iter_mut() {
            if table.listed.is_none() && claimed.contains(&table.number) {
                self.inventory.largest_number = self.inventory.largest_number.saturating_add(1);
                table.number = self.inventory.largest_number;
            }
        }
        mismatches
    }

    /// Why the MANIFEST is that of another database: it describes tables, and has never described any of
    /// those that exist.
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
        // One that was compacted and is not deleted yet.
        let was_listed = |table: &ExaminedTable| {
            let listed = evidence.added.get(&table.number);
            listed.is_some_and(|it| is_the_same(it, table, self.order_of(listed)))
        };
        if says_nothing || has_listed || !has_others || self.has_identity_of(evidence) {
            return None;
        }
        if tables.iter().any(was_listed) {
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

/// Whether the unique ids are the same, if both are known.
fn has_same_id(listed: &FileMetaData, table: &ExaminedTable) -> Option<bool> {
    let listed = listed.unique_id.filter(|id| *id != [0; 16])?;
    let found = table.properties.as_ref().and_then(unique_id)?;
    Some(listed == found)
}

/// Whether a table may be the one that a MANIFEST describes.
fn describes(listed: &TableEvidence, table: &ExaminedTable) -> bool {
    let same = has_same_id(&listed.meta, table);
    match &table.condition {
        Condition::Sound { meta, .. } => {
            listed.meta.size == meta.size && same.unwrap_or(table.is_bounded)
        }
        // What is left of it need not be all.
        Condition::Damaged(_) => same.unwrap_or(true),
        Condition::Empty | Condition::Lost(_) => true,
    }
}

/// Whether it is that one, whatever it is called.
fn is_the_same(listed: &TableEvidence, table: &ExaminedTable, order: Option<Comparator>) -> bool {
    let same = has_same_id(&listed.meta, table);
    let Condition::Sound { meta, .. } = &table.condition else { return same == Some(true) };
    let has_same_keys = || {
        let keys = |it: &FileMetaData| (it.smallest.clone(), it.largest.clone());
        let sequences = |it: &FileMetaData| it.smallest_sequence.zip(it.largest_sequence);
        // Range tombstones may reach beyond the bounds.
        let points = table.points.as_ref();
        let is_within = || points.is_some_and(|it| listed.contains(it, order.as_ref()));
        let has_same_sequences =
            sequences(&listed.meta).is_some_and(|it| it.1 > 0 && Some(it) == sequences(meta));
        keys(&listed.meta) == keys(meta)
            || table.tombstones.is_some() && has_same_sequences && is_within()
    };
    listed.meta.size == meta.size && same.unwrap_or_else(has_same_keys)
}
