//! Writes a database directory that RocksDB or LevelDB opens as its own.
//!
//! ```text
//! create       .mydb.Zp81xY.tmp/                          beside the target
//! add_table    .mydb.Zp81xY.tmp/000001.sst, .ldb          written, linked or copied; synced
//! add_blob_file .mydb.Zp81xY.tmp/000002.blob
//! finish       .mydb.Zp81xY.tmp/MANIFEST-000003           what there is, as one state
//!              .mydb.Zp81xY.tmp/OPTIONS-000004, IDENTITY  RocksDB only
//!              .mydb.Zp81xY.tmp/CURRENT                   names the MANIFEST
//!                     --- sync, rename --->  mydb/        unless something has the name
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `writer_options.rs` | options of a database, and of a column family |
//! | `file_source.rs` | files that are taken over: hard links, clones, copies |
//! | `table_metadata.rs` | what the MANIFEST says about a table, read from the table |
//! | `live_blobs.rs` | the garbage of blob files |
//! | `levels.rs` | the order of the files in a level; epoch numbers |
//! | `finish.rs` | the last files, and the rename |
//! | `edits.rs` | the records of the MANIFEST |
//! | `options_text.rs`, `option_versions.rs` | the OPTIONS file; which versions know an option |

mod edits;
mod file_source;
mod finish;
mod finished_tables;
mod levels;
mod live_blobs;
mod option_versions;
mod options_text;
mod table_metadata;
mod writer_options;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use sstkit_table::output::OutputFolder;
use sstkit_table::raw::{Engine, InternalKey, MAX_SEQUENCE_NUMBER};
use sstkit_table::{Comparator, Identity, Table, TableOptions, TableReadOptions};

pub use self::file_source::FileSource;
pub(crate) use self::live_blobs::LiveBlobs;
use self::option_versions::FIRST_VERSION;
pub(crate) use self::table_metadata::{TableBounds, each_blob_reference, unique_id};
pub use self::writer_options::{ColumnFamilyDescriptor, DatabaseWriterOptions};
use crate::error::{Error, Result};
use crate::raw::{BlobFile, BlobFileMetaData, FileMetaData, FileName, level_limit};

/// RocksDB keeps the directory of a file in the two upper bits of its number.
const MAX_FILE_NUMBER: u64 = (1 << 62) - 1;

/// Writes a new database directory that RocksDB or LevelDB opens as its own, without repair.
///
/// ```
/// use sstkit_db::{ColumnFamilyDescriptor, Database, DatabaseWriter, DatabaseWriterOptions};
/// use sstkit_db::FileSource;
/// use sstkit_table::{TableOptions, TableWriter};
///
/// # let folder = tempfile::tempdir()?;
/// # let target = folder.path().join("mydb");
/// let mut writer = DatabaseWriter::create(&target, DatabaseWriterOptions::rocksdb())?;
/// let meta = writer.column_family(ColumnFamilyDescriptor::new("meta"))?;
///
/// let path = writer.new_table_path();
/// let options = writer.table_options(meta, &TableOptions::rocksdb())?;
/// let mut table = TableWriter::create(&path, &options)?;
/// table.put(b"alice", b"1")?;
/// table.finish()?;
/// writer.add_table(meta, 6, &FileSource::Written(path), None)?;
/// writer.finish()?;
///
/// let db = Database::open(&target)?;
/// assert_eq!(db.column_family("meta")?.get(b"alice")?.unwrap(), b"1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The directory is built under a temporary name beside the target, synced, and renamed: it appears
/// complete or not at all. A writer that is dropped before [`finish`](Self::finish) leaves nothing
/// behind. An existing file or directory is never touched.
///
/// Tables are written to a [new path](Self::new_table_path), or taken over as they are
/// ([`FileSource`]). A table without given metadata is read to find out bounds and sequence
/// numbers; metadata from another MANIFEST saves that.
#[derive(Debug)]
pub struct DatabaseWriter {
    options: DatabaseWriterOptions,
    target: PathBuf,
    folder: OutputFolder,
    db_id: String,
    /// By id. 0 is `default`.
    families: BTreeMap<u32, Family>,
    /// By name.
    family_ids: HashMap<String, u32>,
    /// Numbers of files.
    numbers: BTreeSet<u64>,
    next_file_number: u64,
    last_sequence: u64,
}

/// A column family to be written.
#[derive(Debug)]
struct Family {
    descriptor: ColumnFamilyDescriptor,
    files: Vec<(u32, FileMetaData)>,
    blob_files: Vec<BlobFileMetaData>,
    /// Logs with smaller numbers contain nothing for it.
    log_number: u64,
}

