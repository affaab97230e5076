//! What happens to the write-ahead logs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sstkit_table::raw::{BlockKind, Engine, EntryKind};
use sstkit_table::{Loss, Uncertainty};

use super::database_survey::Survey;
use super::found_families::FoundFamily;
use super::inventory::Numbered;
use super::log_scan::LogScan;
use super::manifest_choice::without_path;
use super::salvage_report::{
    DatabaseUncertainty, FileOutcome, LogLoss, SalvagedFile, UnusedWrites,
};
use super::table_examination::{Condition, ExaminedTable};
use crate::database::{AppliedWrites, FlushedWrites, Logs, MissingLogs, NO_LOGS, is_needed};
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
            let missing = self.missing_logs(engine, state);
            for number in missing.numbers {
                let path = self.inventory.path.join(FileName::Log(number).to_string());
                let mut file = SalvagedFile::new(path, FileKind::Log, FileOutcome::Lost);
                file.entries_lost = None;
                self.uncertain.push(lost_writes(&file.path));
                let note = "file not found: its writes that are not in tables are lost";
                replay.files.push(file.note(note));
            }
            let has_tables = state.column_families.values().any(|it| it.files().next().is_some());
            let is_empty = !has_tables && self.logs.is_empty() && self.options.read.replay_logs;
            if missing.has_none {
                self.uncertain.push(DatabaseUncertainty::assumed(None, NO_LOGS));
            } else if is_empty && replay.files.is_empty() {
                let what =
                    "there are no tables and no logs: if there was a log, its writes are lost";
                self.uncertain.push(DatabaseUncertainty::assumed(None, what));
            }
            if let Some(number) = missing.uncertain.first() {
                self.uncertain.extend(gap_in_front(&needed, state.last_sequence, *number));
            }
        }
        self.uncertain.extend(needed.iter().filter_map(|scan| zeros(scan)));
        let described = state.into_iter().flat_map(|it| &it.column_families);
        let log_numbers: BTreeMap<u32, u64> =
            described.map(|(&id, family)| (id, family.log_number)).collect();
        let log_number = |id: u32| log_numbers.get(&id).copied().unwrap_or(0);
        let known = state.map(|it| it.last_sequence);
        let gap = sequence_gap(&needed, known, &ingestions(families));
        let with_gap = gap.as_ref().and_then(DatabaseUncertainty::file).cloned();
        self.uncertain.extend(gap);
        let empty = empty_logs(&needed);
        self.uncertain.extend(empty.filter(|it| it.file() != with_gap.as_ref()));
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
            let from = match (is_ignored, self.options.past_damage, scan.damage.first()) {
                (true, ..) => Some(0),
                (false, false, Some(first)) => Some(first.offset),
                _ => None,
            };
            let unused = match from {
                Some(from) => unused_writes(scan, engine, from, families, log_number, is_exact)?,
                None => Vec::new(),
            };
            let failed = failed.remove(&scan.number);
            let file = log_file(scan, applied, is_ignored, failed, from.map(|from| (from, unused)));
            self.lost_keys_of_log(&file, is_ignored);
            replay.files.push(file);
        }
        replay.memtables =
            replayed.memtables.into_iter().map(|(id, it)| (id, Arc::new(it))).collect();
        Ok(replay)
    }

    /// Logs that are needed and do not exist.
    fn missing_logs(&self, engine: Engine, state: &ManifestState) -> MissingLogs {
        let Some(manifest) = self.choice.number.filter(|_| self.options.read.replay_logs) else {
            return MissingLogs::default();
        };
        // Also those that exist and cannot be read.
        let found: BTreeSet<u64> = self.logs.iter().map(|(number, _)| *number).collect();
        MissingLogs::find(engine, state, manifest, &found, &self.inventory.names)
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

    /// What the loss of writes makes uncertain: of those that are readable the keys are known.
    fn lost_keys_of_log(&mut self, log: &SalvagedFile, is_ignored: bool) {
        if !log.has_losses() {
            return;
        }
        if !is_ignored {
            self.uncertain.push(lost_writes(&log.path));
        }
        for unused in log.log_losses.iter().flat_map(|it| &it.unused) {
            let (after, before) = unused.bounds.clone().unzip();
            self.uncertain.push(DatabaseUncertainty::Deletions {
                file: log.path.clone(),
                column_family: Some(unused.column_family.clone()),
                after,
                before,
            });
        }
    }
}

