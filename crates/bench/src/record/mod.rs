//! From Criterion's files to tables: what the program `ratios` prints.

pub(crate) mod date;
mod filters;
mod goals;
pub(crate) mod machine;
mod measurement;
mod table;

pub use date::today;
pub use filters::filters;
pub use goals::goals;
pub use machine::machine;
pub use measurement::{Measurement, Measurements};
pub use table::tables;

use std::fmt::Write;

/// The whole record of one run on one machine.
pub fn record(measurements: &Measurements, date: &str) -> String {
    let mut text = format!("# Filters, {date}\n\n");
    let _ = write!(
        text,
        "Made by `ratios`; not to be edited. What the numbers mean is in the [README](README.md).\n\n{}",
        machine()
    );
    for section in [filters(), goals(measurements), tables(measurements)] {
        text.push('\n');
        text.push_str(&section);
    }
    text
}
