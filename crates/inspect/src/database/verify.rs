//! A database against itself: each file, and the MANIFEST against the files.
//!
//! | what | compared with |
//! |---|---|
//! | each table | everything that [`Table::verify`](sstkit_table::Table::verify) compares |
//! | the MANIFEST's size, keys, sequence numbers, identifier and checksum of a table | the table (its size when it is opened) |
//! | the files of a level below 0 | each other: no overlap |
//! | the sequence numbers of a key | the order of logs, files of level 0 and levels |
//! | the references of a table into blob files | the header and key of each record they lead to |
//! | the MANIFEST's count and bytes of a blob file | its records, each with its checksum |
//! | CURRENT, MANIFEST, OPTIONS, IDENTITY, write-ahead logs | themselves: see [`verify_file`](mod@crate::verify_file) |
//! | a folder of tables with a `manifest.json` | see `bulk` |
//!
//! The verdict about the directory is that of everything in it. Files are opened one after another,
//! and closed again.

use std::cmp::Ordering;
use std::error::Error as _;

use sstkit_coding::fixed::decode_fixed64;
use sstkit_db::raw::{BlobFileMetaData, ColumnFamilyState, FileName, LogLimit};
use sstkit_db::{CaveatKind, ColumnFamily, Database, ErrorKind, Level, LevelFile};
use sstkit_table::Comparator;
use sstkit_table::raw::{Engine, InternalKey, regular_file};

use super::blob_references::BlobReferences;
use super::bulk;
use super::liveness::Liveness;
use super::source_order;
use super::table_check::Check;
use crate::file_kind::FileKind;
use crate::table_file::TableFile;
use crate::verify::{Problem, VerifyReport, VerifyStatus};
use crate::verify_file::{self, blob_file, verify_file};

/// Reads a whole database and compares everything with everything else. `each` is called with the
/// report of a file as soon as it is done: tables, blob files, and the directory as the last, whose
/// verdict is that of all files.
///
/// `opening` is why a damaged one had to be opened from its [table files
/// alone](Database::open_tables) or without its logs; it is the first of the directory's problems.
/// `max_log_memory` is how many bytes a log may expand to, as for [`verify_file`](fn@crate::verify_file).
pub fn verify_database(
    name: impl Into<String>,
    database: &Database,
    opening: Option<&sstkit_db::Error>,
    max_log_memory: Option<u64>,
    each: impl FnMut(VerifyReport),
) {
    let mut directory = VerifyReport::new(name, "database");
    if let Some(error) = opening {
        directory.add(Problem::from(error));
    }
    let (liveness, log_limit) = (Liveness::new(database), LogLimit::new(max_log_memory));
    let mut walk = Walk { database, liveness, directory, log_limit, each, counts: [0; 4] };
    walk.small_files();
    for family in database.column_families() {
        walk.family(&family);
    }
    walk.finish();
}

/// Goes through the files of a database.
struct Walk<'d, F> {
    database: &'d Database,
    liveness: Liveness<'d>,
    /// About the directory as a whole.
    directory: VerifyReport,
    log_limit: LogLimit,
    each: F,
    /// Files by what came of them.
    counts: [u64; 4],
}

