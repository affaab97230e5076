//! Files of a database outside of its directory: logs in `wal_dir`, tables and blob files in `db_paths`.
//!
//! ```text
//! parent/
//!   db/       CURRENT, MANIFEST, OPTIONS: wal_dir=/data/db_wal
//!   db_wal/   000029.log                    not at /data/db_wal any more
//!   db_2/     000031.sst                    db_paths are not in OPTIONS
//! ```
//!
//! OPTIONS has the path of `wal_dir` as it was, and `db_paths` are stored nowhere. Where the database
//! was moved or copied, its directories are usually beside each other still. They are looked for
//! there if a file is missing: logs by the name of the directory, tables by number and size.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sstkit_table::RocksDbVersion;
use sstkit_table::raw::Engine;

use super::settings::Settings;
use crate::caveat::{Caveat, CaveatKind};
use crate::directory;
use crate::error::Result;
use crate::file_system::{self, FileStatus};
use crate::files::table_paths;
use crate::raw::{ColumnFamilyState, FileName, ManifestState};

/// The number of entries of the parent directory that are looked at.
const MAX_SIBLINGS: usize = 1000;

/// How many components of `wal_dir` are looked for, below this number of ancestors.
const MAX_COMPONENTS: usize = 3;

/// The path of the database with a parent: as it was given, if that has one.
fn with_parent(database: &Path) -> Option<PathBuf> {
    match (database.parent(), database.file_name()) {
        (Some(parent), Some(name)) if parent.as_os_str().is_empty() => {
            Some(Path::new(".").join(name))
        }
        (Some(_), Some(_)) => Some(database.to_owned()),
        // `.`, `..` or `/`.
        _ => file_system::canonicalize(database).ok(),
    }
}

/// The directories beside that of the database that are not databases.
fn siblings(database: &Path) -> Vec<PathBuf> {
    let database = with_parent(database);
    let parent = database.as_ref().and_then(|database| database.parent());
    let is_remote = database.as_ref().is_some_and(|it| file_system::is_remote(it));
    let Some(parent) = parent.filter(|it| file_system::is_remote(it) == is_remote) else {
        return Vec::new();
    };
    let names = file_system::list(parent).unwrap_or_default();
    let paths = names.into_iter().take(MAX_SIBLINGS).map(|name| parent.join(name));
    let mut folders: Vec<PathBuf> = paths.filter(|path| is_other_folder(path)).collect();
    folders.sort();
    folders
}

/// Whether it is a directory, and not that of a database.
fn is_other_folder(path: &Path) -> bool {
    file_system::is_folder(path) && !file_system::exists(&path.join("CURRENT"))
}

/// The directory that OPTIONS names. If the database is not on this machine, neither are its logs: there, a whole path is
/// one within the directory of the database, where nothing is.
pub(super) fn named(database: &Path, configured: &str) -> PathBuf {
    match file_system::is_remote(database) {
        true => database.join(configured.trim_start_matches(['/', '\\'])),
        false => database.join(configured),
    }
}

/// Whether a directory that OPTIONS names is that of the database.
pub(super) fn is_same(database: &Path, folder: &Path) -> bool {
    let resolved = file_system::canonicalize(database).ok();
    resolved.is_some() && file_system::canonicalize(folder).ok() == resolved
}

/// The first version that writes `wal_dir` only if it is not the directory of the database.
const FIRST_WITHOUT_OWN: (u32, u32) = (6, 24);

/// Whether a log directory that does not exist may be that of the database itself, which was moved:
/// RocksDB used to write it even if it was the default. What was moved with its name says nothing
/// more, since directories of logs are also named like this (`/data/mydb`, `/wal/mydb`).
pub(super) fn may_be_own(database: &Path, wal_dir: &Path, written_by: Option<&str>) -> bool {
    let resolved = file_system::canonicalize(database);
    let version = written_by.and_then(|text| text.parse::<RocksDbVersion>().ok());
    let (major, minor) = FIRST_WITHOUT_OWN;
    resolved.is_ok_and(|it| it.file_name() == wal_dir.file_name())
        && !file_system::exists(wal_dir)
        && version.is_none_or(|it| it < RocksDbVersion::new(major, minor))
}

/// A directory beside that of the database that has logs which are needed: one with the name of
/// `wal_dir`, or the only one whose name starts with it or with the name of the database.
pub(super) fn find_logs(
    database: &Path,
    wal_dir: &Path,
    is_needed: impl Fn(u64) -> bool,
) -> Option<PathBuf> {
    let has_logs = |folder: &Path| {
        let files = directory::list(folder).unwrap_or_default();
        files.iter().any(|(name, _)| matches!(name, FileName::Log(number) if is_needed(*number)))
    };
    let placed = with_parent(database)?;
    let components: Vec<_> = wal_dir.components().collect();
    // `s3://bucket` is in no directory.
    let is_root =
        |ancestor: &&Path| file_system::is_remote(database) && !file_system::is_remote(ancestor);
    let ancestors = placed.ancestors().skip(1).take(MAX_COMPONENTS);
    for ancestor in ancestors.take_while(|it| !is_root(it)) {
        for length in 1..=MAX_COMPONENTS.min(components.len()) {
            let end: PathBuf = components[components.len() - length..].iter().collect();
            let folder = ancestor.join(&end);
            if end.is_relative() && is_other_folder(&folder) && has_logs(&folder) {
                return Some(folder);
            }
        }
    }
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let starts: Vec<String> = [name(wal_dir), name(&placed)].into_iter().flatten().collect();
    let is_named = |folder: &PathBuf| {
        name(folder).is_some_and(|it| starts.iter().any(|start| it.starts_with(start)))
    };
    let mut found = siblings(database).into_iter().filter(is_named).filter(|it| has_logs(it));
    found.next().filter(|_| found.next().is_none())
}

