//! What is wrong with a file.

use std::collections::HashSet;

use serde::Serialize;
use sstkit_table::{Error, Verification};

use crate::names;
use crate::table_file::TableFile;

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
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        Self {
            block: error.block().map(names::block_kind),
            offset: error.offset(),
            message: error.to_string(),
        }
    }
}

impl From<&sstkit_db::Error> for Problem {
    fn from(error: &sstkit_db::Error) -> Self {
        Self { block: None, offset: error.offset(), message: error.to_string() }
    }
}

impl Problem {
    /// A problem that is in no block.
    pub(crate) fn of_file(message: impl Into<String>) -> Self {
        Self { block: None, offset: None, message: message.into() }
    }
}

/// What verifying one file found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The file.
    pub file: String,
    /// Whether no problem was found.
    pub sound: bool,
    /// The problems in the order they were found; a thousand at most.
    pub problems: Vec<Problem>,
    /// How many there were in all.
    pub problem_count: u64,
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

    /// What a verification found.
    pub fn of_verification(name: impl Into<String>, found: &Verification) -> Self {
        let mut problems: Vec<Problem> = found.problems().iter().map(Problem::from).collect();
        // A block that two checks have stumbled over is damaged once.
        let mut seen = HashSet::new();
        problems.retain(|problem| seen.insert(problem.clone()));
        let repeated = found.problems().len() - problems.len();
        Self {
            file: name.into(),
            sound: found.is_sound(),
            problems,
            problem_count: found.problem_count() - repeated as u64,
            blocks: found.blocks(),
            entries: found.entries(),
            order_checked: found.order_checked(),
        }
    }

    /// The report about a file that could not even be opened.
    pub fn of_error<E>(name: impl Into<String>, error: &E) -> Self
    where
        Problem: for<'e> From<&'e E>,
    {
        let mut report = Self::sound(name);
        report.add(Problem::from(error));
        report
    }

    /// A report without any problem yet.
    pub fn sound(name: impl Into<String>) -> Self {
        Self {
            file: name.into(),
            sound: true,
            problems: Vec::new(),
            problem_count: 0,
            blocks: 0,
            entries: 0,
            order_checked: false,
        }
    }

    /// Adds a problem.
    pub fn add(&mut self, problem: Problem) {
        self.sound = false;
        self.problem_count += 1;
        self.problems.push(problem);
    }
}
