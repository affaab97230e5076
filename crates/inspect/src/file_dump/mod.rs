//! The contents of a single database file other than a table, record by record.
//!
//! ```text
//! log        batches with their writes and transaction markers, and where they are in the file
//! MANIFEST   version edits one by one, then the state they add up to
//! OPTIONS    sections                      CURRENT, IDENTITY    one record
//! blob file  header, values, footer
//! ```
//!
//! One record is in memory at a time. Damage is a record of its own, and does not hide what follows.

mod batch_record;
mod blob_dump;
mod edit_record;
mod log_dump;
mod manifest_dump;
mod progress_record;
mod state_record;
mod table_record;

use std::io;
use std::path::Path;

use serde::Serialize;
use sstkit_db::raw::{FileName, LogProblem, OptionsSection};
use sstkit_db::{FileContents, FileKind};

pub use self::batch_record::{
    BatchOperation, BatchOperations, BatchRecord, LogSettings, TransactionMarker,
};
pub use self::blob_dump::{BlobFileHeaderRecord, BlobValueRecord, scan_blob_file};
pub use self::edit_record::{BlobFileAdditionRecord, BlobGarbageRecord, EditRecord, FileAtLevel};
pub use self::log_dump::scan_log;
pub use self::progress_record::{OutputFileRecord, OutputRecord, ProgressRecord};
pub use self::state_record::{FamilyStateRecord, StateRecord, WalRecord};
pub use self::table_record::{BoundRecord, TableRecord};
use crate::encoding::Encoding;
use crate::verify::{Problem, VerifyReport};

/// How a file is dumped.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileDumpOptions {
    /// The encoding of keys and values.
    pub encoding: Encoding,
    /// The bytes that the records of a log may expand to; `None` for the default.
    pub max_log_memory: Option<u64>,
}

/// A part of a file.
#[derive(Debug, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileRecord<'a> {
    /// How the records of a log are stored, from here on.
    LogSettings(LogSettings),
    /// A record of a log.
    Batch(BatchRecord<'a>),
    /// A record of a MANIFEST.
    Edit(Box<EditRecord>),
    /// The state that all edits of a MANIFEST add up to.
    State(Box<StateRecord>),
    /// A section of an OPTIONS file.
    Section(SectionRecord),
    /// CURRENT.
    Current {
        /// The MANIFEST that it names.
        manifest: String,
    },
    /// IDENTITY.
    Identity {
        /// The id of the database.
        db_id: String,
    },
    /// The header of a blob file.
    BlobHeader(BlobFileHeaderRecord),
    /// A value of a blob file.
    Blob(BlobValueRecord),
    /// The footer of a blob file.
    BlobFooter {
        /// The number of values that it counts.
        blobs: u64,
    },
    /// Something that cannot be read.
    Problem(ProblemRecord),
}

/// Something that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProblemRecord {
    /// The offset in the file, if known.
    pub offset: Option<u64>,
    /// The number of bytes that are skipped, if known.
    pub skipped: Option<u64>,
    /// What is wrong.
    pub message: String,
}

impl From<LogProblem> for ProblemRecord {
    fn from(problem: LogProblem) -> Self {
        Self {
            offset: Some(problem.offset),
            skipped: Some(problem.dropped),
            message: problem.kind.to_string(),
        }
    }
}

impl From<&sstkit_db::Error> for ProblemRecord {
    fn from(error: &sstkit_db::Error) -> Self {
        Self { offset: error.offset(), skipped: None, message: error.to_string() }
    }
}

/// A section of an OPTIONS file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SectionRecord {
    /// `DBOptions`, `CFOptions` …
    pub kind: String,
    /// The column family, if the section belongs to one.
    pub name: Option<String>,
    /// Names and values, in order.
    pub options: Vec<(String, String)>,
}

impl From<&OptionsSection> for SectionRecord {
    fn from(section: &OptionsSection) -> Self {
        Self {
            kind: section.kind().to_owned(),
            name: section.name().map(str::to_owned),
            options: section
                .stored()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        }
    }
}

/// Receives the records of a file.
pub(crate) type Visitor<'v> = &'v mut dyn FnMut(&FileRecord<'_>) -> io::Result<()>;

/// Shows each record of a file to `visit`, and returns what verification found. A MANIFEST is read
/// three times, other files once.
///
/// # Errors
///
/// Fails if `visit` does. Everything else is in the report.
pub fn dump_file(
    path: &Path,
    kind: FileKind,
    options: &FileDumpOptions,
    visit: Visitor<'_>,
) -> io::Result<VerifyReport> {
    match kind {
        FileKind::Log => log_dump::dump_log(path, options, visit),
        FileKind::Manifest | FileKind::CompactionProgress => {
            manifest_dump::dump_manifest(path, kind, options, visit)
        }
        FileKind::BlobFile => blob_dump::dump_blobs(path, options, visit),
        _ => dump_text(path, kind, visit),
    }
}

/// Dumps a file that is read as a whole: OPTIONS, CURRENT, IDENTITY.
fn dump_text(path: &Path, kind: FileKind, visit: Visitor<'_>) -> io::Result<VerifyReport> {
    let (found, contents) = sstkit_db::verify_file(path, kind, None);
    match contents {
        Some(FileContents::Options(file)) => {
            for section in file.sections() {
                visit(&FileRecord::Section(section.into()))?;
            }
        }
        Some(FileContents::Current(number)) => {
            visit(&FileRecord::Current { manifest: FileName::Manifest(number).to_string() })?;
        }
        Some(FileContents::Identity(id)) => {
            visit(&FileRecord::Identity { db_id: Encoding::Escape.encode(&id) })?;
        }
        _ => {}
    }
    let report = VerifyReport::from(found);
    report.problems.iter().try_for_each(|problem| visit(&problem.into()))?;
    Ok(report)
}

impl From<&Problem> for FileRecord<'_> {
    fn from(problem: &Problem) -> Self {
        Self::Problem(ProblemRecord {
            offset: problem.offset,
            skipped: None,
            message: problem.message.clone(),
        })
    }
}
