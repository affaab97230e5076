//! The golden databases, written by LevelDB and RocksDB themselves, and what the engines saw in them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sstkit_db::{ColumnFamily, Database};

/// Names another folder of golden databases.
pub(crate) const FOLDER_VARIABLE: &str = "SSTKIT_DATABASES";

/// A key as the engine's iterator showed it.
#[derive(Debug, PartialEq)]
pub(crate) struct Shown {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// Where keys have timestamps.
    pub(crate) timestamp: Vec<u8>,
    /// All columns, where the list has them.
    pub(crate) columns: Option<Vec<(Vec<u8>, Vec<u8>)>>,
}

/// All databases of the folder, by name.
pub(crate) fn golden_databases() -> Vec<PathBuf> {
    let folder = match std::env::var_os(FOLDER_VARIABLE) {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/databases"),
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no databases in {}", folder.display());
    paths
}

/// The column families of a database, each with what the engine saw in it.
pub(crate) fn families_with_lists(path: &Path, db: &Database) -> Vec<(ColumnFamily, Vec<Shown>)> {
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

fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "half a byte in {text}");
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hexadecimal digit") as u8;
    text.as_bytes().as_chunks().0.iter().map(|&[high, low]| digit(high) << 4 | digit(low)).collect()
}
