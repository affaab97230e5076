//! Builds a table from a file of keys, one a line, looks keys up in it, and shows its filter and its
//! blocks.
//!
//! ```text
//! cargo run --release --example quickstart                       a sample
//! cargo run --release --example quickstart -- my-keys.txt        your own
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use sstkit::{BulkBuilder, BulkOptions, Table, TableOptions};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let out = &mut io::stdout().lock();
    let Some(path) = std::env::args_os().nth(1) else { return show("a sample", &sample(), out) };
    let name = path.display().to_string();
    let text = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
    show(&name, &text, out)
}

/// The items of users, 50 each.
pub(crate) fn sample() -> Vec<u8> {
    let keys = (42..2542).map(|i| format!("user{:04}/item{:06}\n", 4 + i / 50, i % 50));
    keys.collect::<String>().into_bytes()
}

/// All of it, from the text of the file to a verified table.
pub(crate) fn show(name: &str, text: &[u8], out: &mut impl Write) -> Result<()> {
    let keys: Vec<&[u8]> =
        text.split(|&byte| byte == b'\n').filter(|key| !key.is_empty()).collect();
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
        return Err(format!("{name}: has no keys").into());
    };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("keys.sst");
    build(&keys, &file)?;
    let table = Table::open(&file)?;
    let size = std::fs::metadata(&file)?.len();
    writeln!(out, "{} keys from {name}: a RocksDB table of {size} bytes", keys.len())?;

    writeln!(out, "\nLookups")?;
    for key in [first, last] {
        let value = table.get(key)?.ok_or("a key that was written is found")?;
        writeln!(out, "  {} = {}", key.escape_ascii(), value.escape_ascii())?;
    }
    absent_keys(&keys, &table, out)?;
    filter(&table, out)?;
    blocks(&table, out)?;
    let sound = table.verify().is_sound();
    writeln!(out, "\n{}", if sound { "Verified: sound." } else { "DAMAGED" })?;
    Ok(())
}

/// Keys may come in any order; the value is the line number.
fn build(keys: &[&[u8]], file: &Path) -> Result<()> {
    let options = BulkOptions::new(TableOptions::rocksdb().filter("bloomfilter:10".parse()?));
    let mut builder = BulkBuilder::create(file, &options)?;
    for (number, key) in (1..).zip(keys) {
        builder.put(key, format!("line {number}").as_bytes())?;
    }
    builder.finish()?;
    Ok(())
}

/// Looks up absent keys, and counts those that the filter rejects.
fn absent_keys(keys: &[&[u8]], table: &Table, out: &mut impl Write) -> Result<()> {
    let filter = table.filter().ok_or("the table has a filter")?;
    let (mut denied, mut shown) = (0, false);
    for key in keys.iter().map(|key| [key, &b"?"[..]].concat()) {
        assert!(table.get(&key)?.is_none(), "no key ends in a question mark");
        let passes = filter.may_contain(&key)?;
        denied += usize::from(!passes);
        if !passes && !shown {
            writeln!(out, "  {} not found: rejected by the filter", key.escape_ascii())?;
            shown = true;
        }
    }
    writeln!(
        out,
        "  {} absent keys: {denied} rejected by the filter without reading a block",
        keys.len()
    )?;
    Ok(())
}

fn filter(table: &Table, out: &mut impl Write) -> Result<()> {
    let stats = table.filter().ok_or("the table has a filter")?.stats()?;
    writeln!(out, "\nFilter")?;
    if let Some(kind) = stats.main_kind() {
        writeln!(out, "  kind             {kind}")?;
    }
    if let (Some(bits), Some(probes)) = (stats.bits_per_key(), stats.num_probes()) {
        writeln!(out, "  bits per key     {bits:.2}, {probes} probes per query")?;
    }
    if let (Some(fill), Some(rate)) = (stats.fill(), stats.expected_fpr()) {
        writeln!(out, "  bits set         {:.1} %", 100.0 * fill)?;
        writeln!(out, "  false positives  {:.2} % expected", 100.0 * rate)?;
    }
    Ok(())
}

fn blocks(table: &Table, out: &mut impl Write) -> Result<()> {
    let mut kinds: BTreeMap<_, (usize, u64)> = BTreeMap::new();
    for block in table.layout()?.blocks {
        let (blocks, bytes) = kinds.entry(block.kind).or_default();
        *blocks += 1;
        *bytes += block.handle.size;
    }
    writeln!(out, "\nBlocks")?;
    for (kind, (blocks, bytes)) in kinds {
        writeln!(out, "  {:<16} {blocks:>3} {bytes:>7} bytes", kind.name())?;
    }
    Ok(())
}
