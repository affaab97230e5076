//! The result: a folder of tables, or a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sstkit_table::raw::{Engine, EntryKind, InternalKey, MAX_SEQUENCE_NUMBER};
use sstkit_table::visibility::UserKeys;
use sstkit_table::{Table, TableReadOptions};

use super::DatabaseSalvage;
use super::found_families::FoundFamily;
use super::inferred_order::UNKNOWN_COMPARATOR;
use super::level_order::{self, Candidate};
use super::manifest_evidence::TableEvidence;
use super::saved_entries::NewTables;
use super::table_examination::{Condition, ExaminedTable, user_key};
use crate::column_family_data::DEFAULT_NUM_LEVELS;
use crate::database_writer::{
    ColumnFamilyDescriptor, DatabaseWriter, DatabaseWriterOptions, FileSource, LiveBlobs,
};
use crate::error::{Error, ErrorKind, Result};
use crate::output::{FinishedTable, Phase, Reporter};
use crate::raw::{BlobFileMetaData, FileMetaData};
use crate::version::{Arrangement, TableFile, arrange};

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvageSummary {
    /// Tables in the result.
    pub tables: u64,
    /// Tables among them that were taken over as they are.
    pub copied: u64,
    /// Blob files.
    pub blob_files: u64,
    /// Tables that had to be merged, since no order of them was right.
    pub merged: u64,
    /// Column families whose recorded levels contradict the sequence numbers. The larger numbers count.
    pub reordered: Vec<String>,
}

/// A table of the result.
enum Placed {
    /// A sound table, as it is.
    Copy { path: PathBuf, meta: Box<FileMetaData> },
    /// A new one, with the number of the one that it is made from.
    New { table: Box<FinishedTable>, number: Option<u64> },
}

/// A table of the result.
struct Placement {
    table: Placed,
    /// What the MANIFEST says about the table that it is, or is made from; `None` if that is not
    /// known, or if it is made of logs.
    listed: Option<TableEvidence>,
    /// The blobs that it refers to.
    live_blobs: LiveBlobs,
}

impl Placement {
    /// A table that was written for this database.
    fn new(table: FinishedTable, number: Option<u64>, listed: Option<TableEvidence>) -> Self {
        let live_blobs = table.live_blobs.clone();
        Self { table: Placed::New { table: Box::new(table), number }, listed, live_blobs }
    }

    fn meta(&self) -> Option<&FileMetaData> {
        match &self.table {
            Placed::Copy { meta, .. } => Some(meta),
            Placed::New { table, .. } => table.metadata.as_ref(),
        }
    }

    fn number(&self) -> u64 {
        match &self.table {
            Placed::Copy { meta, .. } => meta.number,
            Placed::New { number, .. } => number.unwrap_or(u64::MAX),
        }
    }

    fn path(&self) -> &Path {
        match &self.table {
            Placed::Copy { path, .. } => path,
            Placed::New { table, .. } => table.file.path(),
        }
    }
}

impl DatabaseSalvage {
    /// Writes a database of everything that is saved to a new directory, which the engine opens as its
    /// own. It appears complete or not at all.
    ///
    /// # Errors
    ///
    /// Fails if `target` exists, if a write fails, or if the source has changed since it was read.
    pub fn write_database(&self, target: impl AsRef<Path>) -> Result<SalvageSummary> {
        self.write(target.as_ref(), true)
    }

    /// Writes the tables and blob files that are saved to a new directory, without anything that makes
    /// them a database. Tables keep their numbers; those made of logs have larger ones.
    ///
    /// # Errors
    ///
    /// Those of [`write_database`](Self::write_database).
    pub fn write_tables(&self, target: impl AsRef<Path>) -> Result<SalvageSummary> {
        self.write(target.as_ref(), false)
    }

    /// Refuses what would lose entries: those of a column family whose order is not known.
    fn require_order(&self, as_database: bool) -> Result<()> {
        let is_unknown = |it: &&FoundFamily| {
            it.order.is_none() && (it.comparator == UNKNOWN_COMPARATOR || !as_database)
        };
        let Some(family) = self.families.values().find(is_unknown) else { return Ok(()) };
        let has_tables = family.tables.iter().any(ExaminedTable::has_entries);
        let what = match (family.comparator.as_str(), as_database) {
            (UNKNOWN_COMPARATOR, true) if has_tables || !self.logs.is_empty() => {
                "is not recorded any more, and none of the known orders fits its keys"
            }
            (_, false) if !self.logs.is_empty() => {
                "is not known, and the writes in logs cannot be sorted into tables"
            }
            _ => return Ok(()),
        };
        Err(Error::invalid_input(format!(
            "the comparator of column family {:?} {what}: use --comparator to name it",
            family.name
        ))
        .in_file(&self.report.path))
    }

