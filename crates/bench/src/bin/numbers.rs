//! Prints the tables of the documents from the recorded runs.
//!
//! ```text
//! cargo run -p sstkit-bench --bin numbers
//! ```

use std::error::Error;
use std::fs;
use std::path::Path;

use sstkit_bench::numbers::{DOCUMENTS, Records, fill};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let records = Records::read(&root)?;
    for name in DOCUMENTS {
        let path = root.join(name);
        let document = fs::read_to_string(&path)?;
        let filled = fill(&document, &records)?;
        if filled != document {
            fs::write(&path, filled)?;
            println!("{name}: rewritten");
        }
    }
    Ok(())
}
