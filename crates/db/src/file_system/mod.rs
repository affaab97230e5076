//! The files of databases: of this machine, or of another file system that was registered.
//!
//! ```text
//! /var/lib/db/000011.sst           this machine
//! s3://bucket/db/000011.sst        what was registered for s3://bucket
//! '---- root ---'
//! ```
//!
//! The functions are those of [`std::fs`] that readers need. Everything that reads a path in this crate and in those above it
//! uses them, so a database, a folder of tables or a single file is read in the same way wherever it is. What writes
//! does not use them: new files are local.
//!
//! `sstkit-object-store` registers buckets. Another file system is a type with three functions:
//!
//! ```
//! use std::ffi::OsString;
//! use std::io;
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use sstkit_db::file_system::{self, FileStatus, FileSystem};
//! use sstkit_table::Source;
//!
//! /// A folder with one file.
//! struct OneFile(Vec<u8>);
//!
//! impl FileSystem for OneFile {
//!     fn open(&self, path: &Path) -> io::Result<Arc<dyn Source>> {
//!         self.status(path)?;
//!         Ok(Arc::new(self.0.clone()))
//!     }
//!
//!     fn status(&self, path: &Path) -> io::Result<FileStatus> {
//!         match path.ends_with("CURRENT") {
//!             true => Ok(FileStatus::File { size: self.0.len() as u64 }),
//!             false => Err(io::ErrorKind::NotFound.into()),
//!         }
//!     }
//!
//!     fn list(&self, _: &Path) -> io::Result<Vec<OsString>> {
//!         Ok(vec!["CURRENT".into()])
//!     }
//! }
//!
//! file_system::register("memory://example", Arc::new(OneFile(b"MANIFEST-000004\n".to_vec())));
//! assert!(file_system::is_file(Path::new("memory://example/db/CURRENT")));
//! ```

mod local_files;
mod opened_file;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use sstkit_table::{Source, Table, TableReadOptions};

use self::local_files::LocalFiles;
pub use self::opened_file::OpenedFile;
use crate::error::{Error, Result};

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileStatus {
    /// A file of this number of bytes.
    File {
        /// Its size in bytes.
        size: u64,
    },
    /// A folder.
    Folder,
    /// Something else, such as a pipe.
    Other,
}

impl FileStatus {
    /// The size of a file; 0 for anything else.
    pub fn size(self) -> u64 {
        match self {
            Self::File { size } => size,
            Self::Folder | Self::Other => 0,
        }
    }
}

/// Files that are read by their paths. Paths are whole ones, with the root that the file system is registered for.
pub trait FileSystem: Send + Sync {
    /// Opens a file. Fails with [`NotFound`](io::ErrorKind::NotFound) if there is none.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Source>>;

    /// What is at a path. Fails with [`NotFound`](io::ErrorKind::NotFound) if there is nothing.
    fn status(&self, path: &Path) -> io::Result<FileStatus>;

    /// The names in a folder, in any order.
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// Files that are opened next. Where each of them costs a round trip, read them at the same time. By default,
    /// nothing happens.
    fn prefetch(&self, paths: &[PathBuf]) {
        let _ = paths;
    }
}

/// By root.
static REGISTERED: RwLock<BTreeMap<String, Arc<dyn FileSystem>>> = RwLock::new(BTreeMap::new());

/// Uses a file system for all paths that start with `root`: a scheme and a name, such as `s3://bucket`. It replaces
/// the one that was registered for it, also for databases that are open.
pub fn register(root: &str, file_system: Arc<dyn FileSystem>) {
    let root = root.trim_end_matches('/').to_owned();
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).insert(root, file_system);
}

/// The scheme and name that a path starts with, if it has any: `s3://bucket` of `s3://bucket/db/CURRENT`.
fn root(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, rest) = text.split_once("://")?;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(is_part);
    // Windows joins paths with its own separator.
    let name = rest.find(['/', '\\']).unwrap_or(rest.len());
    is_scheme.then(|| &text[..scheme.len() + "://".len() + name])
}

fn registered(path: &Path) -> Option<Arc<dyn FileSystem>> {
    let root = root(path)?;
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).get(root).cloned()
}

/// Calls `use_it` with the file system of a path.
fn with<T>(path: &Path, use_it: impl FnOnce(&dyn FileSystem) -> T) -> T {
    match registered(path) {
        Some(file_system) => use_it(&*file_system),
        None => use_it(&LocalFiles),
    }
}

/// Whether a path is one of a file system that was registered.
pub fn is_remote(path: &Path) -> bool {
    registered(path).is_some()
}

/// Opens a file. Of this machine, only regular files are opened.
pub fn open(path: &Path) -> io::Result<OpenedFile> {
    with(path, |it| it.open(path)).map(OpenedFile::new)
}

/// The contents of a file; `None` if it is larger than `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut contents = Vec::new();
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut contents)?;
    Ok((contents.len() as u64 <= limit).then_some(contents))
}

/// What is at a path.
pub fn status(path: &Path) -> io::Result<FileStatus> {
    with(path, |it| it.status(path))
}

/// Whether there is anything at a path.
pub fn exists(path: &Path) -> bool {
    status(path).is_ok()
}

/// Whether there is a file at a path.
pub fn is_file(path: &Path) -> bool {
    matches!(status(path), Ok(FileStatus::File { .. }))
}

/// Whether there is a folder at a path.
pub fn is_folder(path: &Path) -> bool {
    matches!(status(path), Ok(FileStatus::Folder))
}

/// The names in a folder, in any order.
pub fn list(folder: &Path) -> io::Result<Vec<OsString>> {
    with(folder, |it| it.list(folder))
}

/// Says which files are opened next. They are all of the file system of the first one.
pub(crate) fn prefetch(paths: &[PathBuf]) {
    if let [first, _, ..] = paths {
        with(first, |it| it.prefetch(paths));
    }
}

/// The same path, if there is another one to a file of this machine.
pub(crate) fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    match is_remote(path) {
        true => Ok(path.to_owned()),
        false => std::fs::canonicalize(path),
    }
}

/// Opens a table, as [`Table::open_with`] does for files of this machine.
pub fn open_table(path: &Path, options: &TableReadOptions) -> Result<Table> {
    let file = open(path).map_err(|error| Error::from(error).in_file(path))?;
    Table::from_file(file.into_source(), path, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots() {
        for (path, expected) in [
            ("s3://bucket/db/CURRENT", Some("s3://bucket")),
            ("s3://bucket", Some("s3://bucket")),
            ("https://host:80/x.sst", Some("https://host:80")),
            ("s3://bucket\\db", Some("s3://bucket")),
            ("s3:", None),
            ("s3:/bucket", None),
            ("://bucket", None),
            ("/data/s3://bucket", None),
            ("", None),
        ] {
            assert_eq!(root(Path::new(path)), expected, "{path}");
        }
        assert!(!is_remote(Path::new("nosuch://bucket/db")), "not registered: a local path");
    }
}
