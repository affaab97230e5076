//! The golden files: tables and databases written by LevelDB and RocksDB, with lists of their contents.

mod databases;
mod expected;
mod model;
mod tables;

use std::path::PathBuf;

pub use databases::{DATABASES_VARIABLE, Shown, families_with_lists, golden_databases};
pub use expected::{Expected, expected_entries};
pub use model::{Concatenate, Model, open, options};
pub use tables::{Golden, TABLES_VARIABLE, golden_tables};

/// The sorted paths in a directory that pass a test. An environment variable may name another
/// directory.
fn files_in(variable: &str, default: &str, test: impl Fn(&PathBuf) -> bool) -> Vec<PathBuf> {
    let directory =
        std::env::var_os(variable).map_or_else(|| crate::root().join(default), PathBuf::from);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .filter(test)
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} has no golden files", directory.display());
    paths
}
