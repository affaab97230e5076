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
    let path = match arguments.next() {
        Some(path) => PathBuf::from(path),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(SAMPLE),
    };
    let key = arguments.next().unwrap_or_else(|| "user00000/post0002".into());
    let key = key.as_encoded_bytes();

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
        println!("  {}", told(step));
    }
    match &explanation.answer {
        Answer::Found(_) => println!("  found"),
        Answer::Deleted => println!("  deleted"),
        _ => println!("  not there"),
    }

    // The filters at work: keys like the existing ones, with another end.
    let absent = db.iter().take(1000).map(|entry| entry.map(|(key, _)| [&key, &b"?"[..]].concat()));
    let absent = absent.collect::<Result<Vec<_>, _>>()?;
    let before = denied(&db);
    let found = db.get_many(&absent)?.into_iter().flatten().count();
    println!(
        "\n{} keys not in the database: {found} found, the filters said no {} times",
        absent.len(),
        denied(&db) - before
    );
    Ok(())
}

/// One source of a lookup, in words.
fn told(step: &Step) -> String {
    match step {
        Step::Memtable { entries, .. } => format!("the log: {} entries of the key", entries.len()),
        Step::OutOfRange { level, files } => format!("level {level}: {files:?} out of range"),
        Step::Skipped { level, files } => format!("level {level}: {files:?} not asked"),
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

/// How often a filter has said no.
fn denied(db: &Database) -> u64 {
    db.stats().levels.iter().map(|level| level.tickers.get(Ticker::BloomFilterUseful)).sum()
}
