//! A database directory, opened for reading.

mod bulk_folder;
mod logs;
mod open;
mod options;
mod settings;
mod tables_only;

use std::fmt;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use sstkit_table::Value;
use sstkit_table::raw::Engine;

pub use self::options::{
    DEFAULT_BLOCK_CACHE_SIZE, DEFAULT_MAX_LOG_EXPANSION, DEFAULT_MAX_LOG_MEMORY,
    DEFAULT_MAX_OPEN_FILES, DatabaseOptions,
};
use crate::caveat::Caveat;
use crate::column_family::ColumnFamily;
use crate::column_family_data::{BlobFiles, ColumnFamilyData, FamilySettings};
use crate::directory;
use crate::error::{Error, Result};
use crate::files::Files;
use crate::keys::Keys;
use crate::memtable::{Memtable, MemtableBuilder};
use crate::output::BulkManifest;
use crate::raw::{FileName, ManifestState, OptionsFile};
use crate::read::{Cursor, Iter};
use crate::stats::Stats;
use crate::version::Version;

/// A database directory of LevelDB or RocksDB, opened for reading.
///
/// ```no_run
/// use sstkit_db::Database;
///
/// let db = Database::open("path/to/db")?; // which engine it is of is found out
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
/// A `Database` is a handle: cloning it is cheap, and all of it may be used by any number of threads
/// at once.
///
/// # A directory in use
///
/// No lock is taken and nothing is written, so the engine may be at work meanwhile. What is read is
/// the state at the time of opening, whose files are [held open](DatabaseOptions::hold_files). When
/// the engine has deleted a table that is not held, reading what was in it gives an error of the
/// kind [`Changed`](crate::ErrorKind::Changed): open it again.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

/// All that opening finds out.
struct Inner {
    engine: Engine,
    files: Arc<Files>,
    /// By id.
    families: Vec<Arc<ColumnFamilyData>>,
    last_sequence: u64,
    manifest: Option<ManifestState>,
    bulk_manifest: Option<BulkManifest>,
    options_file: OptionsFile,
    /// The logs that count, in the order of their numbers.
    logs: Vec<PathBuf>,
    caveats: Vec<Caveat>,
}