impl Family {
    fn new(descriptor: ColumnFamilyDescriptor) -> Self {
        Self { descriptor, files: Vec::new(), blob_files: Vec::new(), log_number: 0 }
    }
}

impl DatabaseWriter {
    /// Starts a database that becomes the directory `target`.
    ///
    /// # Errors
    ///
    /// Fails if something has that name, or if its parent directory cannot be written to.
    pub fn create(target: impl AsRef<Path>, options: DatabaseWriterOptions) -> Result<Self> {
        let target = target.as_ref();
        let refused = |what: &str| Err(Error::invalid_input(what).in_file(target));
        if target.file_name().is_none() {
            return refused("the path has no file name");
        }
        if let Some(version) = options.rocksdb_version
            && version < FIRST_VERSION
        {
            let what = format!(
                "databases are written for RocksDB {FIRST_VERSION} and later, not for {version}"
            );
            return refused(&what);
        }
        match fs::symlink_metadata(target) {
            Ok(_) => return refused("already exists; a database is only written to a new path"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::from(error).in_file(target)),
        }
        let folder = OutputFolder::create_beside(target)
            .map_err(|error| Error::from(error).in_file(target))?;
        let default = Family::new(ColumnFamilyDescriptor::new("default"));
        Ok(Self {
            target: target.to_path_buf(),
            folder,
            db_id: random_uuid(),
            families: BTreeMap::from([(0, default)]),
            family_ids: HashMap::from([("default".to_owned(), 0)]),
            numbers: BTreeSet::new(),
            next_file_number: options.first_file_number,
            last_sequence: 0,
            options,
        })
    }

    /// The engine that the database is for.
    pub fn engine(&self) -> Engine {
        self.options.engine
    }

    /// Adds a column family and returns its id; with the name `default`, describes the one that
    /// every database has, before it has tables.
    ///
    /// # Errors
    ///
    /// Fails if there is one with that name or id, and for LevelDB, which has only the default one.
    pub fn column_family(&mut self, descriptor: ColumnFamilyDescriptor) -> Result<u32> {
        let refused = |what: String| Err(Error::invalid_input(what).in_file(&self.target));
        let name = &descriptor.name;
        if name == "default" {
            let default = self.families.entry(0).or_insert_with(|| Family::new(descriptor.clone()));
            if !default.files.is_empty() {
                return refused("the default column family already has tables".into());
            }
            default.descriptor = descriptor;
            return Ok(0);
        }
        if self.options.engine == Engine::LevelDb {
            return refused(format!("LevelDB has no column families: cannot add {name:?}"));
        }
        if self.family_ids.contains_key(name) {
            return refused(format!("column family {name:?} is added twice"));
        }
        let next = || self.families.keys().next_back().map_or(1, |last| last + 1);
        let id = descriptor.id.filter(|&id| id != 0).unwrap_or_else(next);
        if self.families.contains_key(&id) {
            return refused(format!("column family id {id} is taken"));
        }
        self.family_ids.insert(name.clone(), id);
        self.families.insert(id, Family::new(descriptor));
        Ok(id)
    }

    /// The id of the column family with this name.
    pub fn column_family_id(&self, name: &str) -> Option<u32> {
        self.family_ids.get(name).copied()
    }

    /// The directory in which the database is built. It is renamed at the end.
    pub fn working_folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the new database for a table, which is added by
    /// [`FileSource::Written`] when it is finished. Each call returns another one.
    pub fn new_table_path(&mut self) -> PathBuf {
        let number = self.new_number();
        self.table_path(number)
    }

    /// Like [`new_table_path`](Self::new_table_path), for a table of this number.
    ///
    /// # Errors
    ///
    /// Fails if the number is taken: see [`DatabaseWriterOptions::first_file_number`].
    pub fn table_path_with_number(&mut self, number: u64) -> Result<PathBuf> {
        self.check_number(number)?;
        self.take_number(number);
        Ok(self.table_path(number))
    }

    /// The options for writing a table of a column family of this database: with its comparator and
    /// name, an identity of its own, and not [external](TableOptions::external_file).
    pub fn table_options(&self, column_family: u32, base: &TableOptions) -> Result<TableOptions> {
        let descriptor = &self.family(column_family)?.descriptor;
        if base.engine() != self.options.engine {
            return Err(Error::invalid_input(format!(
                "tables of {:?} in a database of {:?}",
                base.engine(),
                self.options.engine
            )));
        }
        let mut options = base.clone().external_file(false);
        if let Some(comparator) = descriptor.order() {
            options = options.comparator(comparator);
        }
        if self.options.engine == Engine::RocksDb {
            let mut identity = Identity::random();
            identity.db_id.clone_from(&self.db_id);
            options = options.column_family(column_family, &descriptor.name).identity(identity);
        }
        Ok(options)
    }

