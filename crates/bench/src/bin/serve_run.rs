//! Measures `sst serve` under a constant load of JSON requests.
//!
//! ```text
//! cargo build --release -p sstkit-cli
//! cargo run --release -p sstkit-bench --bin serve_run -- --rate 1000 --seconds 60 \
//!     --command target/release/sst --json docs/benchmarks/records/serve-YYYY-MM-DD-1.json
//! ```

use std::error::Error;
use std::path::PathBuf;

use sstkit_bench::run_arguments::read_arguments;
use sstkit_bench::serve_run::{ServeRun, Settings};

fn main() -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    let file = read_arguments(|name, value| {
        match name {
            "--command" => settings.command = PathBuf::from(value),
            "--database" => settings.database = PathBuf::from(value),
            "--rate" => settings.rate = value.parse()?,
            "--seconds" => settings.seconds = value.parse()?,
            "--clients" => settings.clients = value.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let record = ServeRun::measure(&settings)?.to_json();
    println!("{}", serde_json::to_string_pretty(&record)?);
    file.write(&record)
}
