//! Files that are taken over: hard links, clones, copies.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::raw::FileName;
use crate::regular_file;

/// Where the contents of a file of a new database come from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileSource {
    /// A hard link to this file, which both engines never change; a copy if the file system cannot
    /// link it.
    Link(PathBuf),
    /// A copy of this file. It shares the blocks on disk if the file system can (`FICLONE` or
    /// `copy_file_range` on Linux).
    Copy(PathBuf),
    /// The file was written to [a path in the new
    /// database](crate::DatabaseWriter::new_table_path).
    Written(PathBuf),
}

impl FileSource {
    /// The path of the file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Link(path) | Self::Copy(path) | Self::Written(path) => path,
        }
    }

    /// The number in the name of a file that was written in `folder`.
    pub(super) fn written_number(&self, folder: &Path) -> Option<u64> {
        let Self::Written(path) = self else { return None };
        if path.parent() != Some(folder) {
            return None;
        }
        match FileName::parse(path.file_name()?.to_str()?) {
            FileName::Table(number) => Some(number),
            _ => None,
        }
    }

    /// Puts the file at `target`, makes it durable, and returns its size.
    pub(super) fn place(&self, target: &Path) -> Result<u64> {
        match self {
            Self::Link(path) => link(path, target)?,
            Self::Copy(path) => copy(path, target)?,
            Self::Written(path) if path == target => {}
            Self::Written(path) => {
                let what = "this path was not given by new_table_path";
                return Err(Error::invalid_input(what).in_file(path));
            }
        }
        let sync = || {
            let file = File::open(target)?;
            file.sync_all()?;
            Ok(file.metadata()?.len())
        };
        sync().map_err(failed_at(target))
    }
}

fn failed_at(path: &Path) -> impl Fn(io::Error) -> Error {
    move |error| Error::from(error).in_file(path)
}

fn link(source: &Path, target: &Path) -> Result<()> {
    // A link to a symbolic link would be relative to another folder.
    let source = fs::canonicalize(source).map_err(failed_at(source))?;
    regular_file::open(&source).map_err(failed_at(&source))?;
    match fs::hard_link(&source, target) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(failed_at(target)(error)),
        Err(_) => copy(&source, target),
        Ok(()) => Ok(()),
    }
}

/// The new file has the permissions of any new file.
fn copy(source: &Path, target: &Path) -> Result<()> {
    let mut from = regular_file::open(source).map_err(failed_at(source))?;
    let mut to = File::create_new(target).map_err(failed_at(target))?;
    if clone(&from, &to).is_ok() {
        return Ok(());
    }
    // On Linux by copy_file_range.
    io::copy(&mut from, &mut to).map(drop).map_err(|error| {
        let failed = if is_full(&error) { target } else { source };
        failed_at(failed)(error)
    })
}

/// Whether an error can only be one of writing.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Shares the blocks on disk.
#[cfg(target_os = "linux")]
fn clone(from: &File, to: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

#[cfg(not(target_os = "linux"))]
fn clone(_: &File, _: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