/// What happens to a log, of which this many writes are used, and others, from an offset on, are not.
fn log_file(
    scan: &LogScan,
    applied: u64,
    is_ignored: bool,
    failed: Option<String>,
    unused: Option<(u64, Vec<UnusedWrites>)>,
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
    let Some((offset, unused)) = unused else { return file };
    let writes: u64 = unused.iter().map(|it| it.writes).sum();
    let reason = match scan.damage.first() {
        Some(first) if !is_ignored => first.reason.clone(),
        _ => "does not continue the log before it, which is damaged".to_owned(),
    };
    if is_ignored {
        file.entries_lost = Some(writes).filter(|_| is_whole);
        file.notes.push(reason.clone());
    }
    file.entries_lost_at_least = writes;
    let (length, writes) = (scan.size - offset, Some(writes));
    // What is readable after the damage is left out, too.
    file.log_losses = vec![LogLoss { offset, length, writes, unused, reason }];
    file
}

/// The writes of a log that are not used, from the record at an offset on.
fn unused_writes(
    scan: &LogScan,
    engine: Engine,
    from: u64,
    families: &BTreeMap<u32, FoundFamily>,
    log_number: impl Fn(u32) -> u64,
    is_exact: bool,
) -> Result<Vec<UnusedWrites>> {
    // Writes to a column family that was dropped are not lost, nor are those that are in tables.
    let flushed = |family| flushed(family).filter(|_| !is_exact && !scan.has_transactions);
    let families: BTreeMap<u32, _> = families
        .iter()
        .filter(|(id, _)| log_number(**id) <= scan.number)
        .map(|(&id, family)| (id, (family, family.keys(), flushed(family))))
        .collect();
    let mut found = AppliedWrites::default();
    scan.each_write(engine, from, |write, sequence| {
        let id = write.column_family;
        let Some((_, keys, flushed)) = families.get(&id) else { return };
        let entry = (write.key, sequence, write.kind);
        if flushed.as_ref().is_some_and(|it| it.contains(keys, entry)) {
            return;
        }
        found.count(scan.number, id);
        let end = Some(write.value).filter(|_| write.kind == EntryKind::RangeDeletion);
        found.include(scan.number, id, [Some(write.key), end], keys);
    })?;
    let unused = found.of_log(scan.number).map(|(id, writes)| {
        let (family, ..) = &families[&id];
        let bounds = writes.bounds.clone().filter(|_| family.order.is_some());
        UnusedWrites { column_family: family.name.clone(), writes: writes.count, bounds }
    });
    Ok(unused.collect())
}

/// A log that ends in zeros: preallocated, or overwritten.
fn zeros(scan: &LogScan) -> Option<DatabaseUncertainty> {
    let (bytes, offset) = (scan.zeros, scan.size.saturating_sub(scan.zeros));
    let what = format!(
        "{bytes} bytes of zeros at offset {offset}, up to the end: preallocated, or overwritten, and then \
         writes are lost"
    );
    (bytes > 0).then(|| DatabaseUncertainty::assumed(scan.path.clone(), what))
}

/// Logs with nothing in them, unless the sequence numbers of the others show that there was nothing.
fn empty_logs(needed: &[&LogScan]) -> impl Iterator<Item = DatabaseUncertainty> {
    let is_known = |at: usize| {
        let before = needed[..at].iter().filter(|it| it.first_sequence.is_some());
        let before = before.map(|it| it.last_sequence).max();
        let after = needed[at + 1..].iter().find_map(|it| it.first_sequence);
        before.zip(after).is_some_and(|(last, first)| first <= last.saturating_add(1))
    };
    let what = "the log is empty: nothing was written to it, or it was truncated, and then writes are \
                lost";
    needed
        .iter()
        .enumerate()
        .filter(move |(at, scan)| scan.size == 0 && !is_known(*at))
        .map(move |(_, scan)| DatabaseUncertainty::assumed(scan.path.clone(), what))
}

/// Sequence numbers that are missing between the MANIFEST and the first log with writes. The MANIFEST
/// names an older log, which need not have existed.
fn gap_in_front(needed: &[&LogScan], known: u64, missing: u64) -> Option<DatabaseUncertainty> {
    let with_writes = needed.iter().filter(|scan| scan.number > missing);
    let (first, scan) = with_writes.filter_map(|it| Some((it.first_sequence?, it))).next()?;
    let from = known.saturating_add(1);
    let is_gap = from < first && !scan.has_transactions && scan.damage.is_empty();
    let what = format!(
        "the sequence numbers {from} to {} are in no table and no log: if there was a log {missing:06}, \
         its writes may be lost",
        first - 1
    );
    is_gap.then(|| DatabaseUncertainty::assumed(scan.path.clone(), what))
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
