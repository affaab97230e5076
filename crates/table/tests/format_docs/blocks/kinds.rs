//! Internal keys: one of each kind, and one with a timestamp.

use std::collections::BTreeMap;
use std::fmt::Write;

use sstkit_table::raw::{InternalKey, TableView};

use crate::annotated::Dump;
use crate::golden::with_table;
use crate::wording::{hex, key_text, tail_text};

/// The first key of each kind in the golden tables.
pub(super) fn kinds() -> String {
    let mut found = BTreeMap::new();
    for name in ["types-all.sst", "embedded-blobs.sst", "types-entities.sst", "timestamps-u64.sst"]
    {
        with_table(name, |table| {
            for key in keys(table) {
                let kind = InternalKey::decode_from(&key).expect("an internal key").kind;
                found.entry(kind).or_insert_with(|| (name, key.clone()));
            }
        });
    }
    let mut out = String::new();
    for (name, key) in found.values() {
        let (user_key, tail) = key.split_last_chunk().expect("an internal key");
        let (meaning, tail) = (tail_text(u64::from_le_bytes(*tail)), hex(tail));
        let user_key = key_text(user_key);
        let _ = writeln!(out, "{name:<18}  {tail}  {meaning:<43}  {user_key}");
    }
    out
}

/// All keys, range deletions' last.
fn keys(table: &TableView<'_>) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut points = table.entries().expect("entries");
    while points.advance().expect("an entry") {
        keys.push(points.key().to_vec());
    }
    let mut ranges = table.range_deletions().expect("range deletions");
    while ranges.advance().expect("an entry") {
        let mut key = Vec::new();
        ranges.begin().expect("a range deletion").encode_to(&mut key);
        keys.push(key);
    }
    keys
}

/// A key of a comparator with timestamps.
pub(super) fn timestamp() -> String {
    with_table("timestamps-u64.sst", |table| {
        let size = table.properties().timestamp_size();
        let key = &keys(table)[0];
        let internal = InternalKey::decode_from(key).expect("an internal key");
        let (user_key, _) = internal.split_timestamp(size).expect("a timestamp");
        let mut dump = Dump::new(key);
        dump.bytes(user_key.len(), key_text(user_key));
        dump.fixed64(|timestamp| format!("timestamp {timestamp}"));
        dump.fixed64(tail_text);
        dump.finish()
    })
}
