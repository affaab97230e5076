//! What a table or column family contains, and what its space is used for.
//!
//! ```text
//! index and properties of each file  ---> FileSurvey: sizes, and keys to split the key range at
//!                                          |  (an estimate ends here: nothing else is read)
//! entries of all files, merged by key      v
//!   part of the key range ---> Pass: one key after another, newest entry first
//!   part of the key range ---> Pass     |- each entry: which file, which kind, what it is good for
//!     (several threads)                 |- lists of the largest, ranges with many tombstones
//!                                       '- groups of keys with the same prefix
//! ```
//!
//! Everything is read once. The parts depend on the files alone, not on the number of threads, and so
//! does the result. Memory: a block and a read-ahead buffer for each run of each thread, counters for
//! each file, and lists of limited length.

mod analysis_options;
mod counts;
mod density;
mod entry_source;
mod histogram;
mod key_range_parts;
mod largest;
mod last_key;
mod pass;
mod prefixes;
mod skips;
mod survey;
mod totals;

use std::path::PathBuf;

use sstkit_table::visibility::{ReadView, UserKeys};
use sstkit_table::{Comparator, Table};

use crate::column_family::{ColumnFamily, LevelTombstone};
use crate::error::{Error, Result};

use self::key_range_parts::{Shared, Subject};

pub use self::analysis_options::{AnalysisOptions, GroupBy};
pub use self::counts::{EntryCounts, EntryUse, SpaceCounts};
pub use self::density::DenseRange;
pub use self::histogram::{SizeBucket, SizeHistogram};
pub use self::prefixes::{PrefixNode, PrefixTotals, PrefixTree};
pub use self::skips::SkippedRange;
pub use self::totals::{LargeValue, VersionedKey};

/// What a table or column family contains.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Analysis {
    /// The files: the write-ahead log first, then the newest file of level 0 and so on. A table on its
    /// own is one file.
    pub files: Vec<FileAnalysis>,
    /// What the entries are; `None` for an [estimate](AnalysisOptions::estimate).
    pub contents: Option<Contents>,
    /// The groups of keys, if they were [requested](AnalysisOptions::group_by). In an estimate, only
    /// their stored bytes are known, to the precision of a data block.
    pub prefixes: Option<PrefixTree>,
    /// Range tombstones that overlap the range, by start; at most
    /// [`top`](AnalysisOptions::top) of them.
    pub range_tombstones: Vec<LevelTombstone>,
    /// How many there are.
    pub range_tombstone_count: u64,
    /// What could not be read. The counts are then incomplete.
    pub problems: Vec<Error>,
}

/// A file, and the entries counted in it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FileAnalysis {
    /// The level; `None` for the write-ahead log and for a table on its own.
    pub level: Option<u32>,
    /// The file number; `None` for the write-ahead log and for a table on its own.
    pub number: Option<u64>,
    /// The file; `None` for the write-ahead log.
    pub path: Option<PathBuf>,
    /// The size of the file in bytes; 0 for the write-ahead log.
    pub size: u64,
    /// Bytes of the data blocks as stored, compressed and with trailers.
    pub data_bytes: u64,
    /// The same of the data blocks in the range, to the precision of a block.
    pub data_bytes_in_range: u64,
    /// What the properties of the table say; in a table of LevelDB, nothing.
    pub properties: FileProperties,
    /// The entries in the range that were counted.
    pub counts: EntryCounts,
}

/// What the properties of a table say about its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileProperties {
    /// Entries, including range tombstones.
    pub entries: Option<u64>,
    /// Deletions of all kinds, including range tombstones.
    pub deletions: Option<u64>,
    /// Merge operands.
    pub merge_operands: Option<u64>,
    /// Range tombstones.
    pub range_tombstones: Option<u64>,
    /// Bytes of all internal keys: user keys, and eight bytes each.
    pub key_bytes: Option<u64>,
    /// Bytes of all values.
    pub value_bytes: Option<u64>,
    /// Bytes of all data blocks as stored.
    pub data_bytes: Option<u64>,
    /// When the file was written, in seconds since 1970.
    pub created: Option<u64>,
}

/// The entries of a table or column family.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Contents {
    /// Whether entries were merged by key. Not if the order of the keys is unknown: versions of a key
    /// in different files were then not recognized as such, and what is visible is not known.
    pub is_ordered: bool,
    /// Different keys.
    pub keys: u64,
    /// Keys that have a value.
    pub visible_keys: u64,
    /// Sizes of the user keys of all entries, with their timestamps.
    pub key_sizes: SizeHistogram,
    /// Sizes of the values of all entries that have one; of a value in a blob file, its stored size.
    pub value_sizes: SizeHistogram,
    /// The largest values, largest first.
    pub largest_values: Vec<LargeValue>,
    /// The keys with most entries, of those with more than one.
    pub most_versions: Vec<VersionedKey>,
    /// Where a scan steps over most entries from one visible key to the next.
    pub skipped_ranges: Vec<SkippedRange>,
    /// Where most entries are tombstones.
    pub dense_ranges: Vec<DenseRange>,
}

impl ColumnFamily {
    /// Analyzes all entries of the write-ahead logs and tables, in one pass.
    ///
    /// ```no_run
    /// use sstkit_db::{AnalysisOptions, Database, EntryUse};
    ///
    /// let family = Database::open("path/to/db")?.default_column_family();
    /// let analysis = family.analyze(&AnalysisOptions::default())?;
    /// for file in &analysis.files {
    ///     let older = file.counts.used_for(EntryUse::OlderVersion);
    ///     println!("{:?}: {} bytes of older versions", file.path, older.bytes);
    /// }
    /// # Ok::<(), sstkit_db::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Options that do not fit. What cannot be read is among the [problems](Analysis::problems).
    pub fn analyze(&self, options: &AnalysisOptions) -> Result<Analysis> {
        let family = self.family();
        let keys = family.keys.clone();
        let shared =
            Shared::new(options, keys, self.view().clone(), family.require_order().is_ok());
        shared.analyze(&Subject::ColumnFamily(family))
    }
}

/// Analyzes all entries of a table, as [`ColumnFamily::analyze`] does.
pub fn analyze_table(table: &Table, options: &AnalysisOptions) -> Result<Analysis> {
    let (keys, is_ordered) = match table.user_keys() {
        Ok(keys) => (keys.clone(), true),
        Err(_) => (UserKeys::new(Comparator::Bytewise), false),
    };
    let shared = Shared::new(options, keys, ReadView::default(), is_ordered);
    shared.analyze(&Subject::Table(table))
}
