//! Tells whether a path is a table file or a database directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// A table or a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A table file.
    Table(PathBuf),
    /// A database directory.
    Database(PathBuf),
}

impl Target {
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let metadata = fs::metadata(path).with_context(|| path.display().to_string())?;
        if metadata.is_dir() {
            return Ok(Self::Database(path.to_path_buf()));
        }
        // A pipe or device cannot be read from its end, and opening one may block forever.
        if !metadata.is_file() {
            bail!("{}: neither a regular file nor a directory", path.display());
        }
        Ok(Self::Table(path.to_path_buf()))
    }

    /// The path of a table. Fails for a directory, for commands that take one file.
    pub(crate) fn table(path: &Path) -> Result<PathBuf> {
        match Self::of(path)? {
            Self::Table(path) => Ok(path),
            Self::Database(path) => {
                bail!("{}: is a directory; pass one of its table files", path.display())
            }
        }
    }
}
