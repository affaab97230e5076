//! `sst diff` of two large tables that differ in one value, beside reading both with `cat`.
//!
//! ```text
//! tables     keys of 16 bytes, values of 100 that do not compress, blocks of 4 KiB, not compressed
//!
//! rounds     cat A B | sst diff A B | cat A B | …       both files in the page cache
//! ```

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use sstkit_table::raw::Codec;
use sstkit_table::{TableOptions, TableWriter};
use sstkit_testkit::random::mix;

use crate::record::date::today;
use crate::watched_command::{self, load};

const VALUE_SIZE: usize = 100;
const ENTRY_SIZE: u64 = 16 + VALUE_SIZE as u64;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the tables are written.
    pub directory: PathBuf,
    /// The approximate size of each table.
    pub bytes: u64,
    /// How often each is done.
    pub rounds: usize,
    /// The `sst` command.
    pub command: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            directory: std::env::temp_dir(),
            bytes: 1_000_000_000,
            rounds: 5,
            command: PathBuf::from("target/release/sst"),
        }
    }
}

/// Makes the tables and does all rounds. Returns the record. `say` gets a line for each round.
pub fn measure(settings: &Settings, say: impl Fn(String)) -> Result<Value, Box<dyn Error>> {
    let folder = tempfile::tempdir_in(&settings.directory)?;
    let [a, b] = ["a.sst", "b.sst"].map(|name| folder.path().join(name));
    let entries = settings.bytes / ENTRY_SIZE;
    make(&a, entries, None)?;
    make(&b, entries, Some(entries / 2))?;
    let bytes = fs::metadata(&a)?.len() + fs::metadata(&b)?.len();
    let load = load();
    let mut rounds = Vec::new();
    for number in 0..=settings.rounds {
        let mut cat = Command::new("sh");
        cat.arg("-c").arg("cat \"$0\" \"$1\" > /dev/null").arg(&a).arg(&b);
        let start = Instant::now();
        watched_command::run(cat, 0)?;
        let cat = start.elapsed();
        let mut diff = Command::new(&settings.command);
        diff.arg("diff").arg(&a).arg(&b).arg("--summary");
        let start = Instant::now();
        let (peak, printed) = watched_command::run(diff, 1)?;
        let diff = start.elapsed();
        if printed.trim() != "0 removed, 0 added, 1 changed" {
            return Err(format!("a wrong difference: {printed}").into());
        }
        say(format!("cat {cat:?}, sst diff {diff:?}, {peak} bytes of memory"));
        // The first one fills the page cache.
        if number > 0 {
            rounds.push(json!({
                "cat_seconds": cat.as_secs_f64(),
                "diff_seconds": diff.as_secs_f64(),
                "diff_peak_bytes": peak,
            }));
        }
    }
    Ok(json!({
        "date": today(),
        "machine": crate::record::machine::machine().trim_end(),
        "load": load,
        "bytes": bytes,
        "rounds": rounds,
    }))
}

/// Writes a table with this number of entries, of which one has another value.
fn make(path: &Path, entries: u64, changed: Option<u64>) -> Result<(), Box<dyn Error>> {
    let options =
        TableOptions::rocksdb().compression(Codec::None).filter("bloomfilter:10".parse()?);
    let mut table = TableWriter::create(path, &options)?;
    let mut value = [0; VALUE_SIZE];
    for number in 0..entries {
        let seed = number + if changed == Some(number) { entries } else { 0 };
        for (place, piece) in (0..).zip(value.chunks_mut(8)) {
            let noise = mix(seed.wrapping_mul(VALUE_SIZE as u64).wrapping_add(place));
            piece.copy_from_slice(&noise.to_le_bytes()[..piece.len()]);
        }
        table.put(&[number.to_be_bytes(), mix(number).to_be_bytes()].concat(), &value)?;
    }
    table.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_differs() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        make(&a, 5000, None).unwrap();
        make(&b, 5000, Some(2500)).unwrap();
        let [a, b] = [a, b].map(|path| sstkit_table::Table::open(path).unwrap());
        let differ = a.iter().zip(b.iter()).filter(|(a, b)| a.as_ref().ok() != b.as_ref().ok());
        assert_eq!(differ.count(), 1);
        assert_eq!(a.iter().count(), 5000);
    }
}
