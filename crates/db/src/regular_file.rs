//! Opening files of this machine: regular files, and nothing else. If too many files are open,
//! files held by databases are closed first.

use std::fs::File;
use std::io;
use std::path::Path;

use sstkit_table::raw::regular_file;

pub(crate) use sstkit_table::raw::regular_file::open as open_if_room;

use crate::open_files;

/// Opens a regular file for reading; anything else is an error.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_files::with_room(|| open_if_room(path))
}

/// The contents of a file; `None` if it is larger than `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    open_files::with_room(|| regular_file::read(path, limit))
}
