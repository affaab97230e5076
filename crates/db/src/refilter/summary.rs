//! The result of giving tables other filters.

use std::path::PathBuf;

use sstkit_filter::FilterPolicy;
use sstkit_table::raw::property_names as names;
use sstkit_table::{Summary, Table};

use super::new_table::filter_bytes;

/// The result of a [`Refilter`](crate::Refilter).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RefilterSummary {
    /// The tables: of a database by column family, and from the oldest sorted run on.
    pub files: Vec<RefilteredFile>,
    /// Write-ahead logs that were copied.
    pub logs: u64,
    /// Blob files that were taken over.
    pub blob_files: u64,
}

/// One table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RefilteredFile {
    /// Its file name in the output.
    pub name: String,
    /// The source.
    pub source: PathBuf,
    /// Its column family, in a database.
    pub column_family: Option<String>,
    /// Its level, in a database.
    pub level: Option<u32>,
    /// The policy of its filter; `None` if it was taken over as it is.
    pub policy: Option<FilterPolicy>,
    /// Entries.
    pub entries: Option<u64>,
    /// The size of the source.
    pub bytes_before: u64,
    /// The size of the output.
    pub bytes_after: u64,
    /// The size of the filter of the source.
    pub filter_bytes_before: u64,
    /// The size of the filter of the output.
    pub filter_bytes_after: u64,
}

impl RefilteredFile {
    /// A table that was rewritten.
    pub(super) fn new(
        source: &Table,
        policy: &FilterPolicy,
        summary: &Summary,
        filter_bytes_after: u64,
    ) -> Self {
        Self {
            policy: Some(policy.clone()),
            entries: Some(summary.num_entries),
            bytes_after: summary.file_size,
            filter_bytes_after,
            ..Self::taken_over(source)
        }
    }

    /// A table that stays as it is.
    pub(super) fn taken_over(source: &Table) -> Self {
        let (bytes, filter_bytes) = (source.view().size(), filter_bytes(source));
        Self {
            name: String::new(),
            source: source.path().map(PathBuf::from).unwrap_or_default(),
            column_family: None,
            level: None,
            policy: None,
            entries: source.properties().number(names::NUM_ENTRIES),
            bytes_before: bytes,
            bytes_after: bytes,
            filter_bytes_before: filter_bytes,
            filter_bytes_after: filter_bytes,
        }
    }
}
