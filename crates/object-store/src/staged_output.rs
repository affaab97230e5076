//! Output in a store: written to a temporary directory, then uploaded.

use std::io;
use std::path::PathBuf;

use sstkit_db::file_system::{self, FileStatus};
use tempfile::TempDir;

use crate::object_files::register;
use crate::store::Store;
use crate::upload::{upload, upload_folder_while};

/// A table or a folder that is written on this machine and then uploaded.
#[derive(Debug)]
pub struct StagedOutput {
    address: String,
    /// Of a folder, the file that readers begin with.
    last: Option<String>,
    stage: TempDir,
}

impl StagedOutput {
    /// The object at `address` is to be a table.
    ///
    /// # Errors
    ///
    /// Fails if something is there, unless it is an object and `replace` is true.
    pub fn table(address: &str, replace: bool) -> io::Result<Self> {
        match status(address)? {
            _ if address.ends_with('/') => {
                let what = format!("{address}: is a directory: give the name of a file");
                Err(io::Error::new(io::ErrorKind::InvalidInput, what))
            }
            None => Self::new(address, None),
            Some(FileStatus::File { .. }) if replace => Self::new(address, None),
            Some(_) => Err(exists(address)),
        }
    }

    /// Objects below `address` are to be the files of a folder, of which `last` is uploaded after all others.
    ///
    /// # Errors
    ///
    /// Fails if something is there: objects cannot be replaced all at once.
    pub fn folder(address: &str, last: &str) -> io::Result<Self> {
        match status(address)? {
            None => Self::new(address, Some(last.to_owned())),
            Some(_) => Err(exists(address)),
        }
    }

    fn new(address: &str, last: Option<String>) -> io::Result<Self> {
        let stage = TempDir::with_prefix("sstkit-")?;
        Ok(Self { address: address.to_owned(), last, stage })
    }

    /// Where it is to be written: the file or folder does not exist yet.
    pub fn path(&self) -> PathBuf {
        self.stage.path().join("output")
    }

    /// Uploads what was written, unless `keep_going` returns false. After an error, nothing is left behind.
    pub fn upload(&self, keep_going: &(dyn Fn() -> bool + Sync)) -> io::Result<()> {
        let (store, path) = Store::parse(&self.address)?;
        match &self.last {
            Some(last) => upload_folder_while(&store, &path, &self.path(), last, keep_going),
            None => upload(&store, &path, &self.path()),
        }
    }
}

fn status(address: &str) -> io::Result<Option<FileStatus>> {
    match file_system::status(&register(address)?) {
        Ok(status) => Ok(Some(status)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn exists(address: &str) -> io::Error {
    let what =
        format!("{address}: there are objects already; choose another path or delete them first");
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}
