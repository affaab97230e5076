//! Opening tables and the other files of a database: regular files, and nothing else.
//!
//! Whoever can put a file into a directory can put a named pipe there, on which opening waits for
//! a writer, or a device that has no end. What is not a regular file is refused, by its type before
//! it is opened, and once more by the opened handle in case it was replaced in between.

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
        // Of no effect for regular files. A pipe that has taken its place does not make us wait.
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
