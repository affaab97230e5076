//! What there is to say of a table that was written.

use crate::raw::Properties;

/// What there is to say of a table that was written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Bytes of the file.
    pub file_size: u64,
    /// Points and range deletions.
    pub num_entries: u64,
    /// Range deletions.
    pub num_range_deletions: u64,
    /// The first user key of a point, with its timestamp; empty without points.
    pub first_key: Vec<u8>,
    /// The last one.
    pub last_key: Vec<u8>,
    /// The properties as stored; none for LevelDB.
    pub properties: Properties,
}
