//! Opens a database directory and explains a lookup.
//!
//! ```text
//! cargo run --release --example database                             a sample in testdata/databases
//! cargo run --release --example database -- path/to/db some-key      your own
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};

use sstkit::Database;
use sstkit::db::{Answer, Step};
use sstkit::table::Ticker;

/// The sample, seen from the root of the repository.
const SAMPLE: &str = "testdata/databases/rocksdb-leveled-bloom";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = arguments.next().map_or_else(sample, PathBuf::from);
    let key = arguments.next().unwrap_or_else(|| "user00000/post0002".into());
    show(&path, key.as_encoded_bytes())
}

pub(crate) fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(SAMPLE)
}

pub(crate) fn show(path: &Path, key: &[u8]) -> Result<(), Box<dyn Error>> {
    let db = Database::open(path)?; // no lock is taken, nothing is written
    for family in db.column_families() {
        println!(
            "column family {}, {} entries in the log",
            family.name(),
            family.memtable_entries()
        );
        for level in family.levels() {
            println!("  level {}: {} files", level.number, level.files.len());
        }
    }

    println!("\n{}", key.escape_ascii());
    let explanation = db.default_column_family().explain(key)?;
    for step in &explanation.steps {
        println!("  {}", described(step));
    }
    match &explanation.answer {
        Answer::Found(_) => println!("  found"),
        Answer::Deleted => println!("  deleted"),
        _ => println!("  not found"),
    }

    // The filters at work: keys like the existing ones, with another end.
    let absent = db.iter().take(1000).map(|entry| entry.map(|(key, _)| [&key, &b"?"[..]].concat()));
    let absent = absent.collect::<Result<Vec<_>, _>>()?;
    let before = useful_probes(&db);
    let found = db.get_many(&absent)?.into_iter().flatten().count();
    assert_eq!(found, 0);
    println!(
        "\n{} keys not in the database: {found} found, filters excluded keys {} times",
        absent.len(),
        useful_probes(&db) - before
    );
    Ok(())
}

/// One source of a lookup, in words.
fn described(step: &Step) -> String {
    match step {
        Step::Memtable { entries, .. } => format!("the log: {} entries of the key", entries.len()),
        Step::OutOfRange { level, files } => format!("level {level}: {files:?} out of range"),
        Step::Skipped { level, files } => {
            format!("level {level}: {files:?} skipped: already resolved")
        }
        Step::File { level, file, trace, .. } => match &trace.filter {
            Some(filter) if !filter.may_contain => format!("level {level}: {file}, filter: no"),
            Some(_) => format!(
                "level {level}: {file}, filter: maybe, then {} block(s)",
                trace.blocks.len()
            ),
            None => format!("level {level}: {file}, no filter, {} block(s)", trace.blocks.len()),
        },
        _ => "another source".into(),
    }
}

/// How often a filter has excluded a key.
fn useful_probes(db: &Database) -> u64 {
    db.stats().levels.iter().map(|level| level.tickers.get(Ticker::BloomFilterUseful)).sum()
}
