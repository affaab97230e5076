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
use std::fs;
use std::path::PathBuf;

use sstkit_bench::refilter_run::{RefilterRun, Settings};

fn main() -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    let mut json = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} has no value"))?;
        match name.as_str() {
            "--directory" => settings.directory = PathBuf::from(value),
            "--gigabytes" => settings.bytes = value.parse::<u64>()? * 1_000_000_000,
            "--rounds" => settings.rounds = value.parse()?,
            "--filter" => settings.filter = value,
            "--command" => settings.command = PathBuf::from(value),
            "--json" => json = Some(PathBuf::from(value)),
            _ => return Err(format!("{name}: unknown argument").into()),
        }
    }
    let run = RefilterRun::measure(&settings, |line| println!("{line}"))?;
    if let Some(path) = json {
        fs::write(path, serde_json::to_string_pretty(&run.to_json())? + "\n")?;
    }
    Ok(())
}
