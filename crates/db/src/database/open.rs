//! Opens a database: CURRENT, MANIFEST, OPTIONS, logs. Tables are opened on first use.

use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sstkit_table::raw::Engine;
use sstkit_table::visibility::UserKeys;

use super::database_options::DatabaseOptions;
use super::folders;
use super::logs::Logs;
use super::missing_logs::MissingLogs;
use super::settings::Settings;
use super::{Inner, new_family};
use crate::caveat::{Caveat, CaveatKind};
use crate::column_family_data::{BlobFiles, FamilySettings};
use crate::directory::{self, Directory, ManifestPosition};
use crate::error::{Error, Result};
use crate::file_system::{self, FileStatus};
use crate::files::Files;
use crate::raw::{ColumnFamilyState, FileName, ManifestState, RecoveryMode};
use crate::unknown_order;
use crate::version::{Arrangement, TableFile, Version, arrange};

/// The number of retries if the directory changes while it is opened.
const ATTEMPTS: u32 = 20;

/// The wait before a retry grows by this each time, so that a change can complete.
const PAUSE: Duration = Duration::from_micros(500);

/// Opens a database. Retries if the database is in use and changes while it is opened.
pub(super) fn open(path: &Path, options: &DatabaseOptions) -> Result<Inner> {
    for attempt in 1..ATTEMPTS {
        let mut manifest = None;
        let opened = try_open(path, options, &mut manifest);
        if !Directory::new(path, manifest).has_changed() {
            return opened;
        }
        thread::sleep(PAUSE * attempt);
    }
    let mut manifest = None;
    let opened = try_open(path, options, &mut manifest);
    match Directory::new(path, manifest).has_changed() {
        true => Err(directory::changed(path)),
        false => opened,
    }
}

