//! The files of a damaged directory, by what their names say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sstkit_table::raw::Engine;

use crate::bulk_manifest::MANIFEST_NAME;
use crate::database::Database;
use crate::directory;
use crate::error::Result;
use crate::raw::{FileName, ManifestState};

/// Files with their numbers, in ascending order.
pub(super) type Numbered = Vec<(u64, PathBuf)>;

/// Engines count files from 1, and RocksDB stores 62 bits. A file with a number from here on is not one of
/// theirs, and would leave too few for new files.
pub(super) const NUMBERS_END: u64 = 1 << 61;

/// The files of a directory, and of the other directories that were given for its tables.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) path: PathBuf,
    /// The names in the directory itself.
    pub(super) names: Vec<FileName>,
    pub(super) tables: Numbered,
    pub(super) blob_files: Numbered,
    pub(super) manifests: Numbered,
    pub(super) options: Numbered,
    /// A file that only RocksDB has.
    is_rocksdb: bool,
    /// A table with the extension that only LevelDB uses.
    is_leveldb: bool,
    /// The largest number of any file.
    pub(super) largest_number: u64,
    /// There are tables, and nothing that only a database has.
    pub(super) is_folder: bool,
    /// What was written by `BulkBuilder` or a compaction.
    pub(super) bulk_manifest: Option<PathBuf>,
    /// Files whose numbers no engine gives.
    pub(super) strays: Vec<PathBuf>,
}

impl Inventory {
    pub(super) fn read(path: &Path, table_folders: &[PathBuf]) -> Result<Self> {
        if path.is_file() {
            return Ok(Self::of_table(path));
        }
        let mut inventory = Self { path: path.to_path_buf(), ..Self::default() };
        let files = directory::list(path)?;
        inventory.names = files.iter().map(|(name, _)| *name).collect();
        inventory.add(files);
        inventory.is_folder = Database::is_folder_of_tables(path)?;
        let manifest = path.join(MANIFEST_NAME);
        inventory.bulk_manifest = manifest.is_file().then_some(manifest);
        for folder in table_folders.iter().filter(|folder| *folder != path) {
            let files = directory::list(folder)?.into_iter();
            let is_data = |name: &FileName| matches!(name, FileName::Table(_) | FileName::Blob(_));
            inventory.add(files.filter(|(name, _)| is_data(name)).collect());
        }
        inventory.sort();
        Ok(inventory)
    }

    fn sort(&mut self) {
        for files in [&mut self.tables, &mut self.blob_files] {
            files.sort();
        }
    }

    /// Adds the tables and blob files of other directories that a MANIFEST lists and that are not found
    /// yet.
    pub(super) fn add_listed(&mut self, folders: &[PathBuf], state: &ManifestState) -> Result<()> {
        let (mut tables, mut blob_files) = (BTreeSet::new(), BTreeSet::new());
        for family in state.column_families.values() {
            tables.extend(family.files().map(|(_, file)| file.number));
            blob_files.extend(family.live_blob_files().map(|file| file.number));
        }
        tables.retain(|&number| !self.has_table(number));
        blob_files.retain(|&number| self.blob_file(number).is_none());
        for folder in folders {
            let mut files = directory::list(folder)?;
            // Each is taken from one directory only.
            files.retain(|(name, _)| match name {
                FileName::Table(number) => tables.remove(number),
                FileName::Blob(number) => blob_files.remove(number),
                _ => false,
            });
            self.add(files);
        }
        self.sort();
        Ok(())
    }

    /// A single table, which may have any name.
    fn of_table(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = match FileName::parse(&name) {
            FileName::Table(number) => number,
            _ => 1,
        };
        Self {
            path: path.to_path_buf(),
            tables: vec![(number, path.to_path_buf())],
            largest_number: number,
            is_folder: true,
            ..Self::default()
        }
    }

    fn add(&mut self, files: Vec<(FileName, PathBuf)>) {
        for (name, path) in files {
            if is_stray(&name) {
                self.strays.push(path);
                continue;
            }
            let (list, number) = match name {
                FileName::Table(number) => (&mut self.tables, number),
                FileName::Blob(number) => (&mut self.blob_files, number),
                FileName::Manifest(number) => (&mut self.manifests, number),
                FileName::Options(number) => (&mut self.options, number),
                FileName::Log(number) => {
                    self.largest_number = self.largest_number.max(number);
                    continue;
                }
                FileName::Identity => {
                    self.is_rocksdb = true;
                    continue;
                }
                _ => continue,
            };
            self.is_rocksdb |= matches!(name, FileName::Options(_) | FileName::Blob(_));
            self.is_leveldb |= path.extension().is_some_and(|it| it == "ldb");
            self.largest_number = self.largest_number.max(number);
            list.push((number, path));
        }
    }

    /// The engine, as far as names tell.
    pub(super) fn engine(&self) -> Option<Engine> {
        match (self.is_rocksdb, self.is_leveldb) {
            (true, _) => Some(Engine::RocksDb),
            (false, true) => Some(Engine::LevelDb),
            (false, false) => None,
        }
    }

    /// Whether there is nothing that could be saved.
    pub(super) fn is_empty(&self, logs: &Numbered) -> bool {
        self.tables.is_empty() && logs.is_empty() && self.manifests.is_empty()
    }

    pub(super) fn has_table(&self, number: u64) -> bool {
        self.tables.binary_search_by_key(&number, |(it, _)| *it).is_ok()
    }

    /// The path of a blob file.
    pub(super) fn blob_file(&self, number: u64) -> Option<&Path> {
        let at = self.blob_files.binary_search_by_key(&number, |(it, _)| *it).ok()?;
        Some(&self.blob_files[at].1)
    }
}

fn is_stray(name: &FileName) -> bool {
    match name {
        FileName::Table(number)
        | FileName::Blob(number)
        | FileName::Manifest(number)
        | FileName::Options(number)
        | FileName::Log(number) => *number >= NUMBERS_END,
        _ => false,
    }
}
