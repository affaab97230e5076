//! The tables and blob files of a damaged database: which count, and what is left of them.

use std::collections::{BTreeMap, BTreeSet};

use sstkit_table::raw::Engine;

use super::blob_values::{BlobValues, Resolved};
use super::database_survey::Survey;
use super::found_families::FoundFamily;
use super::salvage_report::{FileOutcome, LostValue, MAX_LOST_VALUES, SalvagedFile};
use super::table_entries::TableEntries;
use super::table_examination::{ExaminedTable, TableHints, referenced, user_key};
use crate::error::Result;
use crate::file_kind::FileKind;
use crate::raw::FileName;

impl Survey<'_> {
    /// Reads the tables: those that count, and those that a whole MANIFEST does not list.
    pub(super) fn examine_tables(
        &mut self,
        hints: &TableHints,
    ) -> Result<(Vec<ExaminedTable>, Vec<ExaminedTable>)> {
        let evidence = &self.choice.evidence;
        let is_exact = self.choice.state.is_some();
        let (mut used, mut unlisted) = (Vec::new(), Vec::new());
        for (number, path) in &self.inventory.tables {
            let size = std::fs::metadata(path).map_or(0, |it| it.len());
            self.reporter.add(size)?;
            self.reporter.report()?;
            let listed = evidence.tables.get(number);
            if evidence.deleted.contains(number) {
                let file = SalvagedFile::new(path, FileKind::Table, FileOutcome::Obsolete);
                self.files.push(file.note("the MANIFEST says that it was deleted"));
                continue;
            }
            let family = listed.and_then(|it| evidence.families.get(&it.column_family));
            let name = family.and_then(|it| it.comparator.as_deref());
            let order = self.options.read.comparators.iter().rfind(|it| Some(&*it.name()) == name);
            let order = order.cloned().or_else(|| name?.parse().ok());
            let table = hints.examine(*number, path, order.as_ref(), listed.cloned());
            match is_exact && listed.is_none() {
                true => unlisted.push(table),
                false => used.push(table),
            }
        }
        for (number, listed) in &evidence.tables {
            if self.inventory.has_table(*number) {
                continue;
            }
            let [sst, ldb] = FileName::of_table(*number);
            let name = if self.choice.engine == Some(Engine::LevelDb) { ldb } else { sst };
            let path = self.inventory.path.join(name);
            // Without the end of a MANIFEST, most probably its deletion is not recorded any more.
            let (outcome, note) = match is_exact {
                true => (FileOutcome::Lost, "file not found"),
                false => (
                    FileOutcome::Obsolete,
                    "file not found: deleted after the last edit that is readable, or lost",
                ),
            };
            let mut file = SalvagedFile::new(path, FileKind::Table, outcome).note(note);
            file.level = Some(listed.level);
            file.recorded_size = Some(listed.meta.size).filter(|_| is_exact);
            file.column_family =
                evidence.families.get(&listed.column_family).map(|it| it.name.clone());
            file.entries_lost = Some(0).filter(|_| !is_exact);
            file.bounds = Some((user_key(&listed.meta.smallest), user_key(&listed.meta.largest)));
            self.files.push(file);
        }
        Ok((used, unlisted))
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
        let (mut count, mut lost) = (0, Vec::new());
        // Values and bytes of each blob file.
        let mut lost_in: BTreeMap<(u32, u64), (u64, u64)> = BTreeMap::new();
        for (&id, family) in families.iter_mut() {
            let keys = family.keys();
            let FoundFamily { name, order, tables, .. } = family;
            let blobs = values.reader(id);
            for table in tables.iter_mut().filter(|it| it.has_entries()) {
                if !table.blob_files.keys().any(|&number| values.is_damaged(id, number)) {
                    continue;
                }
                table.is_rewritten = true;
                let entries = TableEntries::open(table, hints, order.as_ref())?;
                entries.each(&keys, |key, value| {
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
            let references: u64 =
                referenced.filter_map(|table| table.blob_files.get(&number)).sum();
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
