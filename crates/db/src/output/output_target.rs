//! Where tables go, and that they arrive together or not at all.
//!
//! ```text
//! one file            .users.sst.x3Kd9A.tmp           --- sync, rename --->  users.sst
//!
//! a folder that is    out/.table.x3Kd9A.tmp …         --- sync, rename --->  out/000001.sst …
//! there               out/.table.k2Lm0q.tmp           --- last of all ---->  out/manifest.json
//!
//! a folder that is    .out.Zp81xY.tmp/000001.sst …
//! not there yet       .out.Zp81xY.tmp/manifest.json   --- rename --------->  out/
//! ```
//!
//! What is dropped before the commit is removed. A folder without `manifest.json` is not whole. In
//! one that is replaced the new tables have other numbers than the old ones, and the new manifest
//! takes the place of the old one before those are removed: at any time one of both is whole.
//!
//! Only regular files are ever replaced, and only where that is allowed: a name that somebody else
//! takes meanwhile stays theirs. A symbolic link to a file stands for that file, which is replaced
//! where it is.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir, TempPath};

use super::manifest::{BulkManifest, MANIFEST_NAME};
use crate::error::{Error, Result};

/// Where tables go.
#[derive(Debug)]
pub(crate) struct OutputTarget {
    target: PathBuf,
    kind: Kind,
    replace: bool,
    extension: String,
    /// The number of the first table: after those that are replaced.
    first_number: u64,
}

#[derive(Debug)]
enum Kind {
    /// One file of the target's name.
    File,
    /// The target is a folder that is there.
    Folder,
    /// The target is a folder to be.
    NewFolder(TempDir),
}

impl OutputTarget {
    /// A file. Only with `replace` the name of one that is there, and never that of anything else.
    pub(crate) fn file(target: &Path, replace: bool) -> Result<Self> {
        let place = Self {
            target: resolve_link(target)?,
            kind: Kind::File,
            replace,
            extension: String::new(),
            first_number: 1,
        };
        place.check_file()?;
        Ok(place)
    }

    fn check_file(&self) -> Result<()> {
        check_replaceable(&self.target, self.replace)
    }

    /// A folder of tables and a manifest. One with such things in it is taken only with `replace`,
    /// one with a database in it never.
    pub(crate) fn folder(target: &Path, extension: &str, replace: bool) -> Result<Self> {
        let failed = |error: io::Error| Error::from(error).in_file(target);
        let kind = match fs::metadata(target) {
            Ok(metadata) if metadata.is_dir() => Kind::Folder,
            Ok(_) => {
                let what = "this is a file; a directory of tables is expected";
                return Err(Error::invalid_input(what).in_file(target));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let prefix = format!(".{}.", name_of(target)?);
                let folder = builder(&prefix, 0o777).tempdir_in(parent(target)).map_err(failed)?;
                Kind::NewFolder(folder)
            }
            Err(error) => return Err(failed(error)),
        };
        let extension = extension.to_owned();
        let target = target.to_path_buf();
        let mut place = Self { target, kind, replace, extension, first_number: 1 };
        place.check_folder()?;
        let old = place.old_tables();
        place.first_number += old.iter().filter_map(|name| number(name)).max().unwrap_or(0);
        Ok(place)
    }

