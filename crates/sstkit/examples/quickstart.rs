//! Builds a table from a file of keys, one a line, and looks keys up in it.
//!
//! ```text
//! cargo run --release --example quickstart                       the sample in testdata/keys
//! cargo run --release --example quickstart -- my-keys.txt        your own
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use sstkit::table::{Ticker, Tickers};
use sstkit::{Table, TableOptions, TableReadOptions, TableWriter};

/// The sample, seen from the root of the repository.
const SAMPLE: &str = "testdata/keys/items.txt";

fn main() -> Result<(), Box<dyn Error>> {
    let (name, path) = match std::env::args_os().nth(1) {
        Some(path) => (path.display().to_string(), PathBuf::from(path)),
        None => (SAMPLE.into(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(SAMPLE)),
    };
    let text = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
    let mut keys: Vec<&[u8]> =
        text.split(|&byte| byte == b'\n').filter(|key| !key.is_empty()).collect();
    keys.sort_unstable();
    keys.dedup();
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
        return Err(format!("{name}: has no keys").into());
    };

    let folder = tempfile::tempdir()?;
    let file = folder.path().join("keys.sst");
    let options = TableOptions::rocksdb().filter("ribbonfilter:10".parse()?);
    let started = Instant::now();
    let mut writer = TableWriter::create(&file, &options)?;
    for (number, key) in keys.iter().enumerate() {
        writer.put(key, format!("line {number}").as_bytes())?;
    }
    let summary = writer.finish()?;
    println!(
        "{} keys of {name} in a table of {} bytes, {:?}",
        summary.num_entries,
        summary.file_size,
        started.elapsed()
    );

    let tickers = Arc::new(Tickers::default());
    let table = Table::open_file(&file, &TableReadOptions::default().tickers(&tickers))?;
    println!("\nThe file, block by block:");
    for block in &table.layout()?.blocks {
        println!("{:>9} {:>7}  {}", block.handle.offset, block.handle.size, block.kind);
    }

    println!("\nLookups:");
    for key in [first, last] {
        let value = table.get(key)?.ok_or("a key that was written is there")?;
        println!("{} = {}", key.escape_ascii(), value.escape_ascii());
    }
    let absent: Vec<Vec<u8>> = keys.iter().map(|key| [key, &b"?"[..]].concat()).collect();
    let found = table.get_many(&absent)?.into_iter().flatten().count();
    println!(
        "{} keys that are not there: {found} found; the filter answered {} of them without reading a block",
        absent.len(),
        tickers.get(Ticker::BloomFilterUseful),
    );

    println!("\nThe first three in reverse order:");
    for entry in table.iter().rev().take(3) {
        let (key, value) = entry?;
        println!("{} = {}", key.escape_ascii(), value.escape_ascii());
    }
    let verification = table.verify();
    println!("\n{}", if verification.is_sound() { "Verified: sound." } else { "DAMAGED" });
    Ok(())
}
