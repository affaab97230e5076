//! Plans, parts and commits: what each refuses, and a model of everything that can happen to them.

mod refusals;
mod remote_schedules;
mod schedules;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder in memory, if the system has such: thousands of small files are written and synced.
fn temporary_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()),
        false => tempfile::tempdir(),
    }
    .unwrap()
}

/// The names of the tables in a folder, sorted.
fn tables_in(folder: &Path) -> Vec<String> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let tables = paths.filter(|path: &PathBuf| path.extension().is_some_and(|it| it == "sst"));
    let mut names: Vec<String> =
        tables.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
