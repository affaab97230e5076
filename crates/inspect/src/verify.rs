//! What verifying a file found, as a description that serialises.

use std::path::Path;

use serde::{Serialize, Serializer};
use sstkit_db::{
    Database, DatabaseVerifier, FileKind, FileVerification, VerifyProblem, VerifyStatus,
};
use sstkit_table::{TableReadOptions, VerifyOptions, VerifyProgress};

use crate::inspected_table::InspectedTable;
use crate::names;

/// A problem of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The kind of block it is in, if known.
    pub block: Option<&'static str>,
    /// The offset in the file, if known.
    pub offset: Option<u64>,
    /// The whole sentence.
    pub message: String,
    /// The verdict that follows from it.
    #[serde(skip)]
    pub status: VerifyStatus,
}

impl From<VerifyProblem> for Problem {
    fn from(problem: VerifyProblem) -> Self {
        let VerifyProblem { block, offset, message, status, .. } = problem;
        Self { block: block.map(names::block_kind), offset, message, status }
    }
}

impl From<&sstkit_table::Error> for Problem {
    fn from(error: &sstkit_table::Error) -> Self {
        VerifyProblem::from(error).into()
    }
}

impl Problem {
    /// Damage to the file as a whole.
    pub(crate) fn of_file(message: impl Into<String>) -> Self {
        let (message, status) = (message.into(), VerifyStatus::Damaged);
        Self { block: None, offset: None, message, status }
    }
}

/// What verifying one file found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The file.
    pub file: String,
    /// What it is: `table`, `log`, `manifest`, `current`, `options`, `identity`, `blob-file`,
    /// `database` …
    pub kind: &'static str,
    /// Whether all of it was read and no problem was found.
    pub sound: bool,
    /// The verdict: the worst of its problems.
    #[serde(serialize_with = "name_of_status")]
    pub status: VerifyStatus,
    /// The problems in the order in which they were found; at most 1000.
    pub problems: Vec<Problem>,
    /// The number of problems, including those that are not listed.
    pub problem_count: u64,
    /// What is worth knowing but no problem, such as the torn end of a log, which the engines tolerate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The number of blocks read.
    pub blocks: u64,
    /// The number of entries read, range tombstones included.
    pub entries: u64,
    /// Whether the order of the keys was checked: not if it is unknown.
    pub order_checked: bool,
}

fn name_of_status<S: Serializer>(status: &VerifyStatus, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(status.name())
}

impl From<FileVerification> for VerifyReport {
    fn from(found: FileVerification) -> Self {
        Self {
            file: found.path.display().to_string(),
            kind: found.kind.name(),
            sound: found.is_sound(),
            status: found.status,
            problems: found.problems.into_iter().map(Problem::from).collect(),
            problem_count: found.problem_count,
            notes: found.notes,
            blocks: found.blocks,
            entries: found.entries,
            order_checked: found.order_checked,
        }
    }
}

impl VerifyReport {
    /// Verifies an open table with one thread per core.
    pub fn of_table(name: impl Into<String>, file: &InspectedTable) -> Self {
        Self::of_table_observed(name, file, &VerifyProgress::default())
    }

    /// [`of_table`](Self::of_table) whose progress can be seen. The report is of no use if it was
    /// stopped.
    pub fn of_table_observed(
        name: impl Into<String>,
        file: &InspectedTable,
        progress: &VerifyProgress,
    ) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let options = VerifyOptions::default().threads(threads).progress(progress);
        let found = file.table().verify_with(&options);
        FileVerification::of_table(name.into(), &found).into()
    }

    /// Opens and verifies a table: see [`sstkit_db::verify_table`].
    #[cfg(any(unix, windows))]
    pub fn of_table_file(
        path: &Path,
        options: &TableReadOptions,
        progress: &VerifyProgress,
    ) -> sstkit_table::Result<Self> {
        sstkit_db::verify_table(path, options, progress).map(Self::from)
    }

    /// The report about a file that could not be opened.
    pub fn of_error<E>(name: impl Into<String>, kind: &'static str, error: &E) -> Self
    where
        Problem: for<'e> From<&'e E>,
    {
        let problem = Problem::from(error);
        Self {
            file: name.into(),
            kind,
            status: problem.status,
            problems: vec![problem],
            problem_count: 1,
            ..Self::default()
        }
    }
}

/// Verifies a file of a database that is not a table: see [`sstkit_db::verify_file`].
pub fn verify_file(path: &Path, kind: FileKind, max_log_memory: Option<u64>) -> VerifyReport {
    sstkit_db::verify_file(path, kind, max_log_memory).0.into()
}

/// Verifies a database: see [`Database::verify`]. `each` is called with the report of a file as soon as
/// it is verified, and last with that of the directory, under the name given.
///
/// `opening` is why a damaged database had to be opened in part, and `max_log_memory` the limit of
/// [`sstkit_db::verify_file`].
pub fn verify_database(
    name: impl Into<String>,
    database: &Database,
    opening: Option<&sstkit_db::Error>,
    max_log_memory: Option<u64>,
    each: impl FnMut(VerifyReport),
) {
    let verifier = database.verifier().opening_error(opening).max_log_memory(max_log_memory);
    run(name.into(), verifier, each);
}

/// [`verify_database`] whose progress can be seen. There is no report of the directory if it was
/// stopped.
pub fn verify_database_observed(
    name: impl Into<String>,
    database: &Database,
    opening: Option<&sstkit_db::Error>,
    progress: &VerifyProgress,
    each: impl FnMut(VerifyReport),
) {
    run(name.into(), database.verifier().opening_error(opening).progress(progress), each);
}

fn run(name: String, verifier: DatabaseVerifier<'_>, mut each: impl FnMut(VerifyReport)) {
    verifier.run(|found| {
        let is_directory = found.kind == FileKind::Database;
        let mut report = VerifyReport::from(found);
        if is_directory {
            report.file.clone_from(&name);
        }
        each(report);
    });
}
