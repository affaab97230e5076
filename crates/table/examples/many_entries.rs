//! Writes and scans a table of many small entries, and says how much memory that took.
//!
//! ```text
//! cargo run --release -p sstkit-table --example many_entries                       100 million entries
//! cargo run --release -p sstkit-table --example many_entries -- 5000000 none       fewer, and no filter
//! ```

use std::error::Error;
use std::time::Instant;

use sstkit_table::{Table, TableOptions, TableWriter};

const DEFAULT_ENTRIES: u64 = 100_000_000;
const DEFAULT_FILTER: &str = "bloomfilter:10";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(DEFAULT_ENTRIES), |count| count.parse())?;
    let filter = arguments.next().unwrap_or_else(|| DEFAULT_FILTER.to_owned());
    let folder = tempfile::tempdir_in(".")?;
    let path = folder.path().join("many.sst");

    let options = TableOptions::rocksdb().filter(filter.parse()?).threads(2);
    let started = Instant::now();
    let mut writer = TableWriter::create(&path, &options)?;
    for i in 0..count {
        writer.put(&key(i), &i.to_le_bytes())?;
    }
    let summary = writer.finish()?;
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "wrote {count} entries ({filter}) in {seconds:.1} s, {:.2} million a second; file {} MB; peak memory {} MB",
        count as f64 / seconds / 1e6,
        std::fs::metadata(&path)?.len() >> 20,
        peak_memory_mb(),
    );
    assert_eq!(summary.num_entries, count);

    let started = Instant::now();
    let table = Table::open(&path)?;
    let mut expected = 0u64;
    for entry in &table {
        let (found, value) = entry?;
        assert!(
            found[..] == key(expected) && value[..] == expected.to_le_bytes(),
            "entry {expected}"
        );
        expected += 1;
    }
    assert_eq!(expected, count);
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "scanned and compared them in {seconds:.1} s, {:.2} million a second; peak memory {} MB",
        count as f64 / seconds / 1e6,
        peak_memory_mb(),
    );
    Ok(())
}

fn key(i: u64) -> [u8; 16] {
    let mut key = *b"key.............";
    key[8..].copy_from_slice(&i.to_be_bytes());
    key
}

/// The most memory this process ever had, as Linux counts it.
fn peak_memory_mb() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .map_or(0, |kilobytes| kilobytes >> 10)
}
