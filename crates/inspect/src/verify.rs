//! What is wrong with a file.

use std::collections::HashSet;
use std::path::Path;

use serde::Serialize;
use sstkit_table::raw::BlockKind;
use sstkit_table::{Comparator, Error, ErrorKind, TableReadOptions, Verification};

use crate::names;
use crate::table_file::TableFile;

/// More problems than this are counted, not kept.
const MAX_PROBLEMS: usize = 1000;

/// What came of verifying a file. Damage is a verdict; the others say why there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum VerifyStatus {
    /// All of it was read, and no problem was found.
    #[default]
    Sound,
    /// It uses something that this version does not know: another kind of table, a newer format.
    Unsupported,
    /// The system did not let it be read: permissions, too many open files, a failing disk.
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

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The kind of block it is in, where that is known.
    pub block: Option<&'static str>,
    /// The file offset of that block.
    pub offset: Option<u64>,
    /// The whole sentence.
    pub message: String,
    /// What it makes of the file: damage, or not all of it could be read.
    #[serde(skip)]
    pub status: VerifyStatus,
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        Self {
            block: error.block().map(names::block_kind),
            offset: error.offset(),
            message: error.to_string(),
            status: match error.kind() {
                ErrorKind::Corrupt => VerifyStatus::Damaged,
                ErrorKind::Unsupported => VerifyStatus::Unsupported,
                _ => VerifyStatus::Unreadable,
            },
        }
    }
}

impl From<&sstkit_db::Error> for Problem {
    fn from(error: &sstkit_db::Error) -> Self {
        Self {
            block: None,
            offset: error.offset(),
            message: error.to_string(),
            status: match error.kind() {
                sstkit_db::ErrorKind::Corrupt => VerifyStatus::Damaged,
                sstkit_db::ErrorKind::Unsupported => VerifyStatus::Unsupported,
                _ => VerifyStatus::Unreadable,
            },
        }
    }
}

impl Problem {
    /// Damage that is in no block.
    pub(crate) fn of_file(message: impl Into<String>) -> Self {
        Self::with_status(message, VerifyStatus::Damaged)
    }

    /// The system does not let a file be read.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self::with_status(message, VerifyStatus::Unreadable)
    }

    pub(crate) fn with_status(message: impl Into<String>, status: VerifyStatus) -> Self {
        Self { block: None, offset: None, message: message.into(), status }
    }
}

/// What verifying one file found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The file.
    pub file: String,
    /// What it is: `table`, `log`, `manifest`, `current`, `options`, `identity`, `blob-file`,
    /// `database` …
    pub kind: &'static str,
    /// Whether all of it was read and no problem was found.
    pub sound: bool,
    /// What came of it; damage has the first word, then what could not be read.
    pub status: VerifyStatus,
    /// The problems in the order they were found; a thousand at most.
    pub problems: Vec<Problem>,
    /// How many there were in all.
    pub problem_count: u64,
    /// What is worth knowing and no damage: the torn end of a log, which the engines tolerate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Blocks read.
    pub blocks: u64,
    /// Entries read, range deletions among them.
    pub entries: u64,
    /// Whether the order of the keys was checked: not where it is not known.
    pub order_checked: bool,
}

impl VerifyReport {
    /// Reads a whole table and compares everything in it with everything else. Uses as many threads
    /// as there are cores.
    pub fn of_table(name: impl Into<String>, file: &TableFile) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self::of_verification(name, &file.table().verify_with(threads))
    }

    /// Opens and verifies a table. `is_given` says whether the options have the order of its keys.
    ///
    /// LevelDB's tables do not name their order. If something is wrong with one and no order was
    /// given, its keys may be in reverse: the order in which less is wrong counts, and a note says
    /// what was assumed. If only the order of the keys is wrong in both, it is another one, and the table
    /// is not supported without it.
    #[cfg(any(unix, windows))]
    pub fn of_table_file(
        path: &Path,
        options: &TableReadOptions,
        is_given: bool,
    ) -> sstkit_table::Result<Self> {
        let name = path.display().to_string();
        let file = TableFile::open(path, options)?;
        let mut report = Self::of_table(&name, &file);
        if report.sound || is_given || file.table().properties().comparator().is_some() {
            return Ok(report);
        }
        let mut assumed = Comparator::Bytewise;
        let reverse = options.clone().comparator(Comparator::ReverseBytewise);
        if let Ok(file) = TableFile::open(path, &reverse) {
            let reversed = Self::of_table(&name, &file);
            if reversed.problem_count < report.problem_count {
                (report, assumed) = (reversed, Comparator::ReverseBytewise);
            }
        }
        let is_about_filter = |problem: &Problem| {
            problem.block.is_some_and(|block| block == names::block_kind(BlockKind::Filter))
        };
        if !report.sound && !report.problems.iter().any(is_about_filter) {
            let unordered = options.clone().unknown_order("a custom comparator");
            let unordered = TableFile::open(path, &unordered);
            if let Ok(mut unordered) = unordered.map(|file| Self::of_table(&name, &file))
                && unordered.sound
            {
                let message = format!("{name}: unknown comparator (use --comparator)");
                unordered.add(Problem::with_status(message, VerifyStatus::Unsupported));
                return Ok(unordered);
            }
        }
        report.note(format!(
            "the table names no comparator; assuming {} (use --comparator to choose another)",
            assumed.name()
        ));
        Ok(report)
    }

    /// What a verification found.
    pub fn of_verification(name: impl Into<String>, found: &Verification) -> Self {
        let mut report = Self::new(name, "table");
        // A block that two checks have stumbled over is damaged once.
        let mut seen = HashSet::new();
        for problem in found.problems().iter().map(Problem::from) {
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

    /// The report about a file that could not even be opened.
    pub fn of_error<E>(name: impl Into<String>, kind: &'static str, error: &E) -> Self
    where
        Problem: for<'e> From<&'e E>,
    {
        let mut report = Self::new(name, kind);
        report.add(Problem::from(error));
        report
    }

    /// A report without any problem yet.
    pub fn new(name: impl Into<String>, kind: &'static str) -> Self {
        Self {
            file: name.into(),
            kind,
            sound: true,
            status: VerifyStatus::Sound,
            problems: Vec::new(),
            problem_count: 0,
            notes: Vec::new(),
            blocks: 0,
            entries: 0,
            order_checked: false,
        }
    }

    /// Adds a problem.
    pub fn add(&mut self, problem: Problem) {
        self.sound = false;
        self.status = self.status.max(problem.status);
        self.problem_count += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Adds something that is no damage.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if self.notes.len() < MAX_PROBLEMS && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds what was found in a file that is a part of this one.
    pub(crate) fn absorb(&mut self, part: Self) {
        let unkept = part.problem_count - part.problems.len() as u64;
        part.problems.into_iter().for_each(|problem| self.add(problem));
        part.notes.into_iter().for_each(|note| self.note(note));
        self.problem_count += unkept;
    }
}
