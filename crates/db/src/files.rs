//! The open files of a database: a limited number of tables and blob files.
//!
//! A file is opened when it is first needed, and closed when others are needed more. Files in
//! use stay open.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sstkit_table::raw::{BlobIndex, Engine};
use sstkit_table::rounds::staged_source;
use sstkit_table::{Source, Table, TableReadOptions, Value};

use crate::directory::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system;
use crate::open_files::{self, HELD, OpenFiles};
use crate::raw::{BlobFile, FileName};
use crate::regular_file;
use crate::version::TableFile;

/// Open tables and blob files.
pub(crate) struct Files {
    directory: Directory,
    /// Whether each read may cost a round trip.
    is_remote: bool,
    max_open_files: usize,
    open: Arc<OpenFiles>,
}

pub(crate) struct OpenBlobFile {
    path: PathBuf,
    file: BlobFile<Arc<dyn Source>>,
}

impl OpenBlobFile {
    /// The blob that an entry of `user_key` refers to.
    pub(crate) fn get(&self, user_key: &[u8], index: &BlobIndex<'_>) -> Result<Value> {
        self.file.get(user_key, index).map_err(|error| error.in_file(&self.path))
    }
}

impl Files {
    /// Keeps at most this number of tables and of blob files open, or fewer if the limit of the
    /// process is low.
    pub(crate) fn new(directory: Directory, max_open_files: usize) -> Self {
        let open = OpenFiles::new(max_open_files, Arc::default());
        let is_remote = file_system::is_remote(directory.path());
        Self { directory, is_remote, max_open_files, open }
    }

    /// Opens files by number and possible paths, and keeps them open, so that they stay readable if
    /// a running engine deletes them. Leaves file descriptors for the rest of the process; the
    /// first files are those that an engine deletes soonest.
    ///
    /// # Errors
    ///
    /// Fails if a file is missing because the directory has changed. Other problems of a file are
    /// reported when it is read.
    pub(crate) fn hold(&self, files: impl IntoIterator<Item = (u64, Vec<PathBuf>)>) -> Result<()> {
        // Elsewhere, an open file does not stay readable when it is deleted.
        if self.is_remote {
            return Ok(());
        }
        let held = &self.open.held;
        for (number, paths) in files {
            let Some(permit) = HELD.take() else { break };
            match self.open_at(&paths, |path| Ok(Arc::new(regular_file::open_if_room(path)?))) {
                Ok((path, file)) => held.insert(number, path, file, permit),
                Err(error) if error.kind() == ErrorKind::Changed => return Err(error),
                Err(error) if is_limit(&error) => {
                    held.give_back();
                    break;
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// The same files, all closed, for tables that are opened with other options.
    pub(crate) fn all_closed(&self) -> Self {
        let open = OpenFiles::new(self.max_open_files, Arc::clone(&self.open.held));
        let Self { ref directory, is_remote, max_open_files, .. } = *self;
        Self { directory: directory.clone(), is_remote, max_open_files, open }
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Whether the files are of another machine.
    pub(crate) fn is_remote(&self) -> bool {
        self.is_remote
    }

    /// The number of tables that stay open when they are opened one after the other.
    pub(crate) fn max_open_together(&self) -> usize {
        self.open.tables.max_open_together()
    }

    /// Uses a table, opened with `options` if it is not open.
    #[inline]
    pub(crate) fn with_table<T>(
        &self,
        file: &TableFile,
        options: impl FnOnce() -> TableReadOptions,
        then: impl FnOnce(&Table) -> Result<T>,
    ) -> Result<T> {
        self.open.tables.with(&file.slot, || self.open_table(file, &options()), then)
    }

    /// Opens a table, even if it is already open.
    pub(crate) fn open_table(&self, file: &TableFile, options: &TableReadOptions) -> Result<Table> {
        let (path, opened) = self.open(file.meta.number, || file.paths.clone())?;
        let size = opened.size().map_err(|error| Error::from(error).in_file(&path))?;
        if size != file.meta.size {
            let what = "the file size does not match the manifest";
            let error = Error::mismatch(what, file.meta.size, size).in_file(path);
            return Err(self.directory.changed_or(error));
        }
        let table = Table::from_file(opened, path, options)?;
        file.has_tombstones.get_or_init(|| !table.range_deletions().is_empty());
        Ok(table)
    }

    /// A blob file of a column family, at one of `paths`. One that the MANIFEST does not list may
    /// still be growing.
    pub(crate) fn blob_file(
        &self,
        number: u64,
        column_family: u32,
        is_listed: bool,
        paths: impl FnOnce() -> Vec<PathBuf>,
    ) -> Result<Arc<OpenBlobFile>> {
        self.open.blobs.get_or_insert_with(&number, || {
            let (path, file) = self.open(number, paths)?;
            let file = staged_source(file);
            let opened = match is_listed {
                true => BlobFile::open(file, column_family),
                false => BlobFile::open_unfinished(file, column_family),
            };
            let file = opened.map_err(|error| error.in_file(&path))?;
            Ok(Arc::new(OpenBlobFile { path, file }))
        })
    }

    /// Whether a blob file is open.
    pub(crate) fn has_open_blob_file(&self, number: u64) -> bool {
        self.open.blobs.get(&number).is_some()
    }

    /// The file with this number: kept open, or at one of these paths.
    fn open(
        &self,
        number: u64,
        paths: impl FnOnce() -> Vec<PathBuf>,
    ) -> Result<(PathBuf, Arc<dyn Source>)> {
        if let Some(held) = self.open.held.get(number) {
            return Ok(held);
        }
        self.open_at(&paths(), |path| Ok(file_system::open(path)?.into_source()))
    }

    /// Opens the first of these files that exists.
    fn open_at(
        &self,
        paths: &[PathBuf],
        open: impl Fn(&Path) -> io::Result<Arc<dyn Source>>,
    ) -> Result<(PathBuf, Arc<dyn Source>)> {
        let mut missing = None;
        for path in paths {
            match open(path) {
                Ok(file) => return Ok((path.clone(), file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    missing.get_or_insert((path, error));
                }
                Err(error) => return Err(Error::from(error).in_file(path)),
            }
        }
        let error = Error::corrupt("file not found");
        Err(self.directory.changed_or(match missing {
            Some((path, _)) => error.in_file(path),
            None => error.in_file(self.directory.path()),
        }))
    }
}

/// Whether an error is that too many files are open.
fn is_limit(error: &Error) -> bool {
    let cause = error.get_ref().and_then(|it| it.downcast_ref());
    cause.is_some_and(open_files::is_limit)
}

/// The possible paths of a table: in each of these directories under both extensions, that of the
/// engine first.
pub(crate) fn table_paths(folders: &[PathBuf], number: u64, engine: Engine) -> Vec<PathBuf> {
    let mut names = FileName::of_table(number);
    if engine == Engine::LevelDb {
        names.reverse();
    }
    folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
}