/// Opens a database in its current state. Stores the MANIFEST that was read in `manifest`.
fn try_open(
    path: &Path,
    options: &DatabaseOptions,
    manifest: &mut Option<ManifestPosition>,
) -> Result<Inner> {
    prefetch(path);
    let number = directory::read_current(path)?;
    let listed = directory::list(path)?;
    let manifest_path = directory::manifest_path(path, number);
    let (engine, state) = read_manifest(&manifest_path, number, &listed, manifest)
        .map_err(|error| error.in_file(&manifest_path))?;
    if !state.column_families.contains_key(&0) {
        return Err(Error::corrupt("the default column family is missing").in_file(manifest_path));
    }

    let mut caveats = options.caveats.clone();
    caveats.extend(torn_tail(&state, &manifest_path));
    let mut settings = Settings::read(options, &listed, &mut caveats)?;
    options.table_folders.iter().try_for_each(|folder| folders::require(folder))?;
    if options.placed_files.is_none() {
        settings.found_folders =
            folders::find_tables(path, engine, &state, &settings, &mut caveats);
    }
    let families: Vec<(&ColumnFamilyState, FamilySettings, UserKeys)> = state
        .column_families
        .values()
        .map(|family| {
            let settings = settings.family(&family.name, family.comparator.as_deref());
            let keys = UserKeys::new(settings.comparator.clone());
            (family, settings, keys)
        })
        .collect();
    caveats.extend(
        families.iter().filter_map(|(it, of_it, _)| unknown_order::caveat(&it.name, of_it)),
    );
    // Before the logs: writes missing from the logs are in tables that the MANIFEST names.
    let files = Files::new(Directory::new(path, *manifest), options.max_open_files);
    if options.hold_files {
        files.hold(live_files(path, engine, &state, &settings))?;
    }
    let mode = options.recovery_mode.or(settings.file.database().wal_recovery_mode());
    let mut logs = Logs::new(engine, mode.unwrap_or(default_mode(engine)), options.max_log_memory);
    for (family, _, keys) in &families {
        logs.add_family(family.id, keys, family.log_number);
    }
    let (mut needed, known) = (Vec::new(), caveats.len());
    if options.replay_logs || options.list_logs {
        let is_needed = |number| is_needed(number, engine, &state, &settings);
        let said = caveats.len();
        needed = settings.logs(path, is_needed, &mut caveats)?;
        if engine == Engine::RocksDb && options.placed_files.is_none() && caveats.len() == said {
            caveats.extend(folders::lost_logs(path, &state, &settings, is_needed, &needed));
        }
    }
    if options.replay_logs {
        let read = needed.iter().try_for_each(|(number, log)| logs.read(*number, log));
        match read {
            Err(error) if logs.has_unknown_commits() => {
                caveats.push(logs_without_commits(&error));
                logs.clear();
            }
            read => read?,
        }
    }
    // A directory of logs that is left out is reported.
    let has_all = caveats[known..].iter().all(|it| it.kind() != CaveatKind::LeftOut);
    let missing_logs = match options.replay_logs && options.placed_files.is_none() && has_all {
        true => {
            let found = needed.iter().map(|(number, _)| *number).collect();
            let names: Vec<_> = listed.iter().map(|(name, _)| *name).collect();
            MissingLogs::find(engine, &state, number, &found, &names)
        }
        false => MissingLogs::default(),
    };
    let mut replayed = logs.finish();
    caveats.append(&mut replayed.caveats);

    let files = Arc::new(files);
    let families = families
        .into_iter()
        .map(|(family, family_settings, keys)| {
            let version = version(path, engine, family, &family_settings, &keys, &settings)
                .map_err(|error| error.in_file(&manifest_path))?;
            let live = family.live_blob_files().map(|file| (file.number, file.clone())).collect();
            let blobs = BlobFiles {
                folders: settings.table_folders(path, 0),
                placed: options.placed_files.clone(),
                live: Some(live),
            };
            let memtable = replayed.memtables.remove(&family.id);
            Ok(Arc::new(new_family(
                (family.id, &family.name),
                family_settings,
                keys,
                memtable,
                version,
                blobs,
                &files,
            )))
        })
        .collect::<Result<_>>()?;
    let last_sequence = state.last_sequence.max(replayed.last_sequence.unwrap_or(0));
    let options_file = settings.file;
    Ok(Inner {
        engine,
        files,
        families,
        last_sequence,
        manifest: Some(state),
        bulk_manifest: None,
        options_file,
        logs: needed.into_iter().map(|(_, path)| path).collect(),
        missing_logs,
        caveats,
    })
}

/// Reads all files at once that are read whole, where each costs a round trip.
fn prefetch(path: &Path) {
    if !file_system::is_remote(path) {
        return;
    }
    // If this fails, so does what follows.
    let listed = directory::list(path).unwrap_or_default();
    let newest = listed.iter().rev().find(|(name, _)| matches!(name, FileName::Options(_)));
    let is_read_whole = |name: &FileName| {
        matches!(name, FileName::Current | FileName::Manifest(_) | FileName::Log(_))
    };
    let whole = listed.iter().filter(|(name, _)| is_read_whole(name)).chain(newest);
    let paths: Vec<PathBuf> = whole.map(|(_, path)| path.clone()).collect();
    file_system::prefetch(&paths);
}

/// Reads the current contents of a MANIFEST; `read` receives its number and size.
///
/// Detects the engine. Some kinds of files exist only in RocksDB; without any of them, a MANIFEST
/// that LevelDB can parse is LevelDB's.
pub(crate) fn read_manifest(
    path: &Path,
    number: u64,
    listed: &[(FileName, PathBuf)],
    read: &mut Option<ManifestPosition>,
) -> Result<(Engine, ManifestState)> {
    // If it cannot be opened, its size still tells whether it has changed.
    let size = file_system::status(path).map_or(0, FileStatus::size);
    *read = Some(ManifestPosition { number, size });
    let mut file = file_system::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::corrupt("CURRENT names a MANIFEST that does not exist"),
        _ => error.into(),
    })?;
    let size = file.size()?;
    *read = Some(ManifestPosition { number, size });
    let mut replay = |engine| -> Result<(Engine, ManifestState)> {
        file.rewind()?;
        let state = ManifestState::replay(BufReader::new((&mut file).take(size)), engine)?;
        Ok((engine, state))
    };
    let is_rocksdb = listed.iter().any(|(name, _)| {
        matches!(name, FileName::Options(_) | FileName::Identity | FileName::Blob(_))
    });
    if is_rocksdb {
        return replay(Engine::RocksDb);
    }
    replay(Engine::LevelDb).or_else(|error| replay(Engine::RocksDb).map_err(|_| error))
}

