//! Opening files: regular files only.
//!
//! A directory may contain a named pipe, on which opening would block, or a device without an end.
//! The type of a file is checked before it is opened, and again on the open handle in case the file
//! was replaced in between.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a regular file for reading; anything else is an error.
pub fn open(path: &Path) -> io::Result<File> {
    check(fs::metadata(path)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // No effect on regular files. A pipe that replaced the file does not block.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// The contents of a file; `None` if it is larger than `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut contents = Vec::new();
    open(path)?.take(limit + 1).read_to_end(&mut contents)?;
    Ok((contents.len() as u64 <= limit).then_some(contents))
}

fn check(kind: FileType) -> io::Result<()> {
    match kind.is_file() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{}, not a regular file", type_name(kind)))),
    }
}

fn type_name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        return "a directory";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    "something else"
}
