//! The tables and blob files of a damaged database: which count, and what is left of them.

use std::collections::{BTreeMap, BTreeSet};

use sstkit_table::raw::Engine;

use super::blob_values::{BlobValues, Resolved};
use super::database_survey::Survey;
use super::found_families::FoundFamily;
use super::salvage_report::{FileOutcome, LostValue, MAX_LOST_VALUES, SalvagedFile};
use super::table_entries::TableEntries;
use super::table_examination::{ExaminedTable, TableHints, referenced};
use crate::error::Result;
use crate::file_kind::FileKind;
use crate::raw::FileName;

impl Survey<'_> {
    /// Reads the tables: those that count, and those that a whole MANIFEST does not list.
    pub(super) fn examine_tables(
        &mut self,
        hints: &TableHints,
    ) -> Result<(Vec<ExaminedTable>, Vec<ExaminedTable>)> {
        let (mut tables, mut deleted) = (Vec::new(), Vec::new());
        for (number, path) in &self.inventory.tables {
            let size = std::fs::metadata(path).map_or(0, |it| it.len());
            self.reporter.add(size)?;
            self.reporter.report()?;
            if self.choice.evidence.deleted.contains(number) {
                deleted.push((*number, path.clone()));
                continue;
            }
            let listed = self.choice.evidence.tables.get(number);
            let order = self.order_of(listed);
            tables.push(hints.examine(*number, path, order.as_ref(), listed.cloned()));
        }
        let mismatches = self.find_renamed(&mut tables, hints);
        if let Some(reason) = self.foreign_manifest(&tables, deleted.len(), mismatches) {
            self.choice.disown(reason);
            tables.iter_mut().for_each(|it| it.notes.clear());
            for (number, path) in deleted.drain(..) {
                tables.push(hints.examine(number, &path, None, None));
            }
        }
        for (_, path) in deleted {
            let file = SalvagedFile::new(path, FileKind::Table, FileOutcome::Obsolete);
            self.files.push(file.note("the MANIFEST says that it was deleted"));
        }
        self.describe_missing(&tables);
        let is_exact = self.choice.state.is_some();
        let (unlisted, used) =
            tables.into_iter().partition(|table| is_exact && table.listed.is_none());
        Ok((used, unlisted))
    }

    /// Tables that are listed and do not exist.
    fn describe_missing(&mut self, tables: &[ExaminedTable]) {
        let is_exact = self.choice.state.is_some();
        let evidence = &self.choice.evidence;
        let listed = tables.iter().filter_map(|it| it.listed.as_ref());
        let found: BTreeSet<u64> = listed.map(|it| it.meta.number).collect();
        for (number, listed) in evidence.tables.iter().filter(|it| !found.contains(it.0)) {
            let [sst, ldb] = FileName::of_table(*number);
            let name = if self.choice.engine == Some(Engine::LevelDb) { ldb } else { sst };
            let path = self.inventory.path.join(name);
            let note = match (is_exact, self.inventory.has_table(*number)) {
                (_, false) if listed.meta.path_id > 0 => {
                    "file not found: it was in another directory (db_paths or cf_paths), which --db-path \
                     can name"
                }
                (true, false) => "file not found",
                // It may be the deletion that is not recorded any more.
                (false, false) => {
                    "file not found: lost, or deleted after the last edit that is readable"
                }
                (_, true) => "not found: the file with its name is another table",
            };
            let mut file = SalvagedFile::new(path, FileKind::Table, FileOutcome::Lost).note(note);
            file.level = Some(listed.level);
            file.recorded_size = Some(listed.meta.size);
            file.column_family =
                evidence.families.get(&listed.column_family).map(|it| it.name.clone());
            file.entries_lost = None;
            file.bounds = Some(listed.bounds());
            self.files.push(file);
        }
    }

    /// Which blob files are damaged, and which keys lose their values with them.
    pub(super) fn examine_blobs(
        &mut self,
        families: &mut BTreeMap<u32, FoundFamily>,
        hints: &TableHints,
    ) -> Result<(BlobValues, (u64, Vec<LostValue>))> {
        let mut values = BlobValues::default();
        let mut used = BTreeSet::new();
        for (&id, family) in families.iter() {
            for number in referenced(family.tables.iter().filter(|it| it.has_entries())) {
                values.examine(&self.inventory, id, number);
                used.insert(number);
            }
        }
        for (&id, family) in families.iter() {
            let with_blobs = |it: &&ExaminedTable| it.has_entries() && !it.live_blobs.is_empty();
            for table in family.tables.iter().filter(with_blobs) {
                let entries = TableEntries::open(table, hints, family.order.as_ref())?;
                values.check_references(id, &entries, &family.keys())?;
                self.reporter.report()?;
            }
        }
        let (mut count, mut lost) = (0, Vec::new());
        // Values and bytes of each blob file.
        let mut lost_in: BTreeMap<(u32, u64), (u64, u64)> = BTreeMap::new();
        for (&id, family) in families.iter_mut() {
            let keys = family.keys();
            let FoundFamily { name, order, tables, .. } = family;
            let blobs = values.reader(id);
            for table in tables.iter_mut().filter(|it| it.has_entries()) {
                if !table.live_blobs.numbers().any(|number| values.is_damaged(id, number)) {
                    continue;
                }
                table.is_rewritten = true;
                let entries = TableEntries::open(table, hints, order.as_ref())?;
                entries.each_point(&keys, |key, value| {
                    if let Resolved::Lost { blob_file, size, reason } = blobs.resolve(key, value) {
                        count += 1;
                        let lost_in = lost_in.entry((id, blob_file)).or_default();
                        *lost_in = (lost_in.0 + 1, lost_in.1.saturating_add(size));
                        if lost.len() < MAX_LOST_VALUES {
                            let (column_family, key) = (name.clone(), key.user_key.to_vec());
                            lost.push(LostValue { column_family, key, blob_file, reason });
                        }
                    }
                    Ok(())
                })?;
            }
        }
        for (&(id, number), examined) in &values.files {
            let path = examined
                .path
                .clone()
                .unwrap_or_else(|| self.inventory.path.join(FileName::Blob(number).to_string()));
            let outcome = match (&examined.damage, &examined.path) {
                (None, _) => FileOutcome::Sound,
                (Some(_), Some(_)) => FileOutcome::Salvaged,
                (Some(_), None) => FileOutcome::Lost,
            };
            let mut file = SalvagedFile::new(path, FileKind::BlobFile, outcome);
            self.reporter.add(file.size)?;
            file.column_family = families.get(&id).map(|it| it.name.clone());
            let referenced = families.get(&id).into_iter().flat_map(|it| &it.tables);
            let references: u64 = referenced.map(|table| table.live_blobs.count(number)).sum();
            let (lost, bytes) = lost_in.get(&(id, number)).copied().unwrap_or_default();
            file.entries = references.saturating_sub(lost);
            file.value_bytes_lost = bytes;
            file.entries_lost = Some(lost);
            file.notes.extend(examined.damage.clone());
            self.files.push(file);
        }
        for (number, path) in &self.inventory.blob_files {
            if !used.contains(number) {
                let file = SalvagedFile::new(path, FileKind::BlobFile, FileOutcome::Orphaned);
                self.files.push(file.note("no table that is used refers to it"));
            }
        }
        Ok((values, (count, lost)))
    }
}
