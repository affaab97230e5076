//! Databases as text, for [data-driven](crate::datadriven) tests: headings, and entries below them in
//! the [notation](crate::notation) of tables.
//!
//! ```text
//! log                     the write-ahead log, the oldest write first
//! a#9 put newest
//! level 0                 one table; the tables of level 0 are in the order of writing
//! a#5 put older
//! level 1
//! a#2 put oldest
//! b#3 put 1
//! ```

use std::fs::{self, File};
use std::path::Path;

use sstkit_db::raw::LogWriter;
use sstkit_db::{DatabaseWriter, DatabaseWriterOptions, FileSource};
use sstkit_table::TableOptions;

use crate::notation::{InternalEntry, parse, table_bytes};

/// The number of the log: larger than that of any table here.
const LOG: &str = "000900.log";

/// Writes a RocksDB database with these tables and this log. The tables are numbered from 1 on.
///
/// # Panics
///
/// If the text is not in the notation, or a writer refuses it.
pub fn write_database(target: &Path, text: &str, options: &TableOptions) {
    let mut writer = DatabaseWriter::create(target, DatabaseWriterOptions::rocksdb()).unwrap();
    let mut log = Vec::new();
    for (heading, entries) in sections(text) {
        match heading.split_once(' ') {
            None if heading == "log" => log.extend(parse(&entries)),
            Some(("level", level)) => {
                let path = writer.new_table_path();
                fs::write(&path, table_bytes(&entries, options)).unwrap();
                let level = level.parse().unwrap_or_else(|_| panic!("not a level: {heading}"));
                writer.add_table(0, level, &FileSource::Written(path), None).unwrap();
            }
            _ => panic!("not a heading: {heading}"),
        }
    }
    writer.finish().unwrap();
    let mut records = LogWriter::new(File::create(target.join(LOG)).unwrap());
    for entry in &log {
        records.add_record(&write_batch(entry)).unwrap();
    }
}

/// The headings, each with the lines below it.
fn sections(text: &str) -> Vec<(&str, String)> {
    let mut sections: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        match sections.last_mut() {
            Some((_, entries)) if line.contains('#') => *entries += &format!("{line}\n"),
            _ => sections.push((line, String::new())),
        }
    }
    sections
}

/// A write batch of one entry:
///
/// ```text
/// | sequence, fixed64 | count, fixed32 | tag | length, key | length, value |
/// ```
fn write_batch(entry: &InternalEntry) -> Vec<u8> {
    let tag = entry.kind as u8;
    let mut batch = [&entry.sequence.to_le_bytes()[..], &1u32.to_le_bytes(), &[tag]].concat();
    let has_value = !matches!(tag, 0x00 | 0x07);
    let (key, value) = (entry.user_key(), entry.stored_value());
    for slice in [Some(&key), has_value.then_some(&value)].into_iter().flatten() {
        batch.push(u8::try_from(slice.len()).ok().filter(|&it| it < 0x80).expect("a short text"));
        batch.extend_from_slice(slice);
    }
    batch
}
