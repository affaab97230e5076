//! Describes a folder of backups.

use sstkit_db::file_system;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use sstkit_db::BackupFolder;

use crate::encoding::Encoding;
use crate::verify::Problem;

/// A folder of RocksDB's BackupEngine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackupFolderInfo {
    /// The folder.
    pub file: String,
    /// `backup-folder`.
    pub kind: &'static str,
    /// The size of all files of all backups in bytes; shared ones count once.
    pub size: u64,
    /// Only for tables.
    pub format_version: Option<u32>,
    /// Only for tables.
    pub checksum: Option<&'static str>,
    /// The number of backups.
    pub entries: u64,
    /// The backups, oldest first.
    pub backups: Vec<BackupInfo>,
    /// Only for tables.
    pub filter: Option<&'static str>,
    /// Only for tables.
    pub properties: BTreeMap<String, String>,
    /// Meta files that cannot be read, and files that are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// A backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackupInfo {
    /// The id, as `--backup` takes it.
    pub id: u32,
    /// When it was made, in seconds since 1970; `None` if its meta file cannot be read.
    pub timestamp: Option<u64>,
    /// The sequence number of the database then.
    pub seq: Option<u64>,
    /// The number of its files.
    pub files: u64,
    /// The size of its files in bytes.
    pub size: u64,
    /// The size of files that no older backup has.
    pub new_bytes: u64,
    /// What the application has noted.
    pub app_metadata: Option<String>,
}

impl BackupFolderInfo {
    /// Describes a folder of backups. Reads meta files and sizes of files, no contents.
    pub fn of(name: impl Into<String>, folder: &BackupFolder, encoding: Encoding) -> Self {
        let mut info = Self { file: name.into(), kind: "backup-folder", ..Self::default() };
        let mut sizes: BTreeMap<PathBuf, u64> = BTreeMap::new();
        for &id in folder.ids() {
            let mut backup = BackupInfo { id, ..BackupInfo::default() };
            match folder.meta(id) {
                Err(error) => info.problems.push(Problem::from(&error)),
                Ok(meta) => {
                    backup.timestamp = Some(meta.timestamp);
                    backup.seq = Some(meta.sequence);
                    backup.files = meta.files.len() as u64;
                    backup.app_metadata = meta.app_metadata.map(|it| encoding.encode(&it));
                    for file in meta.files.iter().filter(|file| !file.excluded) {
                        let path = folder.path().join(&file.path);
                        if let Some(&size) = sizes.get(&path) {
                            backup.size += size;
                            continue;
                        }
                        let size = match file_system::status(&path) {
                            Ok(file) => file.size(),
                            Err(error) => {
                                let message = format!("{}: {error}", path.display());
                                info.problems.push(Problem::of_file(message));
                                0
                            }
                        };
                        sizes.insert(path, size);
                        backup.size += size;
                        backup.new_bytes += size;
                    }
                }
            }
            info.backups.push(backup);
        }
        info.entries = info.backups.len() as u64;
        info.size = sizes.values().sum();
        info
    }
}
