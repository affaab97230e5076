//! The contents of the golden tables: a compressed file beside each, a line of JSON for each entry.

use std::path::Path;

use serde_json::Value;
use sstkit_table::raw::EntryKind;

use crate::unhex;

/// An entry as it was given to the engine.
#[derive(Debug)]
pub struct Expected {
    /// `None` in tables of bare user keys.
    kind: Option<String>,
    /// The user key, without its timestamp.
    pub key: Vec<u8>,
    /// Empty in tables without timestamps.
    pub timestamp: Vec<u8>,
    /// The value, or the end of a range tombstone.
    pub value: Vec<u8>,
}

/// The entries of a golden table, in file order.
///
/// # Panics
///
/// If the list cannot be read.
pub fn expected_entries(table: &Path) -> Vec<Expected> {
    let list = table.with_extension("ndjson.zst");
    let file =
        std::fs::File::open(&list).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
    let lines = zstd::stream::decode_all(file).unwrap();
    lines
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| Expected::parse(&serde_json::from_slice(line).unwrap()))
        .collect()
}

impl Expected {
    fn parse(line: &Value) -> Self {
        let hex = |field: &str| unhex(line[field].as_str().unwrap_or_default());
        Self {
            kind: line["type"].as_str().map(String::from),
            key: hex("key"),
            timestamp: hex("timestamp"),
            value: hex("value"),
        }
    }

    /// Whether this is a range tombstone.
    pub fn is_range(&self) -> bool {
        self.kind.as_deref() == Some("range_delete")
    }

    /// The kind of the entry; `None` in tables of bare user keys.
    ///
    /// # Panics
    ///
    /// If the list has an unknown kind, or this is a range tombstone.
    pub fn kind(&self, with_timestamps: bool) -> Option<EntryKind> {
        Some(match self.kind.as_deref()? {
            "put" => EntryKind::Value,
            "delete" if with_timestamps => EntryKind::DeletionWithTimestamp,
            "delete" => EntryKind::Deletion,
            "single_delete" => EntryKind::SingleDeletion,
            "merge" => EntryKind::Merge,
            "put_entity" => EntryKind::WideColumnEntity,
            "blob_index" => EntryKind::BlobIndex,
            other => panic!("unknown entry type {other}"),
        })
    }
}