    fn write(&self, target: &Path, as_database: bool) -> Result<SalvageSummary> {
        self.require_order(as_database)?;
        // What fails without a name is the writing.
        self.write_to(target, as_database).map_err(|error| match error.kind() {
            ErrorKind::Io if error.file().is_none() => error.in_file(target),
            _ => error,
        })
    }

    fn write_to(&self, target: &Path, as_database: bool) -> Result<SalvageSummary> {
        let mut options = match self.engine {
            Engine::RocksDb => DatabaseWriterOptions::rocksdb(),
            Engine::LevelDb => DatabaseWriterOptions::leveldb(),
        }
        .first_file_number(self.next_number);
        if !self.options_file.sections().is_empty() {
            options = options.options_file(self.options_file.clone());
        }
        let mut writer = DatabaseWriter::create(target, options)?;
        let size = |table: &ExaminedTable| std::fs::metadata(&table.path).map_or(0, |it| it.len());
        let total = self.families.values().flat_map(|it| &it.tables).map(size).sum();
        let reporter = Reporter::new(self.progress.clone(), Phase::Copying, Some(total));
        let mut summary = SalvageSummary::default();
        for (&id, family) in &self.families {
            self.add_family(&mut writer, id, family)?;
        }
        for (&(id, number), file) in &self.blob_values.files {
            if let (Some(path), None) = (&file.path, &file.damage) {
                let known = self.blob_metadata.get(&(id, number)).cloned().unwrap_or_default();
                let (blob_count, blob_bytes) = file.values;
                let known = BlobFileMetaData { blob_count, blob_bytes, ..known };
                writer.add_blob_file(id, number, &FileSource::Copy(path.clone()), Some(known))?;
                summary.blob_files += 1;
            }
        }
        for (number, path) in self.logs.iter().filter(|_| as_database) {
            writer.add_log(*number, &FileSource::Copy(path.clone()))?;
        }
        for (&id, &number) in &self.log_numbers {
            writer.set_log_number(id, number)?;
        }
        for (&id, family) in &self.families {
            self.write_family(&mut writer, &reporter, id, family, as_database, &mut summary)?;
        }
        writer.set_last_sequence(self.last_sequence);
        match as_database {
            true => writer.finish()?,
            false => writer.finish_without_manifest()?,
        }
        Ok(summary)
    }

    fn add_family(&self, writer: &mut DatabaseWriter, id: u32, family: &FoundFamily) -> Result<()> {
        let descriptor = ColumnFamilyDescriptor::new(&family.name).id(id);
        let mut descriptor = match &family.order {
            Some(order) => descriptor.comparator(order.clone()),
            None => descriptor.comparator_name(&family.comparator),
        };
        if let Some(persist) = family.persist_timestamps {
            descriptor = descriptor.persist_timestamps(persist);
        }
        if let Some(low) = &family.full_history_timestamp_low {
            descriptor = descriptor.full_history_timestamp_low(low.clone());
        }
        // What OPTIONS do not say any more.
        let is_described = self.options_file.section("CFOptions", Some(&family.name)).is_some();
        if !is_described && self.engine == Engine::RocksDb {
            let known = [
                ("merge_operator", &family.merge_operator),
                ("prefix_extractor", &family.prefix_extractor),
            ];
            for (name, value) in known {
                if let Some(value) = value {
                    descriptor = descriptor.option(name, value);
                }
            }
        }
        writer.column_family(descriptor).map(drop)
    }

