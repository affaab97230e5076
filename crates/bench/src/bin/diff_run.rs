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
use std::fs;
use std::path::PathBuf;

use sstkit_bench::diff_run::{Settings, measure};

fn main() -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    let mut json = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} has no value"))?;
        match name.as_str() {
            "--directory" => settings.directory = PathBuf::from(value),
            "--megabytes" => settings.bytes = value.parse::<u64>()? * 1_000_000,
            "--rounds" => settings.rounds = value.parse()?,
            "--command" => settings.command = PathBuf::from(value),
            "--json" => json = Some(PathBuf::from(value)),
            _ => return Err(format!("{name}: unknown argument").into()),
        }
    }
    let record = measure(&settings, |line| println!("{line}"))?;
    if let Some(path) = json {
        fs::write(path, serde_json::to_string_pretty(&record)? + "\n")?;
    }
    Ok(())
}
