//! The open files of a database: tables and blob files, as many as allowed at once.
//!
//! A file is opened when it is first needed, and closed when others are needed more. What is in
//! use stays open all the same.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, UnitWeighter};
use sstkit_table::raw::{BlobIndex, Engine};
use sstkit_table::{Table, TableReadOptions, Value};

use crate::directory::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::open_file_limit::open_file_limit;
use crate::raw::{BlobFile, FileName};
use crate::version::TableFile;
use sstkit_table::raw::regular_file;

/// Which part of the files that a process may have open are held: a third. The others are for those
/// in use, and for the program.
const HELD_SHARE: u64 = 3;

/// Which part of them tables in use may take, and blob files: a quarter each.
const POOL_SHARE: u64 = 4;

/// Open tables and blob files.
pub(crate) struct Files {
    directory: Directory,
    tables: Pool<Table>,
    blobs: Pool<Arc<OpenBlobFile>>,
    max_open_files: usize,
    /// Tables and blob files that stay open whatever becomes of their names, by number.
    held: Arc<BTreeMap<u64, (PathBuf, File)>>,
}

/// A blob file, and where it was found.
pub(crate) struct OpenBlobFile {
    path: PathBuf,
    file: BlobFile<File>,
}

impl OpenBlobFile {
    /// The value that an entry of `user_key` refers to.
    pub(crate) fn get(&self, user_key: &[u8], index: &BlobIndex<'_>) -> Result<Value> {
        self.file.get(user_key, index).map_err(|error| error.in_file(&self.path))
    }
}

type Pool<V> = Cache<u64, V>;

impl Files {
    /// Keeps at most so many tables open, and so many blob files; less where the system allows few.
    pub(crate) fn new(directory: Directory, max_open_files: usize) -> Self {
        let limit = usize::try_from(open_file_limit() / POOL_SHARE).unwrap_or(usize::MAX);
        let max_open_files = max_open_files.min(limit);
        let (tables, blobs) = (pool(max_open_files), pool(max_open_files));
        Self { directory, tables, blobs, max_open_files, held: Arc::default() }
    }

    /// Opens files, with their numbers and the places where they may be, and holds them: a running
    /// engine may delete them from now on. Only as many as can be open; the first ones are those that
    /// an engine deletes soonest.
    ///
    /// # Errors
    ///
    /// If one is missing because the directory has changed. What else is wrong with a file is told
    /// when it is read.
    pub(crate) fn hold(
        &mut self,
        files: impl IntoIterator<Item = (u64, Vec<PathBuf>)>,
    ) -> Result<()> {
        let limit = usize::try_from(open_file_limit() / HELD_SHARE).unwrap_or(usize::MAX);
        let mut held = BTreeMap::new();
        for (number, paths) in files.into_iter().take(limit) {
            match self.open_at(&paths) {
                Ok(opened) => {
                    held.insert(number, opened);
                }
                Err(error) if error.kind() == ErrorKind::Changed => return Err(error),
                Err(error) if error.kind() == ErrorKind::Io => break,
                Err(_) => {}
            }
        }
        self.held = Arc::new(held);
        Ok(())
    }

    /// The same files, none of them open: for tables that are opened with other options.
    pub(crate) fn anew(&self) -> Self {
        let held = Arc::clone(&self.held);
        Self { held, ..Self::new(self.directory.clone(), self.max_open_files) }
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// A table, opened with `options` if it is not open.
    pub(crate) fn table(
        &self,
        file: &TableFile,
        options: impl FnOnce() -> TableReadOptions,
    ) -> Result<Table> {
        self.tables.get_or_insert_with(&file.meta.number, || self.open_table(file, &options()))
    }

    /// A table, opened whether it is open or not.
    pub(crate) fn open_table(&self, file: &TableFile, options: &TableReadOptions) -> Result<Table> {
        let (path, opened) = self.open(file.meta.number, || file.paths.clone())?;
        let size = opened.metadata().map_err(|error| Error::from(error).in_file(&path))?.len();
        if size != file.meta.size {
            let what = "the size of the table is another than the manifest says";
            let error = Error::mismatch(what, file.meta.size, size).in_file(path);
            return Err(self.directory.changed_or(error));
        }
        Ok(Table::from_file(opened, path, options)?)
    }

    /// A blob file of a column family. `paths` says where it may be. One that the MANIFEST does not
    /// list may still be written to.
    pub(crate) fn blob_file(
        &self,
        number: u64,
        column_family: u32,
        is_listed: bool,
        paths: impl FnOnce() -> Vec<PathBuf>,
    ) -> Result<Arc<OpenBlobFile>> {
        self.blobs.get_or_insert_with(&number, || {
            let (path, file) = self.open(number, paths)?;
            let opened = match is_listed {
                true => BlobFile::open(file, column_family),
                false => BlobFile::open_unfinished(file, column_family),
            };
            let file = opened.map_err(|error| error.in_file(&path))?;
            Ok(Arc::new(OpenBlobFile { path, file }))
        })
    }

    /// The file with this number, which is held or at one of these places.
    fn open(&self, number: u64, paths: impl FnOnce() -> Vec<PathBuf>) -> Result<(PathBuf, File)> {
        match self.held.get(&number) {
            Some((path, file)) => match file.try_clone() {
                Ok(file) => Ok((path.clone(), file)),
                Err(error) => Err(Error::from(error).in_file(path)),
            },
            None => self.open_at(&paths()),
        }
    }

    /// Opens the first of these files that is there.
    fn open_at(&self, paths: &[PathBuf]) -> Result<(PathBuf, File)> {
        let mut missing = None;
        for path in paths {
            match regular_file::open(path) {
                Ok(file) => return Ok((path.clone(), file)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    missing.get_or_insert((path, error));
                }
                Err(error) => return Err(Error::from(error).in_file(path)),
            }
        }
        let error = Error::corrupt("the file is missing");
        Err(self.directory.changed_or(match missing {
            Some((path, _)) => error.in_file(path),
            None => error.in_file(self.directory.path()),
        }))
    }
}

fn pool<V: Clone>(files: usize) -> Pool<V> {
    let files = files.max(1);
    // One shard: several would each have to hold their share of the files, and hits only share
    // a lock.
    let options = OptionsBuilder::new()
        .shards(1)
        .estimated_items_capacity(files)
        .weight_capacity(files as u64)
        .build();
    match options {
        Ok(options) => Cache::with_options(
            options,
            UnitWeighter,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        ),
        // Only if something is not set that has no default.
        Err(_) => Cache::new(files),
    }
}

/// Where a table may be: in these folders, under both names that it may have, the one of its engine
/// first.
pub(crate) fn table_paths(folders: &[PathBuf], number: u64, engine: Engine) -> Vec<PathBuf> {
    let mut names = FileName::of_table(number);
    if engine == Engine::LevelDb {
        names.reverse();
    }
    folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
}
