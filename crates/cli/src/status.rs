//! How a command ends: its exit status, and the line that says why.
//!
//! | status | meaning |
//! |---|---|
//! | 0 | fine: found, sound |
//! | 1 | a negative answer: not found, damage found |
//! | 2 | trouble: bad usage, unreadable or damaged where it was to be read, nothing written |
//! | 130, 143, 129 | ended by Ctrl-C, SIGTERM, a closed terminal: 128 and the signal, see [`interrupt`](crate::interrupt) |

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

use crate::output::complain;

/// The exit status. The later, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// Found, sound, done.
    Fine,
    /// Not found, damaged.
    Negative,
    /// Not answered.
    Trouble,
}

impl Status {
    /// [`Fine`](Self::Fine) or [`Negative`](Self::Negative).
    pub(crate) fn of(fine: bool) -> Self {
        if fine { Self::Fine } else { Self::Negative }
    }

    /// The worst of what comes of several paths. One that gives trouble does not stop the others; a
    /// reader that has gone does.
    pub(crate) fn of_each(
        paths: &[PathBuf],
        mut look_at: impl FnMut(&Path) -> Result<Self>,
    ) -> Result<Self> {
        let mut status = Self::Fine;
        for path in paths {
            match look_at(path) {
                Ok(of_path) => status.worsen(of_path),
                Err(error) if is_broken_pipe(&error) => return Err(error),
                Err(error) => {
                    complain(&message(&error));
                    status.worsen(Self::Trouble);
                }
            }
        }
        Ok(status)
    }

    /// Keeps the worse of two.
    pub(crate) fn worsen(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Whether the reader of our output has gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// An error and its causes in one line. Some errors say what their source says; it is not said
/// twice.
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
    fn a_cause_is_named_once() {
        let system = io::Error::other("disk on fire");
        let table = sstkit_table::Error::from(system).in_file("a.sst");
        let error = Err::<(), _>(table).context("while building").unwrap_err();
        assert_eq!(message(&error), "while building: a.sst: I/O error: disk on fire");
    }

    #[test]
    fn the_worse_stays() {
        let mut status = Status::Negative;
        status.worsen(Status::Fine);
        assert_eq!(status, Status::Negative);
        status.worsen(Status::Trouble);
        assert_eq!(status, Status::Trouble);
    }
}
