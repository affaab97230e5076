//! What the command prints: data on standard output, messages on standard error.

pub(crate) mod bar;
pub(crate) mod grid;
pub(crate) mod page;
pub(crate) mod plain;
pub(crate) mod progress;
pub(crate) mod records;
pub(crate) mod units;

pub(crate) use self::grid::{Align, Grid};
pub(crate) use self::page::Page;
pub(crate) use self::progress::Progress;

/// A message for a person: `sst: …` on standard error, in one line.
pub(crate) fn complain(message: &str) {
    tell(&plain::plain(message));
}

/// The same in several lines.
pub(crate) fn complain_in_lines(message: &str) {
    tell(&plain::plain_lines(message));
}

fn tell(message: &str) {
    use std::io::Write as _;
    // If nobody listens, nobody is left to be told.
    let _ = writeln!(std::io::stderr(), "sst: {message}");
}
