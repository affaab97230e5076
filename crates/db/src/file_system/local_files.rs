//! The files of this machine. If too many are open, files held by databases are closed first.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use sstkit_table::Source;

use super::{FileStatus, FileSystem};
use crate::open_files;
use crate::regular_file;

pub(super) struct LocalFiles;

impl FileSystem for LocalFiles {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Source>> {
        Ok(Arc::new(regular_file::open(path)?))
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        let metadata = fs::metadata(path)?;
        Ok(match metadata.is_dir() {
            true => FileStatus::Folder,
            false if metadata.is_file() => FileStatus::File { size: metadata.len() },
            false => FileStatus::Other,
        })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let entries = open_files::with_room(|| fs::read_dir(folder))?;
        entries.map(|entry| Ok(entry?.file_name())).collect()
    }
}
