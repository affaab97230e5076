//! Which MANIFEST describes the database, if one still does.
//!
//! A MANIFEST counts as it is if CURRENT names it and all of it can be read, as in the engine. Without
//! CURRENT, or if its end is cut off, it has to agree with the directory: all tables that it lists
//! exist, and no table is newer than its last edit. Otherwise MANIFESTs are only [`Evidence`].

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use sstkit_table::raw::Engine;

use super::inventory::Inventory;
use super::manifest_evidence::Evidence;
use super::salvage_report::{FileOutcome, SalvagedFile};
use crate::caveat::Caveat;
use crate::database::{Settings, find_tables};
use crate::directory;
use crate::error::{Error, ErrorKind, Result};
use crate::file_kind::FileKind;
use crate::raw::{ColumnFamilyState, ManifestState};
use crate::regular_file;

/// What describes the database.
pub(super) struct ManifestChoice {
    pub(super) engine: Option<Engine>,
    /// The state of the database, if a MANIFEST still says it.
    pub(super) state: Option<ManifestState>,
    /// The number of the MANIFEST that says it.
    pub(super) number: Option<u64>,
    pub(super) evidence: Evidence,
    /// Why there is no state.
    pub(super) reason: Option<String>,
    /// CURRENT and the MANIFESTs.
    pub(super) files: Vec<SalvagedFile>,
    /// What was assumed.
    pub(super) assumed: Option<String>,
}

impl ManifestChoice {
    /// Tables that are in other directories are added to the inventory.
    pub(super) fn make(
        inventory: &mut Inventory,
        engine: Option<Engine>,
        settings: &Settings<'_>,
        caveats: &mut Vec<Caveat>,
    ) -> Result<Self> {
        let mut choice = Self {
            engine,
            state: None,
            number: None,
            evidence: Evidence::default(),
            reason: None,
            files: Vec::new(),
            assumed: None,
        };
        if !inventory.is_folder {
            choice.search(inventory, settings, caveats)?;
        }
        choice.add_default_family();
        Ok(choice)
    }

    fn add_default_family(&mut self) {
        let default = self.evidence.families.entry(0).or_default();
        default.name = "default".into();
    }

    /// Reads CURRENT and the MANIFESTs.
    fn search(
        &mut self,
        inventory: &mut Inventory,
        settings: &Settings<'_>,
        caveats: &mut Vec<Caveat>,
    ) -> Result<()> {
        let current_path = inventory.path.join("CURRENT");
        let current = directory::read_current(&inventory.path);
        let mut candidates: Vec<_> = inventory.manifests.iter().rev().cloned().collect();
        match &current {
            Ok(named) => {
                let file = SalvagedFile::new(&current_path, FileKind::Current, FileOutcome::Sound);
                match inventory.manifests.iter().any(|(number, _)| number == named) {
                    true => self.files.push(file),
                    false => {
                        let path = directory::manifest_path(&inventory.path, *named);
                        let lost =
                            SalvagedFile::new(path, FileKind::Manifest, FileOutcome::Rebuilt);
                        self.reason = Some("the MANIFEST does not exist".into());
                        self.files.push(file);
                        self.files.push(lost.note("file not found"));
                    }
                }
                candidates.sort_by_key(|(number, _)| number != named);
            }
            Err(error) => {
                let file =
                    SalvagedFile::new(&current_path, FileKind::Current, FileOutcome::Rebuilt);
                self.files.push(file.note(without_path(error)));
                self.reason = Some(match candidates.is_empty() {
                    true => "there is no MANIFEST".into(),
                    false => "CURRENT is lost".into(),
                });
            }
        }
        for (number, path) in candidates {
            let is_current = current.as_ref().is_ok_and(|named| *named == number);
            self.consider(inventory, (number, &path), is_current, settings, caveats)?;
        }
        if self.state.is_none() {
            for (_, path) in &inventory.manifests {
                self.add_evidence(path)?;
            }
        }
        Ok(())
    }

    /// Takes the MANIFEST for evidence only, for this reason.
    pub(super) fn demote(&mut self, reason: String) {
        self.reject(&reason);
        self.reason = Some(format!("the end of the MANIFEST is lost: {reason}"));
    }

    /// Uses nothing of the MANIFEST, for this reason: it is that of another database.
    pub(super) fn disown(&mut self, reason: String) {
        self.reject(&reason);
        self.evidence = Evidence::default();
        self.add_default_family();
        self.reason = Some(format!("the MANIFEST is of another database: {reason}"));
    }

    fn reject(&mut self, reason: &str) {
        (self.state, self.assumed) = (None, None);
        for file in self.files.iter_mut().filter(|file| file.kind == FileKind::Manifest) {
            if file.outcome == FileOutcome::Sound {
                file.outcome = FileOutcome::Rebuilt;
                file.notes.push(reason.to_owned());
            }
        }
    }

