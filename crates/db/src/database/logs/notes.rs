//! What is said about logs that are not read to their ends.

use std::borrow::Cow;
use std::path::Path;

use super::Logs;
use crate::caveat::{Caveat, CaveatKind};
use crate::column_family_data::LeftOut;
use crate::error::Error;
use crate::raw::{LogProblem, LogProblemKind, Reaction};

impl Logs<'_> {
    /// A problem in a log.
    pub(super) fn note(&mut self, path: &Path, problem: &LogProblem, reaction: Reaction) {
        let outcome = match reaction {
            Reaction::Fail => return,
            // The regular end of a recycled log, unless the file lost the rest of a record.
            Reaction::End | Reaction::Stop if problem.kind == LogProblemKind::StaleRecord => return,
            Reaction::Skip => "skipped",
            Reaction::End | Reaction::Stop => "treated as the end of the log",
        };
        let kind = match problem.kind.is_torn_tail() {
            true => CaveatKind::TornTail,
            false => CaveatKind::DamagedLog,
        };
        let (name, what, offset) = (name(path), problem.kind, problem.offset);
        let message = format!("{name}: {what} at offset {offset}; {outcome}");
        self.caveats.push(Caveat::new(kind, message).about(path));
    }

    /// The log does not continue where the previous one stopped.
    pub(super) fn note_gap(&mut self, path: &Path) {
        let stopped = self.stopped_in.unwrap_or(0);
        let message = format!(
            "{}: ignored: {stopped:06}.log ends early, and this log does not continue it",
            name(path)
        );
        self.caveats.push(Caveat::new(CaveatKind::DamagedLog, message).about(path));
    }

    /// A record with a valid checksum but invalid contents.
    pub(super) fn note_nonsense(&mut self, path: &Path, error: Error, outcome: &str) {
        let message = format!("{}: {error}; {outcome}", name(path));
        self.caveats.push(Caveat::new(CaveatKind::DamagedLog, message).about(path));
        self.lost.push(LeftOut::new(&error.in_file(path)));
    }
}

fn name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}