    fn write_family(
        &self,
        writer: &mut DatabaseWriter,
        reporter: &Reporter,
        id: u32,
        family: &FoundFamily,
        as_database: bool,
        summary: &mut SalvageSummary,
    ) -> Result<()> {
        let new_tables = NewTables { salvage: self, writer, reporter, id, family };
        let mut placements = Vec::new();
        for table in family.tables.iter().filter(|it| it.has_entries()) {
            reporter.report()?;
            let listed = table.listed.clone();
            // In a folder there is no MANIFEST that would know the sequence number, or the bounds within
            // which range tombstones apply. One that is in a folder already has none.
            let is_database = as_database || self.report.is_folder;
            let is_truncated = table.has_truncated_tombstones(&family.keys());
            let is_unknown = !is_database && (table.has_external_sequence() || is_truncated);
            match &table.condition {
                Condition::Sound { meta, .. } if !table.is_rewritten && !is_unknown => {
                    let meta = match &table.listed {
                        Some(listed) if self.is_exact && table.is_bounded => {
                            // Its entries say which sequence numbers it has.
                            let (smallest_sequence, largest_sequence) =
                                (meta.smallest_sequence, meta.largest_sequence);
                            let listed = listed.meta.clone();
                            Box::new(FileMetaData { smallest_sequence, largest_sequence, ..listed })
                        }
                        _ => meta.clone(),
                    };
                    let (path, live_blobs) = (table.path.clone(), table.live_blobs.clone());
                    let table = Placed::Copy { path, meta };
                    placements.push(Placement { table, listed, live_blobs });
                }
                _ => {
                    let new = new_tables.rewrite(table, as_database)?;
                    for (nth, mut new) in new.into_iter().enumerate() {
                        if let (Some(meta), Some(TableEvidence { meta: source, .. })) =
                            (&mut new.metadata, &listed)
                        {
                            meta.epoch_number = source.epoch_number;
                            // Its range tombstones apply where they did before.
                            if is_truncated && as_database {
                                meta.smallest.clone_from(&source.smallest);
                                meta.largest.clone_from(&source.largest);
                            }
                        }
                        let number = Some(table.number).filter(|_| nth == 0);
                        placements.push(Placement::new(new, number, listed.clone()));
                    }
                }
            }
        }
        if let Some(memtable) = self.memtables.get(&id)
            && memtable.len() + memtable.range_deletions().len() > 0
        {
            for table in new_tables.of_memtable(memtable)? {
                placements.push(Placement::new(table, None, None));
            }
        }
        placements.retain(|it| it.meta().is_some());
        if !as_database {
            for placement in placements {
                self.add(writer, reporter, id, 0, placement, summary)?;
            }
            return Ok(());
        }
        let mut live_blobs = LiveBlobs::default();
        for (level, placement) in self.arranged(writer, reporter, id, placements, summary)? {
            live_blobs.append(&placement.live_blobs);
            self.add(writer, reporter, id, level, placement, summary)?;
        }
        writer.recount_garbage(id, &live_blobs)
    }

    /// Puts the tables in levels; those of level 0 oldest first.
    fn arranged(
        &self,
        writer: &DatabaseWriter,
        reporter: &Reporter,
        id: u32,
        placements: Vec<Placement>,
        summary: &mut SalvageSummary,
    ) -> Result<Vec<(u32, Placement)>> {
        let family = &self.families[&id];
        let keys = family.keys();
        let candidates: Vec<_> = placements.iter().map(|it| candidate(it, &keys)).collect();
        let open = |at: usize| self.open_placed(&placements[at], family);
        if self.is_exact
            && let Some(order) = recorded_order(&placements, family)?
        {
            let mut rank = vec![0; placements.len()];
            // Tables of a level below level 0 share keys only where one ends and the next begins.
            let is_one_run = |a: &(u32, usize), b: &(u32, usize)| a.0 == b.0 && a.0 > 0;
            for (nth, run) in order.chunk_by(is_one_run).enumerate() {
                run.iter().for_each(|&(_, at)| rank[at] = nth);
            }
            if family.order.is_none() || !level_order::contradicts(&rank, &candidates, &keys, open)?
            {
                return Ok(pick(placements, order));
            }
            summary.reordered.push(family.name.clone());
        }
        if family.order.is_none() {
            let mut order: Vec<_> = (0..placements.len()).map(|at| (0, at)).collect();
            order.sort_by_key(|&(_, at)| (candidates[at].sequences.1, candidates[at].number));
            return Ok(pick(placements, order));
        }
        let groups = level_order::order(&candidates, &keys, open)?;
        let levels = level_order::levels(&groups, &candidates, &keys, self.bottom_level(family));
        let mut placements: Vec<Option<Placement>> = placements.into_iter().map(Some).collect();
        let mut arranged = Vec::new();
        let new_tables = NewTables { salvage: self, writer, reporter, id, family };
        for (group, level) in groups.into_iter().zip(levels) {
            let mut members: Vec<_> =
                group.into_iter().filter_map(|at| placements[at].take()).collect();
            if members.len() > 1 {
                // Of versions with the same number, that of the newest table counts.
                members.sort_by_key(|it| std::cmp::Reverse(it.number()));
                summary.merged += members.len() as u64;
                let tables: Result<Vec<_>> = members
                    .iter()
                    .map(|it| Ok((self.open_placed(it, family)?, candidate(it, &keys))))
                    .collect();
                let merged = new_tables.merge(&tables?)?;
                let placed = |table| Placement::new(table, None, None);
                members = merged.into_iter().map(placed).collect();
            }
            arranged.extend(members.into_iter().map(|member| (level, member)));
        }
        Ok(arranged)
    }

