//! What a write-ahead log contains.

use std::collections::BTreeMap;

use serde::Serialize;
use sstkit_db::LogContents;

use crate::names;

/// What a write-ahead log contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LogInfo {
    /// The number of write batches.
    pub batches: u64,
    /// The number of physical records that they are stored in.
    pub fragments: u64,
    /// The number of writes by type.
    pub entries_by_kind: BTreeMap<&'static str, u64>,
    /// The number of writes by id of the column family; the first 10,000 that occur.
    pub column_families: BTreeMap<u32, u64>,
    /// Transactions that were prepared.
    pub prepared: u64,
    /// Transactions that were committed.
    pub committed: u64,
    /// Transactions that were rolled back.
    pub rolled_back: u64,
    /// Whether records have the number of the log, so that the file can be used again.
    pub recycled: bool,
    /// Whether records are compressed.
    pub compressed: bool,
    /// The sizes of user timestamps, by id of the column family.
    pub timestamp_sizes: BTreeMap<u32, u16>,
    /// The number of the log before this one, if it is recorded.
    pub predecessor: Option<u64>,
}

impl From<&LogContents> for LogInfo {
    fn from(contents: &LogContents) -> Self {
        let writes = contents.writes.iter();
        Self {
            batches: contents.batches,
            fragments: contents.fragments,
            entries_by_kind: writes.map(|(&kind, &it)| (names::entry_kind(kind), it)).collect(),
            column_families: contents.column_families.clone(),
            prepared: contents.prepared,
            committed: contents.committed,
            rolled_back: contents.rolled_back,
            recycled: contents.is_recycled,
            compressed: contents.is_compressed,
            timestamp_sizes: contents.timestamp_sizes.clone(),
            predecessor: contents.predecessor.map(|it| it.log_number),
        }
    }
}
