//! All versions of a key, wherever they are.

use serde::Serialize;
use sstkit_db::{ColumnFamily, Step};
use sstkit_filter::HashedKey;
use sstkit_table::raw::EntryKind;
use sstkit_table::{Comparator, Table};

use crate::encoding::Encoding;
use crate::error::Result;
use crate::inspected_table::InspectedTable;
use crate::names;

/// A version of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeyVersion {
    /// The level of its file; `None` in the write-ahead log, or for a single table.
    pub level: Option<u32>,
    /// The number of its file; `None` in the write-ahead log, or for a single table.
    pub file: Option<u64>,
    /// The type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The sequence number.
    pub seq: u64,
    /// The timestamp, if keys have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The value as stored, or the first 512 bytes of it.
    pub value: Option<String>,
    /// The length of the value.
    pub value_length: Option<u64>,
    /// Whether a range tombstone of the same source covers it.
    pub is_covered: bool,
}

/// Bytes of a value that are shown.
const SHOWN: usize = 512;

/// The most versions that are listed.
const MAX_VERSIONS: usize = 1_000;

impl KeyVersion {
    /// The versions of a key in a table, newest first.
    pub fn in_table(file: &InspectedTable, key: &[u8], encoding: Encoding) -> Result<Vec<Self>> {
        let mut versions = Vec::new();
        add(file.table(), None, key, encoding, &mut versions)?;
        Ok(versions)
    }

    /// The versions of a key in a column family: those in the write-ahead log, then source by
    /// source, newest first. All files whose range includes the key are read, until `keep_going`
    /// returns false.
    pub fn in_column_family(
        family: &ColumnFamily,
        key: &[u8],
        encoding: Encoding,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<Vec<Self>> {
        let mut versions = Vec::new();
        // A table that cannot be read is an error below.
        for step in family.explain_readable_while(key, keep_going)?.0.steps {
            let Step::Memtable { entries, .. } = step else { continue };
            versions.extend(entries.iter().take(MAX_VERSIONS).map(|entry| Self {
                level: None,
                file: None,
                kind: names::entry_kind(entry.kind),
                seq: entry.sequence,
                timestamp: shown_timestamp(&entry.timestamp, encoding),
                value: Some(encoding.encode(&entry.value[..entry.value.len().min(SHOWN)])),
                value_length: Some(entry.value.len() as u64),
                is_covered: entry.is_covered,
            }));
        }
        let order = family.comparator()?;
        for level in family.levels() {
            for file in &level.files {
                let is_outside = order.compare_without_timestamp(key, file.smallest()).is_lt()
                    || order.compare_without_timestamp(key, file.largest()).is_gt();
                if !is_outside && versions.len() < MAX_VERSIONS && keep_going() {
                    let place = Some((level.number, file.number()));
                    add(&file.open()?, place, key, encoding, &mut versions)?;
                }
            }
        }
        Ok(versions)
    }
}

fn shown_timestamp(timestamp: &[u8], encoding: Encoding) -> Option<String> {
    (!timestamp.is_empty()).then(|| encoding.encode(timestamp))
}

/// The timestamp at the end of a key.
fn split_timestamp<'k>(table: &Table, user_key: &'k [u8]) -> &'k [u8] {
    let size = table.comparator().map_or(0, Comparator::timestamp_size);
    &user_key[user_key.len().saturating_sub(size)..]
}

fn add(
    table: &Table,
    place: Option<(u32, u64)>,
    key: &[u8],
    encoding: Encoding,
    versions: &mut Vec<KeyVersion>,
) -> Result<()> {
    let tombstone = table.newest_range_deletion(key)?;
    table.lookup(&HashedKey::new(key), |entry, value| {
        let kind: EntryKind = entry.kind;
        versions.push(KeyVersion {
            level: place.map(|(level, _)| level),
            file: place.map(|(_, file)| file),
            kind: names::entry_kind(kind),
            seq: entry.sequence,
            timestamp: shown_timestamp(split_timestamp(table, entry.user_key), encoding),
            value: Some(encoding.encode(&value[..value.len().min(SHOWN)])),
            value_length: Some(value.len() as u64),
            is_covered: tombstone.is_some_and(|sequence| sequence > entry.sequence),
        });
        versions.len() < MAX_VERSIONS
    })?;
    Ok(())
}