    fn check_folder(&self) -> Result<()> {
        let refused = |what: String| Err(Error::invalid_input(what).in_file(&self.target));
        if !matches!(self.kind, Kind::Folder) {
            return Ok(());
        }
        for entry in fs::read_dir(&self.target).map_err(|error| self.failed(error))? {
            let entry = entry.map_err(|error| self.failed(error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "CURRENT" || name.starts_with("MANIFEST-") {
                return refused(format!("the directory contains a database ({name})"));
            }
            if !self.replace && (name == MANIFEST_NAME || is_table_name(&name)) {
                return refused(format!("{name} already exists in this directory"));
            }
        }
        Ok(())
    }

    /// The folder that files are made in.
    pub(crate) fn working_folder(&self) -> &Path {
        match &self.kind {
            Kind::File => parent(&self.target),
            Kind::Folder => &self.target,
            Kind::NewFolder(folder) => folder.path(),
        }
    }

    /// What makes the files.
    pub(crate) fn workshop(&self) -> Result<TempFiles> {
        let prefix = match self.kind {
            Kind::File => format!(".{}.", name_of(&self.target)?),
            _ => ".table.".into(),
        };
        let one_file = matches!(self.kind, Kind::File);
        Ok(TempFiles { folder: self.working_folder().to_path_buf(), prefix, one_file })
    }

    /// The lasting name of the table of this number, counted from 0.
    pub(super) fn name(&self, number: usize) -> Result<String> {
        match self.kind {
            Kind::File => name_of(&self.target),
            _ => Ok(format!("{:06}.{}", self.first_number + number as u64, self.extension)),
        }
    }

    /// Gives the files, which are synced, the names in the manifest, and writes that.
    pub(crate) fn commit(self, files: Vec<TempPath>, manifest: &BulkManifest) -> Result<()> {
        match self.kind {
            Kind::File => self.commit_file(files),
            Kind::Folder => self.commit_in_folder(files, manifest),
            Kind::NewFolder(_) => self.commit_new_folder(files, manifest),
        }
    }

    fn commit_file(&self, files: Vec<TempPath>) -> Result<()> {
        self.check_file()?;
        for file in files {
            self.persist(file, &self.target)?;
        }
        self.sync_in_place(parent(&self.target))
    }

    /// Gives a file its lasting name, in the place of another only with `replace`.
    fn persist(&self, file: TempPath, path: &Path) -> Result<()> {
        let placed = match self.replace {
            true => file.persist(path),
            false => file.persist_noclobber(path),
        };
        placed.map_err(|error| Error::from(error.error).in_file(path))
    }

    fn commit_in_folder(&self, files: Vec<TempPath>, manifest: &BulkManifest) -> Result<()> {
        self.check_folder()?;
        let old: HashSet<String> = self.old_tables().into_iter().collect();
        if manifest.files.iter().any(|file| old.contains(&file.name)) {
            let what = "another process has written to this directory";
            return Err(Error::invalid_input(what).in_file(&self.target));
        }
        let mut placed = Placed::default();
        for (file, entry) in files.into_iter().zip(&manifest.files) {
            let path = self.target.join(&entry.name);
            // The tables of the old manifest have other numbers. What has this name is a remainder of a
            // run that was killed, or somebody else's: it goes only with `replace`.
            check_replaceable(&path, self.replace)?;
            self.persist(file, &path)?;
            placed.0.push(path);
        }
        self.sync(&self.target)?;
        self.write_manifest(manifest)?;
        placed.0.clear();
        self.sync_in_place(&self.target)?;
        for name in old {
            // Nothing names it any more. If it stays, that is a waste and no more.
            let _ = fs::remove_file(self.target.join(name));
        }
        Ok(())
    }

    /// The tables that the manifest of a folder names. What is no manifest of ours names nothing of
    /// ours, and is replaced like any other.
    fn old_tables(&self) -> Vec<String> {
        let names = BulkManifest::read(self.target.join(MANIFEST_NAME))
            .map(|old| old.files.into_iter().map(|file| file.name));
        names.map(|names| names.filter(|name| is_table_name(name)).collect()).unwrap_or_default()
    }

    fn commit_new_folder(mut self, files: Vec<TempPath>, manifest: &BulkManifest) -> Result<()> {
        for (file, entry) in files.into_iter().zip(&manifest.files) {
            let path = self.working_folder().join(&entry.name);
            file.persist(&path).map_err(|error| self.failed(error.error))?;
        }
        self.write_manifest(manifest)?;
        self.sync(self.working_folder())?;
        // An empty folder of that name would be replaced, too: whoever made it meanwhile may have
        // had a reason. One that is made after this has nothing in it to lose; one with something
        // in it, or a file, makes the rename fail.
        if self.target.exists() {
            let what = "another process has created this directory";
            return Err(Error::invalid_input(what).in_file(&self.target));
        }
        fs::rename(self.working_folder(), &self.target).map_err(|error| self.failed(error))?;
        if let Kind::NewFolder(folder) = std::mem::replace(&mut self.kind, Kind::Folder) {
            // It is there no more under the name that would be removed.
            let _ = folder.keep();
        }
        self.sync_in_place(parent(&self.target))
    }

    fn write_manifest(&self, manifest: &BulkManifest) -> Result<()> {
        let mut file = temporary(self.working_folder(), ".manifest.")?;
        file.write_all(manifest.to_json().as_bytes())
            .and_then(|()| file.as_file().sync_all())
            .map_err(|error| self.failed(error))?;
        let path = self.working_folder().join(MANIFEST_NAME);
        check_replaceable(&path, self.replace)?;
        self.persist(file.into_temp_path(), &path)
    }

    /// Makes names last. Other systems than Unix do not open folders, and need not.
    fn sync(&self, folder: &Path) -> Result<()> {
        if !cfg!(unix) {
            return Ok(());
        }
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| self.failed(error))
    }

    /// The last step. What is new is there even if this fails, and the error says so: what was
    /// there before is gone.
    fn sync_in_place(&self, folder: &Path) -> Result<()> {
        self.sync(folder).map_err(|error| {
            let what = "the output is in place, but its directory could not be synced";
            self.failed(io::Error::other(format!("{what}: {error}")))
        })
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::from(error).in_file(&self.target)
    }
}

/// The file that a symbolic link leads to; other names as they are.
fn resolve_link(path: &Path) -> Result<PathBuf> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    if !is_link {
        return Ok(path.to_path_buf());
    }
    fs::canonicalize(path).map_err(|error| {
        let what = format!("this symbolic link is broken: {error}");
        Error::invalid_input(what).in_file(path)
    })
}

