//! Prints the tables of the last run of the benches, or writes them to a file.
//!
//! ```text
//! cargo bench -p sstkit-bench
//! cargo run --release -p sstkit-bench --bin ratios -- --write docs/benchmarks/2026-01-31-machine.md
//! ```

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sstkit_bench::record::{Measurements, record, today};

const USAGE: &str = "usage: ratios [--date YYYY-MM-DD] [--write FILE]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ratios: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut date = None;
    let mut file = None;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let place = match argument.as_str() {
            "--date" => &mut date,
            "--write" => &mut file,
            _ => return Err(USAGE.into()),
        };
        *place = Some(arguments.next().ok_or(USAGE)?);
    }

    let measurements = Measurements::read(&criterion_folder())?;
    if measurements.is_empty() {
        return Err("nothing was measured yet: cargo bench -p sstkit-bench".into());
    }
    if measurements.mixed() {
        eprintln!(
            "ratios: results lie hours apart; ratios across runs mean nothing (remove {} and measure again)",
            criterion_folder().display()
        );
    }
    let text = record(&measurements, &date.unwrap_or_else(today));
    match file {
        Some(file) => fs::write(file, text)?,
        None => print!("{text}"),
    }
    Ok(())
}

/// Where Criterion puts its results.
fn criterion_folder() -> PathBuf {
    if let Some(home) = env::var_os("CRITERION_HOME") {
        return home.into();
    }
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    target.join("criterion")
}
