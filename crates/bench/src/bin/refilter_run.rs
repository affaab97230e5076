//! Measures `sst refilter` of a large database beside `cp` of the same files, by turns.
//!
//! ```text
//! cargo build --release -p sstkit-cli
//! cargo run --release -p sstkit-bench --bin refilter_run -- --directory DIR --gigabytes 10 \
//!     --command target/release/sst --json docs/benchmarks/records/refilter-YYYY-MM-DD.json
//! ```
//!
//! The database and all copies are in a temporary directory below DIR, and are deleted at the end.

use std::error::Error;
use std::path::PathBuf;

use sstkit_bench::refilter_run::{RefilterRun, Settings};
use sstkit_bench::run_arguments::read_arguments;

fn main() -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    let file = read_arguments(|name, value| {
        match name {
            "--directory" => settings.directory = PathBuf::from(value),
            "--gigabytes" => settings.bytes = value.parse::<u64>()? * 1_000_000_000,
            "--rounds" => settings.rounds = value.parse()?,
            "--filter" => settings.filter = value,
            "--command" => settings.command = PathBuf::from(value),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    file.write(&RefilterRun::measure(&settings, |line| println!("{line}"))?.to_json())
}
