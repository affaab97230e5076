//! The result of writing a table.

use crate::raw::Properties;

/// The result of writing a table.
#[derive(Clone)]
#[non_exhaustive]
pub struct Summary {
    /// Bytes of the file.
    pub file_size: u64,
    /// Point entries and range tombstones.
    pub num_entries: u64,
    /// Range tombstones.
    pub num_range_deletions: u64,
    /// The first user key of a point entry, with its timestamp; empty without points.
    pub first_key: Vec<u8>,
    /// The last one.
    pub last_key: Vec<u8>,
    /// The properties as stored; none for LevelDB.
    pub properties: Properties,
}

sstkit_coding::debug_struct!(Summary {
    file_size,
    num_entries,
    num_range_deletions,
    first_key: bytes,
    last_key: bytes,
    properties,
});
