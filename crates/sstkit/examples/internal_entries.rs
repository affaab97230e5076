//! Entries as they are stored: every version of every key, with its sequence number and type.
//!
//! ```text
//! cargo run --release --example internal_entries
//! ```

use std::error::Error;

use sstkit::{EntryKind, InternalKey, ReadOptions, Table, TableOptions, TableWriter};

/// Key, sequence number, type and value, in the order of a table: newer versions first.
const ENTRIES: [(&str, u64, EntryKind, &str); 6] = [
    ("alice", 9, EntryKind::Deletion, ""),
    ("alice", 4, EntryKind::Value, "1"),
    ("bob", 7, EntryKind::Merge, "+2"),
    ("bob", 3, EntryKind::Value, "2"),
    ("carol", 8, EntryKind::SingleDeletion, ""),
    ("dave", 2, EntryKind::Value, "4"),
];

/// A table as a database has it. External files, the default, have sequence number 0 everywhere.
fn table() -> sstkit::Result<Table> {
    let options = TableOptions::rocksdb().external_file(false);
    let mut writer = TableWriter::to_sink(Vec::new(), &options)?;
    for (user_key, sequence, kind, value) in ENTRIES {
        let user_key = user_key.as_bytes();
        writer.add(&InternalKey { user_key, sequence, kind }, value.as_bytes())?;
    }
    let (_, bytes) = writer.finish_sink()?;
    Table::from_bytes(bytes)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let table = table()?;
    let mut read = Vec::new();
    for entry in table.entries() {
        let entry = entry?;
        let key = entry.user_key.escape_ascii();
        println!("{key} @ {} : {} => {}", entry.sequence, entry.kind, entry.value.escape_ascii());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        read.push((text(&entry.user_key), entry.sequence, entry.kind, text(&entry.value)));
    }
    let written = ENTRIES
        .map(|(key, sequence, kind, value)| (key.to_owned(), sequence, kind, value.to_owned()));
    assert_eq!(read, written);

    // What is visible, now and at an earlier time. Operands without an operator are an error, so
    // "bob" is left out.
    assert_eq!(table.get(b"alice")?, None);
    let earlier = ReadOptions::default().sequence(5);
    assert_eq!(table.get_with(b"alice", &earlier)?.ok_or("was visible then")?, "1");

    // A cursor borrows keys and values instead of copying them, and goes both ways.
    let mut cursor = table.entry_cursor();
    let mut more = cursor.seek_to_last()?;
    let mut backward = Vec::new();
    while more {
        backward.push((cursor.user_key().to_vec(), cursor.sequence()));
        more = cursor.prev()?;
    }
    assert_eq!(backward.len(), ENTRIES.len());
    assert_eq!(backward[0], (b"dave".to_vec(), 2));
    Ok(())
}
