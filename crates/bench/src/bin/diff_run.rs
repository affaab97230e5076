//! Measures `sst diff` of two large tables that differ in one value beside `cat` of both, by turns.
//!
//! ```text
//! cargo build --release -p sstkit-cli
//! cargo run --release -p sstkit-bench --bin diff_run -- --directory DIR --command target/release/sst \
//!     --json docs/benchmarks/records/diff-YYYY-MM-DD.json
//! ```
//!
//! The tables are in a temporary directory below DIR, and are deleted at the end.

use std::error::Error;
use std::path::PathBuf;

use sstkit_bench::diff_run::{Settings, measure};
use sstkit_bench::run_arguments::read_arguments;

fn main() -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    let file = read_arguments(|name, value| {
        match name {
            "--directory" => settings.directory = PathBuf::from(value),
            "--megabytes" => settings.bytes = value.parse::<u64>()? * 1_000_000,
            "--rounds" => settings.rounds = value.parse()?,
            "--command" => settings.command = PathBuf::from(value),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    file.write(&measure(&settings, |line| println!("{line}"))?)
}