impl<F: FnMut(VerifyReport)> Walk<'_, F> {
    /// The files that are neither tables nor blob files: what is wrong with them is wrong with the
    /// directory.
    fn small_files(&mut self) {
        let database = self.database;
        // What was left out because of a limit or an unknown format is not damaged.
        let status = match self.directory.status {
            VerifyStatus::Sound => VerifyStatus::Damaged,
            of_opening => of_opening,
        };
        for caveat in database.caveats() {
            match caveat.kind() {
                // Found again in the log or MANIFEST itself.
                CaveatKind::TornTail => {}
                CaveatKind::UnknownOrder | CaveatKind::Assumed => {
                    self.directory.note(caveat.message());
                }
                // Nothing else tells of a folder or file that was passed over.
                CaveatKind::LeftOut if database.manifest().is_some() => {
                    self.directory.add(Problem::unreadable(caveat.message()));
                }
                // Without the MANIFEST, what could not be opened was left out. Otherwise damage is found
                // again, in its file.
                _ if database.manifest().is_some() => self.directory.note(caveat.message()),
                _ => self.directory.add(Problem::with_status(caveat.message(), status)),
            }
        }
        if let Some(manifest) = database.bulk_manifest() {
            bulk::check_folder(database, manifest, &mut self.directory);
            return;
        }
        for log in database.logs() {
            let mut report = VerifyReport::new("", FileKind::Log.name());
            verify_file::log(log, database.engine(), self.log_limit, &mut report);
            self.directory.absorb(report);
        }
        if let Some(number) = database.manifest_number() {
            let path = database.path().join(FileName::Manifest(number).to_string());
            let mut report = VerifyReport::new("", FileKind::Manifest.name());
            verify_file::manifest(&path, database.engine(), &mut report);
            self.directory.absorb(report);
        }
        let Ok(entries) = std::fs::read_dir(database.path()) else { return };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let kind = match FileName::parse(name) {
                FileName::Options(_) => FileKind::Options,
                FileName::Identity => FileKind::Identity,
                _ => continue,
            };
            let report = verify_file(&path, kind, None);
            // OPTIONS of the past are deleted by a running engine.
            if report.sound || path.exists() {
                self.directory.absorb(report);
            }
        }
    }

    fn family(&mut self, family: &ColumnFamily) {
        let order = family.comparator().ok();
        self.directory.order_checked |= order.is_some();
        let mut blobs = BlobReferences::new(self.database, family.id());
        for level in family.levels() {
            if let (Some(order), true) = (order, level.number > 0) {
                check_overlap(family, &level, order, &mut self.directory);
            }
            for file in &level.files {
                if let Some(report) = self.table(file, order, &mut blobs) {
                    self.report(report);
                }
            }
        }
        let state = self.database.manifest().and_then(|it| it.column_families.get(&family.id()));
        for file in state.into_iter().flat_map(ColumnFamilyState::live_blob_files) {
            if let Some(report) = self.blobs(file, family.id()) {
                self.report(report);
            }
        }
        // What is damaged has been reported, and may be endless to go through.
        let is_sound = self.counts[1..].iter().all(|&files| files == 0);
        if order.is_none() || self.database.manifest().is_none() {
            return;
        }
        match is_sound {
            true => source_order::check(family, &mut self.directory),
            false => self.directory.note(
                "the order of logs and levels was not checked because some files are damaged",
            ),
        }
    }

    fn report(&mut self, report: VerifyReport) {
        self.counts[report.status as usize] += 1;
        (self.each)(report);
    }

    /// What is wrong with a table; `None` if the engine has deleted it meanwhile.
    fn table(
        &mut self,
        file: &LevelFile,
        order: Option<&Comparator>,
        blobs: &mut Option<BlobReferences<'_>>,
    ) -> Option<VerifyReport> {
        let database = self.database;
        let name = file.path().display().to_string();
        // A file that was deleted may still be open; what counts is whether it is in the directory.
        let exists = |table| match regular_file::open(file.path()) {
            Ok(_) => Ok(table),
            Err(error) => Err(sstkit_db::Error::from(error).in_file(file.path())),
        };
        let opened = match file.open_anew().and_then(exists) {
            Ok(table) => TableFile::of_table(table, file.path()),
            Err(error) => {
                let is_alive = |liveness: &mut Liveness<'_>| liveness.has_table(file.number());
                return self.of_unopened(name, "table", &error, is_alive);
            }
        };
        let mut report = VerifyReport::of_table(name, &opened);
        if let Some(manifest) = database.bulk_manifest() {
            bulk::check_table(manifest, file, &opened, order, &mut report);
            return Some(report);
        }
        let meta = file.metadata();
        let mut check = Check { file, meta, opened: &opened, report: &mut report };
        check.unique_id();
        check.file_checksum();
        if let Some(order) = order {
            check.keys(order);
        }
        if database.engine() == Engine::RocksDb {
            check.entries(blobs);
        }
        Some(report)
    }

    /// Reads all values of a blob file.
    fn blobs(&mut self, meta: &BlobFileMetaData, column_family: u32) -> Option<VerifyReport> {
        let path = self.database.path().join(FileName::Blob(meta.number).to_string());
        let name = path.display().to_string();
        let kind = FileKind::BlobFile.name();
        match blob_file(&path, Some(column_family)) {
            Ok((entries, bytes)) => {
                let mut report = VerifyReport::new(name, kind);
                report.entries = entries;
                if entries != meta.blob_count {
                    report.add(Problem::of_file(format!(
                        "{}: the number of values does not match the MANIFEST (expected {}, found \
                         {entries})",
                        path.display(),
                        meta.blob_count
                    )));
                }
                if bytes != meta.blob_bytes {
                    report.add(Problem::of_file(format!(
                        "{}: the size of the records does not match the MANIFEST (expected {}, \
                         found {bytes})",
                        path.display(),
                        meta.blob_bytes
                    )));
                }
                Some(report)
            }
            Err(error) => {
                let is_alive = |liveness: &mut Liveness<'_>| liveness.has_blob_file(meta.number);
                self.of_unopened(name, kind, &error.in_file(&path), is_alive)
            }
        }
    }

    /// The report about a file that could not be opened. If it is missing, a running engine may have
    /// deleted it: then the MANIFEST does not list it any more, and nothing is wrong.
    fn of_unopened(
        &mut self,
        name: String,
        kind: &'static str,
        error: &sstkit_db::Error,
        is_alive: impl FnOnce(&mut Liveness<'_>) -> Option<bool>,
    ) -> Option<VerifyReport> {
        let is_missing = is_not_found(error);
        if !is_missing && error.kind() != ErrorKind::Changed {
            let is_absent = std::fs::symlink_metadata(&name)
                .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
            let mut report = VerifyReport::new(&name, kind);
            report.add(match is_absent && self.has_further_folders() {
                true => in_further_folder(&name),
                false => Problem::from(error),
            });
            return Some(report);
        }
        match is_alive(&mut self.liveness) {
            Some(false) => {
                self.directory.note(format!(
                    "{name}: deleted while the database was verified; the MANIFEST no longer \
                     lists it"
                ));
                None
            }
            // Files never change: what is still listed is missing, or is not what was listed.
            Some(true) => {
                let mut report = VerifyReport::new(&name, kind);
                report.add(match (is_missing, error.source()) {
                    (true, _) if self.has_further_folders() => in_further_folder(&name),
                    (false, Some(source)) => Problem::of_file(source.to_string()),
                    _ => Problem::of_file(format!("{name}: file not found")),
                });
                Some(report)
            }
            None => Some(VerifyReport::of_error(name, kind, error)),
        }
    }

    /// Whether the MANIFEST places tables in another folder than the first of `db_paths`, so that
    /// there is such a list.
    fn has_further_folders(&self) -> bool {
        let families =
            self.database.manifest().into_iter().flat_map(|it| it.column_families.values());
        families.flat_map(ColumnFamilyState::files).any(|(_, file)| file.path_id > 0)
    }

    fn finish(mut self) {
        let count = |status: VerifyStatus| self.counts[status as usize];
        let total: u64 = self.counts.iter().sum();
        for (status, what) in [
            (VerifyStatus::Damaged, "damaged"),
            (VerifyStatus::Unreadable, "unreadable"),
            (VerifyStatus::Unsupported, "unsupported"),
        ] {
            let files = count(status);
            if files > 0 {
                let message = format!("{files} of {total} tables and blob files are {what}");
                self.directory.add(Problem::with_status(message, status));
            }
        }
        (self.each)(self.directory);
    }
}

