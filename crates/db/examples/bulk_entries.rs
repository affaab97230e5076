//! Builds tables of many entries in random order within a budget, and verifies all of it.
//!
//! ```text
//! cargo run --release -p sstkit-db --example bulk_entries                           20 million, 256 MiB
//! cargo run --release -p sstkit-db --example bulk_entries -- 1000000 64 /tmp/out    fewer, elsewhere
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use sstkit_db::{BulkBuilder, BulkOptions, BulkSummary};
use sstkit_table::{Table, TableOptions, TableReadOptions};

const DEFAULT_ENTRIES: u64 = 20_000_000;
const DEFAULT_MEMORY_MIB: usize = 256;
const FILE_SIZE: u64 = 64 << 20;
const VALUE_SIZE: usize = 100;
/// Keys that are looked up, present and absent ones each.
const LOOKUPS: u64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let entries = arguments.next().map_or(Ok(DEFAULT_ENTRIES), |count| count.parse())?;
    let memory = arguments.next().map_or(Ok(DEFAULT_MEMORY_MIB), |size| size.parse())?;
    let temporary = tempfile::tempdir_in(".")?;
    let folder = match arguments.next() {
        Some(folder) => PathBuf::from(folder),
        None => temporary.path().join("tables"),
    };

    let summary = build(entries, memory, &folder)?;
    assert_eq!(summary.manifest.entries, entries);
    summary.manifest.verify(&folder)?;
    verify(entries, &folder, &summary)
}

fn build(entries: u64, memory: usize, folder: &Path) -> Result<BulkSummary, Box<dyn Error>> {
    let table = TableOptions::rocksdb().filter("bloomfilter:10".parse()?);
    let options = BulkOptions::new(table)
        .memory(memory << 20)
        .max_file_size(Some(FILE_SIZE))
        .threads(std::thread::available_parallelism()?.get());
    let started = Instant::now();
    let mut builder = BulkBuilder::create(folder, &options)?;
    for i in 0..entries {
        builder.put(&key(i), &value(i))?;
    }
    let added = started.elapsed().as_secs_f64();
    let summary = builder.finish()?;
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "added {entries} entries in random order in {added:.1} s, {:.2} million a second",
        entries as f64 / added / 1e6
    );
    println!(
        "built {} files of {} MiB in {seconds:.1} s, {:.2} million a second; {} sorted runs of {} MiB, {} more passes",
        summary.manifest.files.len(),
        summary.manifest.bytes >> 20,
        entries as f64 / seconds / 1e6,
        summary.runs,
        summary.spilled_bytes >> 20,
        summary.merge_passes,
    );
    println!("peak memory {} MiB of {memory}", peak_memory_mib());
    Ok(summary)
}

fn verify(entries: u64, folder: &Path, summary: &BulkSummary) -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    let mut tables = Vec::new();
    let mut last: Option<Vec<u8>> = None;
    let mut count = 0;
    for file in &summary.manifest.files {
        let options = TableReadOptions::default().no_block_cache();
        let table = Table::open_with(folder.join(&file.name), &options)?;
        let verification = table.verify();
        assert!(verification.is_sound(), "{}: {verification:?}", file.name);
        let mut cursor = table.entry_cursor();
        let mut more = cursor.seek_to_first()?;
        while more {
            let key = cursor.user_key();
            assert!(last.as_deref().is_none_or(|last| last < key), "entry {count}");
            assert_eq!(cursor.value(), value(number(key)), "entry {count}");
            last = Some(key.to_vec());
            count += 1;
            more = cursor.next()?;
        }
        tables.push((file, table));
    }
    assert_eq!(count, entries);
    let find = |key: &[u8]| {
        let at = tables.partition_point(|(file, _)| file.largest[..] < *key);
        tables.get(at).map_or(Ok(None), |(_, table)| table.get(key))
    };
    for i in 0..LOOKUPS {
        let i = i * 7919;
        assert_eq!(find(&key(i % entries))?.as_deref(), Some(&value(i % entries)[..]));
        assert_eq!(find(&key(entries + i))?, None);
    }
    println!(
        "verified all of it in {:.1} s: checksums, filters, order, {count} entries, {} lookups",
        started.elapsed().as_secs_f64(),
        2 * LOOKUPS
    );
    Ok(())
}

/// Another key for each number, in no order: multiplying by an odd number can be undone.
fn key(i: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&i.wrapping_mul(FACTOR).to_be_bytes());
    key[8..].copy_from_slice(&i.to_be_bytes());
    key
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

fn number(key: &[u8]) -> u64 {
    key.last_chunk().map_or(0, |number| u64::from_be_bytes(*number))
}

/// Half of it noise, so that compression has something to do, and not everything.
fn value(i: u64) -> [u8; VALUE_SIZE] {
    let mut value = [b'v'; VALUE_SIZE];
    let mut state = i;
    for chunk in value[..VALUE_SIZE / 2].chunks_mut(8) {
        state = (state ^ state >> 31).wrapping_mul(FACTOR).wrapping_add(1);
        chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
    }
    value
}

/// The most memory this process ever had, as Linux counts it.
fn peak_memory_mib() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .map_or(0, |kilobytes| kilobytes >> 10)
}
