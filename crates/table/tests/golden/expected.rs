//! The lists of what went into the golden tables: a line of JSON for each entry, compressed.

use std::path::Path;

use serde_json::Value;
use sstkit_table::raw::EntryKind;

/// An entry as it was given to the engine.
pub(crate) struct Expected {
    /// Absent in tables of bare user keys.
    what: Option<String>,
    pub(crate) key: Vec<u8>,
    pub(crate) timestamp: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// What went into `table`, in the order of the file.
pub(crate) fn expected_entries(table: &Path) -> Vec<Expected> {
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
            what: line["type"].as_str().map(String::from),
            key: hex("key"),
            timestamp: hex("timestamp"),
            value: hex("value"),
        }
    }

    pub(crate) fn is_range(&self) -> bool {
        self.what.as_deref() == Some("range_delete")
    }

    /// The kind of the entry; `None` in tables of bare user keys.
    pub(crate) fn kind(&self, with_timestamps: bool) -> Option<EntryKind> {
        Some(match self.what.as_deref()? {
            "put" => EntryKind::Value,
            "delete" if with_timestamps => EntryKind::DeletionWithTimestamp,
            "delete" => EntryKind::Deletion,
            "single_delete" => EntryKind::SingleDeletion,
            "merge" => EntryKind::Merge,
            "put_entity" => EntryKind::WideColumnEntity,
            "blob_index" => EntryKind::BlobIndex,
            other => panic!("a list with entries of type {other}"),
        })
    }
}

fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "half a byte in {text}");
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hexadecimal digit") as u8;
    text.as_bytes().as_chunks().0.iter().map(|&[high, low]| digit(high) << 4 | digit(low)).collect()
}
