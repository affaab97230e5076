//! A database directory: its files, and whether it has changed since it was read.

use std::io::ErrorKind as IoErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::file_system;
use crate::raw::{FileName, parse_current};

/// CURRENT is a name and a line feed: `MANIFEST-` and a number of at most 20 digits.
const MAX_CURRENT_SIZE: u64 = 64;

/// A database directory, and the MANIFEST that describes its state.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// The MANIFEST that was read, if any.
    manifest: Option<ManifestPosition>,
}

/// A MANIFEST and how much of it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ManifestPosition {
    pub(crate) number: u64,
    pub(crate) size: u64,
}

impl Directory {
    pub(crate) fn new(path: &Path, manifest: Option<ManifestPosition>) -> Self {
        Self { path: path.to_owned(), manifest }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn manifest(&self) -> Option<ManifestPosition> {
        self.manifest
    }

    /// Whether the database has changed since its MANIFEST was read.
    pub(crate) fn has_changed(&self) -> bool {
        let Some(manifest) = self.manifest else { return false };
        // No CURRENT: deleted, or being replaced.
        let Ok(number) = read_current(&self.path) else { return true };
        let file = file_system::status(&manifest_path(&self.path, manifest.number));
        number != manifest.number || file.is_ok_and(|file| file.size() != manifest.size)
    }

    /// `error`, or [`Changed`](crate::ErrorKind::Changed) if the database has changed since.
    pub(crate) fn changed_or(&self, error: Error) -> Error {
        if self.has_changed() { changed(&self.path).with_source(error) } else { error }
    }
}

pub(crate) fn changed(path: &Path) -> Error {
    Error::new(
        crate::ErrorKind::Changed,
        "the database has changed since it was opened; open it again",
    )
    .in_file(path)
}

pub(crate) fn manifest_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("MANIFEST-{number:06}"))
}

/// The number of the MANIFEST that CURRENT names.
pub(crate) fn read_current(folder: &Path) -> Result<u64> {
    let path = folder.join("CURRENT");
    let contents = match file_system::read(&path, MAX_CURRENT_SIZE) {
        Ok(Some(contents)) => contents,
        Ok(None) => {
            let what = format!("longer than {MAX_CURRENT_SIZE} bytes");
            return Err(Error::corrupt(what).in_file(path));
        }
        Err(error) if error.kind() == IoErrorKind::NotFound && file_system::is_folder(folder) => {
            return Err(
                Error::corrupt("file not found: not a database, or a damaged one").in_file(path)
            );
        }
        Err(error) => return Err(Error::from(error).in_file(path)),
    };
    parse_current(&contents).map_err(|error| error.in_file(path))
}

/// The database files in a directory, with their paths.
pub(crate) fn list(folder: &Path) -> Result<Vec<(FileName, PathBuf)>> {
    let in_folder = |error| Error::from(error).in_file(folder);
    let mut files = Vec::new();
    for name in file_system::list(folder).map_err(in_folder)? {
        if let Some(text) = name.to_str() {
            files.push((FileName::parse(text), folder.join(&name)));
        }
    }
    files.sort();
    Ok(files)
}
