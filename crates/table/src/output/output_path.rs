//! The name at which a finished file appears.
//!
//! | what has the name | |
//! |---|---|
//! | nothing | the file is renamed to it |
//! | a regular file | is replaced, if that is allowed |
//! | a symbolic link to a file | the file it leads to is replaced; the link stays |
//! | a folder, a device, a pipe, a socket | is refused |
//!
//! The name is checked when the work begins, and again before the rename.

use std::fs::{self, File, FileType};
use std::io;
use std::path::{Path, PathBuf};

use super::{FinishedFile, OutputFile};

/// Where a file is to appear.
#[derive(Clone, Debug)]
pub struct OutputPath {
    path: PathBuf,
    replace: bool,
}

impl OutputPath {
    /// A name that is free, or with `replace` that of a regular file.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` for a name that is taken, `InvalidInput` for one that cannot be a file's.
    pub fn new(path: &Path, replace: bool) -> io::Result<Self> {
        let path = Self { path: resolve_link(path)?, replace };
        path.check()?;
        Ok(path)
    }

    /// A name in a folder of results, where a symbolic link is refused. Checked before the rename only.
    pub fn unresolved(path: &Path, replace: bool) -> Self {
        Self { path: path.to_path_buf(), replace }
    }

    /// The name, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the file.
    pub fn folder(&self) -> &Path {
        parent(&self.path)
    }

    /// The last part of the name.
    pub fn file_name(&self) -> io::Result<String> {
        let name = self.path.file_name().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name")
        })?;
        Ok(name.to_string_lossy().into_owned())
    }

    /// Creates the file under a temporary name.
    pub fn create(&self) -> io::Result<OutputFile> {
        OutputFile::create_in(self.folder(), &self.file_name()?)
    }

    /// Renames the file, and makes the name durable.
    ///
    /// # Errors
    ///
    /// If only the last step fails, the error says that the file is in place.
    pub fn commit(&self, file: FinishedFile) -> io::Result<()> {
        file.rename(self)?;
        sync_renamed_in(self.folder())
    }

    pub(super) fn replaces(&self) -> bool {
        self.replace
    }

    /// Refuses a name that is taken: by a file unless it may be replaced, by anything else always.
    pub(super) fn check(&self) -> io::Result<()> {
        let what = match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
            Ok(metadata) => match type_name(metadata.file_type()) {
                Some(name) => format!("this is {name}; only regular files can be replaced"),
                None if !self.replace => "the file already exists".into(),
                None => return Ok(()),
            },
        };
        Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
    }
}

/// Makes a rename in `folder` durable. It is not undone if this fails, as the old file is gone; the
/// error says so. Systems other than Unix do not open folders, and need not.
pub fn sync_renamed_in(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| {
        let what = "the output is in place, but its directory could not be synced";
        io::Error::new(error.kind(), format!("{what}: {error}"))
    })
}

/// Renames a folder to a name that nothing has. The system checks the name, where it can.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(super) fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems do not know the flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => check_and_rename(from, to),
        renamed => Ok(renamed?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    check_and_rename(from, to)
}

/// A rename would replace an empty folder, and one that is made after the check has nothing in it to
/// lose. A file, or a folder with something in it, makes the rename fail.
fn check_and_rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(from, to),
        Err(error) => Err(error),
    }
}

/// The folder of a path.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file that a symbolic link leads to; other names as they are.
fn resolve_link(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => fs::canonicalize(path).map_err(|error| {
            let what = format!("this symbolic link is broken: {error}");
            io::Error::new(io::ErrorKind::InvalidInput, what)
        }),
        _ => Ok(path.to_path_buf()),
    }
}

/// What something is, unless it is a regular file.
fn type_name(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
        if kind.is_fifo() {
            return Some("a FIFO");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a directory"),
        () if kind.is_symlink() => Some("a symbolic link"),
        () => Some("not a regular file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replacing(path: &Path) -> io::Result<OutputPath> {
        OutputPath::new(path, true)
    }

    #[test]
    fn existing_temporary_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = replacing(&folder.path().join("users.sst")).unwrap();
        let (a, b) = (path.create().unwrap(), path.create().unwrap());
        assert_ne!(a.path.to_path_buf(), b.path.to_path_buf());
        let name = a.path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(".users.sst.") && name.ends_with(".tmp"), "{name}");
        drop((a, b));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    #[cfg(unix)]
    fn results_have_the_permissions_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("other"), b"").unwrap();
        let path = replacing(&folder.path().join("users.sst")).unwrap();
        path.commit(path.create().unwrap().finish().unwrap()).unwrap();
        let mode =
            |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("users.sst"), mode("other"));
    }

    #[test]
    #[cfg(unix)]
    fn an_unsynced_folder_leaves_the_file_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let error = sync_renamed_in(&folder.path().join("none")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("in place"), "{error}");
    }

    #[test]
    fn a_folder_is_not_renamed_to_a_name_that_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("new")).unwrap();
        fs::write(path("new/file"), b"ours").unwrap();
        fs::create_dir(path("empty")).unwrap();
        fs::write(path("file"), b"theirs").unwrap();
        for rename in [rename_noreplace, check_and_rename] {
            for taken in ["empty", "file"] {
                let error = rename(&path("new"), &path(taken)).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{taken}");
            }
        }
        rename_noreplace(&path("new"), &path("free")).unwrap();
        assert_eq!(fs::read(path("free/file")).unwrap(), b"ours");
        assert!(!path("new").exists());
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
            let error = replacing(&path(name)).unwrap_err();
            assert!(error.to_string().contains("only regular") || name == "dangling", "{error}");
        }
        let error = OutputPath::new(&path("link"), false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let link = replacing(&path("link")).unwrap();
        link.commit(link.create().unwrap().finish().unwrap()).unwrap();
        assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
        assert_eq!(fs::read(path("file")).unwrap(), b"");
        // A folder or file that appears in between is not replaced, either.
        for (name, replace) in [("new", true), ("newer", false)] {
            let target = OutputPath::new(&path(name), replace).unwrap();
            let file = target.create().unwrap().finish().unwrap();
            match replace {
                true => fs::create_dir(path(name)).unwrap(),
                false => fs::write(path(name), b"theirs").unwrap(),
            }
            assert_eq!(target.commit(file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        drop(socket);
        assert_eq!(fs::read(path("newer")).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 7);
    }

    #[test]
    fn errors_name_the_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = replacing(&folder.path().join("none/users.sst")).unwrap();
        let error = path.create().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("none/.users.sst."), "{error}");
    }
}
