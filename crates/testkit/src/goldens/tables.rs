//! The golden tables: written by LevelDB and RocksDB themselves.

use std::path::PathBuf;

use super::files_in;

/// The environment variable that names another directory of golden tables.
pub const TABLES_VARIABLE: &str = "SSTKIT_TABLES";

/// A table file.
#[derive(Debug)]
pub struct Golden {
    /// Its path.
    pub path: PathBuf,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// All golden tables, sorted by name.
///
/// # Panics
///
/// If there are none, or one cannot be read.
pub fn golden_tables() -> Vec<Golden> {
    let is_table = |path: &PathBuf| path.extension().is_some_and(|it| it == "sst" || it == "ldb");
    let read = |path: PathBuf| Golden { bytes: std::fs::read(&path).unwrap(), path };
    files_in(TABLES_VARIABLE, "testdata/tables", is_table).into_iter().map(read).collect()
}