impl Database {
    /// Opens a database: reads CURRENT, the MANIFEST, OPTIONS and the write-ahead logs. Tables are
    /// opened when they are needed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &DatabaseOptions::default())
    }

    /// [`open`](Self::open), with options.
    pub fn open_with(path: impl AsRef<Path>, options: &DatabaseOptions) -> Result<Self> {
        Ok(Self { inner: Arc::new(open::open(path.as_ref(), options)?) })
    }

    /// Makes the best of the table files alone, where CURRENT or the MANIFEST is missing or damaged:
    /// of each key the version with the largest sequence number counts. Write-ahead logs are read,
    /// too, as far as they make sense. [`caveats`](Self::caveats) says what was assumed.
    ///
    /// # Errors
    ///
    /// Besides others: a log that the system cannot read, unless logs are
    /// [not to be read](DatabaseOptions::replay_logs).
    pub fn open_tables(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_tables_with(path, &DatabaseOptions::default())
    }

    /// [`open_tables`](Self::open_tables), with options.
    pub fn open_tables_with(path: impl AsRef<Path>, options: &DatabaseOptions) -> Result<Self> {
        Ok(Self { inner: Arc::new(tables_only::open_tables(path.as_ref(), options)?) })
    }

    /// Whether `path` is a plain folder of tables: it has tables, but none of the other files of a
    /// database (CURRENT, MANIFEST, OPTIONS, IDENTITY, write-ahead logs). A database that has lost its
    /// CURRENT or MANIFEST is not one. [`open_tables`](Self::open_tables) opens it.
    pub fn is_folder_of_tables(path: impl AsRef<Path>) -> Result<bool> {
        let files = directory::list(path.as_ref())?;
        let is_table = |name: &FileName| matches!(name, FileName::Table(_));
        let is_only_in_databases = |name: &FileName| {
            matches!(
                name,
                FileName::Current
                    | FileName::Manifest(_)
                    | FileName::Options(_)
                    | FileName::Identity
                    | FileName::Log(_)
            )
        };
        let mut names = files.iter().map(|(name, _)| name);
        Ok(names.clone().any(is_table) && !names.any(is_only_in_databases))
    }

    /// Opens a folder of tables by its `manifest.json`, as [`BulkBuilder`](crate::BulkBuilder) and
    /// [`Compaction`](crate::Compaction) write them: the tables that it names, as one sorted run.
    /// Tables are opened when they are needed.
    pub fn open_bulk(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_bulk_with(path, &DatabaseOptions::default())
    }

    /// [`open_bulk`](Self::open_bulk), with options.
    pub fn open_bulk_with(path: impl AsRef<Path>, options: &DatabaseOptions) -> Result<Self> {
        Ok(Self { inner: Arc::new(bulk_folder::open_bulk(path.as_ref(), options)?) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.inner.files.directory().path()
    }

    /// Which engine wrote it.
    pub fn engine(&self) -> Engine {
        self.inner.engine
    }

    /// The sequence number of the last write that was found. Where no MANIFEST tells it, the largest
    /// there can be: everything that is in the tables is seen.
    pub fn last_sequence(&self) -> u64 {
        self.inner.last_sequence
    }

    /// What is missing, was assumed or could not be read. Empty if all is as it should be.
    pub fn caveats(&self) -> &[Caveat] {
        &self.inner.caveats
    }

    /// What the MANIFEST says; `None` if it was not read.
    pub fn manifest(&self) -> Option<&ManifestState> {
        self.inner.manifest.as_ref()
    }

    /// What `manifest.json` says; `None` if it was not read.
    pub fn bulk_manifest(&self) -> Option<&BulkManifest> {
        self.inner.bulk_manifest.as_ref()
    }

    /// The number of the MANIFEST that was read.
    pub fn manifest_number(&self) -> Option<u64> {
        self.inner.files.directory().manifest().map(|manifest| manifest.number)
    }

    /// What OPTIONS say; empty where there is no such file.
    pub fn options_file(&self) -> &OptionsFile {
        &self.inner.options_file
    }

    /// The write-ahead logs that count, in the order of their numbers: those that may have writes
    /// which are in no table.
    pub fn logs(&self) -> &[PathBuf] {
        &self.inner.logs
    }

    /// All column families, by their numbers. The first one is the default one.
    pub fn column_families(&self) -> impl ExactSizeIterator<Item = ColumnFamily> {
        let sequence = self.inner.last_sequence;
        self.inner.families.iter().map(move |family| ColumnFamily::new(family, sequence))
    }

    /// The column family with this name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn column_family(&self, name: &str) -> Result<ColumnFamily> {
        self.column_families().find(|family| family.name() == name).ok_or_else(|| {
            let names: Vec<_> =
                self.inner.families.iter().map(|family| format!("{:?}", family.name)).collect();
            Error::invalid_input(format!("no column family {name:?} (found {})", names.join(", ")))
                .in_file(self.path())
        })
    }

    /// The default column family.
    pub fn default_column_family(&self) -> ColumnFamily {
        // Opening makes sure that there is one, with the smallest number.
        ColumnFamily::new(&self.inner.families[0], self.inner.last_sequence)
    }

    /// The value of `key` in the default column family, if it has one.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        self.default_column_family().get(key)
    }

    /// The values of many keys of the default column family, in the order of the keys.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        self.default_column_family().get_many(keys)
    }

    /// Iterates over all keys and values of the default column family.
    pub fn iter(&self) -> Iter {
        self.default_column_family().iter()
    }

    /// Iterates over a range of the default column family.
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter {
        self.default_column_family().range(range)
    }

    /// Iterates over the keys of the default column family that start with `start`.
    pub fn prefix(&self, start: impl AsRef<[u8]>) -> Iter {
        self.default_column_family().prefix(start)
    }

    /// Moves about in keys and values of the default column family.
    pub fn cursor(&self) -> Result<Cursor> {
        self.default_column_family().cursor()
    }

    /// What has been counted in the default column family since the database was opened.
    pub fn stats(&self) -> Stats {
        self.default_column_family().stats()
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

/// A column family with all that was found of it.
fn new_family(
    (id, name): (u32, &str),
    settings: FamilySettings,
    keys: Keys,
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
        lookups: AtomicU64::new(0),
        merging: OnceLock::new(),
        ordered: OnceLock::new(),
        left_out: Vec::new(),
    }
}
