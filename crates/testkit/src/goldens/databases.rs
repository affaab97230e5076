//! The golden databases, written by LevelDB and RocksDB themselves, and what the engines read from them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sstkit_db::{ColumnFamily, Database};

use super::files_in;
use crate::unhex;

/// The environment variable that names another directory of golden databases.
pub const DATABASES_VARIABLE: &str = "SSTKIT_DATABASES";

/// A key as the engine's iterator showed it.
#[derive(Debug, PartialEq)]
pub struct Shown {
    /// The user key, without its timestamp.
    pub key: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
    /// Empty without timestamps.
    pub timestamp: Vec<u8>,
    /// All columns, where the list has them.
    pub columns: Option<Vec<(Vec<u8>, Vec<u8>)>>,
}

/// All golden databases, sorted by name.
///
/// # Panics
///
/// If there are none.
pub fn golden_databases() -> Vec<PathBuf> {
    files_in(DATABASES_VARIABLE, "testdata/databases", |path| path.is_dir())
}

/// The column families of a database, each with what the engine's iterator showed.
///
/// # Panics
///
/// If a list is missing or cannot be read.
pub fn families_with_lists(path: &Path, db: &Database) -> Vec<(ColumnFamily, Vec<Shown>)> {
    let lists = [("default", ""), ("meta", ".1"), ("événements", ".2")];
    let shown = lists.iter().filter_map(|(name, ending)| {
        let list = PathBuf::from(format!("{}{ending}.ndjson.zst", path.display()));
        list.exists().then(|| (db.column_family(name).unwrap(), read_list(&list)))
    });
    let shown: Vec<_> = shown.collect();
    assert_eq!(shown.len(), db.column_families().len(), "{}: lists", path.display());
    shown
}

fn read_list(path: &Path) -> Vec<Shown> {
    let lines = zstd::stream::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    let lines = lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| Shown::parse(&serde_json::from_slice(line).unwrap())).collect()
}

impl Shown {
    fn parse(line: &Value) -> Self {
        let hex = |field: &str| unhex(line[field].as_str().unwrap_or_default());
        let pair =
            |pair: &Value| (unhex(pair[0].as_str().unwrap()), unhex(pair[1].as_str().unwrap()));
        Self {
            key: hex("key"),
            value: hex("value"),
            timestamp: hex("timestamp"),
            columns: line["columns"].as_array().map(|columns| columns.iter().map(pair).collect()),
        }
    }
}
