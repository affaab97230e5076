//! Everything that is read before it is decided what is saved.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sstkit_table::raw::Engine;

use super::found_families::{FamilySources, FoundFamilies, FoundFamily};
use super::inventory::{Inventory, NUMBERS_END, Numbered};
use super::log_scan::LogScan;
use super::manifest_choice::{ManifestChoice, without_path};
use super::salvage_report::{
    DatabaseSalvageReport, DatabaseUncertainty, FileOutcome, SalvagedFamily, SalvagedFile,
};
use super::table_examination::{Condition, ExaminedTable, TableHints};
use super::{DatabaseSalvage, DatabaseSalvageOptions};
use crate::database::{MAX_OPTIONS_SIZE, Settings};
use crate::error::{Error, Result};
use crate::file_kind::FileKind;
use crate::memtable::Memtable;
use crate::output::{Phase, Reporter};
use crate::raw::OptionsFile;
use crate::regular_file;

/// Everything that is read before it is decided what is saved.
pub(super) struct Survey<'o> {
    pub(super) options: &'o DatabaseSalvageOptions,
    pub(super) inventory: Inventory,
    pub(super) choice: ManifestChoice,
    pub(super) settings: Settings<'o>,
    /// OPTIONS is lost or damaged.
    options_lost: Option<String>,
    pub(super) logs: Numbered,
    pub(super) files: Vec<SalvagedFile>,
    pub(super) uncertain: Vec<DatabaseUncertainty>,
    pub(super) reporter: Reporter,
}