/// The directories beside that of the database that have tables or blob files which are missing. If
/// others are still missing, and the database has tables in other directories, a caveat says so.
pub(crate) fn find_tables(
    database: &Path,
    engine: Engine,
    state: &ManifestState,
    settings: &Settings<'_>,
    caveats: &mut Vec<Caveat>,
) -> Vec<PathBuf> {
    let is_missing = |paths: &[PathBuf]| !paths.iter().any(|path| file_system::exists(path));
    let mut missing: Vec<(Vec<PathBuf>, Option<u64>)> = Vec::new();
    for family in state.column_families.values() {
        for (_, meta) in family.files() {
            let folders = settings.table_folders(database, meta.path_id);
            if is_missing(&table_paths(&folders, meta.number, engine)) {
                let names = table_paths(&[PathBuf::new()], meta.number, engine);
                missing.push((names, Some(meta.size)));
            }
        }
        let folders = settings.table_folders(database, 0);
        for blob in family.live_blob_files() {
            let name = PathBuf::from(FileName::Blob(blob.number).to_string());
            let paths: Vec<_> = folders.iter().map(|folder| folder.join(&name)).collect();
            if is_missing(&paths) {
                missing.push((vec![name], None));
            }
        }
    }
    if missing.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    for folder in siblings(database) {
        let before = missing.len();
        missing.retain(|(names, size)| {
            !names.iter().any(|name| {
                let file = file_system::status(&folder.join(name));
                matches!(file, Ok(FileStatus::File { size: found }) if size.is_none_or(|size| found == size))
            })
        });
        if missing.len() < before {
            found.insert(folder);
        }
    }
    for folder in &found {
        let message = format!(
            "reading tables from {}, since files are missing from the directory (use --db-path to \
             choose others)",
            folder.display()
        );
        caveats.push(Caveat::new(CaveatKind::Assumed, message).about(folder));
    }
    let mut files = state.column_families.values().flat_map(ColumnFamilyState::files);
    if !missing.is_empty() && files.any(|(_, file)| file.path_id > 0) {
        let message = "tables are missing, and some are in other directories (db_paths or cf_paths): \
                       use --db-path to name these";
        caveats.push(Caveat::new(CaveatKind::LeftOut, message));
    }
    found.into_iter().collect()
}

/// What says that logs are missing, though OPTIONS names no directory that is missing: that the
/// MANIFEST tracks them, or that there is nothing at all. A log number alone says nothing: after a
/// recovery it is often that of a log that was never written to.
pub(super) fn lost_logs(
    database: &Path,
    state: &ManifestState,
    settings: &Settings<'_>,
    is_needed: impl Fn(u64) -> bool,
    found: &[(u64, PathBuf)],
) -> Option<Caveat> {
    // As RocksDB, which refuses to open it.
    let is_missing = |(number, synced): (&u64, &Option<u64>)| {
        let is_found = found.iter().any(|(it, _)| it == number);
        (synced.is_some() && is_needed(*number) && !is_found).then_some(*number)
    };
    if let Some(number) = state.wals.iter().find_map(is_missing) {
        let message = format!(
            "{} is missing, which the MANIFEST names: its writes are missing (use --wal-dir to name \
             its directory)",
            FileName::Log(number)
        );
        return Some(Caveat::new(CaveatKind::LeftOut, message).about(database));
    }
    let mut families = state.column_families.values();
    if !found.is_empty() || families.any(|family| family.files().next().is_some()) {
        return None;
    }
    let (kind, why) = match settings.file.database().wal_dir() {
        Some(folder) => (CaveatKind::LeftOut, format!("OPTIONS names the log directory {folder}")),
        // RocksDB writes OPTIONS whenever it opens a database.
        None if settings.file.rocksdb_version().is_none() => {
            let why = "OPTIONS, which would name a log directory, is missing as well";
            (CaveatKind::Assumed, why.to_owned())
        }
        None => return None,
    };
    let message = format!(
        "there are neither tables nor logs, and {why}: writes that are only in logs may be missing \
         (use --wal-dir to name their directory)"
    );
    Some(Caveat::new(kind, message).about(database))
}

/// Checks that a directory exists that the caller has named.
pub(super) fn require(folder: &Path) -> Result<()> {
    match file_system::list(folder) {
        Ok(_) => Ok(()),
        Err(error) => Err(crate::error::Error::from(error).in_file(folder)),
    }
}
