//! Measures scans of tables on a server with latency, beside plain downloads.
//!
//! ```text
//! cargo run --release -p sstkit-bench --bin remote_run -- docs/benchmarks/records/remote-YYYY-MM-DD-1.json
//! ```

use std::error::Error;
use std::fs;

use sstkit_bench::remote_run::{Settings, measure};

fn main() -> Result<(), Box<dyn Error>> {
    let record = serde_json::to_string_pretty(&measure(&Settings::default())?)? + "\n";
    print!("{record}");
    if let Some(path) = std::env::args_os().nth(1) {
        fs::write(path, record)?;
    }
    Ok(())
}
