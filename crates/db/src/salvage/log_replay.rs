//! What happens to the write-ahead logs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sstkit_table::raw::{BlockKind, Engine};
use sstkit_table::{Loss, Uncertainty};

use super::database_survey::Survey;
use super::found_families::FoundFamily;
use super::inventory::Numbered;
use super::log_scan::LogScan;
use super::manifest_choice::without_path;
use super::salvage_report::{DatabaseUncertainty, FileOutcome, LogLoss, SalvagedFile};
use super::table_examination::{Condition, ExaminedTable};
use crate::database::{AppliedWrites, FlushedWrites, Logs, is_needed};
use crate::error::{ErrorKind, Result};
use crate::file_kind::FileKind;
use crate::memtable::Memtable;
use crate::raw::{FileName, ManifestState, RecoveryMode};

/// What happens to the logs.
#[derive(Default)]
pub(super) struct LogReplay {
    pub(super) memtables: BTreeMap<u32, Arc<Memtable>>,
    pub(super) logs: Numbered,
    /// Writes of each column family in logs that are taken over.
    pub(super) taken_over: BTreeMap<u32, u64>,
    pub(super) log_numbers: BTreeMap<u32, u64>,
    pub(super) last_sequence: u64,
    pub(super) files: Vec<SalvagedFile>,
}

