//! Output in an object store: written to a temporary directory, then uploaded.
//!
//! ```text
//! temporary directory      000001.sst  000002.sst  manifest.json
//!                              |           |           |
//! s3://bucket/path/        000001.sst  000002.sst      |          several at once
//!                                                  manifest.json  the last one: readers begin with it
//! ```

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use super::output_args::OutputKind;
use crate::remote;
use sstkit_db::MANIFEST_NAME;
use sstkit_db::file_system::{self, FileStatus};

/// An output in an object store.
#[derive(Debug)]
pub(super) struct RemoteOutput {
    /// As it was given.
    address: String,
    kind: OutputKind,
    folder: TempDir,
}

impl RemoteOutput {
    /// Fails early if there are objects that would be replaced.
    pub(super) fn new(address: &str, kind: OutputKind, force: bool) -> Result<Self> {
        let path = remote::registered(address)?;
        let found = match file_system::status(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            found => Some(found.with_context(|| address.to_owned())?),
        };
        match (kind, found) {
            (_, None) => {}
            (OutputKind::Table, Some(FileStatus::File { .. })) => {
                ensure!(force, "{address}: already exists; use --force to replace it");
            }
            // Objects cannot be replaced all at once.
            _ => anyhow::bail!(
                "{address}: already has objects; choose another path or delete them first"
            ),
        }
        let is_name = kind != OutputKind::Table || !address.ends_with('/');
        ensure!(is_name, "{address}: is a directory: pass a file name, or use --as folder");
        let folder = tempfile::tempdir().context("temporary directory")?;
        Ok(Self { address: address.to_owned(), kind, folder })
    }

    /// The address.
    pub(super) fn address(&self) -> &Path {
        Path::new(&self.address)
    }

    /// Where it is written.
    pub(super) fn path(&self) -> PathBuf {
        // Some messages have the name.
        self.folder.path().join(self.address().file_name().unwrap_or("output".as_ref()))
    }

    /// Uploads it. After an error, nothing is left behind.
    #[cfg(feature = "remote")]
    pub(super) fn upload(&self) -> Result<()> {
        use sstkit_object_store::{Store, upload, upload_folder_while};

        use crate::interrupt;
        use crate::output::ProgressBar;

        let _progress = ProgressBar::busy(format!("uploading to {}", self.address));
        let (store, path) = Store::parse(&self.address)?;
        let last = match self.kind {
            OutputKind::Table => {
                return upload(&store, &path, &self.path()).with_context(|| self.address.clone());
            }
            OutputKind::Folder => MANIFEST_NAME,
            OutputKind::Database => "CURRENT",
        };
        let keep_going = || !interrupt::is_interrupted();
        upload_folder_while(&store, &path, &self.path(), last, &keep_going)
            .with_context(|| self.address.clone())
    }

    #[cfg(not(feature = "remote"))]
    pub(super) fn upload(&self) -> Result<()> {
        let (_, _) = (self.kind, MANIFEST_NAME);
        remote::registered(&self.address)?;
        Ok(())
    }
}
