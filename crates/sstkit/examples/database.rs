//! Opens a database directory and explains a lookup.
//!
//! ```text
//! cargo run --release --example database                             a sample
//! cargo run --release --example database -- path/to/db some-key      your own
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};

use sstkit::db::{Answer, Step};
use sstkit::table::Ticker;
use sstkit::{
    ColumnFamilyDescriptor, Database, DatabaseWriter, DatabaseWriterOptions, EntryKind, FileSource,
    InternalKey, TableOptions, TableWriter,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (path, key) = (arguments.next(), arguments.next());
    let key = key.unwrap_or_else(|| "user00000/post0002".into());
    let folder = tempfile::tempdir()?;
    let path = path.map_or_else(|| sample(folder.path()), |path| Ok(path.into()))?;
    show(&path, key.as_encoded_bytes())
}

/// Posts in level 6, and newer versions of some of them in level 0.
pub(crate) fn sample(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let path = folder.join("db");
    let mut writer = DatabaseWriter::create(&path, DatabaseWriterOptions::rocksdb())?;
    let family = writer.column_family(ColumnFamilyDescriptor::new("default"))?;
    let base = TableOptions::rocksdb().external_file(false).filter("bloomfilter:10".parse()?);
    for (level, sequence, step) in [(6, 1, 1), (0, 2, 7)] {
        let file = writer.new_table_path();
        let mut table = TableWriter::create(&file, &writer.table_options(family, &base)?)?;
        for post in (0..2000).step_by(step) {
            let key = format!("user{:05}/post{:04}", post / 10, post % 10);
            let user_key = key.as_bytes();
            table.add(&InternalKey { user_key, sequence, kind: EntryKind::Value }, b"a post")?;
        }
        table.finish()?;
        writer.add_table(family, level, &FileSource::Written(file), None)?;
    }
    writer.finish()?;
    Ok(path)
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
