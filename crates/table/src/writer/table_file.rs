//! A file that is there as a whole or not at all.
//!
//! ```text
//! create   .users.sst.4711-0.tmp    beside the file to be, so that a rename suffices
//! write    …
//! commit   sync the file, rename it to users.sst, sync the folder
//! drop     remove it, unless committed
//! ```

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::output::Sink;

/// Tells the files of one process apart.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A file under its temporary name.
#[derive(Debug)]
pub(super) struct TableFile {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
    committed: bool,
}

impl TableFile {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let temporary = temporary_name(path)?;
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        Ok(Self { file, temporary, path: path.to_path_buf(), committed: false })
    }
}

fn temporary_name(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}-{number}.tmp", process::id()));
    Ok(path.with_file_name(temporary))
}

impl Write for TableFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Sink for TableFile {
    fn commit(mut self: Box<Self>) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.temporary, &self.path)?;
        self.committed = true;
        sync_folder(&self.path)
    }
}

/// Makes the new name last. Other systems than Unix do not open folders, and need not.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

impl Drop for TableFile {
    fn drop(&mut self) {
        if !self.committed {
            // Nobody is left to hear of a failure; what stays is a hidden file that nothing reads.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