    /// Adds a table to a level and returns its number. Tables of level 0 are added oldest first.
    ///
    /// `metadata` is what a MANIFEST says about the table: number (kept if it is free), bounds,
    /// sequence numbers and more; the size is that of the file. Without it the table is read.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be linked, copied or read, is empty, or has keys without sequence
    /// numbers, and if the engine cannot read it: LevelDB, or the
    /// [version of RocksDB](DatabaseWriterOptions::rocksdb_version) that was given.
    pub fn add_table(
        &mut self,
        column_family: u32,
        level: u32,
        source: &FileSource,
        metadata: Option<FileMetaData>,
    ) -> Result<u64> {
        let order = self.family(column_family)?.descriptor.order();
        self.check_level(level)?;
        let wanted = metadata.as_ref().map_or(0, |metadata| metadata.number);
        let number = match source.written_number(self.working_folder()) {
            Some(number) => number,
            None if wanted != 0 && self.check_number(wanted).is_ok() => self.take_number(wanted),
            None => self.new_number(),
        };
        let path = self.table_path(number);
        let size = source.place(&path)?;
        let in_source = |error: Error| error.in_file(source.path());
        let open = || {
            let options = TableReadOptions::default().no_block_cache();
            let options = match order {
                Some(comparator) => options.comparator(comparator),
                None => options,
            };
            let table = Table::open_with(&path, &options)?;
            self.check_readable(&table).map(|()| table)
        };
        let mut metadata = match metadata {
            Some(metadata) => {
                if self.options.engine == Engine::LevelDb || self.options.rocksdb_version.is_some()
                {
                    open().map_err(in_source)?;
                }
                checked(metadata).map_err(in_source)?
            }
            None => open().and_then(|table| FileMetaData::of_table(&table)).map_err(in_source)?,
        };
        (metadata.number, metadata.size, metadata.path_id) = (number, size, 0);
        self.push(column_family, level, metadata)?;
        Ok(number)
    }

    /// Refuses a table that the engine cannot read, as far as its tail tells.
    fn check_readable(&self, table: &Table) -> Result<()> {
        if self.options.engine == Engine::LevelDb {
            return match table.is_read_by_leveldb() {
                true => Ok(()),
                false => Err(Error::unsupported("LevelDB cannot read tables of RocksDB")),
            };
        }
        let Some(version) = self.options.rocksdb_version else { return Ok(()) };
        match table.features().iter().find(|feature| !feature.is_read_by(version)) {
            None => Ok(()),
            Some(feature) => Err(Error::unsupported(format!(
                "RocksDB {version} cannot read this table ({feature}): rewrite it with sst compact"
            ))),
        }
    }

    fn check_level(&self, level: u32) -> Result<()> {
        let engine = match self.options.engine {
            Engine::LevelDb => "LevelDB",
            Engine::RocksDb => "RocksDB",
        };
        match level < level_limit(self.options.engine) {
            true => Ok(()),
            false => Err(Error::invalid_input(format!("{engine} has no level {level}"))),
        }
    }

    fn push(&mut self, column_family: u32, level: u32, metadata: FileMetaData) -> Result<()> {
        self.check_level(level)?;
        let largest = metadata.largest_sequence.unwrap_or(0);
        self.last_sequence = self.last_sequence.max(largest);
        self.family_mut(column_family)?.files.push((level, metadata));
        Ok(())
    }

    /// Adds a blob file, whose number is part of the references to it and is kept. Without
    /// metadata its footer tells the number of blobs.
    ///
    /// # Errors
    ///
    /// Fails if the number is taken: see [`DatabaseWriterOptions::first_file_number`]. Fails for
    /// LevelDB, which has no blob files.
    pub fn add_blob_file(
        &mut self,
        column_family: u32,
        number: u64,
        source: &FileSource,
        metadata: Option<BlobFileMetaData>,
    ) -> Result<()> {
        self.family(column_family)?;
        let refused = |what: String| Err(Error::invalid_input(what).in_file(source.path()));
        if self.options.engine == Engine::LevelDb {
            return refused("LevelDB has no blob files".into());
        }
        self.check_number(number).map_err(|error| error.in_file(source.path()))?;
        let path = self.folder.path().join(FileName::Blob(number).to_string());
        source.place(&path)?;
        let mut metadata = match metadata {
            Some(metadata) => metadata,
            None => {
                blob_metadata(&path, column_family).map_err(|error| error.in_file(source.path()))?
            }
        };
        metadata.number = self.take_number(number);
        self.family_mut(column_family)?.blob_files.push(metadata);
        Ok(())
    }

