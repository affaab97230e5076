//! The golden tables: written by LevelDB and RocksDB themselves.

use std::path::{Path, PathBuf};

/// Names another folder of golden tables.
pub(crate) const FOLDER_VARIABLE: &str = "SSTKIT_TABLES";

/// A table and where it lies.
pub(crate) struct Golden {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// All tables of the folder, by name.
pub(crate) fn golden_tables() -> Vec<Golden> {
    let folder = match std::env::var_os(FOLDER_VARIABLE) {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables"),
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "sst" || ext == "ldb"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no tables in {}", folder.display());
    paths.into_iter().map(|path| Golden { bytes: std::fs::read(&path).unwrap(), path }).collect()
}