/// Refuses a name that is taken: by a file unless it may be replaced, by anything else always.
fn check_replaceable(path: &Path, replace: bool) -> Result<()> {
    let refused = |what: &str| Err(Error::invalid_input(what).in_file(path));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::from(error).in_file(path)),
        Ok(metadata) => match not_a_file(metadata.file_type()) {
            Some(what) => refused(&format!("this is {what}; only regular files can be replaced")),
            None if !replace => refused("the file already exists"),
            None => Ok(()),
        },
    }
}

/// What it is, if it is no regular file.
fn not_a_file(kind: fs::FileType) -> Option<&'static str> {
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

/// Makes files under temporary names.
#[derive(Clone, Debug)]
pub(crate) struct TempFiles {
    folder: PathBuf,
    prefix: String,
    /// One file is all there may be, and has to be.
    pub(super) one_file: bool,
}

impl TempFiles {
    /// A new file, which goes when its path is dropped.
    pub(super) fn create(&self) -> Result<(File, TempPath)> {
        temporary(&self.folder, &self.prefix).map(NamedTempFile::into_parts)
    }
}

fn temporary(folder: &Path, prefix: &str) -> Result<NamedTempFile> {
    let file = builder(prefix, 0o666).tempfile_in(folder);
    file.map_err(|error| Error::from(error).in_file(folder))
}

/// Files under their lasting names, removed again unless all has gone well.
#[derive(Default)]
struct Placed(Vec<PathBuf>);

impl Drop for Placed {
    fn drop(&mut self) {
        for path in &self.0 {
            // There is nobody left to tell.
            let _ = fs::remove_file(path);
        }
    }
}

/// Makes temporary names, of files that anybody may read whom the process' mask allows to.
fn builder(prefix: &str, mode: u32) -> Builder<'_, 'static> {
    let mut builder = Builder::new();
    builder.prefix(prefix).suffix(".tmp");
    permit(&mut builder, mode);
    builder
}

#[cfg(unix)]
fn permit(builder: &mut Builder<'_, '_>, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(fs::Permissions::from_mode(mode));
}

#[cfg(not(unix))]
fn permit(_builder: &mut Builder<'_, '_>, _mode: u32) {}

/// Six digits or more, and the ending of a table.
fn is_table_name(name: &str) -> bool {
    name.split_once('.').is_some_and(|(number, extension)| {
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        number.len() >= 6 && digits && matches!(extension, "sst" | "ldb")
    })
}

/// The number in a table's name.
fn number(name: &str) -> Option<u64> {
    name.split_once('.')?.0.parse::<u32>().ok().map(u64::from)
}

fn name_of(path: &Path) -> Result<String> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::invalid_input("the path has no file name").in_file(path))?;
    Ok(name.to_string_lossy().into_owned())
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
