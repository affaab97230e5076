//! A folder of results: all of its files appear together.

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::output_path::{parent, rename_noreplace, sync_renamed_in};
use super::temporary;

/// A folder that is being filled under a temporary name. It is removed when it is dropped before
/// [`commit`](Self::commit).
///
/// ```
/// use sstkit_table::output::OutputFolder;
/// use sstkit_table::{TableOptions, TableWriter};
///
/// # let folder = tempfile::tempdir()?;
/// # let target = folder.path().join("users");
/// let users = OutputFolder::create_beside(&target)?;
/// for name in ["000001.sst", "000002.sst"] {
///     let mut writer = TableWriter::create(users.path().join(name), &TableOptions::rocksdb())?;
///     writer.put(b"alice", b"1")?;
///     writer.finish()?;
/// }
/// assert!(!target.exists());
/// users.commit(&target)?; // users/000001.sst and users/000002.sst
/// assert!(target.join("000002.sst").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OutputFolder {
    folder: TempDir,
}

impl OutputFolder {
    /// Creates a folder in `parent`; its temporary name starts with a dot and `name`.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn create_in(parent: &Path, name: &str) -> io::Result<Self> {
        Ok(Self { folder: temporary(&format!(".{name}."), 0o777).tempdir_in(parent)? })
    }

    /// Creates a folder that is to be renamed to `target`, in the same folder as that.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `target` has no file name; those of the system.
    pub fn create_beside(target: &Path) -> io::Result<Self> {
        let name = target.file_name().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name")
        })?;
        Self::create_in(parent(target), &name.to_string_lossy())
    }

    /// The temporary name.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes the names in the folder durable, renames it to a name that nothing has, not even an empty
    /// folder, and makes that durable. Files in it are the caller's to sync.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` for a name that is taken: the folder is then removed. If only the last step
    /// fails, the error says that the output is in place.
    pub fn commit(self, target: &Path) -> io::Result<()> {
        // Systems other than Unix do not open folders, and need not.
        if cfg!(unix) {
            File::open(self.path())?.sync_all()?;
        }
        rename_noreplace(self.path(), target)?;
        // The name that would be removed is gone.
        let _ = self.folder.keep();
        sync_renamed_in(parent(target))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn filled(parent: &Path) -> OutputFolder {
        let folder = OutputFolder::create_in(parent, "new").unwrap();
        fs::write(folder.path().join("file"), b"ours").unwrap();
        folder
    }

    #[test]
    fn a_name_that_is_taken_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("empty")).unwrap();
        fs::write(path("file"), b"theirs").unwrap();
        for taken in ["empty", "file"] {
            let error = filled(folder.path()).commit(&path(taken)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{taken}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
        filled(folder.path()).commit(&path("free")).unwrap();
        assert_eq!(fs::read(path("free/file")).unwrap(), b"ours");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_folder_that_is_dropped_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let new = filled(folder.path());
        let name = new.path().file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(".new.") && name.ends_with(".tmp"), "{name}");
        drop(new);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let error = OutputFolder::create_beside(Path::new("..")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