    /// The last level that the column family may have.
    fn bottom_level(&self, family: &FoundFamily) -> u32 {
        let options = self.options_file.column_family(&family.name);
        let style = options.get("compaction_style").and_then(|it| it.as_text());
        let levels = options.num_levels().unwrap_or(DEFAULT_NUM_LEVELS);
        match (self.engine, style) {
            // Such a column family has level 0 only.
            (Engine::RocksDb, Some("kCompactionStyleFIFO")) => 0,
            (Engine::RocksDb, _) => levels.clamp(1, DEFAULT_NUM_LEVELS) - 1,
            (Engine::LevelDb, _) => DEFAULT_NUM_LEVELS - 1,
        }
    }

    fn open_placed(&self, placement: &Placement, family: &FoundFamily) -> Result<Table> {
        let mut options = TableReadOptions::default().no_block_cache();
        if let Some(order) = &family.order {
            options = options.comparator(order.clone());
        }
        if let Some(sequence) = placement.meta().and_then(|it| it.largest_sequence) {
            options = options.global_sequence_number(sequence);
        }
        Table::open_with(placement.path(), &options)
    }

    fn add(
        &self,
        writer: &mut DatabaseWriter,
        reporter: &Reporter,
        id: u32,
        level: u32,
        placement: Placement,
        summary: &mut SalvageSummary,
    ) -> Result<()> {
        // LevelDB takes the larger number for the newer table.
        let is_renumbered = self.engine == Engine::LevelDb && level == 0;
        match placement.table {
            Placed::Copy { path, mut meta } => {
                if is_renumbered {
                    meta.number = 0;
                }
                let size = meta.size;
                writer.add_table(id, level, &FileSource::Copy(path), Some(*meta))?;
                reporter.add(size)?;
                summary.copied += 1;
            }
            Placed::New { table, number } => match number.filter(|_| !is_renumbered) {
                Some(number) => {
                    writer.add_finished_with_number(id, level, *table, number)?;
                }
                None => {
                    writer.add_finished(id, level, *table)?;
                }
            },
        }
        summary.tables += 1;
        Ok(())
    }
}

fn pick(placements: Vec<Placement>, order: Vec<(u32, usize)>) -> Vec<(u32, Placement)> {
    let mut placements: Vec<Option<Placement>> = placements.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|(level, at)| Some((level, placements.get_mut(at)?.take()?)))
        .collect()
}

fn candidate(placement: &Placement, keys: &UserKeys) -> Candidate {
    let empty = FileMetaData::default();
    let meta = placement.meta().unwrap_or(&empty);
    let bare = |key: &[u8]| {
        let key = user_key(key);
        if meta.timestamps_persisted { keys.bare(&key).to_vec() } else { key }
    };
    let last = InternalKey::decode_from(&meta.largest);
    let is_exclusive = last.is_ok_and(|key| {
        key.kind == EntryKind::RangeDeletion && key.sequence == MAX_SEQUENCE_NUMBER
    });
    let sequences = meta.smallest_sequence.zip(meta.largest_sequence).unwrap_or((0, 0));
    let (smallest, largest) = (bare(&meta.smallest), bare(&meta.largest));
    let blob_files = placement.live_blobs.numbers().collect();
    let number = placement.number();
    Candidate { smallest, largest, is_exclusive, sequences, blob_files, number }
}

/// The levels that the MANIFEST recorded, oldest table first, and what was in logs as the newest;
/// `None` if the tables do not fit in them.
fn recorded_order(
    placements: &[Placement],
    family: &FoundFamily,
) -> Result<Option<Vec<(u32, usize)>>> {
    let keys = family.keys();
    let (mut files, mut logged) = (Vec::new(), Vec::new());
    for (at, placement) in placements.iter().enumerate() {
        let (Some(meta), Some(listed)) = (placement.meta(), &placement.listed) else {
            let is_logged = matches!(placement.table, Placed::New { number: None, .. });
            if !is_logged {
                // The age of a table that is not listed is known by its sequence numbers only.
                return Ok(None);
            }
            logged.push((0, at));
            continue;
        };
        // The age is that of the source.
        let meta = FileMetaData {
            smallest: meta.smallest.clone(),
            largest: meta.largest.clone(),
            timestamps_persisted: meta.timestamps_persisted,
            ..listed.meta.clone()
        };
        // The path is where it is found again.
        let path = PathBuf::from(at.to_string());
        files.push(Arc::new(TableFile::new(meta, listed.level, vec![path], &keys)?));
    }
    let arrangement = match &family.order {
        Some(_) => Arrangement::Levels,
        None => Arrangement::LevelsWithoutOrder,
    };
    let Ok(version) = arrange(files, &keys, arrangement) else { return Ok(None) };
    let mut order = Vec::new();
    for run in version.runs.iter().rev() {
        for file in &run.files {
            let at = file.paths.first().and_then(|path| path.to_str()?.parse().ok());
            order.extend(at.map(|at: usize| (run.level, at)));
        }
    }
    order.append(&mut logged);
    Ok(Some(order))
}
