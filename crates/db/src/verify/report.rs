//! What verifying a file found, as plain data.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use sstkit_table::Verification;
use sstkit_table::raw::BlockKind;

use crate::error::{Error, ErrorKind};
use crate::file_kind::FileKind;

/// Problems and notes that are kept; more problems are only counted.
const MAX_KEPT: usize = 1000;

/// The verdict about a file. Only [`Damaged`](Self::Damaged) says that something is wrong with it; the
/// other two say why there is no verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum VerifyStatus {
    /// All of it was read, and no problem was found.
    #[default]
    Sound,
    /// It uses something that this version does not support: another kind of table, a newer format.
    Unsupported,
    /// The system could not read it: permissions, too many open files, a failing disk.
    Unreadable,
    /// Something is wrong with it.
    Damaged,
}

impl VerifyStatus {
    /// Its name in JSON and text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Unsupported => "unsupported",
            Self::Unreadable => "unreadable",
            Self::Damaged => "damaged",
        }
    }
}

/// A problem of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct VerifyProblem {
    /// The kind of block it is in, if known.
    pub block: Option<BlockKind>,
    /// The offset in the file, if known.
    pub offset: Option<u64>,
    /// The whole sentence.
    pub message: String,
    /// The verdict that follows from it.
    pub status: VerifyStatus,
}

impl From<&Error> for VerifyProblem {
    fn from(error: &Error) -> Self {
        let status = match error.kind() {
            ErrorKind::Corrupt => VerifyStatus::Damaged,
            ErrorKind::Unsupported => VerifyStatus::Unsupported,
            _ => VerifyStatus::Unreadable,
        };
        let (block, offset) = (error.block(), error.offset());
        Self { block, offset, message: error.to_string(), status }
    }
}

impl VerifyProblem {
    /// A problem of the file as a whole.
    pub(crate) fn new(status: VerifyStatus, message: impl Into<String>) -> Self {
        Self { block: None, offset: None, message: message.into(), status }
    }

    /// Damage to the file as a whole.
    pub(crate) fn damage(message: impl Into<String>) -> Self {
        Self::new(VerifyStatus::Damaged, message)
    }

    /// The same problem with another text in front of its message.
    pub(crate) fn prefixed(mut self, prefix: impl std::fmt::Display) -> Self {
        self.message = format!("{prefix}: {}", self.message);
        self
    }
}

/// What verifying one file found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileVerification {
    /// The file, or the directory of a database.
    pub path: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// The verdict: the worst of its problems.
    pub status: VerifyStatus,
    /// The problems in the order in which they were found; at most 1000.
    pub problems: Vec<VerifyProblem>,
    /// The number of problems, including those that were not kept.
    pub problem_count: u64,
    /// What is worth knowing but no problem, such as the torn end of a log.
    pub notes: Vec<String>,
    /// The number of blocks read.
    pub blocks: u64,
    /// The number of entries read, range tombstones included.
    pub entries: u64,
    /// Whether the order of the keys was checked: not if it is unknown.
    pub order_checked: bool,
}

impl FileVerification {
    pub(crate) fn new(path: impl Into<PathBuf>, kind: FileKind) -> Self {
        Self {
            path: path.into(),
            kind,
            status: VerifyStatus::Sound,
            problems: Vec::new(),
            problem_count: 0,
            notes: Vec::new(),
            blocks: 0,
            entries: 0,
            order_checked: false,
        }
    }

    /// What [`Table::verify`](sstkit_table::Table::verify) found.
    pub fn of_table(path: impl Into<PathBuf>, found: &Verification) -> Self {
        let mut report = Self::new(path, FileKind::Table);
        // Several checks may have found the same damage to a block.
        let mut seen = HashSet::new();
        for problem in found.problems().iter().map(VerifyProblem::from) {
            if seen.insert(problem.clone()) {
                report.add(problem);
            }
        }
        report.problem_count += found.problem_count() - found.problems().len() as u64;
        report.blocks = found.blocks();
        report.entries = found.entries();
        report.order_checked = found.order_checked();
        report
    }

    /// Whether all of the file was read and no problem was found.
    pub fn is_sound(&self) -> bool {
        self.status == VerifyStatus::Sound
    }

    pub(crate) fn add(&mut self, problem: impl Into<VerifyProblem>) {
        let problem = problem.into();
        self.status = self.status.max(problem.status);
        self.problem_count += 1;
        if self.problems.len() < MAX_KEPT {
            self.problems.push(problem);
        }
    }

    pub(crate) fn damaged(&mut self, file: &Path, message: impl std::fmt::Display) {
        self.add(VerifyProblem::damage(message.to_string()).prefixed(file.display()));
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if self.notes.len() < MAX_KEPT && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds the problems and notes of a part, or of a file that is a part of this one.
    pub(crate) fn absorb(&mut self, part: Self) {
        let not_kept = part.problem_count - part.problems.len() as u64;
        part.problems.into_iter().for_each(|problem| self.add(problem));
        part.notes.into_iter().for_each(|note| self.note(note));
        self.problem_count += not_kept;
    }
}