impl Survey<'_> {
    /// Replays the logs that count.
    pub(super) fn replay(
        &mut self,
        engine: Engine,
        families: &BTreeMap<u32, FoundFamily>,
        scans: &[LogScan],
    ) -> Result<LogReplay> {
        let mut replay = LogReplay::default();
        let state = self.choice.state.as_ref();
        let needed: Vec<&LogScan> = scans
            .iter()
            .filter(|scan| {
                let is_needed =
                    state.is_none_or(|it| is_needed(scan.number, engine, it, &self.settings));
                if !is_needed {
                    let path = &scan.path;
                    let file = SalvagedFile::new(path, FileKind::Log, FileOutcome::Obsolete);
                    replay
                        .files
                        .push(file.note("all of its writes are in tables, by the MANIFEST"));
                }
                is_needed
            })
            .collect();
        if let Some(state) = state {
            for file in self.missing_logs(state, scans) {
                self.uncertain.push(lost_writes(&file.path));
                replay.files.push(file);
            }
            let has_tables = state.column_families.values().any(|it| it.files().next().is_some());
            if !has_tables && self.logs.is_empty() && self.options.read.replay_logs {
                let what =
                    "there are no tables and no logs: if there was a log, its writes are lost";
                self.uncertain.push(DatabaseUncertainty::assumed(None, what));
            }
        }
        let log_number = |id: u32| {
            let family = state.and_then(|it| it.column_families.get(&id));
            family.map_or(0, |it| it.log_number)
        };
        let known = state.map(|it| it.last_sequence);
        self.uncertain.extend(sequence_gap(&needed, known, &ingestions(families)));
        replay.last_sequence = needed.iter().map(|it| it.last_sequence).max().unwrap_or(0);
        let is_unordered = |id: &u32| families.get(id).is_some_and(|it| it.order.is_none());
        let has_unordered = needed.iter().any(|scan| scan.families.keys().any(is_unordered));
        if has_unordered && needed.iter().all(|scan| scan.damage.is_empty()) {
            for scan in needed {
                replay.logs.push((scan.number, scan.path.clone()));
                let mut file = SalvagedFile::new(&scan.path, FileKind::Log, FileOutcome::Sound);
                file.entries = scan.writes();
                replay.files.push(file);
                for (&id, writes) in &scan.families {
                    *replay.taken_over.entry(id).or_default() += writes;
                }
            }
            replay.log_numbers = families.keys().map(|&id| (id, log_number(id))).collect();
            return Ok(replay);
        }
        let mode = match self.options.past_damage {
            true => RecoveryMode::SkipAnyCorruptedRecords,
            false => RecoveryMode::PointInTimeRecovery,
        };
        let keys: BTreeMap<u32, _> = families.iter().map(|(&id, it)| (id, it.keys())).collect();
        let mut logs = Logs::new(engine, mode, self.options.read.max_log_memory);
        logs.go_past_damage();
        for (&id, family) in families {
            if family.order.is_none() {
                continue;
            }
            logs.add_family(id, &keys[&id], log_number(id));
            if let Some(flushed) = flushed(family).filter(|_| state.is_none()) {
                logs.set_flushed(id, flushed);
            }
        }
        let mut failed: BTreeMap<u64, String> = BTreeMap::new();
        for scan in &needed {
            match logs.read_what_can_be(scan.number, &scan.path) {
                Ok(None) => {}
                Ok(Some(error)) => {
                    failed.insert(scan.number, without_path(&error));
                }
                Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::NotFound) => {
                    failed.insert(scan.number, without_path(&error));
                }
                Err(error) => return Err(error),
            }
        }
        let replayed = logs.finish();
        let lost_in_order = needed.iter().flat_map(|scan| &scan.families);
        for (id, writes) in lost_in_order.filter(|(id, _)| is_unordered(id)) {
            let family = &families[id];
            let what = format!(
                "{writes} writes to column family {:?} are only in logs that are damaged, and cannot be \
                 sorted: the comparator {:?} is not known",
                family.name, family.comparator
            );
            self.uncertain.push(DatabaseUncertainty::assumed(None, what));
        }
        if replayed.flushed > 0 {
            let what = format!(
                "{} writes in logs are not newer than the tables, and are taken to be in them",
                replayed.flushed
            );
            self.uncertain.push(DatabaseUncertainty::assumed(None, what));
        }
        let is_exact = state.is_some();
        if !is_exact {
            for (id, memtable) in &replayed.memtables {
                self.merged_operands(*id, &families[id], memtable, &needed);
            }
            self.maybe_flushed(families, &needed, &replayed.applied);
        }
        for scan in needed {
            let applied = replayed.applied.total(scan.number);
            let is_ignored = replayed.ignored.contains(&scan.number);
            let file = self.log_file(scan, applied, is_ignored, failed.remove(&scan.number));
            replay.files.push(file);
        }
        replay.memtables =
            replayed.memtables.into_iter().map(|(id, it)| (id, Arc::new(it))).collect();
        Ok(replay)
    }

    /// Logs that are needed and do not exist. An engine that opens a directory always makes one, and keeps
    /// it until what is in it is flushed; only a checkpoint or a backup of RocksDB may lack the last
    /// one, if it was empty, and these have no IDENTITY.
    fn missing_logs(&self, state: &ManifestState, scans: &[LogScan]) -> Vec<SalvagedFile> {
        let is_copy = self.inventory.is_rocksdb() && !self.inventory.has_identity;
        if is_copy || !self.options.read.replay_logs {
            return Vec::new();
        }
        let families = state.column_families.values().map(|family| family.log_number);
        let mut numbers: BTreeSet<u64> = families.clone().collect();
        // Some options make RocksDB list the logs.
        numbers.extend(state.wals.keys());
        // A column family without writes may name a log that is deleted already.
        let last = families.max().unwrap_or(0);
        let oldest =
            if state.min_log_number_to_keep > 0 { state.min_log_number_to_keep } else { last };
        numbers.retain(|&number| number > 0 && number >= oldest);
        let exists = |number: u64| {
            let name = FileName::Log(number).to_string();
            let unreadable = self.files.iter().any(|file| file.path.ends_with(&name));
            unreadable || scans.iter().any(|scan| scan.number == number)
        };
        let missing = numbers.into_iter().filter(|&number| !exists(number)).map(|number| {
            let path = self.inventory.path.join(FileName::Log(number).to_string());
            let mut file = SalvagedFile::new(path, FileKind::Log, FileOutcome::Lost);
            file.entries_lost = None;
            file.note("file not found: its writes that are not in tables are lost")
        });
        missing.collect()
    }

    /// Operands that may be in values already: those of a log whose memtable may have been flushed, and
    /// compacted to a level where sequence numbers are zeroed. A log is followed by the next one before
    /// its memtable is flushed, so the tables of that have larger numbers.
    fn merged_operands(
        &mut self,
        id: u32,
        family: &FoundFamily,
        memtable: &Memtable,
        logs: &[&LogScan],
    ) {
        let newest = family.tables.iter().map(|table| table.number).max().unwrap_or(0);
        let may_be_flushed =
            |pair: &&[&LogScan]| pair[0].merges.contains(&id) && newest > pair[1].number;
        let (Some(pair), Some((after, before))) =
            (logs.windows(2).find(may_be_flushed), memtable.merged_keys())
        else {
            return;
        };
        self.uncertain.push(DatabaseUncertainty::MergeOperands {
            file: pair[0].path.clone(),
            column_family: family.name.clone(),
            after,
            before,
        });
    }

    /// Logs whose writes may all be in tables, and which may be older than these: compactions to the last
    /// level set sequence numbers to 0, and drop deletions.
    fn maybe_flushed(
        &mut self,
        families: &BTreeMap<u32, FoundFamily>,
        logs: &[&LogScan],
        applied: &AppliedWrites,
    ) {
        for pair in logs.windows(2) {
            for (id, writes) in applied.of_log(pair[0].number) {
                let family = &families[&id];
                let has_newer = family.tables.iter().any(|table| table.number > pair[1].number);
                if !has_newer && !pair[0].is_recycled {
                    continue;
                }
                let what = format!(
                    "whether the writes to column family {:?} were flushed is not recorded any more: if \
                     so, overwritten keys may have old values, and deleted ones may be back",
                    family.name
                );
                self.uncertain.push(DatabaseUncertainty::Assumed {
                    file: Some(pair[0].path.clone()),
                    bounds: writes.bounds.clone(),
                    what,
                });
            }
        }
    }

    /// What happens to a log, of which this many writes are used.
    fn log_file(
        &mut self,
        scan: &LogScan,
        applied: u64,
        is_ignored: bool,
        failed: Option<String>,
    ) -> SalvagedFile {
        let is_whole = scan.damage.is_empty() && failed.is_none();
        let outcome = match (is_whole, applied) {
            _ if is_ignored => FileOutcome::Lost,
            (true, _) => FileOutcome::Sound,
            (false, 0) if scan.writes() == 0 || failed.is_some() => FileOutcome::Lost,
            (false, _) => FileOutcome::Salvaged,
        };
        let mut file = SalvagedFile::new(&scan.path, FileKind::Log, outcome);
        file.entries = applied;
        file.log_losses.clone_from(&scan.damage);
        file.notes.extend(failed);
        if !is_whole {
            file.entries_lost = None;
        }
        if is_ignored {
            file.entries_lost = Some(scan.writes());
            file.notes.push("does not continue the log before it, which is damaged".into());
        } else if let (false, Some(first)) = (self.options.past_damage, scan.damage.first()) {
            // What is readable after the damage is left out, too.
            let (offset, reason) = (first.offset, first.reason.clone());
            let writes = Some(scan.behind_damage);
            file.log_losses = vec![LogLoss { offset, length: scan.size - offset, writes, reason }];
        }
        if file.has_losses() {
            self.uncertain.push(lost_writes(&scan.path));
        }
        file
    }
}