impl<'o> Survey<'o> {
    pub(super) fn new(path: &Path, options: &'o DatabaseSalvageOptions) -> Result<Self> {
        let mut inventory = Inventory::read(path, &options.read.table_folders)?;
        let mut files = Vec::new();
        let (file, options_lost) = newest_options(&inventory, &mut files);
        let settings = Settings::with_file(&options.read, file);
        let mut caveats = Vec::new();
        let logs = match options.read.replay_logs {
            true if path.is_dir() => {
                settings.logs(path, |number| number < NUMBERS_END, &mut caveats)?
            }
            _ => Vec::new(),
        };
        inventory.is_folder &= logs.is_empty();
        let engine = options.engine.or(inventory.engine());
        let choice = ManifestChoice::make(&mut inventory, engine, &settings, &mut caveats)?;
        if let Some(manifest) = inventory.bulk_manifest.iter().find(|_| inventory.is_folder) {
            let file = SalvagedFile::new(manifest, FileKind::Other, FileOutcome::Obsolete);
            files.push(file.note("it describes the tables as they were, and is not taken over"));
        }
        for path in &inventory.strays {
            let file = SalvagedFile::new(path, FileKind::Other, FileOutcome::Orphaned);
            files.push(file.note("no engine gives a file such a number: ignored"));
        }
        if inventory.is_empty(&logs) {
            let what = "not a database: no tables, no logs and no MANIFEST";
            return Err(Error::invalid_input(what).in_file(path));
        }
        let uncertain = caveats
            .iter()
            .map(|caveat| DatabaseUncertainty::assumed(None, caveat.message()))
            .collect();
        let sizes = [&inventory.tables, &inventory.blob_files, &logs];
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |it| it.len());
        let total = sizes.iter().flat_map(|files| files.iter()).map(|(_, path)| size(path)).sum();
        let reporter = Reporter::new(options.progress.clone(), Phase::Reading, Some(total));
        Ok(Self {
            options,
            inventory,
            choice,
            settings,
            options_lost,
            logs,
            files,
            uncertain,
            reporter,
        })
    }

    pub(super) fn run(mut self) -> Result<DatabaseSalvage> {
        let mut hints = TableHints {
            engine: self.choice.engine,
            comparators: self.options.read.comparators.clone(),
            max_block_size: self.options.read.max_block_size,
            threads: self.options.threads,
            may_have_bare_keys: self.inventory.is_folder,
        };
        let (mut tables, mut unlisted) = self.examine_tables(&hints)?;
        let engine = self.engine(&tables, &unlisted);
        hints.engine = Some(engine);
        if engine == Engine::LevelDb {
            let of_other = |it: &&mut ExaminedTable| it.engine == Some(Engine::RocksDb);
            for table in tables.iter_mut().chain(&mut unlisted).filter(of_other) {
                let reason = "a table of RocksDB, which LevelDB cannot read: salvage it on its own";
                table.condition = Condition::Lost(reason.into());
                table.live_blobs.clear();
            }
        }
        let scans = self.scan_logs(engine)?;
        if let Some(reason) = self.lost_edits(&unlisted, &scans) {
            self.choice.demote(reason);
            tables.append(&mut unlisted);
        }
        self.orphans(unlisted);
        self.infer_order(engine, &mut tables, &scans, &hints)?;
        let is_exact = self.choice.state.is_some();
        let logged: BTreeSet<u32> =
            scans.iter().flat_map(|scan| scan.families.keys().copied()).collect();
        let sources = FamilySources {
            engine,
            evidence: &self.choice.evidence,
            is_exact,
            is_folder: self.inventory.is_folder,
            options: &self.settings.file,
            logged: &logged,
            comparators: &self.options.read.comparators,
        };
        let mut found = FoundFamilies::find(&sources, tables);
        self.uncertain.append(&mut found.uncertain);
        for table in std::mem::take(&mut found.dropped) {
            let file = SalvagedFile::new(&table.path, FileKind::Table, FileOutcome::Obsolete);
            self.files.push(file.note("its column family was dropped"));
        }
        let mut families = found.families;
        for family in families.values_mut() {
            family.find_shared_tombstones(&hints)?;
        }
        let (blob_values, lost_values) = self.examine_blobs(&mut families, &hints)?;
        let mut replay = self.replay(engine, &families, &scans)?;
        self.describe_options(engine, &families);
        let (count, lost_values) = lost_values;
        if let Some(assumed) = self.choice.assumed.take() {
            self.uncertain.insert(0, DatabaseUncertainty::assumed(None, assumed));
        }
        if let Some(reason) = self.choice.reason.take() {
            self.uncertain.insert(0, DatabaseUncertainty::LiveTables(reason));
        }
        self.suspect(is_exact, &families);
        let without_value = |name: &str| -> u64 {
            let is_of_it = |it: &&SalvagedFile| it.column_family.as_deref() == Some(name);
            let blob_files = self.files.iter().filter(|it| it.kind == FileKind::BlobFile);
            blob_files.filter(is_of_it).filter_map(|it| it.entries_lost).sum()
        };
        let column_families = families
            .iter()
            .map(|(&id, family)| SalvagedFamily {
                id,
                name: family.name.clone(),
                comparator: family.comparator.clone(),
                tables: family.tables.iter().filter(|it| it.has_entries()).count() as u64,
                entries: entries_of(family, replay.memtables.get(&id), replay.taken_over.get(&id))
                    .saturating_sub(without_value(&family.name)),
            })
            .collect();
        let mut files = std::mem::take(&mut self.choice.files);
        files.append(&mut self.files);
        files.append(&mut replay.files);
        let evidence = &self.choice.evidence;
        Ok(DatabaseSalvage {
            hints,
            progress: self.options.progress.clone(),
            engine,
            is_exact,
            last_sequence: evidence.last_sequence.max(replay.last_sequence),
            next_number: self.inventory.largest_number.saturating_add(1),
            blob_metadata: evidence.blob_files.clone(),
            report: DatabaseSalvageReport {
                path: self.inventory.path.clone(),
                is_folder: self.inventory.is_folder,
                engine,
                column_families,
                files,
                lost_values,
                lost_value_count: count,
                uncertain: self.uncertain,
            },
            options_file: self.settings.file,
            families,
            memtables: replay.memtables,
            logs: replay.logs,
            log_numbers: replay.log_numbers,
            blob_values,
        })
    }

    /// The engine: by files that only one of them has, or else by the tables.
    fn engine(&self, tables: &[ExaminedTable], unlisted: &[ExaminedTable]) -> Engine {
        let of_tables = || tables.iter().chain(unlisted).find_map(|table| table.engine);
        self.choice.engine.or_else(of_tables).unwrap_or(Engine::RocksDb)
    }

    fn scan_logs(&mut self, engine: Engine) -> Result<Vec<LogScan>> {
        let mut scans = Vec::new();
        for (number, path) in &self.logs {
            let max_memory = self.options.read.max_log_memory;
            match LogScan::read(*number, path, engine, max_memory) {
                Ok(scan) => {
                    self.reporter.add(scan.size)?;
                    scans.push(scan);
                }
                Err(error) => {
                    let mut file = SalvagedFile::new(path, FileKind::Log, FileOutcome::Lost);
                    file.entries_lost = None;
                    self.files.push(file.note(without_path(&error)));
                }
            }
        }
        Ok(scans)
    }

    /// Whether edits are missing at the end of a MANIFEST that looks whole: a table that it does not
    /// list has writes which are in no log and which it does not know of.
    fn lost_edits(&self, unlisted: &[ExaminedTable], scans: &[LogScan]) -> Option<String> {
        let state = self.choice.state.as_ref()?;
        let logged = scans.iter().map(|scan| scan.last_sequence).max().unwrap_or(0);
        let known = state.last_sequence.max(logged);
        let beyond =
            unlisted.iter().find(|it| it.sequences().is_some_and(|(_, last)| last > known));
        beyond.map(|table| format!("table {:06} is newer than all that it lists", table.number))
    }

    /// Tables that a whole MANIFEST does not list.
    fn orphans(&mut self, tables: Vec<ExaminedTable>) {
        for table in tables {
            let mut file = SalvagedFile::new(&table.path, FileKind::Table, FileOutcome::Orphaned);
            file.bounds = table.bounds();
            file.notes.extend(table.notes);
            let what = "the MANIFEST does not list it: obsolete, or left by a crash";
            self.files.push(file.note(what));
        }
    }

    fn describe_options(&mut self, engine: Engine, families: &BTreeMap<u32, FoundFamily>) {
        let Some(reason) = &self.options_lost else { return };
        if engine == Engine::LevelDb || self.inventory.is_folder {
            return;
        }
        let path = self.inventory.options.last().map(|(_, path)| path.clone());
        let path = path.unwrap_or_else(|| self.inventory.path.join("OPTIONS"));
        let mut file = SalvagedFile::new(path, FileKind::Options, FileOutcome::Rebuilt);
        file.notes.push(reason.clone());
        self.files.push(file);
        for family in families.values() {
            if let Some(operator) = &family.merge_operator {
                let what = format!(
                    "the merge operator of column family {:?} is {operator}, by its tables; its \
                     settings are not recorded any more",
                    family.name
                );
                self.uncertain.push(DatabaseUncertainty::assumed(None, what));
            }
        }
    }
}

