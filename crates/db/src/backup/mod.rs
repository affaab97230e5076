//! Folders of RocksDB's BackupEngine: several backups of a database, which share tables.
//!
//! ```text
//! meta/1, meta/2                                   the files of each backup, with checksums
//! private/1/CURRENT, MANIFEST-000037, OPTIONS …    what only one backup has
//! shared_checksum/000018_sHWN…_4222.sst            tables and blob files of all; or
//! shared/000018.sst                                with their own names; or in private/1
//! ```

mod file_check;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::caveat::{Caveat, CaveatKind};
use crate::database::{Database, DatabaseOptions};
use crate::error::{Error, Result};
use crate::file_system;
use crate::raw::{BackupMeta, FileName};

/// The largest meta file that is read. They have about 70 bytes for each file.
const MAX_META_SIZE: u64 = 256 << 20;

/// A folder of backups.
///
/// ```no_run
/// use sstkit_db::{BackupFolder, DatabaseOptions};
///
/// if let Some(backups) = BackupFolder::find("path/to/backups")? {
///     for &id in backups.ids() {
///         println!("{id}: {} files", backups.meta(id)?.files.len());
///     }
///     let newest = backups.open_backup(None, &DatabaseOptions::default())?;
///     println!("{:?}", newest.get(b"alice")?);
/// }
/// # Ok::<(), sstkit_db::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BackupFolder {
    path: PathBuf,
    ids: Vec<u32>,
}

impl BackupFolder {
    /// The backups in a folder; `None` if it is not a folder of backups.
    pub fn find(path: impl AsRef<Path>) -> Result<Option<Self>> {
        let path = path.as_ref();
        // In an object store, one list request answers all of this.
        let Ok(names) = file_system::list(path) else { return Ok(None) };
        let has_folder = |name: &str| {
            names.iter().any(|it| it == name) && file_system::is_folder(&path.join(name))
        };
        if !has_folder("meta") || !has_folder("private") || names.iter().any(|it| it == "CURRENT") {
            return Ok(None);
        }
        let meta = path.join("meta");
        let names = file_system::list(&meta).map_err(|error| Error::from(error).in_file(&meta))?;
        let mut ids = Vec::new();
        for name in names {
            // A backup that is being made has a name that ends in `.tmp`.
            ids.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(Some(Self { path: path.to_owned(), ids }))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ids of the backups, oldest first.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The meta file of a backup.
    pub fn meta_path(&self, id: u32) -> PathBuf {
        self.path.join("meta").join(id.to_string())
    }

    /// What the meta file of a backup says.
    pub fn meta(&self, id: u32) -> Result<BackupMeta> {
        let path = self.meta_path(id);
        let in_file = |error: Error| error.in_file(&path);
        let contents = file_system::read(&path, MAX_META_SIZE).map_err(|it| in_file(it.into()))?;
        let Some(contents) = contents else {
            let what = format!("larger than {MAX_META_SIZE} bytes");
            return Err(in_file(Error::corrupt(what)));
        };
        BackupMeta::parse(&contents).map_err(in_file)
    }

    /// Opens a backup as a database; the newest one if no id is given. Only its own files are read:
    /// nothing of the database that was backed up, whose directories OPTIONS may name.
    pub fn open_backup(&self, id: Option<u32>, options: &DatabaseOptions) -> Result<Database> {
        let is_chosen = id.is_some();
        let Some(id) = id.or(self.ids.last().copied()) else {
            return Err(Error::invalid_input("a backup folder without backups").in_file(&self.path));
        };
        if !self.ids.contains(&id) {
            let ids: Vec<String> = self.ids.iter().map(u32::to_string).collect();
            let what = format!("no backup {id} (found {})", ids.join(", "));
            return Err(Error::invalid_input(what).in_file(&self.path));
        }
        let meta = self.meta(id)?;
        let mut placed = BTreeMap::new();
        for file in meta.files.iter().filter(|file| !file.excluded) {
            if let Some(number) = number_of(&file.path) {
                placed.insert(number, self.path.join(&file.path));
            }
        }
        let mut options = options.clone();
        options.backup = None;
        options.placed_files = Some(Arc::new(placed));
        if !is_chosen && self.ids.len() > 1 {
            let message = format!(
                "backup {id}, the newest of {} (use --backup to choose another)",
                self.ids.len()
            );
            options.caveats.push(Caveat::new(CaveatKind::Assumed, message));
        }
        if meta.files.iter().any(|file| file.excluded) {
            let message = "some files of this backup are in another backup folder";
            options.caveats.push(Caveat::new(CaveatKind::LeftOut, message));
        }
        Database::open_with(self.path.join("private").join(id.to_string()), &options)
    }
}

/// The number of a table or blob file of a backup: of `000018_sHWN…_4222.sst` or `000018.sst`.
fn number_of(path: &str) -> Option<u64> {
    let (_, name) = path.rsplit_once('/')?;
    let (stem, extension) = name.rsplit_once('.')?;
    let digits = stem.split('_').next()?;
    match FileName::parse(&format!("{digits}.{extension}")) {
        FileName::Table(number) | FileName::Blob(number) => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_shared_files() {
        for (path, number) in [
            ("shared_checksum/000018_sHWNEDYR3FFS8I6JCENXN_4222.sst", Some(18)),
            ("shared_checksum/000018_2894567812_30.blob", Some(18)),
            ("shared/000018.sst", Some(18)),
            ("private/1/000018.sst", Some(18)),
            ("private/1/000018.log", None),
            ("private/1/MANIFEST-000018", None),
            ("private/1/CURRENT", None),
        ] {
            assert_eq!(number_of(path), number, "{path}");
        }
    }
}
