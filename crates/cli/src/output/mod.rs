//! What the command prints: data on standard output, messages on standard error.

pub(crate) mod bar;
pub(crate) mod grid;
pub(crate) mod page;
pub(crate) mod progress;
pub(crate) mod records;
pub(crate) mod units;

pub(crate) use self::grid::{Align, Grid};
pub(crate) use self::page::Page;
pub(crate) use self::progress::Progress;

/// A message for a person: `sst: …` on standard error.
pub(crate) fn complain(message: &str) {
    use std::io::Write as _;
    // If nobody listens, nobody is left to be told.
    let _ = writeln!(std::io::stderr(), "sst: {message}");
}
