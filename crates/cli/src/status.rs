//! The exit status of a command, and the message that explains it.
//!
//! | status | meaning |
//! |---|---|
//! | 0 | success: found, sound, equal |
//! | 1 | negative result: not found, damaged, different |
//! | 2 | failure: bad usage, unreadable or damaged input, nothing written |
//! | 130, 143, 129 | ended by Ctrl-C, SIGTERM or a closed terminal: 128 plus the signal, see [`interrupt`](crate::interrupt) |

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

use crate::output::print_message;

/// The exit status, ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// Found, sound, done.
    Fine,
    /// Not found, damaged, different.
    Negative,
    /// The question could not be answered.
    Trouble,
}

impl Status {
    /// [`Fine`](Self::Fine) or [`Negative`](Self::Negative).
    pub(crate) fn of(fine: bool) -> Self {
        if fine { Self::Fine } else { Self::Negative }
    }

    /// Processes several paths and returns the worst status. A failure does not stop the others; a
    /// broken pipe does.
    pub(crate) fn of_each(
        paths: &[PathBuf],
        mut process: impl FnMut(&Path) -> Result<Self>,
    ) -> Result<Self> {
        let mut status = Self::Fine;
        for path in paths {
            match process(path) {
                Ok(of_path) => status.worsen(of_path),
                Err(error) if is_broken_pipe(&error) => return Err(error),
                Err(error) => {
                    print_message(&message(&error));
                    status.worsen(Self::Trouble);
                }
            }
        }
        Ok(status)
    }

    /// Keeps the worse of the two.
    pub(crate) fn worsen(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let of_table = cause.downcast_ref::<sstkit_table::Error>();
        let of_table = of_table.and_then(|it| it.get_ref()?.downcast_ref::<io::Error>());
        let system = cause.downcast_ref::<io::Error>().or(of_table);
        cause.downcast_ref().is_some_and(sstkit_inspect::Error::is_broken_pipe)
            || system.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// An error and its causes in one line. Some errors already include the text of their source; it is
/// not repeated.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if line.ends_with(&text) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    line
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_cause_is_printed_once() {
        let system = io::Error::other("disk on fire");
        let table = sstkit_table::Error::from(system).in_file("a.sst");
        let error = Err::<(), _>(table).context("while building").unwrap_err();
        assert_eq!(message(&error), "while building: a.sst: I/O error: disk on fire");
    }

    #[test]
    fn worsen_keeps_the_worse() {
        let mut status = Status::Negative;
        status.worsen(Status::Fine);
        assert_eq!(status, Status::Negative);
        status.worsen(Status::Trouble);
        assert_eq!(status, Status::Trouble);
    }
}