    /// Takes a MANIFEST over, if it describes the database.
    fn consider(
        &mut self,
        inventory: &mut Inventory,
        (number, path): (u64, &Path),
        is_current: bool,
        settings: &Settings<'_>,
        caveats: &mut Vec<Caveat>,
    ) -> Result<()> {
        let file = |outcome| SalvagedFile::new(path, FileKind::Manifest, outcome);
        if self.state.is_some() {
            let obsolete = file(FileOutcome::Obsolete).note("CURRENT names another MANIFEST");
            self.files.push(obsolete);
            return Ok(());
        }
        let (engine, state) = match self.replay(path) {
            Ok(replayed) => replayed,
            Err(error) => {
                let reason = without_path(&error);
                let damaged = file(FileOutcome::Rebuilt).note(reason.clone());
                if is_current {
                    self.reason = Some(format!("the MANIFEST is damaged: {reason}"));
                }
                self.files.push(damaged);
                return Ok(());
            }
        };
        let mut of_folders = Vec::new();
        let folders = find_tables(&inventory.path, engine, &state, settings, &mut of_folders);
        inventory.add_listed(&folders, &state)?;
        if is_current || !folders.is_empty() {
            caveats.append(&mut of_folders);
        }
        let disagreement = disagreement(inventory, &state);
        // Engines take zeros for the end of a block.
        let mut read = Evidence::default();
        let found = read.read(open(path)?, engine).unwrap_or_default();
        let torn = found.or_else(|| state.torn_tail.map(|problem| problem.kind.to_string()));
        let is_accepted = match (&disagreement, &torn) {
            (None, _) => true,
            // Files are missing, or left over from a crash, but nothing speaks for lost edits.
            (Some(it), None) => is_current && !it.has_lost_edits(),
            (Some(_), Some(_)) => false,
        };
        if !is_accepted {
            let reasons = [torn, disagreement.map(|it| it.to_string())];
            let reason = reasons.into_iter().flatten().collect::<Vec<_>>().join("; ");
            self.reason = Some(format!("the end of the MANIFEST is lost: {reason}"));
            self.files.push(file(FileOutcome::Rebuilt).note(reason));
            return Ok(());
        }
        let mut used = file(FileOutcome::Sound);
        if let Some(what) = torn {
            used.outcome = FileOutcome::Rebuilt;
            used.notes.push(what);
            self.assumed = Some(
                "the last edit of the MANIFEST is cut off; the state before it agrees with the \
                 tables"
                    .into(),
            );
        } else if !is_current {
            self.assumed = Some(format!(
                "{} is treated as the current MANIFEST: it is the newest one, and agrees with the \
                 tables",
                path.file_name().unwrap_or_default().to_string_lossy()
            ));
        }
        self.files.push(used);
        self.evidence = Evidence { added: read.added, ..Evidence::of_state(&state) };
        (self.engine, self.state, self.reason) = (Some(engine), Some(state), None);
        self.number = Some(number);
        Ok(())
    }

    fn replay(&self, path: &Path) -> Result<(Engine, ManifestState)> {
        let engines = match self.engine {
            Some(engine) => vec![engine],
            None => vec![Engine::LevelDb, Engine::RocksDb],
        };
        let mut failed = Error::corrupt("the MANIFEST is empty");
        for engine in engines {
            match ManifestState::replay(open(path)?, engine) {
                Ok(state) if state.column_families.contains_key(&0) => return Ok((engine, state)),
                Ok(_) => failed = Error::corrupt("the default column family is missing"),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Adds what can be read of a MANIFEST.
    fn add_evidence(&mut self, path: &Path) -> Result<()> {
        let engines = match self.engine {
            Some(engine) => vec![engine],
            None => vec![Engine::LevelDb, Engine::RocksDb],
        };
        for engine in engines {
            let mut evidence = self.evidence.clone();
            match evidence.read(open(path)?, engine) {
                Ok(_) => {}
                // What cannot be read from disk is no evidence, and has been reported as damaged.
                Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::NotFound) => {}
                Err(error) => return Err(error),
            }
            let is_more = evidence.tables.len() >= self.evidence.tables.len();
            if is_more && evidence.families.len() >= self.evidence.families.len() {
                self.evidence = evidence;
            }
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<BufReader<std::io::Take<File>>> {
    let file = regular_file::open(path).map_err(|error| Error::from(error).in_file(path))?;
    let size = file.metadata()?.len();
    Ok(BufReader::new(file.take(size)))
}

/// In what a MANIFEST and the directory disagree.
struct Disagreement {
    /// A table that is listed and does not exist.
    missing: Option<u64>,
    /// A table whose number was given after the last edit.
    newer: Option<u64>,
}

impl Disagreement {
    /// Compactions that are not recorded have deleted tables and made others.
    fn has_lost_edits(&self) -> bool {
        self.missing.is_some() && self.newer.is_some()
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.missing, self.newer) {
            (Some(missing), _) => write!(f, "it lists table {missing:06}, which does not exist"),
            (_, Some(newer)) => write!(f, "table {newer:06} is newer than its last edit"),
            (None, None) => Ok(()),
        }
    }
}

fn disagreement(inventory: &Inventory, state: &ManifestState) -> Option<Disagreement> {
    let listed = state.column_families.values().flat_map(ColumnFamilyState::files);
    let missing = listed.map(|(_, file)| file.number).find(|&number| !inventory.has_table(number));
    let newest = inventory.tables.last().map(|(number, _)| *number);
    let newer = newest.filter(|&number| number >= state.next_file_number);
    (missing.is_some() || newer.is_some()).then_some(Disagreement { missing, newer })
}

/// The message of an error, without the path in front of it.
pub(super) fn without_path(error: &Error) -> String {
    let text = error.to_string();
    let path = error.file().map(|path| format!("{}: ", path.display())).unwrap_or_default();
    text.strip_prefix(&path).map_or(text.clone(), str::to_owned)
}
