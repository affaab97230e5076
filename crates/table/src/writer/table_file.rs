//! A file that is there as a whole or not at all.
//!
//! ```text
//! create   .users.sst.4711-9f06b3e2.tmp    beside the file to be, so that a rename suffices
//! write    …
//! commit   sync the file, rename it to users.sst, sync the folder
//! drop     remove it, unless committed
//! ```
//!
//! A regular file of that name is replaced, and nothing else is: not a folder, a device, a pipe. A
//! symbolic link to a file stands for that file, which is replaced where it is.
//!
//! A process that is killed leaves its temporary file behind. In a container the next one may well
//! have the same number, so the name is also drawn at random.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use super::output::Sink;
use crate::writer::background_writer::BackgroundWriter;
use crate::writer::incremental_sync_file::IncrementalSyncFile;

/// How often another name is drawn when a file of that name is there.
const TRIES: usize = 16;

/// A file under its temporary name.
#[derive(Debug)]
pub(crate) struct TableFile {
    file: BackgroundWriter<IncrementalSyncFile>,
    temporary: PathBuf,
    path: PathBuf,
    committed: bool,
}

impl TableFile {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let path = &resolve_link(path)?;
        check_replaceable(path)?;
        let (file, temporary) = create_new(path, random)?;
        let file = BackgroundWriter::new(IncrementalSyncFile::new(file));
        Ok(Self { file, temporary, path: path.to_path_buf(), committed: false })
    }
}

/// The file that a symbolic link leads to; other names as they are.
fn resolve_link(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => {
            fs::canonicalize(path).map_err(|error| explained(&error, "a broken symbolic link"))
        }
        _ => Ok(path.to_path_buf()),
    }
}

/// An error if something of that name is there that is no regular file.
fn check_replaceable(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            let what = if metadata.is_dir() { "a directory" } else { "not a regular file" };
            let what = format!("this is {what}; only regular files can be replaced");
            Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
        }
        _ => Ok(()),
    }
}

/// A file that was not there, and its name.
fn create_new(path: &Path, mut number: impl FnMut() -> u32) -> io::Result<(File, PathBuf)> {
    let mut tries = 1;
    loop {
        let temporary = temporary_name(path, number())?;
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => {
                tries += 1;
            }
            Err(error) => return Err(explained(&error, &temporary.display().to_string())),
        }
    }
}

fn temporary_name(path: &Path, number: u32) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"))?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}-{number:08x}.tmp", process::id()));
    Ok(path.with_file_name(temporary))
}

/// The keys of the standard library's hash maps come from the system's randomness.
fn random() -> u32 {
    RandomState::new().hash_one(0) as u32
}

/// An error of the same kind that says what it is about.
fn explained(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

impl Sink for TableFile {
    fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        self.file.write(buffer)
    }

    fn commit(mut self: Box<Self>) -> io::Result<()> {
        self.file.finish()?.sync()?;
        check_replaceable(&self.path)?;
        fs::rename(&self.temporary, &self.path)?;
        self.committed = true;
        sync_folder(&self.path)
    }
}

/// Makes the new name last. Other systems than Unix do not open folders, and need not.
///
/// The rename is not undone if this fails: what was there before is gone already.
fn sync_folder(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all()).map_err(
        |error| {
            explained(&error, "the new file is in place, but its directory could not be synced")
        },
    )
}

impl Drop for TableFile {
    fn drop(&mut self) {
        if !self.committed {
            // Nobody is left to hear of a failure; what stays is a hidden file that nothing reads.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_passed_by() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.sst");
        for left in 0..3 {
            fs::write(temporary_name(&path, left).unwrap(), b"left").unwrap();
        }
        let mut numbers = 0..;
        let (_, temporary) = create_new(&path, || numbers.next().unwrap()).unwrap();
        assert_eq!(temporary, temporary_name(&path, 3).unwrap());
        assert_eq!(fs::read(temporary_name(&path, 0).unwrap()).unwrap(), b"left");
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_that_is_not_synced_leaves_the_file_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let error = sync_folder(&folder.path().join("none/users.sst")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("in place"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn only_regular_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        fs::write(path("file"), b"old").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        std::os::unix::fs::symlink("none", path("dangling")).unwrap();
        for name in ["socket", "folder", "dangling"] {
            let error = TableFile::create(&path(name)).unwrap_err();
            assert!(error.to_string().contains("only files") || name == "dangling", "{error}");
        }
        let link = Box::new(TableFile::create(&path("link")).unwrap());
        link.commit().unwrap();
        assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
        assert_eq!(fs::read(path("file")).unwrap(), b"");
        // What comes in between is not replaced, either.
        let file = Box::new(TableFile::create(&path("new")).unwrap());
        fs::create_dir(path("new")).unwrap();
        assert!(file.commit().is_err());
        drop(socket);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6);
    }

    #[test]
    fn names_differ() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.sst");
        let (a, b) = (TableFile::create(&path).unwrap(), TableFile::create(&path).unwrap());
        assert_ne!(a.temporary, b.temporary);
    }

    #[test]
    fn errors_name_the_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.sst");
        let left = temporary_name(&path, 7).unwrap();
        fs::write(&left, b"left").unwrap();
        let mut tries = 0;
        let error = create_new(&path, || {
            tries += 1;
            7
        })
        .unwrap_err();
        assert_eq!((error.kind(), tries), (io::ErrorKind::AlreadyExists, TRIES));
        assert!(error.to_string().contains(left.to_str().unwrap()), "{error}");

        let error = TableFile::create(&folder.path().join("none/users.sst")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("none/.users.sst."), "{error}");
    }
}
