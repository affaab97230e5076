//! A whole database directory.
//!
//! ```text
//! input    | u8 length, name | u32 length, contents |   for each file
//! ```

use std::fs;
use std::path::Path;

use sstkit_coding::fixed::get_fixed32;
use sstkit_db::raw::FileName;
use sstkit_db::{ColumnFamily, Database, DatabaseOptions};
use sstkit_inspect::{DatabaseInfo, Encoding, filter_reports, verify_database};
use tempfile::TempDir;

use crate::sealing::{seal_blob_file, seal_footer, seal_log};

/// More files show nothing else, and take long to write.
const MAX_FILES: usize = 24;

/// A file system in memory, which Linux has. On a disk most of the time would go into syncs.
const MEMORY: &str = "/dev/shm";

/// A folder for the files of an input.
pub(crate) fn temporary_folder() -> TempDir {
    let in_memory = tempfile::tempdir_in(MEMORY);
    in_memory.or_else(|_| tempfile::tempdir()).expect("a folder for temporary files")
}

/// No directory makes a database panic; what is sound of it is the same from both ends, and a
/// lookup in a batch answers as it does alone.
pub fn database(data: &[u8]) {
    let files = decode(data);
    let folder = temporary_folder();
    write(folder.path(), &files);
    let options = DatabaseOptions::default();
    for database in [
        Database::open_with(folder.path(), &options.clone().verify_checksums(false)),
        Database::open_tables_with(folder.path(), &options),
    ]
    .into_iter()
    .flatten()
    {
        use_database(&database);
    }
}

/// The files of an input.
pub(crate) fn decode(mut data: &[u8]) -> Vec<(String, &[u8])> {
    let mut files = Vec::new();
    while files.len() < MAX_FILES
        && let Some((&length, rest)) = data.split_first()
    {
        let (name, mut rest) = rest.split_at(usize::from(length % 32).min(rest.len()));
        let size = get_fixed32(&mut rest).unwrap_or(0) as usize;
        let (contents, rest) = rest.split_at(size.min(rest.len()));
        // Names of files, not of paths.
        let name = name.iter().map(|&byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => char::from(byte),
            _ => '0',
        });
        files.push((name.collect(), contents));
        data = rest;
    }
    files
}

/// An input of these files.
pub(crate) fn encode(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut data = Vec::new();
    for (name, contents) in files {
        data.push(name.len() as u8);
        data.extend_from_slice(name.as_bytes());
        data.extend_from_slice(&(contents.len() as u32).to_le_bytes());
        data.extend_from_slice(contents);
    }
    data
}

/// Writes the files with their checksums put right, those of blocks in tables excepted.
pub(crate) fn write(folder: &Path, files: &[(String, &[u8])]) {
    for (name, contents) in files {
        let sealed = match FileName::parse(name) {
            FileName::Manifest(_) | FileName::Log(_) => seal_log(contents),
            FileName::Blob(_) => seal_blob_file(contents),
            FileName::Table(_) => seal_footer(contents, contents.len() as u64),
            _ => contents.to_vec(),
        };
        // Names that no file can have: "", ".", "..".
        let _ = fs::write(folder.join(name), sealed);
    }
}

fn use_database(database: &Database) {
    let _ = (database.caveats().len(), database.stats(), database.last_sequence());
    // Of each file; the directory's own report, which has no name here, counts every caveat.
    let mut is_sound = true;
    verify_database("", database, None, None, |report| {
        is_sound &= report.sound || report.file.is_empty();
    });
    for family in database.column_families().take(4) {
        use_family(&family, is_sound);
        filter_reports(&family, 8).for_each(drop);
    }
    let _ = DatabaseInfo::of("", database, Encoding::Escape);
}

fn use_family(family: &ColumnFamily, is_sound: bool) {
    let forward: Result<Vec<_>, _> = family.iter().collect();
    let backward: Result<Vec<_>, _> = family.iter().rev().collect();
    if let (Ok(forward), Ok(mut backward)) = (&forward, backward) {
        backward.reverse();
        assert!(!is_sound || *forward == backward, "a database differs from its two ends");
    }
    let keys: Vec<Vec<u8>> = match forward {
        Ok(entries) => entries.into_iter().step_by(7).take(12).map(|entry| entry.0).collect(),
        Err(_) => vec![b"key".to_vec()],
    };
    let many = family.get_many(&keys).unwrap_or_default();
    for (i, key) in keys.iter().enumerate() {
        if let (Ok(value), Some(batched)) = (family.get(key), many.get(i)) {
            assert_eq!(value, *batched, "a batch differs from a lookup");
        }
        let _ = (family.get_record(key), family.get_entity(key), family.explain(key));
        for _ in family.range(key.clone()..).take(4) {}
    }
    for entry in family.entries().map_while(Result::ok).take(2000) {
        let _ = (family.resolve(&entry), family.resolve_columns(&entry));
    }
    for _ in family.records().take(2000) {}
    let _ = (family.range_deletions(), family.at(3).get(b"key"), family.stats());
}
