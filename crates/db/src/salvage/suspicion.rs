//! What is uncertain about the tables: those that may be obsolete, and deletions that may be lost.

use std::collections::BTreeMap;
use std::path::Path;

use sstkit_table::raw::Engine;
use sstkit_table::{Loss, Uncertainty};

use super::database_survey::Survey;
use super::found_families::FoundFamily;
use super::manifest_evidence::TableEvidence;
use super::salvage_report::{DatabaseUncertainty, FileOutcome, SalvagedFile};
use super::table_examination::{Condition, ExaminedTable};
use crate::file_kind::FileKind;

impl Survey<'_> {
    /// Describes the tables that are used, and what is uncertain about them.
    pub(super) fn suspect(&mut self, is_exact: bool, families: &BTreeMap<u32, FoundFamily>) {
        for family in families.values() {
            for table in &family.tables {
                let file = self.table_file(family, table);
                self.files.push(file);
                self.lost_keys(family, table);
                for note in &table.notes {
                    self.uncertain.push(DatabaseUncertainty::assumed_of_table(table, note));
                }
                if !is_exact {
                    self.unlisted(table);
                }
            }
            if !is_exact {
                self.maybe_obsolete(family);
                self.unbounded_tombstones(family);
            }
            if family.order.is_none() && !family.tables.is_empty() {
                let what = format!(
                    "column family {:?} has the unknown comparator {:?}: the order of its keys was \
                     not checked",
                    family.name, family.comparator
                );
                self.uncertain.push(DatabaseUncertainty::assumed(None, what));
            }
        }
        self.missing_tables(families);
    }

    fn table_file(&self, family: &FoundFamily, table: &ExaminedTable) -> SalvagedFile {
        let outcome = match &table.condition {
            Condition::Sound { .. } | Condition::Empty => FileOutcome::Sound,
            _ if table.is_lost() => FileOutcome::Lost,
            Condition::Damaged(_) | Condition::Lost(_) => FileOutcome::Salvaged,
        };
        let mut file = SalvagedFile::new(&table.path, FileKind::Table, outcome);
        file.column_family = Some(family.name.clone());
        file.level = table.listed.as_ref().map(|listed| listed.level);
        file.bounds = table.bounds();
        file.entries = table.entries();
        match &table.condition {
            Condition::Sound { .. } | Condition::Empty => {}
            Condition::Damaged(report) => {
                let found = table.shared_tombstones.len() as u64;
                file.entries_lost = report.entries_lost().map(|lost| lost.saturating_sub(found));
                file.table = Some((**report).clone());
            }
            Condition::Lost(reason) => {
                file.entries_lost = None;
                file.notes.push(reason.clone());
            }
        }
        file.notes.extend(table.notes.clone());
        if outcome == FileOutcome::Lost {
            let listed = table.listed.as_ref();
            file.bounds = file.bounds.or_else(|| listed.map(TableEvidence::bounds));
            file.recorded_size = listed.map(|it| it.meta.size).filter(|size| *size > file.size);
            // A file of which nothing is left does not say how much there was.
            file.entries_lost = file.entries_lost.filter(|&count| count > 0);
        }
        file
    }

    /// What the loss of blocks makes uncertain.
    fn lost_keys(&mut self, family: &FoundFamily, table: &ExaminedTable) {
        let path = &table.path;
        if table.is_lost() {
            let (after, before) = table.listed.as_ref().map(TableEvidence::bounds).unzip();
            self.deletions(family, table, after, before);
            return;
        }
        let Condition::Damaged(report) = &table.condition else { return };
        let engine = self.choice.engine;
        for what in &report.uncertain {
            match what {
                Uncertainty::Deletions { after, before } => {
                    self.deletions(family, table, after.clone(), before.clone());
                }
                // A MANIFEST, or the other tables, say it.
                Uncertainty::AssumedOrder(_) if family.order.is_some() => {}
                Uncertainty::AssumedEngine(_) if engine.is_some() => {}
                Uncertainty::RangeTombstones if engine == Some(Engine::LevelDb) => {}
                what => {
                    let (file, what) = (path.clone(), what.clone());
                    self.uncertain.push(DatabaseUncertainty::Table { file, what });
                }
            }
        }
        let has_losses = report.losses.iter().any(Loss::has_entries);
        let is_said = report.uncertain.iter().any(|it| matches!(it, Uncertainty::Deletions { .. }));
        // The deletions are all there, but overwritten keys may have old values.
        if has_losses && !is_said {
            for loss in report.losses.iter().filter(|it| it.has_entries()) {
                self.deletions(family, table, loss.after.clone(), loss.before.clone());
            }
        }
    }

    /// Older versions of lost entries may be visible, if there are any.
    fn deletions(
        &mut self,
        family: &FoundFamily,
        table: &ExaminedTable,
        after: Option<Vec<u8>>,
        before: Option<Vec<u8>>,
    ) {
        let keys = family.keys();
        let overlaps = |other: &&ExaminedTable| {
            let Some((first, last)) = other.bounds() else { return true };
            let (first, last) = (keys.bare(&first), keys.bare(&last));
            let is_behind =
                after.as_ref().is_some_and(|it| keys.compare(last, keys.bare(it)).is_lt());
            let is_ahead =
                before.as_ref().is_some_and(|it| keys.compare(first, keys.bare(it)).is_gt());
            !is_behind && !is_ahead
        };
        let others = family.tables.iter().filter(|it| it.number != table.number);
        let others = others.filter(|it| !is_newer(it, table));
        if family.order.is_some() && others.filter(overlaps).count() == 0 {
            return;
        }
        self.uncertain.push(DatabaseUncertainty::Deletions {
            file: table.path.clone(),
            column_family: Some(family.name.clone()),
            after,
            before,
        });
    }

    /// The same for tables that do not exist any more.
    fn missing_tables(&mut self, families: &BTreeMap<u32, FoundFamily>) {
        let tables = || families.values().flat_map(|it| &it.tables);
        let is_read = |path: &Path| tables().any(|table| table.path == path);
        let lost: Vec<_> = self
            .files
            .iter()
            .filter(|it| it.kind == FileKind::Table && it.outcome == FileOutcome::Lost)
            .filter(|it| !is_read(&it.path))
            .map(|it| (it.path.clone(), it.column_family.clone(), it.bounds.clone()))
            .collect();
        for (file, column_family, bounds) in lost {
            let has_others = families
                .values()
                .any(|it| Some(&it.name) == column_family.as_ref() && !it.tables.is_empty());
            if has_others {
                let (after, before) = bounds.unzip();
                self.uncertain.push(DatabaseUncertainty::Deletions {
                    file,
                    column_family,
                    after,
                    before,
                });
            }
        }
    }

    /// Sequence numbers that only a MANIFEST knew.
    fn unlisted(&mut self, table: &ExaminedTable) {
        let is_folder = self.inventory.is_folder;
        if table.listed.is_none() && table.has_external_sequence() && !is_folder {
            let what = "an ingested table, whose sequence number only the MANIFEST knew: treated as \
                        the oldest, so that older values may be visible";
            self.uncertain.push(DatabaseUncertainty::assumed_of_table(table, what));
        }
    }

    /// Range tombstones apply within the bounds of their table, which only a MANIFEST has. Beyond, they
    /// delete what is older, and that is right, except for newer entries whose sequence numbers were
    /// set to 0 in the last level.
    fn unbounded_tombstones(&mut self, family: &FoundFamily) {
        let keys = family.keys();
        for table in family.tables.iter().filter(|it| !it.is_bounded) {
            let Some((start, end)) = &table.tombstones else { continue };
            let is_hidden = |other: &ExaminedTable| {
                let Some((first, last)) = other.bounds() else { return false };
                other.number != table.number
                    && other.sequences().is_some_and(|(smallest, _)| smallest == 0)
                    && keys.compare(keys.bare(&first), end).is_lt()
                    && keys.compare(keys.bare(&last), start).is_ge()
            };
            if family.tables.iter().any(is_hidden) {
                self.uncertain.push(DatabaseUncertainty::RangeTombstones {
                    file: table.path.clone(),
                    column_family: family.name.clone(),
                    start: start.clone(),
                    end: end.clone(),
                });
            }
        }
    }

    /// Tables from which another one may have been made: one with a larger number has some of the same
    /// keys, and not only newer writes, as one that was flushed later would have.
    fn maybe_obsolete(&mut self, family: &FoundFamily) {
        let keys = family.keys();
        let tables: Vec<_> = family
            .tables
            .iter()
            .filter_map(|table| Some((table, table.bounds()?, table.sequences()?)))
            .collect();
        for (table, bounds, (_, last)) in &tables {
            let newer = tables.iter().find(|(other, range, (first, _))| {
                other.number > table.number
                    && first <= last
                    && keys.compare(keys.bare(&range.0), keys.bare(&bounds.1)).is_le()
                    && keys.compare(keys.bare(&range.1), keys.bare(&bounds.0)).is_ge()
            });
            if let Some((newer, ..)) = newer {
                self.uncertain.push(DatabaseUncertainty::MaybeObsolete {
                    table: table.path.clone(),
                    newer: newer.path.clone(),
                    bounds: bounds.clone(),
                });
            }
        }
    }
}

/// Whether a table is in a higher level than another, or all of its numbers are larger.
fn is_newer(table: &ExaminedTable, than: &ExaminedTable) -> bool {
    let levels = table.listed.as_ref().zip(than.listed.as_ref());
    if let Some((a, b)) = levels
        && a.level != b.level
    {
        return a.level < b.level;
    }
    table.sequences().zip(than.sequences()).is_some_and(|(a, b)| a.0 > b.1)
}
