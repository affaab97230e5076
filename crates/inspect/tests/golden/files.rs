//! What the tests share: the golden files.

use std::fs;
use std::path::{Path, PathBuf};

use sstkit_inspect::InspectedTable;
use sstkit_table::TableReadOptions;

fn testdata(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder)
}

fn list(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| endings.iter().any(|end| path.to_string_lossy().ends_with(end)))
        .collect();
    paths.sort();
    paths
}

pub(crate) fn tables_folder() -> PathBuf {
    testdata("tables")
}

/// Every golden table.
pub(crate) fn tables() -> Vec<PathBuf> {
    list(&tables_folder(), &[".sst", ".ldb"])
}

/// Every dump of RocksDB's own tool.
pub(crate) fn dumps() -> Vec<PathBuf> {
    list(&testdata("dumps"), &[".raw.txt.zst"])
}

/// The name of the table that a file is about.
pub(crate) fn file_stem(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy();
    name.split(".raw.").next().unwrap().trim_end_matches(".sst").to_string()
}

pub(crate) fn open(path: &Path) -> InspectedTable {
    InspectedTable::open(path, &TableReadOptions::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What went into a golden table, or is visible of a database, a JSON object a line.
pub(crate) fn listed(path: &Path) -> Vec<serde_json::Value> {
    let listing = path.with_extension("ndjson.zst");
    let text = zstd::decode_all(fs::File::open(listing).unwrap()).unwrap();
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// Every golden database.
pub(crate) fn databases() -> Vec<PathBuf> {
    let mut paths = list(&testdata("databases"), &[""]);
    paths.retain(|path| path.is_dir());
    paths
}
