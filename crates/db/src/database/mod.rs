//! A database directory, opened for reading.

mod applied_writes;
mod bulk_folder;
mod database_options;
mod default_family;
mod flushed_writes;
mod folders;
mod logged_key;
mod logs;
mod missing_logs;
mod open;
mod settings;
mod tables_only;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sstkit_coding::striped::StripedCounters;
use sstkit_table::raw::Engine;
use sstkit_table::visibility::UserKeys;

pub(crate) use self::applied_writes::AppliedWrites;
pub use self::database_options::{
    DEFAULT_BLOCK_CACHE_SIZE, DEFAULT_MAX_LOG_EXPANSION, DEFAULT_MAX_LOG_MEMORY,
    DEFAULT_MAX_OPEN_FILES, DatabaseOptions,
};
pub(crate) use self::flushed_writes::FlushedWrites;
pub(crate) use self::folders::find_tables;
pub(crate) use self::logs::Logs;
pub(crate) use self::missing_logs::{MissingLogs, NO_LOGS};
pub(crate) use self::open::is_needed;
pub(crate) use self::open::read_manifest;
pub(crate) use self::settings::{MAX_OPTIONS_SIZE, Settings};
use crate::backup::BackupFolder;
use crate::bulk_manifest::{BulkManifest, MANIFEST_NAME};
use crate::caveat::Caveat;
use crate::column_family::ColumnFamily;
use crate::column_family_data::{BlobFiles, ColumnFamilyData, FamilySettings};
use crate::directory;
use crate::error::{Error, Result};
use crate::file_system;
use crate::files::Files;
use crate::folder_tables;
use crate::memtable::{Memtable, MemtableBuilder};
use crate::raw::{ManifestState, OptionsFile};
use crate::version::Version;

/// A database directory of LevelDB or RocksDB, opened for reading.
///
/// ```no_run
/// use sstkit_db::Database;
///
/// let db = Database::open("path/to/db")?; // detects the engine
/// if let Some(value) = db.get(b"alice")? {
///     println!("alice = {}", value.escape_ascii());
/// }
/// for entry in db.prefix(b"user7/") {
///     let (key, value) = entry?;
///     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
/// }
/// for family in db.column_families() {
///     println!("{}: {} levels", family.name(), family.levels().len());
/// }
/// # Ok::<(), sstkit_db::Error>(())
/// ```
///
/// A `Database` is a handle: cloning it is cheap, and any number of threads can use it at once.
///
/// # Databases in use
///
/// No lock is taken and nothing is written, so the engine may run at the same time. Reads see the
/// state at the time of opening, whose files are [kept open](DatabaseOptions::hold_files). If the
/// engine deletes a table that is not kept open, reading it fails with
/// [`Changed`](crate::ErrorKind::Changed): open the database again.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
    default: ColumnFamily,
}

/// The state of an open database.
struct Inner {
    engine: Engine,
    files: Arc<Files>,
    /// Sorted by id.
    families: Vec<Arc<ColumnFamilyData>>,
    last_sequence: u64,
    manifest: Option<ManifestState>,
    bulk_manifest: Option<BulkManifest>,
    options_file: OptionsFile,
    /// The logs that are needed, by number.
    logs: Vec<PathBuf>,
    missing_logs: MissingLogs,
    caveats: Vec<Caveat>,
}

impl Database {
    fn new(inner: Inner) -> Self {
        // Opening ensures that it exists. It has the smallest id.
        let default = ColumnFamily::new(&inner.families[0], inner.last_sequence);
        Self { inner: Arc::new(inner), default }
    }

