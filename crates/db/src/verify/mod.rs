//! Verifying a database: one pass over each file, and the MANIFEST against the files.
//!
//! | what | compared with |
//! |---|---|
//! | each table | everything that [`Table::verify`] compares |
//! | the MANIFEST's size, keys, sequence numbers, identifier and checksum of a table | the table (its size when it is opened) |
//! | the files of a level below 0 | each other: no overlap |
//! | the sequence numbers of a key | the order of logs, files of level 0 and levels |
//! | the references of a table into blob files | the header and key of each record they lead to |
//! | the MANIFEST's count and bytes of a blob file | its records, each with its checksum |
//! | CURRENT, MANIFEST, OPTIONS, IDENTITY, write-ahead logs | themselves: see [`verify_file`] |
//! | a folder of tables with a `manifest.json` | see `bulk_folder` |
//!
//! The verdict about the directory is that of everything in it. Files are opened one after another and
//! closed again, and a table is read by several threads.

mod blob_references;
mod bulk_folder;
mod live_files;
mod log_contents;
mod log_file;
mod overlap;
mod report;
mod single_file;
mod source_order;
mod table_check;

use std::io;
use std::path::Path;
use std::sync::Arc;

use sstkit_coding::setters;
use sstkit_table::raw::Engine;
use sstkit_table::{KeyExcerpt, Table, VerifyOptions, VerifyProgress};

use self::blob_references::{BlobReferences, ReferenceCheck, missing_blob_files};
use self::live_files::LiveFiles;
pub use self::log_contents::LogContents;
use self::log_contents::{verify_log, verify_manifest};
pub(crate) use self::log_file::log_number;
pub use self::log_file::{LogFile, LogStep};
use self::overlap::check_overlap;
pub use self::report::{FileVerification, VerifyProblem, VerifyStatus};
pub(crate) use self::single_file::verify_blobs;
#[cfg(any(unix, windows))]
pub use self::single_file::verify_table;
pub use self::single_file::{FileContents, verify_file};
use self::source_order::SourceOrder;
use crate::caveat::CaveatKind;
use crate::column_family_data::ColumnFamilyData;
use crate::database::{Database, NO_LOGS};
use crate::error::{Error, ErrorKind};
use crate::file_kind::FileKind;
use crate::file_system;
use crate::raw::{BlobFileMetaData, ColumnFamilyState, FileName};
use crate::version::TableFile;

/// The number of threads that verify a table, unless it is given.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Database {
    /// Reads the whole database and compares everything with everything else. `each` is called with
    /// the result of a file as soon as it is verified: tables, blob files, and last the directory,
    /// whose verdict is that of all files.
    ///
    /// ```no_run
    /// # use sstkit_db::Database;
    /// let db = Database::open("path/to/db")?;
    /// db.verify(|file| println!("{}: {}", file.path.display(), file.status.name()));
    /// # Ok::<(), sstkit_db::Error>(())
    /// ```
    pub fn verify(&self, each: impl FnMut(FileVerification)) {
        self.verifier().run(each);
    }

    /// [`verify`](Self::verify) with options.
    pub fn verifier(&self) -> DatabaseVerifier<'_> {
        DatabaseVerifier {
            database: self,
            opening: None,
            max_log_memory: None,
            threads: threads(),
            progress: VerifyProgress::default(),
        }
    }
}

/// Verifies a database, with options. See [`Database::verify`].
#[derive(Clone)]
pub struct DatabaseVerifier<'d> {
    database: &'d Database,
    opening: Option<&'d Error>,
    max_log_memory: Option<u64>,
    threads: usize,
    progress: VerifyProgress,
}