/// Deletions in a log may be lost.
fn lost_writes(log: &Path) -> DatabaseUncertainty {
    let file = log.to_path_buf();
    DatabaseUncertainty::Deletions { file, column_family: None, after: None, before: None }
}

/// The sequence numbers of ingested tables: each took one, which is in no log.
fn ingestions(families: &BTreeMap<u32, FoundFamily>) -> BTreeSet<u64> {
    let tables = families.values().flat_map(|family| &family.tables);
    let sequences = tables.filter_map(ExaminedTable::sequences);
    sequences.filter(|(first, last)| first == last).map(|(number, _)| number).collect()
}

/// Sequence numbers that are missing between two logs. A log without writes between them was emptied;
/// without such a log, one may be lost. Writes that go to no log leave the same gap.
fn sequence_gap(
    needed: &[&LogScan],
    known: Option<u64>,
    ingestions: &BTreeSet<u64>,
) -> Option<DatabaseUncertainty> {
    let (mut logged, mut empty, mut before) = (None, None, None::<&LogScan>);
    // Damage leaves a gap, too, and is reported.
    let is_whole = |scan: &LogScan| scan.damage.is_empty() && !scan.has_transactions;
    for &scan in needed {
        let Some(first) = scan.first_sequence else {
            empty = Some(scan).filter(|it| it.damage.is_empty()).or(empty);
            continue;
        };
        let gap_after = |last: Option<u64>| {
            last.map(|last| (last.saturating_add(1), first)).filter(|(from, to)| from < to)
        };
        if let (Some(empty), Some((from, to))) = (empty, gap_after(logged.max(known))) {
            let what = format!(
                "has no writes, and those with the sequence numbers {from} to {} are in no log: they may \
                 be lost",
                to - 1
            );
            return Some(DatabaseUncertainty::assumed(empty.path.clone(), what));
        }
        // The MANIFEST may know larger numbers, but of another column family.
        if let (Some(before), Some((from, to))) = (before, gap_after(logged))
            && is_whole(before)
            && is_whole(scan)
            && (ingestions.range(from..to).count() as u64) < to - from
        {
            let what = format!(
                "the sequence numbers {from} to {} are in no log: if there was a log between this one \
                 and the one before it, its writes may be lost",
                to - 1
            );
            return Some(DatabaseUncertainty::assumed(scan.path.clone(), what));
        }
        (logged, empty, before) = (logged.max(Some(scan.last_sequence)), None, Some(scan));
    }
    None
}

/// The writes of a column family that are in tables; `None` if nothing was flushed.
fn flushed(family: &FoundFamily) -> Option<FlushedWrites> {
    // The sequence number of an ingested table says nothing about the logs.
    let own = family.tables.iter().filter(|table| !table.is_ingested());
    let sequence = own.filter_map(ExaminedTable::sequences).map(|(_, last)| last).max()?;
    let keys = family.keys();
    let bare = |key: &Option<Vec<u8>>| key.as_ref().map(|key| keys.bare(key).to_vec());
    let mut lost = Vec::new();
    for table in &family.tables {
        match &table.condition {
            Condition::Sound { .. } | Condition::Empty => {}
            Condition::Lost(_) => lost.push((None, None)),
            Condition::Damaged(report) => {
                let losses = report.losses.iter().filter(|it| Loss::has_entries(it));
                let points = losses.filter(|it| it.kind != Some(BlockKind::RangeDeletion));
                lost.extend(points.map(|it| (bare(&it.after), bare(&it.before))));
                lost.extend(report.uncertain.iter().filter_map(|it| match it {
                    Uncertainty::End(last) => Some((bare(last), None)),
                    _ => None,
                }));
            }
        }
    }
    let lacks_tombstones = family.tables.iter().any(ExaminedTable::has_losses);
    Some(FlushedWrites::new(sequence, lost, lacks_tombstones))
}
