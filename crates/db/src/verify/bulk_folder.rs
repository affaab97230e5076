//! A folder of tables against its `manifest.json`.
//!
//! | what | compared with |
//! |---|---|
//! | order and sums of the manifest | itself |
//! | size and checksum of a file | its bytes (the size when it is opened) |
//! | smallest and largest key and sequence number, entries, range tombstones of a file | the table |
//! | the names in the manifest | the tables in the folder: none missing, none unlisted |

use std::path::Path;

use sstkit_table::visibility::UserKeys;
use sstkit_table::{KeyExcerpt, Table, Verification};

use super::report::{FileVerification, VerifyProblem, VerifyStatus};
use super::table_check::{keys_at_ends, sequences_of, unreadable};
use crate::bulk_manifest::{BulkManifest, MANIFEST_NAME, ManifestFile};
use crate::database::Database;
use crate::file_system;
use crate::raw::FileName;

/// Checks the manifest itself and the names in the folder. A missing table is found when it is opened.
pub(super) fn check_folder(
    database: &Database,
    manifest: &BulkManifest,
    report: &mut FileVerification,
) {
    let folder = database.path();
    if let Err(error) = manifest.check() {
        report.add(&error.in_file(folder.join(MANIFEST_NAME)));
    }
    match tables_in(folder) {
        Ok(names) => {
            let is_named = |name: &String| manifest.files.iter().any(|file| file.name == *name);
            for name in names.iter().filter(|name| !is_named(name)) {
                let what = format_args!("{MANIFEST_NAME} does not name this table");
                report.damaged(&folder.join(name), what);
            }
        }
        Err(error) => {
            let message = format!("{}: cannot be listed: {error}", folder.display());
            report.add(VerifyProblem::new(VerifyStatus::Unreadable, message));
        }
    }
}

/// The names of all tables in a folder, sorted.
fn tables_in(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for name in file_system::list(folder)? {
        if let Some(name) = name.to_str()
            && matches!(FileName::parse(name), FileName::Table(_))
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Checks a table against the manifest. `keys` is `None` if the order of the keys is unknown.
pub(super) fn check_table(
    manifest: &BulkManifest,
    table: &Table,
    found: &Verification,
    keys: Option<&UserKeys>,
    path: &Path,
    report: &mut FileVerification,
) {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(listed) = manifest.files.iter().find(|file| Some(file.name.as_str()) == name) else {
        return;
    };
    match found.file_checksum() {
        Some(Ok(crc)) if format!("{crc:08x}") != listed.checksum => {
            let expected = &listed.checksum;
            let what = format!(
                "its checksum does not match {MANIFEST_NAME} (expected {expected}, found {crc:08x})"
            );
            report.damaged(path, what);
        }
        Some(Err(error)) => report.add(unreadable(path, error)),
        _ => {}
    }
    // The counts of a damaged table are wrong, and the damage has been reported.
    if report.is_sound() {
        check_counts(listed, table, path, report);
        check_sequences(listed, table, found, path, report);
        if let Some(keys) = keys {
            check_keys(listed, keys_at_ends(table, found), keys, path, report);
        }
    }
}

fn check_counts(listed: &ManifestFile, table: &Table, path: &Path, report: &mut FileVerification) {
    let tombstones = table.range_deletions().len() as u64;
    for (what, expected, found) in [
        ("entries", listed.entries, report.entries),
        ("range deletions", listed.range_deletions, tombstones),
    ] {
        if expected != found {
            let what = format!(
                "the number of {what} does not match {MANIFEST_NAME} (expected {expected}, found \
                 {found})"
            );
            report.damaged(path, what);
        }
    }
}

fn check_sequences(
    listed: &ManifestFile,
    table: &Table,
    found: &Verification,
    path: &Path,
    report: &mut FileVerification,
) {
    for (what, expected, found) in [
        ("smallest", listed.smallest_seq, sequences_of(table, found).min()),
        ("largest", listed.largest_seq, sequences_of(table, found).max()),
    ] {
        let Some((expected, found)) = expected.zip(found).filter(|(a, b)| a != b) else { continue };
        let what = format!(
            "its {what} sequence number does not match {MANIFEST_NAME} (expected {expected}, found \
             {found})"
        );
        report.damaged(path, what);
    }
}

fn check_keys(
    listed: &ManifestFile,
    ends: Vec<&[u8]>,
    keys: &UserKeys,
    path: &Path,
    report: &mut FileVerification,
) {
    for (what, expected, found) in [
        ("smallest", &listed.smallest, ends.iter().min_by(|a, b| keys.compare(a, b))),
        ("largest", &listed.largest, ends.iter().max_by(|a, b| keys.compare(a, b))),
    ] {
        let Some(found) = found.filter(|found| keys.compare(found, expected).is_ne()) else {
            continue;
        };
        let (expected, found) = (KeyExcerpt(expected), KeyExcerpt(found));
        let what = format!(
            "its {what} key does not match {MANIFEST_NAME} (expected {expected}, found {found})"
        );
        report.damaged(path, what);
    }
}
