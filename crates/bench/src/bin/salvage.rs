//! Compares what is saved of damaged databases with the engines' own repair, and records it.
//!
//! ```text
//! cargo run -p sstkit-bench --bin salvage -- docs/benchmarks/records/salvage.json
//! cargo run -p sstkit-bench --bin numbers
//! ```

use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: salvage RECORD.json")?;
    let record = sstkit_bench::salvage_comparison::run()?;
    fs::write(&path, serde_json::to_string_pretty(&record)? + "\n")?;
    println!("{path}: written");
    Ok(())
}
