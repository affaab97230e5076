//! Opens database directories.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use sstkit_db::file_system;
use sstkit_db::raw::FileName;
use sstkit_db::{
    BackupFolder, Caveat, ColumnFamily, Database, DatabaseOptions, Error, ErrorKind, MANIFEST_NAME,
};

use crate::output::print_message;
use crate::status::Status;
use sstkit_inspect::suggest::hint;

/// The number of entries of a directory that are looked at for a hint.
const MAX_INNER: usize = 100;

/// Opens a database and prints its caveats; those of a column family when it is
/// [chosen](column_family). If the MANIFEST is lost or damaged, the tables alone
/// are read; their data may differ, so the status is then not `Fine`.
pub(crate) fn open(path: &Path, options: &DatabaseOptions) -> Result<(Database, Status)> {
    let (database, error) = open_quietly(path, options)?;
    print_reason(error.as_ref());
    let of_all = |caveat: &&Caveat| caveat.column_family().is_none();
    print_caveats(&database, database.caveats().iter().filter(of_all));
    match error {
        // The tables alone lack the data in the log.
        Some(error) if is_log_error(&error) => {
            Err(anyhow!("{error} (use --ignore-log to read only the tables)"))
        }
        Some(_) => Ok((database, Status::Trouble)),
        None => Ok((database, Status::Fine)),
    }
}

/// Prints the caveats of all column families, where none is [chosen](column_family).
pub(crate) fn print_family_caveats(database: &Database) {
    let of_one = |caveat: &&Caveat| caveat.column_family().is_some();
    print_caveats(database, database.caveats().iter().filter(of_one));
}

/// Opens a complete database, as the input of new tables.
pub(crate) fn open_whole(path: &Path, options: &DatabaseOptions) -> Result<Database> {
    let (database, _) = open(path, options)?;
    // Without a MANIFEST it is unknown which tables are live, and which is newer.
    if database.manifest().is_none() && database.bulk_manifest().is_none() {
        bail!("{}: no MANIFEST; pass the tables themselves instead, oldest first", path.display());
    }
    Ok(database)
}

/// Like [`open`], with the error if only the tables could be opened.
pub(crate) fn open_with_reason(
    path: &Path,
    options: &DatabaseOptions,
) -> Result<(Database, Option<Error>)> {
    let (database, error) = open_quietly(path, options)?;
    print_reason(error.as_ref());
    print_caveats(&database, database.caveats());
    Ok((database, error))
}

fn print_reason(error: Option<&Error>) {
    if let Some(error) = error {
        print_message(&format!("{error}; reading only the table files"));
    }
}

fn print_caveats<'c>(database: &Database, caveats: impl IntoIterator<Item = &'c Caveat>) {
    for caveat in caveats {
        print_message(&format!("{}: {caveat}", database.path().display()));
    }
}

/// Opens a database, or a directory of tables with a manifest.json. If CURRENT, the MANIFEST,
/// manifest.json or a log is damaged, opens the tables alone and returns the error. I/O errors
/// fail.
pub(crate) fn open_quietly(
    path: &Path,
    options: &DatabaseOptions,
) -> Result<(Database, Option<Error>)> {
    let opened = match Database::open_folder_with(path, options) {
        Ok(Some(folder)) => Ok(folder),
        Ok(None) => Database::open_with(path, options),
        Err(error) => Err(error),
    };
    match opened {
        Ok(database) => Ok((database, None)),
        Err(error)
            if matches!(error.kind(), ErrorKind::Io | ErrorKind::NotFound | ErrorKind::Changed) =>
        {
            Err(error.into())
        }
        // A backup has no tables but those that its meta file names.
        Err(error) if error.kind() == ErrorKind::InvalidInput || is_backup_folder(path) => {
            Err(error.into())
        }
        // A memory limit, for example: reading the tables alone would reach it again.
        Err(error) if is_log_error(&error) && error.kind() == ErrorKind::Unsupported => {
            Err(error.into())
        }
        // Without any tables, the first error says more.
        Err(error) => match Database::open_tables_with(path, options) {
            Ok(database) if !is_empty(&database) => Ok((database, Some(error))),
            Ok(_)
                if !file_system::is_file(&path.join(MANIFEST_NAME))
                    && !file_system::exists(&path.join("CURRENT")) =>
            {
                let hint = inner_directory(path)
                    .map(|inner| format!("; did you mean {}?", inner.display()))
                    .unwrap_or_default();
                bail!("{}: not a database (no CURRENT file) and no tables{hint}", path.display())
            }
            Err(tables) if matches!(tables.kind(), ErrorKind::Io | ErrorKind::NotFound) => {
                Err(tables.into())
            }
            _ => Err(error.into()),
        },
    }
}

/// The first directory inside of `path` that is a database or has tables, such as `SSTs` of a
/// checkpoint of Spark's state store.
fn inner_directory(path: &Path) -> Option<PathBuf> {
    let names = file_system::list(path).ok()?.into_iter().take(MAX_INNER);
    let folders = names.map(|name| path.join(name)).filter(|path| file_system::is_folder(path));
    let is_readable = |path: &PathBuf| {
        file_system::is_file(&path.join("CURRENT"))
            || Database::is_folder_of_tables(path).unwrap_or(false)
    };
    folders.filter(is_readable).min()
}

/// Whether a directory has been written by RocksDB's BackupEngine.
pub(crate) fn is_backup_folder(path: &Path) -> bool {
    BackupFolder::find(path).is_ok_and(|folder| folder.is_some())
}

/// Whether an error concerns a write-ahead log.
pub(crate) fn is_log_error(error: &Error) -> bool {
    let name = error.file().and_then(Path::file_name).and_then(OsStr::to_str);
    name.is_some_and(|name| matches!(FileName::parse(name), FileName::Log(_)))
}

fn is_empty(database: &Database) -> bool {
    let is_empty =
        |family: ColumnFamily| family.levels().is_empty() && family.memtable_entries() == 0;
    database.column_families().all(is_empty)
}

/// The size of its tables and blob files in bytes.
pub(crate) fn size(database: &Database) -> u64 {
    let all: Vec<ColumnFamily> = database.column_families().collect();
    let families = database.manifest().into_iter().flat_map(|it| it.column_families.values());
    let blobs = families.flat_map(|family| family.blob_files.values()).map(|file| file.blob_bytes);
    table_bytes(&all) + blobs.sum::<u64>()
}

/// The size of the tables of column families in bytes.
pub(crate) fn table_bytes(families: &[ColumnFamily]) -> u64 {
    let levels = families.iter().flat_map(ColumnFamily::levels);
    levels.flat_map(|level| level.files).map(|file| file.metadata().size).sum()
}

/// Finds a column family by name and prints its caveats; the error suggests a similar name.
pub(crate) fn column_family(database: &Database, name: &str) -> Result<ColumnFamily> {
    let of_it = |caveat: &&Caveat| caveat.column_family() == Some(name);
    print_caveats(database, database.caveats().iter().filter(of_it));
    database.column_families().find(|family| family.name() == name).ok_or_else(|| {
        let names: Vec<String> =
            database.column_families().map(|family| family.name().to_owned()).collect();
        let hint = hint(name, names.iter().map(String::as_str));
        let list = names.join(", ");
        let path = database.path().display();
        anyhow!("{path}: no column family {name:?} (found {list}){hint}")
    })
}