/// A caveat for an incomplete last record of a MANIFEST.
fn torn_tail(state: &ManifestState, path: &Path) -> Option<Caveat> {
    let problem = state.torn_tail?;
    let message = format!(
        "{}: {} at offset {}; showing the state before it",
        path.file_name().unwrap_or_default().to_string_lossy(),
        problem.kind,
        problem.offset
    );
    Some(Caveat::new(CaveatKind::TornTail, message).about(path))
}

/// A caveat for logs whose transactions cannot be applied.
fn logs_without_commits(error: &Error) -> Caveat {
    let message = format!("{error}: the logs are ignored, and only writes in tables are visible");
    let caveat = Caveat::new(CaveatKind::LeftOut, message);
    match error.file() {
        Some(file) => caveat.about(file),
        None => caveat,
    }
}

/// The numbers and possible paths of the live tables, top levels first, and of the blob files.
fn live_files(
    path: &Path,
    engine: Engine,
    state: &ManifestState,
    settings: &Settings<'_>,
) -> Vec<(u64, Vec<PathBuf>)> {
    let mut tables = Vec::new();
    let mut blobs = Vec::new();
    for family in state.column_families.values() {
        for (level, meta) in family.files() {
            tables.push((level, meta.number, settings.table_paths(path, meta, engine)));
        }
        for blob in family.live_blob_files() {
            let places = BlobFiles {
                folders: settings.table_folders(path, 0),
                placed: settings.options.placed_files.clone(),
                live: None,
            };
            blobs.push((blob.number, places.paths(blob.number)));
        }
    }
    tables.sort_by_key(|(level, ..)| *level);
    tables.into_iter().map(|(_, number, paths)| (number, paths)).chain(blobs).collect()
}

/// The engine's default for damaged logs.
fn default_mode(engine: Engine) -> RecoveryMode {
    match engine {
        Engine::LevelDb => RecoveryMode::SkipAnyCorruptedRecords,
        Engine::RocksDb => RecoveryMode::PointInTimeRecovery,
    }
}

/// Whether a log may contain writes that are in no table.
pub(crate) fn is_needed(
    number: u64,
    engine: Engine,
    state: &ManifestState,
    settings: &Settings<'_>,
) -> bool {
    let families = state.column_families.values();
    let oldest = families.map(|family| family.log_number).min().unwrap_or(0);
    match engine {
        Engine::LevelDb => number >= oldest || number == state.prev_log_number,
        // Logs older than any table may contain prepared transactions.
        Engine::RocksDb if settings.file.database().allow_2pc() == Some(true) => {
            number >= state.min_log_number_to_keep
        }
        Engine::RocksDb => number >= oldest.max(state.min_log_number_to_keep),
    }
}

fn version(
    path: &Path,
    engine: Engine,
    family: &ColumnFamilyState,
    family_settings: &FamilySettings,
    keys: &UserKeys,
    settings: &Settings<'_>,
) -> Result<Version> {
    let mut files = Vec::new();
    for (level, meta) in family.files() {
        let paths = settings.table_paths(path, meta, engine);
        files.push(Arc::new(TableFile::new(meta.clone(), level, paths, keys)?));
    }
    let arrangement = match family_settings.unknown_order {
        None => Arrangement::Levels,
        Some(_) => Arrangement::LevelsWithoutOrder,
    };
    arrange(files, keys, arrangement)
}