    /// Counts the garbage of the blob files of a column family, of which these blobs are not.
    pub(crate) fn recount_garbage(&mut self, column_family: u32, live: &LiveBlobs) -> Result<()> {
        let files = &mut self.family_mut(column_family)?.blob_files;
        files.iter_mut().for_each(|file| live.recount(file));
        Ok(())
    }

    /// Adds a write-ahead log, which the engine replays when it opens the database. Its records may
    /// contain its number, which is kept.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be copied, or the number is taken.
    pub fn add_log(&mut self, number: u64, source: &FileSource) -> Result<()> {
        self.check_number(number).map_err(|error| error.in_file(source.path()))?;
        source.place(&self.folder.path().join(FileName::Log(number).to_string()))?;
        self.take_number(number);
        Ok(())
    }

    /// The number of the first [log](Self::add_log) that contains writes for a column family which are
    /// in none of its tables. Default: 0, all logs do.
    pub fn set_log_number(&mut self, column_family: u32, number: u64) -> Result<()> {
        self.family_mut(column_family)?.log_number = number;
        Ok(())
    }

    /// The sequence number of the last write, if it is larger than all in the tables: new writes
    /// get larger ones.
    pub fn set_last_sequence(&mut self, sequence: u64) {
        self.last_sequence = self.last_sequence.max(sequence.min(MAX_SEQUENCE_NUMBER));
    }

    fn new_number(&mut self) -> u64 {
        self.take_number(self.next_file_number)
    }

    fn check_number(&self, number: u64) -> Result<()> {
        if number > MAX_FILE_NUMBER {
            return Err(Error::invalid_input(format!("file number {number} is too large")));
        }
        match self.numbers.contains(&number) {
            true => Err(Error::invalid_input(format!("file number {number} is taken"))),
            false => Ok(()),
        }
    }

    fn take_number(&mut self, number: u64) -> u64 {
        self.numbers.insert(number);
        self.next_file_number = self.next_file_number.max(number.saturating_add(1));
        number
    }

    /// The file name of a table of this number.
    pub(crate) fn table_name(&self, number: u64) -> String {
        let [sst, ldb] = FileName::of_table(number);
        match self.options.engine {
            Engine::RocksDb => sst,
            Engine::LevelDb => ldb,
        }
    }

    fn table_path(&self, number: u64) -> PathBuf {
        self.folder.path().join(self.table_name(number))
    }

    fn family(&self, id: u32) -> Result<&Family> {
        self.families.get(&id).ok_or_else(|| unknown_family(id))
    }

    fn family_mut(&mut self, id: u32) -> Result<&mut Family> {
        self.families.get_mut(&id).ok_or_else(|| unknown_family(id))
    }

    /// Refuses tables with another order of keys than that of the column family.
    pub(crate) fn check_comparator(&self, id: u32, comparator: &Comparator) -> Result<()> {
        let expected = &self.family(id)?.descriptor.comparator_name;
        match comparator.name() == *expected {
            true => Ok(()),
            false => Err(Error::invalid_input(format!(
                "tables with the comparator {comparator} in a column family with {expected}"
            ))),
        }
    }
}

/// RocksDB's name of a CRC-32C of a whole file, stored big-endian. Its backups verify it.
pub(crate) const CRC32C: &str = "FileChecksumCrc32c";

fn unknown_family(id: u32) -> Error {
    Error::invalid_input(format!("no column family has the id {id}"))
}

/// Bounds that a reader would accept.
fn checked(metadata: FileMetaData) -> Result<FileMetaData> {
    let is_key = |key: &[u8]| key.len() >= InternalKey::TAIL_LENGTH;
    match is_key(&metadata.smallest) && is_key(&metadata.largest) {
        true => Ok(metadata),
        false => Err(Error::invalid_input("the bounds of the table are not internal keys")),
    }
}

fn blob_metadata(path: &Path, column_family: u32) -> Result<BlobFileMetaData> {
    let file = BlobFile::open(File::open(path)?, column_family)?;
    Ok(BlobFileMetaData {
        blob_count: file.blob_count().unwrap_or(0),
        blob_bytes: file.record_bytes(),
        ..BlobFileMetaData::default()
    })
}

/// The id of a database: a random UUID.
fn random_uuid() -> String {
    // The keys of the standard library's hash maps come from the system's randomness.
    let random = |seed: u64| RandomState::new().hash_one(seed);
    let (high, low) = (random(0), random(1));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 50 | 0x8000,
        low & 0xffff_ffff_ffff
    )
}