sstkit_coding::debug_opaque!(DatabaseVerifier<'_>);

impl<'d> DatabaseVerifier<'d> {
    /// Verifies the database.
    pub fn run(self, each: impl FnMut(FileVerification)) {
        let mut directory = FileVerification::new(self.database.path(), FileKind::Database);
        if let Some(error) = self.opening {
            directory.add(error);
        }
        let live_files = LiveFiles::new(self.database);
        let mut pass = DatabasePass { options: self, live_files, directory, each, counts: [0; 4] };
        pass.directory_files();
        for family in pass.options.database.column_families() {
            pass.column_family(family.family());
        }
        if !pass.is_stopped() {
            pass.finish();
        }
    }
}

setters! {
    impl DatabaseVerifier<'d>:

    /// Why a damaged database had to be opened from its [table files alone](Database::open_tables) or
    /// without its logs: the first problem of the directory.
    pub fn opening_error(mut self, error: Option<&'d Error>) { self.opening = error; }

    /// Limits the bytes that a log may expand to; see [`verify_file`].
    pub fn max_log_memory(mut self, max_log_memory: Option<u64>) {
        self.max_log_memory = max_log_memory;
    }

    /// Uses this number of threads; by default one per core.
    pub fn threads(mut self, threads: usize) { self.threads = threads; }

    /// Counts the verified bytes of tables there. When it is stopped, [`run`](Self::run) returns
    /// without a verdict about the directory.
    pub fn progress(mut self, progress: &VerifyProgress) { self.progress = progress.clone(); }
}

struct DatabasePass<'d, F> {
    options: DatabaseVerifier<'d>,
    live_files: LiveFiles<'d>,
    /// About the directory as a whole.
    directory: FileVerification,
    each: F,
    /// Tables and blob files by status.
    counts: [u64; 4],
}

impl<F: FnMut(FileVerification)> DatabasePass<'_, F> {
    /// The files that are neither tables nor blob files: their problems are those of the directory.
    fn directory_files(&mut self) {
        let database = self.options.database;
        self.caveats();
        if let Some(manifest) = database.bulk_manifest() {
            bulk_folder::check_folder(database, manifest, &mut self.directory);
            return;
        }
        for log in database.logs() {
            let mut report = FileVerification::new(log, FileKind::Log);
            verify_log(log, database.engine(), self.options.max_log_memory, &mut report);
            self.directory.absorb(report);
        }
        self.missing_logs();
        if let Some(number) = database.manifest_number() {
            let path = database.path().join(FileName::Manifest(number).to_string());
            let mut report = FileVerification::new(&path, FileKind::Manifest);
            verify_manifest(&path, database.engine(), &mut report);
            self.directory.absorb(report);
        }
        let Ok(names) = file_system::list(database.path()) else { return };
        let mut paths: Vec<_> = names.iter().map(|name| database.path().join(name)).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let kind = match FileName::parse(name) {
                FileName::Options(_) => FileKind::Options,
                FileName::Identity => FileKind::Identity,
                _ => continue,
            };
            let (report, _) = verify_file(&path, kind, None);
            // A running engine deletes obsolete OPTIONS files.
            if report.is_sound() || file_system::exists(&path) {
                self.directory.absorb(report);
            }
        }
    }

    /// Logs that are needed and were not found.
    fn missing_logs(&mut self) {
        let database = self.options.database;
        let missing = database.missing_logs();
        for &number in &missing.numbers {
            let path = database.path().join(FileName::Log(number).to_string());
            let message = format!(
                "{}: file not found: its writes that are not in tables are lost",
                path.display()
            );
            self.directory.add(VerifyProblem::new(VerifyStatus::Damaged, message));
        }
        if missing.has_none {
            self.directory.note(NO_LOGS);
        }
    }

    /// What opening the database had to leave out or assume.
    fn caveats(&mut self) {
        let database = self.options.database;
        // What was left out because of a limit or an unknown format is not damaged.
        let status = match self.directory.status {
            VerifyStatus::Sound => VerifyStatus::Damaged,
            of_opening => of_opening,
        };
        for caveat in database.caveats() {
            let message = caveat.message();
            match caveat.kind() {
                // Found again in the log or MANIFEST itself.
                CaveatKind::TornTail => {}
                CaveatKind::UnknownOrder | CaveatKind::Assumed => self.directory.note(message),
                // No other check finds a folder or file that was left out.
                CaveatKind::LeftOut if database.manifest().is_some() => {
                    self.directory.add(VerifyProblem::new(VerifyStatus::Unreadable, message));
                }
                // With a MANIFEST, damage is found again in its file. Without one, files that could not
                // be opened were left out.
                _ if database.manifest().is_some() => self.directory.note(message),
                _ => self.directory.add(VerifyProblem::new(status, message)),
            }
        }
    }

    fn column_family(&mut self, family: &Arc<ColumnFamilyData>) {
        let database = self.options.database;
        let is_ordered = family.require_order().is_ok();
        self.directory.order_checked |= is_ordered;
        let blobs =
            BlobReferences::new(database, family).filter(|_| database.engine() == Engine::RocksDb);
        for (number, key) in missing_blob_files(family) {
            let message = format!(
                "the value of {} in the log is in blob file {number}, which does not exist",
                KeyExcerpt(&key)
            );
            self.directory.add(VerifyProblem::damage(message));
        }
        let mut source_order =
            (is_ordered && database.manifest().is_some()).then(|| SourceOrder::new(family));
        for (number, run) in family.version.runs.iter().enumerate() {
            if is_ordered && run.level > 0 {
                check_overlap(family, run, &mut self.directory);
            }
            for file in &run.files {
                let order = source_order.as_mut().map(|order| (order, number));
                let report = self.table(family, file, blobs.as_ref(), order);
                if self.is_stopped() {
                    return;
                }
                if let Some(report) = report {
                    self.report(report);
                }
            }
        }
        let state = database.manifest().and_then(|it| it.column_families.get(&family.id));
        for file in state.into_iter().flat_map(ColumnFamilyState::live_blob_files) {
            if let Some(report) = self.blob_file(file, family) {
                self.report(report);
            }
            if self.is_stopped() {
                return;
            }
        }
        let Some(mut source_order) = source_order else { return };
        // Damage has been reported, and merging damaged tables may not end.
        let is_sound = self.counts[1..].iter().all(|&files| files == 0);
        match is_sound {
            true => source_order.check(self.options.threads, &mut self.directory),
            false => self.directory.note(
                "the order of logs and levels was not checked because some files are damaged",
            ),
        }
    }

    /// Whether what was found last is of no use.
    fn is_stopped(&self) -> bool {
        self.options.progress.is_stopped()
    }

    fn report(&mut self, report: FileVerification) {
        self.counts[report.status as usize] += 1;
        (self.each)(report);
    }

    /// Verifies a table; `None` if the engine has deleted it in the meantime.
    fn table(
        &mut self,
        family: &ColumnFamilyData,
        file: &Arc<TableFile>,
        blobs: Option<&BlobReferences<'_>>,
        source_order: Option<(&mut SourceOrder<'_>, usize)>,
    ) -> Option<FileVerification> {
        let database = self.options.database;
        let (path, meta) = (file.path(), &file.meta);
        let table = match open_table(family, file, path) {
            Ok(table) => table,
            Err(error) => {
                return self
                    .unopened(path, FileKind::Table, &error, |it| it.has_table(meta.number));
            }
        };
        let bulk_manifest = database.bulk_manifest();
        let has_checksum = bulk_manifest.is_some() || table_check::has_file_checksum(meta);
        let options = VerifyOptions::default()
            .threads(self.options.threads)
            .file_checksum(has_checksum)
            .progress(&self.options.progress);
        let new_check = || ReferenceCheck::new(blobs, path);
        let (found, references) = table.verify_visiting(&options, new_check);
        let mut report = FileVerification::of_table(path, &found);
        let keys = family.require_order().is_ok().then_some(&family.keys);
        if let Some(manifest) = bulk_manifest {
            bulk_folder::check_table(manifest, &table, &found, keys, path, &mut report);
            return Some(report);
        }
        table_check::check_unique_id(meta, &table, path, &mut report);
        table_check::check_file_checksum(meta, &found, path, &mut report);
        if let Some(keys) = keys {
            table_check::check_keys(file, keys, &table, &found, path, &mut report);
        }
        references.into_iter().for_each(|part| report.absorb(part.report));
        if database.engine() == Engine::RocksDb {
            table_check::check_sequences(meta, &table, &found, path, &mut report);
        }
        if database.manifest().is_some() {
            let last = database.last_sequence();
            table_check::check_visible(last, &table, &found, path, &mut report);
        }
        if let Some((order, run)) = source_order {
            order.add(run, file, found.spans());
        }
        Some(report)
    }

    fn blob_file(
        &mut self,
        meta: &BlobFileMetaData,
        family: &ColumnFamilyData,
    ) -> Option<FileVerification> {
        let path = family.blobs.path(meta.number);
        let (entries, bytes) = match verify_blobs(&path, Some(family.id)) {
            Ok(found) => found,
            Err(error) => {
                let error = error.in_file(&path);
                let is_live = |files: &mut LiveFiles<'_>| files.has_blob_file(meta.number);
                return self.unopened(&path, FileKind::BlobFile, &error, is_live);
            }
        };
        let mut report = FileVerification::new(&path, FileKind::BlobFile);
        report.entries = entries;
        for (what, expected, found) in [
            ("number of values", meta.blob_count, entries),
            ("size of the records", meta.blob_bytes, bytes),
        ] {
            if expected != found {
                let what = format!(
                    "the {what} does not match the MANIFEST (expected {expected}, found {found})"
                );
                report.damaged(&path, what);
            }
        }
        Some(report)
    }

    /// The report about a file that could not be opened. If it is missing, a running engine may have
    /// deleted it: then the MANIFEST no longer lists it, and nothing is wrong.
    fn unopened(
        &mut self,
        path: &Path,
        kind: FileKind,
        error: &Error,
        is_live: impl FnOnce(&mut LiveFiles<'_>) -> Option<bool>,
    ) -> Option<FileVerification> {
        let mut report = FileVerification::new(path, kind);
        let is_missing = is_not_found(error);
        let further_folder = || {
            let message = "file not found; the database has tables in other directories (db_paths \
                           or cf_paths): use --db-path to name them";
            VerifyProblem::new(VerifyStatus::Unreadable, message).prefixed(path.display())
        };
        if !is_missing && error.kind() != ErrorKind::Changed {
            report.add(match !exists(path) && self.has_further_folders() {
                true => further_folder(),
                false => error.into(),
            });
            return Some(report);
        }
        match is_live(&mut self.live_files) {
            Some(false) => {
                self.directory.note(format!(
                    "{}: deleted while the database was verified; the MANIFEST no longer lists it",
                    path.display()
                ));
                return None;
            }
            // Files never change: one that is still listed is missing, or is not the listed one.
            Some(true) => match (is_missing, error.get_ref()) {
                (true, _) if self.has_further_folders() => report.add(further_folder()),
                (false, Some(cause)) => report.add(VerifyProblem::damage(cause.to_string())),
                _ => report.damaged(path, "file not found"),
            },
            None => report.add(error),
        }
        Some(report)
    }

    /// Whether the MANIFEST has tables in a folder other than the first of `db_paths`.
    fn has_further_folders(&self) -> bool {
        let manifest = self.options.database.manifest();
        let families = manifest.into_iter().flat_map(|it| it.column_families.values());
        families.flat_map(ColumnFamilyState::files).any(|(_, file)| file.path_id > 0)
    }

    fn finish(mut self) {
        let total: u64 = self.counts.iter().sum();
        for status in [VerifyStatus::Damaged, VerifyStatus::Unreadable, VerifyStatus::Unsupported] {
            let files = self.counts[status as usize];
            if files > 0 {
                let message =
                    format!("{files} of {total} tables and blob files are {}", status.name());
                self.directory.add(VerifyProblem::new(status, message));
            }
        }
        (self.each)(self.directory);
    }
}

/// Opens a table. One that is held open although its name is gone counts as missing.
fn open_table(family: &ColumnFamilyData, file: &TableFile, path: &Path) -> Result<Table, Error> {
    let table = family.open_table(file)?;
    file_system::status(path).map_err(|error| Error::from(error).in_file(path))?;
    Ok(table)
}

/// Whether there is a file of this name.
fn exists(path: &Path) -> bool {
    let found = file_system::status(path);
    !found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) || path.is_symlink()
}

/// Whether the system did not find the file.
fn is_not_found(error: &Error) -> bool {
    let cause = error.get_ref().and_then(|it| it.downcast_ref());
    error.kind() == ErrorKind::NotFound || cause.is_some_and(is_not_found)
}