/// A file that is missing where tables lie in several folders.
fn in_further_folder(name: &str) -> Problem {
    Problem::unreadable(format!(
        "{name}: file not found; the database has tables in other directories (db_paths or \
         cf_paths) that OPTIONS does not name"
    ))
}

/// Whether the system says that there is no such file.
fn is_not_found(error: &sstkit_db::Error) -> bool {
    let mut cause = error.source();
    while let Some(source) = cause {
        if let Some(system) = source.downcast_ref::<std::io::Error>() {
            return system.kind() == std::io::ErrorKind::NotFound;
        }
        cause = source.source();
    }
    false
}

/// The ranges of neighbours, which may at most share a user key.
fn check_overlap(
    family: &ColumnFamily,
    level: &Level,
    order: &Comparator,
    report: &mut VerifyReport,
) {
    for (before, after) in level.files.iter().zip(level.files.iter().skip(1)) {
        let (last, first) = (&before.metadata().largest, &after.metadata().smallest);
        if compare(order, last, first) != Ordering::Less {
            report.add(Problem::of_file(format!(
                "tables {} and {} overlap in level {} of column family {:?}",
                before.number(),
                after.number(),
                level.number,
                family.name()
            )));
        }
    }
}

/// How two internal keys stand to each other; those that are too short, by their bytes.
fn compare(order: &Comparator, a: &[u8], b: &[u8]) -> Ordering {
    const TAIL: usize = InternalKey::TAIL_LENGTH;
    match (a.split_last_chunk::<TAIL>(), b.split_last_chunk::<TAIL>()) {
        (Some((user_a, tail_a)), Some((user_b, tail_b))) => order
            .compare(user_a, user_b)
            .then_with(|| decode_fixed64(*tail_b).cmp(&decode_fixed64(*tail_a))),
        _ => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use sstkit_table::raw::EntryKind;

    use super::*;

    fn internal(user_key: &[u8], sequence: u64) -> Vec<u8> {
        let mut key = Vec::new();
        InternalKey { user_key, sequence, kind: EntryKind::Value }.encode_to(&mut key);
        key
    }

    #[test]
    fn internal_keys_are_in_order() {
        let order = Comparator::Bytewise;
        for (a, b, expected) in [
            (internal(b"a", 1), internal(b"b", 9), Ordering::Less),
            (internal(b"a", 9), internal(b"a", 1), Ordering::Less),
            (internal(b"a", 1), internal(b"a", 1), Ordering::Equal),
            (internal(b"ab", 1), internal(b"a", 1), Ordering::Greater),
            (b"x".to_vec(), b"y".to_vec(), Ordering::Less),
        ] {
            assert_eq!(compare(&order, &a, &b), expected);
        }
    }
}
