//! Measures `sst serve` under a constant load of JSON requests.
//!
//! ```text
//! cargo build --release -p sstkit-cli
//! cargo run --release -p sstkit-bench --bin serve_run -- --rate 1000 --seconds 60 \
//!     --command target/release/sst --json docs/benchmarks/records/serve-YYYY-MM-DD-1.json
//! ```

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use sstkit_bench::serve_run::{ServeRun, Settings};

fn main() -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    let mut json = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} has no value"))?;
        match name.as_str() {
            "--command" => settings.command = PathBuf::from(value),
            "--database" => settings.database = PathBuf::from(value),
            "--rate" => settings.rate = value.parse()?,
            "--seconds" => settings.seconds = value.parse()?,
            "--clients" => settings.clients = value.parse()?,
            "--json" => json = Some(PathBuf::from(value)),
            _ => return Err(format!("{name}: unknown argument").into()),
        }
    }
    let record = serde_json::to_string_pretty(&ServeRun::measure(&settings)?.to_json())? + "\n";
    print!("{record}");
    if let Some(path) = json {
        fs::write(path, record)?;
    }
    Ok(())
}
