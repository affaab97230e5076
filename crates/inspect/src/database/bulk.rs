//! A folder of tables against its `manifest.json`.
//!
//! | what | compared with |
//! |---|---|
//! | order and sums of the manifest | itself |
//! | size and checksum of a file | its bytes (its size when it is opened) |
//! | smallest and largest key, entries, range deletions of a file | the table |
//! | the names of the manifest | the tables in the folder: none missing, none besides |

use std::fs;
use std::path::Path;

use sstkit_db::raw::FileName;
use sstkit_db::{BulkManifest, Database, LevelFile, MANIFEST_NAME, ManifestFile};
use sstkit_table::{Comparator, KeyExcerpt};

use super::table_check::{crc32c_of, keys_at_ends};
use crate::table_file::TableFile;
use crate::verify::{Problem, VerifyReport};

/// The manifest against itself, and the names in the folder. (What is missing is found where it is
/// opened.)
pub(super) fn check_folder(
    database: &Database,
    manifest: &BulkManifest,
    report: &mut VerifyReport,
) {
    let folder = database.path();
    if let Err(error) = manifest.check() {
        report.add(Problem::from(&error.in_file(folder.join(MANIFEST_NAME))));
    }
    match tables_in(folder) {
        Ok(names) => {
            let is_named = |name: &String| manifest.files.iter().any(|file| file.name == *name);
            for name in names.iter().filter(|name| !is_named(name)) {
                let path = folder.join(name);
                report.add(problem(&path, &format!("{MANIFEST_NAME} does not name this table")));
            }
        }
        Err(error) => report
            .add(Problem::unreadable(format!("{}: cannot be listed: {error}", folder.display()))),
    }
}

/// The names of all tables in a folder, in order.
fn tables_in(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if let Some(name) = name.to_str()
            && matches!(FileName::parse(name), FileName::Table(_))
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// What the manifest says about a table, against the table.
pub(super) fn check_table(
    manifest: &BulkManifest,
    file: &LevelFile,
    opened: &TableFile,
    order: Option<&Comparator>,
    report: &mut VerifyReport,
) {
    let name = file.path().file_name().and_then(|name| name.to_str());
    let Some(said) = manifest.files.iter().find(|said| Some(said.name.as_str()) == name) else {
        return;
    };
    let mut differs = |what: &str, expected: String, found: String| {
        let message = format!(
            "its {what} does not match {MANIFEST_NAME} (expected {expected}, found {found})"
        );
        report.add(problem(file.path(), &message));
    };
    match crc32c_of(file.path()) {
        Ok(crc) if format!("{crc:08x}") == said.checksum => {}
        Ok(crc) => differs("checksum", said.checksum.clone(), format!("{crc:08x}")),
        Err(error) => report.add(Problem::unreadable(format!(
            "{}: cannot be read: {error}",
            file.path().display()
        ))),
    }
    // What is damaged has been counted wrongly, and has been reported.
    if report.sound {
        check_counts(said, opened, file.path(), report);
        if let Some(order) = order {
            check_keys(said, opened, order, file.path(), report);
        }
    }
}

fn check_counts(said: &ManifestFile, opened: &TableFile, path: &Path, report: &mut VerifyReport) {
    let ranges = opened.table().range_deletions().len() as u64;
    for (what, expected, found) in [
        ("entries", said.entries, report.entries),
        ("range deletions", said.range_deletions, ranges),
    ] {
        if expected != found {
            let message = format!(
                "the number of {what} does not match {MANIFEST_NAME} (expected {expected}, found \
                 {found})"
            );
            report.add(problem(path, &message));
        }
    }
}

fn check_keys(
    said: &ManifestFile,
    opened: &TableFile,
    order: &Comparator,
    path: &Path,
    report: &mut VerifyReport,
) {
    // Damage to the table is in the report already.
    let Ok(ends) = keys_at_ends(opened) else { return };
    let compare = |a: &&Vec<u8>, b: &&Vec<u8>| order.compare_without_timestamp(a, b);
    for (what, said, found) in [
        ("smallest", &said.smallest, ends.iter().min_by(compare)),
        ("largest", &said.largest, ends.iter().max_by(compare)),
    ] {
        let Some(found) = found.filter(|found| compare(found, &said).is_ne()) else { continue };
        let (said, found) = (KeyExcerpt(said), KeyExcerpt(found));
        let message = format!(
            "its {what} key does not match {MANIFEST_NAME} (expected {said}, found {found})"
        );
        report.add(problem(path, &message));
    }
}

fn problem(path: &Path, message: &str) -> Problem {
    Problem::of_file(format!("{}: {message}", path.display()))
}
