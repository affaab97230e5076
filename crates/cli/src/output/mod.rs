//! Output: data on standard output, messages on standard error.

pub(crate) mod bar;
pub(crate) mod file_sink;
pub(crate) mod file_writer;
pub(crate) mod grid;
pub(crate) mod merge_operands;
pub(crate) mod page;
pub(crate) mod plain;
pub(crate) mod plot;
pub(crate) mod progress;
pub(crate) mod records;
pub(crate) mod units;

pub(crate) use self::file_sink::FileCompression;
#[cfg(any(feature = "parquet", feature = "serve"))]
pub(crate) use self::file_writer::FileWriter;
pub(crate) use self::grid::{Align, Grid};
pub(crate) use self::page::Page;
pub(crate) use self::progress::{ProgressBar, ReadProgress, WatchedProgress, stop_or_show};

/// Prints a message, `sst: …`, to standard error, in one line.
pub(crate) fn print_message(message: &str) {
    tell(&plain::plain(message));
}

/// Like [`print_message`], in several lines.
pub(crate) fn print_message_lines(message: &str) {
    tell(&plain::plain_lines(message));
}

fn tell(message: &str) {
    use std::io::Write as _;
    // If standard error is closed, nobody reads the message.
    let _ = writeln!(std::io::stderr(), "sst: {message}");
}
