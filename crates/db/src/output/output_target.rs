//! Where tables go, and that they appear together or not at all.
//!
//! ```text
//! one file            .users.sst.x3Kd9A.tmp           --- sync, rename --->  users.sst
//!
//! an existing         out/.table.x3Kd9A.tmp …         --- sync, rename --->  out/000001.sst …
//! folder              out/.manifest.k2Lm0q.tmp        --- last of all ---->  out/manifest.json
//!
//! a new folder        .out.Zp81xY.tmp/000001.sst …
//!                     .out.Zp81xY.tmp/manifest.json   --- rename --------->  out/
//! ```
//!
//! Everything that is dropped before the commit is removed. A folder without `manifest.json` is not
//! complete. When a folder is replaced, the new tables have other numbers than the old ones, and the
//! new manifest replaces the old one before those are removed: at any time one of both is complete.
//!
//! A file that another process creates under the name is replaced only if that is allowed; which names
//! can be replaced at all is said in [`sstkit_table::output`].

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sstkit_table::output::{self, FinishedFile, OutputFile, OutputFolder, OutputPath};

use crate::bulk_manifest::{BulkManifest, MANIFEST_NAME};
use crate::error::{Error, ErrorKind, Result};

/// Where tables go.
#[derive(Debug)]
pub(crate) struct OutputTarget {
    target: PathBuf,
    kind: Kind,
    replace: bool,
    extension: String,
    /// The number of the first table, larger than those of tables that are replaced.
    first_number: u64,
}

#[derive(Debug)]
enum Kind {
    /// One file.
    File(OutputPath),
    /// A folder that exists.
    Folder,
    /// A folder that does not exist yet.
    NewFolder(OutputFolder),
    /// The folder of a database that is being written, which names the tables itself.
    Database,
}

impl OutputTarget {
    /// A file. An existing one is accepted only with `replace`.
    pub(crate) fn file(target: &Path, replace: bool) -> Result<Self> {
        let path = OutputPath::new(target, replace).map_err(|error| failed(error, target))?;
        // A folder that is missing is found out before the work, not after it.
        fs::metadata(path.folder()).map_err(|error| failed(error, path.folder()))?;
        let (target, extension) = (target.to_path_buf(), String::new());
        Ok(Self { target, kind: Kind::File(path), replace, extension, first_number: 1 })
    }

