//! The tables in the documents are those of the recorded runs.

use std::fs;
use std::path::Path;

use sstkit_bench::numbers::{DOCUMENTS, Records, fill};

#[test]
fn documents_show_the_recorded_numbers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let records = Records::read(&root).unwrap();
    for name in DOCUMENTS {
        let document = fs::read_to_string(root.join(name)).unwrap();
        assert!(document.contains("<!-- numbers: "), "{name} has no table");
        assert_eq!(
            fill(&document, &records).unwrap(),
            document,
            "{name} is out of date: cargo run -p sstkit-bench --bin numbers"
        );
    }
}