/// Entries of a column family that are saved.
fn entries_of(family: &FoundFamily, memtable: Option<&Arc<Memtable>>, logged: Option<&u64>) -> u64 {
    let tables = family.tables.iter().map(ExaminedTable::entries);
    let logged = logged.copied().unwrap_or(0);
    let logged = memtable.map_or(logged, |it| (it.len() + it.range_deletions().len()) as u64);
    tables.sum::<u64>() + logged
}

/// The newest OPTIONS file that can be read, and why the newest one cannot.
fn newest_options(
    inventory: &Inventory,
    files: &mut Vec<SalvagedFile>,
) -> (OptionsFile, Option<String>) {
    let mut reason: Option<String> = None;
    for (_, path) in inventory.options.iter().rev() {
        let parsed = regular_file::read(path, MAX_OPTIONS_SIZE)
            .map_err(Error::from)
            .and_then(|contents| contents.ok_or_else(|| Error::corrupt("the file is too large")))
            .and_then(|contents| OptionsFile::parse(whole_text(&contents)?))
            .and_then(|file| match file.section("CFOptions", Some("default")) {
                Some(_) => Ok(file),
                None => Err(Error::corrupt("no options of the default column family")),
            });
        match parsed {
            Ok(file) => {
                files.push(SalvagedFile::new(path, FileKind::Options, FileOutcome::Sound));
                let older = |reason| format!("{reason}; an older OPTIONS file is used");
                return (file, reason.map(older));
            }
            Err(error) => reason = Some(without_path(&error)),
        }
    }
    (OptionsFile::default(), Some(reason.unwrap_or_else(|| "file not found".into())))
}

/// The text of an OPTIONS file that looks whole: of bytes that were overwritten, options would be made
/// that the engine refuses.
fn whole_text(contents: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(contents).map_err(|_| Error::corrupt("the file is not text"))?;
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let is_whole = |line: &str| {
        let is_comment = line.is_empty() || line.starts_with('#');
        let is_title = line.starts_with('[') && line.ends_with(']');
        let is_option = || line.split_once('=').is_some_and(|(name, _)| is_name(name.trim_end()));
        (is_comment || is_title || is_option()) && !line.chars().any(char::is_control)
    };
    if let Some(nth) = text.lines().position(|line| !is_whole(line.trim())) {
        return Err(Error::corrupt(format!("line {} is no option", nth + 1)));
    }
    match text.ends_with('\n') {
        true => Ok(text),
        false => Err(Error::corrupt("the file ends inside a line")),
    }
}