    /// Opens a database: reads CURRENT, the MANIFEST, OPTIONS and the write-ahead logs. Tables are
    /// opened on first use. Of a [folder of backups](BackupFolder), opens the newest one.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &DatabaseOptions::default())
    }

    /// Like [`open`](Self::open), with options.
    pub fn open_with(path: impl AsRef<Path>, options: &DatabaseOptions) -> Result<Self> {
        let path = path.as_ref();
        match BackupFolder::find(path)? {
            Some(folder) => folder.open_backup(options.backup, options),
            None if options.backup.is_some() => {
                Err(Error::invalid_input("not a folder of backups").in_file(path))
            }
            None => Ok(Self::new(open::open(path, options)?)),
        }
    }

    /// Opens only the table files, for a directory whose CURRENT or MANIFEST is missing or damaged.
    /// The version of each key with the largest sequence number is visible. Write-ahead logs are
    /// read as far as possible. [`caveats`](Self::caveats) lists the assumptions made.
    ///
    /// # Errors
    ///
    /// Fails, among other reasons, if a log cannot be read from disk, unless logs are
    /// [disabled](DatabaseOptions::replay_logs).
    pub fn open_tables(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_tables_with(path, &DatabaseOptions::default())
    }

    /// Like [`open_tables`](Self::open_tables), with options.
    pub fn open_tables_with(path: impl AsRef<Path>, options: &DatabaseOptions) -> Result<Self> {
        Ok(Self::new(tables_only::open_tables(path.as_ref(), options)?))
    }

    /// Whether `path` is a plain directory of tables: it has tables, but no other database files
    /// (CURRENT, MANIFEST, OPTIONS, IDENTITY, write-ahead logs). A database that lost its CURRENT
    /// or MANIFEST is not one. The tables may have any names. [`open_tables`](Self::open_tables) opens
    /// it.
    pub fn is_folder_of_tables(path: impl AsRef<Path>) -> Result<bool> {
        let files = directory::list(path.as_ref())?;
        Ok(!folder_tables::is_of_database(&files) && !folder_tables::tables(&files).is_empty())
    }

    /// Opens a directory of tables with a `manifest.json`, as written by
    /// [`BulkBuilder`](crate::BulkBuilder) and [`Compaction`](crate::Compaction). Its tables form
    /// one sorted run. Tables are opened on first use.
    pub fn open_bulk(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_bulk_with(path, &DatabaseOptions::default())
    }

    /// Like [`open_bulk`](Self::open_bulk), with options.
    pub fn open_bulk_with(path: impl AsRef<Path>, options: &DatabaseOptions) -> Result<Self> {
        Ok(Self::new(bulk_folder::open_bulk(path.as_ref(), options)?))
    }

    /// Opens a directory of tables, with a `manifest.json` or without; `None` if it is a database.
    pub fn open_folder_with(
        path: impl AsRef<Path>,
        options: &DatabaseOptions,
    ) -> Result<Option<Self>> {
        let path = path.as_ref();
        if file_system::is_file(&path.join(MANIFEST_NAME))
            && !file_system::exists(&path.join("CURRENT"))
        {
            return Self::open_bulk_with(path, options).map(Some);
        }
        match Self::is_folder_of_tables(path)? {
            true => Self::open_tables_with(path, options).map(Some),
            false => Ok(None),
        }
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.inner.files.directory().path()
    }

    /// The engine that wrote the database.
    pub fn engine(&self) -> Engine {
        self.inner.engine
    }

    /// The sequence number of the last write. Without a MANIFEST it is the largest possible one, so
    /// that everything in the tables is visible.
    pub fn last_sequence(&self) -> u64 {
        self.inner.last_sequence
    }

    /// What is missing, was assumed or could not be read. Empty if there are no problems.
    pub fn caveats(&self) -> &[Caveat] {
        &self.inner.caveats
    }

    /// The state of the MANIFEST; `None` if it was not read.
    pub fn manifest(&self) -> Option<&ManifestState> {
        self.inner.manifest.as_ref()
    }

    /// The contents of `manifest.json`; `None` if it was not read.
    pub fn bulk_manifest(&self) -> Option<&BulkManifest> {
        self.inner.bulk_manifest.as_ref()
    }

    /// The number of the MANIFEST that was read.
    pub fn manifest_number(&self) -> Option<u64> {
        self.inner.files.directory().manifest().map(|manifest| manifest.number)
    }

    /// The contents of the OPTIONS file; empty if there is none.
    pub fn options_file(&self) -> &OptionsFile {
        &self.inner.options_file
    }

    /// Logs that are needed and were not found.
    pub(crate) fn missing_logs(&self) -> &MissingLogs {
        &self.inner.missing_logs
    }

    /// The write-ahead logs that may contain writes which are in no table, by number.
    pub fn logs(&self) -> &[PathBuf] {
        &self.inner.logs
    }

    /// All column families, by id. The first is the default column family.
    pub fn column_families(&self) -> impl ExactSizeIterator<Item = ColumnFamily> {
        let sequence = self.inner.last_sequence;
        self.inner.families.iter().map(move |family| ColumnFamily::new(family, sequence))
    }

    /// The column family with this name.
    ///
    /// # Errors
    ///
    /// Fails with [`NotFound`](crate::ErrorKind::NotFound) if there is none.
    pub fn column_family(&self, name: &str) -> Result<ColumnFamily> {
        self.column_families().find(|family| family.name() == name).ok_or_else(|| {
            let names: Vec<_> =
                self.inner.families.iter().map(|family| format!("{:?}", family.name)).collect();
            Error::not_found(format!("no column family {name:?} (found {})", names.join(", ")))
                .in_file(self.path())
        })
    }

    /// The default column family.
    pub fn default_column_family(&self) -> ColumnFamily {
        self.default.clone()
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            self.inner.families.iter().map(|family| family.name.as_str()).collect();
        f.debug_struct("Database")
            .field("path", &self.path())
            .field("engine", &self.inner.engine)
            .field("column_families", &names)
            .field("last_sequence", &self.inner.last_sequence)
            .finish_non_exhaustive()
    }
}

/// Creates a column family.
fn new_family(
    (id, name): (u32, &str),
    settings: FamilySettings,
    keys: UserKeys,
    memtable: Option<Memtable>,
    version: Version,
    blobs: BlobFiles,
    files: &Arc<Files>,
) -> ColumnFamilyData {
    let memtable =
        memtable.unwrap_or_else(|| MemtableBuilder::default().finish(&keys, &Arc::default()));
    ColumnFamilyData {
        id,
        name: name.to_owned(),
        settings,
        keys,
        memtable: Arc::new(memtable),
        version,
        blobs,
        files: Arc::clone(files),
        lookups: StripedCounters::default(),
        merging: OnceLock::new(),
        ordered: OnceLock::new(),
        left_out: Vec::new(),
    }
}
