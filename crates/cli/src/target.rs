//! Tells whether a path is a table file or a database directory.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use sstkit_db::FileKind;
use sstkit_db::file_system::{self, FileStatus};

use crate::remote;

/// A file of a database, for messages.
pub(crate) fn described(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Table => "a table",
        FileKind::Log => "a write-ahead log",
        FileKind::Manifest => "a MANIFEST",
        FileKind::CompactionProgress => "the progress of a compaction",
        FileKind::Current => "a CURRENT file",
        FileKind::Options => "an OPTIONS file",
        FileKind::Identity => "an IDENTITY file",
        FileKind::BlobFile => "a blob file",
        FileKind::BackupMeta => "the metadata of a backup",
        _ => "no table",
    }
}

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
        // One that is read here is registered, and not a local path any more.
        if !file_system::is_remote(path) {
            remote::require_local(path)?;
        }
        match file_system::status(path).with_context(|| path.display().to_string())? {
            FileStatus::Folder => Ok(Self::Database(path.to_path_buf())),
            FileStatus::File { .. } => Ok(Self::Table(path.to_path_buf())),
            // A pipe or device cannot be read from its end, and opening one may block forever.
            _ => bail!("{}: neither a regular file nor a directory", path.display()),
        }
    }

    /// The same, for commands that read no other file of a database.
    pub(crate) fn table_or_database(path: &Path) -> Result<Self> {
        let target = Self::of(path)?;
        // What cannot be read is treated as a table, which reports the reason.
        let kind = FileKind::of(path).unwrap_or(FileKind::Unknown);
        match (&target, kind) {
            (Self::Database(_), _)
            | (_, FileKind::Table | FileKind::Unknown | FileKind::InfoLog | FileKind::Other) => {
                Ok(target)
            }
            _ => bail!(
                "{}: {}; `sst info`, `sst dump`, `sst verify` and `sst scan --internal` read it",
                path.display(),
                described(kind)
            ),
        }
    }

    /// The path of a table. Fails for a directory, for commands that take one file.
    pub(crate) fn table(path: &Path) -> Result<PathBuf> {
        match Self::table_or_database(path)? {
            Self::Table(path) => Ok(path),
            Self::Database(path) => {
                bail!("{}: is a directory; pass one of its table files", path.display())
            }
        }
    }
}