    /// A folder of tables and a manifest. One that contains tables or a manifest is accepted only
    /// with `replace`, one that contains a database never.
    pub(crate) fn folder(target: &Path, extension: &str, replace: bool) -> Result<Self> {
        let failed = |error: io::Error| Error::from(error).in_file(target);
        let kind = match fs::metadata(target) {
            Ok(metadata) if metadata.is_dir() => Kind::Folder,
            Ok(_) => {
                let what = "this is a file; a directory of tables is expected";
                return Err(Error::invalid_input(what).in_file(target));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Kind::NewFolder(
                OutputFolder::create_beside(target).map_err(|it| self::failed(it, target))?,
            ),
            Err(error) => return Err(failed(error)),
        };
        let extension = extension.to_owned();
        let target = target.to_path_buf();
        let mut folder = Self { target, kind, replace, extension, first_number: 1 };
        folder.check_folder()?;
        let old = folder.old_tables();
        folder.first_number += old.iter().filter_map(|name| number(name)).max().unwrap_or(0);
        Ok(folder)
    }

    /// The folder of a database that is being written.
    pub(crate) fn database(folder: &Path) -> Self {
        let target = folder.to_path_buf();
        let extension = String::new();
        Self { target, kind: Kind::Database, replace: false, extension, first_number: 1 }
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

    /// The folder in which files are created.
    pub(crate) fn working_folder(&self) -> &Path {
        match &self.kind {
            Kind::File(path) => path.folder(),
            Kind::Folder | Kind::Database => &self.target,
            Kind::NewFolder(folder) => folder.path(),
        }
    }

    /// What creates the files.
    pub(crate) fn temp_files(&self) -> Result<TempFiles> {
        let (prefix, one_file) = match &self.kind {
            Kind::File(_) => (self.name(0)?, true),
            _ => ("table".into(), false),
        };
        Ok(TempFiles { folder: self.working_folder().to_path_buf(), prefix, one_file })
    }

    /// The final name of the table of this number, counted from 0.
    pub(super) fn name(&self, number: usize) -> Result<String> {
        match &self.kind {
            Kind::File(path) => path.file_name().map_err(|error| self.failed(error)),
            _ => Ok(format!("{:06}.{}", self.first_number + number as u64, self.extension)),
        }
    }

    /// Gives the files the names in the manifest, and writes the manifest of a folder.
    pub(crate) fn commit(self, files: Vec<FinishedFile>, manifest: &BulkManifest) -> Result<()> {
        match &self.kind {
            Kind::File(path) => {
                let mut files = files.into_iter();
                files.try_for_each(|file| path.commit(file)).map_err(|error| self.failed(error))
            }
            Kind::Folder => self.commit_in_folder(files, manifest),
            Kind::NewFolder(_) => self.commit_new_folder(files, manifest),
            Kind::Database => {
                let what = "tables of a database are finished into its writer";
                Err(Error::invalid_input(what).in_file(&self.target))
            }
        }
    }

    /// Renames a file to `name` in the working folder.
    fn rename(&self, file: FinishedFile, name: &str) -> Result<PathBuf> {
        let path = self.working_folder().join(name);
        let target = OutputPath::unresolved(&path, self.replace);
        file.rename(&target).map_err(|error| failed(error, &path))?;
        Ok(path)
    }

    fn commit_in_folder(&self, files: Vec<FinishedFile>, manifest: &BulkManifest) -> Result<()> {
        self.check_folder()?;
        let old: HashSet<String> = self.old_tables().into_iter().collect();
        if manifest.files.iter().any(|file| old.contains(&file.name)) {
            let what = "another process has written to this directory";
            return Err(Error::invalid_input(what).in_file(&self.target));
        }
        let mut placed = Placed::default();
        for (file, entry) in files.into_iter().zip(&manifest.files) {
            // The tables of the old manifest have other numbers. A file of this name was left by a run
            // that was killed, or belongs to another program: it is replaced only with `replace`.
            placed.0.push(self.rename(file, &entry.name)?);
        }
        self.sync(&self.target)?;
        self.write_manifest(manifest)?;
        placed.0.clear();
        self.sync_renamed_in(&self.target)?;
        for name in old {
            // The new manifest does not name it. If it cannot be removed, it only wastes space.
            let _ = fs::remove_file(self.target.join(name));
        }
        Ok(())
    }

    /// The tables that the manifest of a folder names. What is not a manifest of ours names no tables
    /// of ours, and is replaced like any other file.
    fn old_tables(&self) -> Vec<String> {
        let names = BulkManifest::read(self.target.join(MANIFEST_NAME))
            .map(|old| old.files.into_iter().map(|file| file.name));
        names.map(|names| names.filter(|name| is_table_name(name)).collect()).unwrap_or_default()
    }

    fn commit_new_folder(self, files: Vec<FinishedFile>, manifest: &BulkManifest) -> Result<()> {
        for (file, entry) in files.into_iter().zip(&manifest.files) {
            self.rename(file, &entry.name)?;
        }
        self.write_manifest(manifest)?;
        let Self { kind: Kind::NewFolder(folder), target, .. } = self else { return Ok(()) };
        folder.commit(&target).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let what = "another process has created this directory";
                Error::invalid_input(what).in_file(&target)
            }
            _ => failed(error, &target),
        })
    }

    fn write_manifest(&self, manifest: &BulkManifest) -> Result<()> {
        let write = || {
            let mut file = OutputFile::create_in(self.working_folder(), "manifest")?;
            file.write(&mut manifest.to_json().into_bytes())?;
            file.finish()
        };
        let file = write().map_err(|error| self.failed(error))?;
        self.rename(file, MANIFEST_NAME).map(drop)
    }

    /// Makes names durable before the manifest names them.
    fn sync(&self, folder: &Path) -> Result<()> {
        if !cfg!(unix) {
            return Ok(());
        }
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| self.failed(error))
    }

    /// The last step. The result is in place even if this fails, and the error says so.
    fn sync_renamed_in(&self, folder: &Path) -> Result<()> {
        output::sync_renamed_in(folder).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> Error {
        failed(error, &self.target)
    }
}

/// A name that cannot be used is the caller's mistake; everything else is the system's.
fn failed(error: io::Error, path: &Path) -> Error {
    let error = match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::InvalidInput => {
            Error::invalid_input(error.to_string())
        }
        _ => Error::from(error),
    };
    error.in_file(path)
}

/// Creates files under temporary names.
#[derive(Clone, Debug)]
pub(crate) struct TempFiles {
    folder: PathBuf,
    prefix: String,
    /// There must be exactly one file.
    pub(super) one_file: bool,
}

impl TempFiles {
    pub(super) fn create(&self) -> Result<OutputFile> {
        OutputFile::create_checksummed_in(&self.folder, &self.prefix)
            .map_err(|error| self.failed(error.into()))
    }

    /// Adds the folder to an error of writing.
    #[cold]
    pub(super) fn failed(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Io => error.in_file(&self.folder),
            _ => error,
        }
    }
}

/// Files under their final names, removed again unless the commit succeeds.
#[derive(Default)]
struct Placed(Vec<PathBuf>);

impl Drop for Placed {
    fn drop(&mut self) {
        for path in &self.0 {
            // The commit has failed with an error of its own.
            let _ = fs::remove_file(path);
        }
    }
}

/// Six digits or more, and the extension of a table.
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
