//! Builds tables from unsorted entries in 64 MiB of memory: four times as much data as that.
//!
//! ```text
//! cargo run --release --example bulk_build
//! ```

use std::error::Error;

use sstkit::{BulkBuilder, BulkOptions, Database, TableOptions};

const MEMORY: usize = 64 << 20;
const ENTRIES: u64 = 2_000_000;
const VALUE: usize = 112;

/// A permutation of the numbers below `ENTRIES`: no key comes twice, and none is near the one before.
fn shuffled(number: u64) -> u64 {
    number * 1_234_577 % ENTRIES
}

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"user    00000000";
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

fn value(number: u64) -> [u8; VALUE] {
    let mut value = [0; VALUE];
    value[..8].copy_from_slice(&number.to_le_bytes());
    value
}

/// The most memory that the process ever had, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("users");
    let before = peak_memory();

    let tables = TableOptions::rocksdb().filter("bloomfilter:10".parse()?);
    let options = BulkOptions::new(tables).memory(MEMORY).max_file_size(Some(8 << 20));
    let mut builder = BulkBuilder::create(&path, &options)?;
    for number in (0..ENTRIES).map(shuffled) {
        builder.put(&key(number), &value(number))?;
    }
    let summary = builder.finish()?; // users/000001.sst, …, users/manifest.json
    let data = ENTRIES * (16 + VALUE as u64);
    assert!(data > 3 * MEMORY as u64 && summary.runs > 1, "more than fits in memory");
    assert_eq!((summary.entries_added, summary.manifest.entries), (ENTRIES, ENTRIES));
    assert!(summary.manifest.files.len() > 1);
    println!(
        "{} MiB in {} tables, by way of {} sorted runs on disk",
        data >> 20,
        summary.manifest.files.len(),
        summary.runs
    );
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        println!("{} MiB of memory", (after - before) >> 20);
        assert!(after - before < MEMORY as u64 + (16 << 20), "{} bytes", after - before);
    }

    // All of it is there, in order, and reads as one.
    let db = Database::open_bulk(&path)?;
    let mut expected = 0;
    for entry in &db {
        let (found, stored) = entry?;
        assert_eq!((&found[..], &stored[..]), (&key(expected)[..], &value(expected)[..]));
        expected += 1;
    }
    assert_eq!(expected, ENTRIES);
    Ok(())
}
