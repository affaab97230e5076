//! Reads database directories of LevelDB and RocksDB, and writes new ones. Existing directories are
//! only read: no lock is taken, nothing is written to them.
//!
//! ```no_run
//! use sstkit_db::Database;
//!
//! let db = Database::open("path/to/db")?; // detects the engine
//! let value = db.get(b"alice")?;
//! for entry in db.column_family("meta")?.range(b"a"..b"c") {
//!     let (key, value) = entry?;
//!     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
//! }
//! # Ok::<(), sstkit_db::Error>(())
//! ```
//!
//! | to | see |
//! |---|---|
//! | open a directory, or what is left of one | [`Database::open`], [`Database::open_tables`], [`DatabaseOptions`] |
//! | read a backup of RocksDB's BackupEngine | [`BackupFolder`], [`DatabaseOptions::backup`] |
//! | look up keys | [`get`](ColumnFamily::get), [`get_many`](ColumnFamily::get_many), [`get_entity`](ColumnFamily::get_entity), [`get_record`](ColumnFamily::get_record) |
//! | iterate over keys in both directions | [`iter`](ColumnFamily::iter), [`range`](ColumnFamily::range), [`prefix`](ColumnFamily::prefix), [`cursor`](ColumnFamily::cursor), [`records`](ColumnFamily::records) |
//! | read with options | [`ReadOptions`](sstkit_table::ReadOptions): `get_with`, `get_many_with`, `iter_with`, `cursor_with` |
//! | find out how large a key range is, and split one | [`approximate_size`](ColumnFamily::approximate_size), [`split_keys`](ColumnFamily::split_keys) |
//! | read an older state | [`at`](ColumnFamily::at), [`at_timestamp`](ColumnFamily::at_timestamp) |
//! | read what is stored | [`entries`](ColumnFamily::entries), [`range_deletions`](ColumnFamily::range_deletions), [`levels`](ColumnFamily::levels) |
//! | count what is stored, and what the space is used for | [`analyze`](ColumnFamily::analyze), [`analyze_table`] |
//! | explain a lookup | [`explain`](ColumnFamily::explain), [`stats`](ColumnFamily::stats), [`Database::caveats`] |
//! | verify a database | [`Database::verify`], [`verify_file`] |
//! | open a table of a database on its own | [`open_table`] |
//! | compare two tables or column families | [`Diff`], [`InternalDiff`] |
//! | merge tables, or the levels of a database, into new tables | [`Compaction`] |
//! | give tables other filters without rewriting their data | [`Refilter`] |
//! | find out whether RocksDB would ingest tables, and into which level | [`IngestionPlan`] |
//! | build tables from unsorted entries | [`BulkBuilder`] |
//! | build tables in parts, by many processes or machines | [`Plan`], [`PartWriter`], [`Commit`] |
//! | write a new database directory | [`DatabaseWriter`] |
//! | save what is left of a damaged database | [`DatabaseSalvage`] |
//! | parse the files of a directory | [`raw`] |
//!
//! # Features
//!
//! `write`, a default, has everything that writes; readers without it do not compile `tempfile` and
//! `serde_json`. `json`, which is part of it, reads `manifest.json`, with which tables are built in bulk. The
//! others are the codecs of [`sstkit_table`].
//!
//! # Visibility
//!
//! Reads see what the engine would see if it opened the directory now: the newest version of each
//! key in the write-ahead logs and the tables, with deletions and range deletions applied, merge
//! operands combined by RocksDB's own operators ([`merge_operator`]) or by those provided, and blob
//! values and wide columns resolved.
//!
//! # Cost of a lookup
//!
//! The key is hashed once. In each level, the key ranges of the files leave one candidate, or the
//! overlapping files of level 0. The filter of each candidate is probed before its index and data
//! blocks are read. [`Stats`] counts this per file and level, and [`DatabaseTrace`] records it for
//! one key.
//!
//! # Databases in use
//!
//! Opening reads the state of the directory at one point in time; if it changes meanwhile, opening
//! starts again. The tables and blob files are then kept open, up to a third of the limit for open
//! files ([`raise_open_file_limit`]), so that they stay readable if the engine deletes them.
//! Reading a deleted file that is not kept open fails with [`ErrorKind::Changed`]: open the
//! directory again.
//!
//! # Untrusted input
//!
//! No input causes a panic, unbounded recursion, or an allocation larger than the files justify.
//! Memory holds the entries of the write-ahead logs, and the block cache up to its size.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]
#![cfg_attr(
    not(feature = "write"),
    expect(dead_code, unused_imports, reason = "writers use the reading modules, too")
)]

mod analysis;
mod backup;
mod bulk_manifest;
mod caveat;
mod column_family;
mod column_family_data;
mod database;
#[cfg(feature = "write")]
mod database_writer;
mod diff;
mod directory;
mod file_kind;
pub mod file_system;
mod files;
mod folder_tables;
mod ingestion;
mod key_ranges;
mod key_selection;
mod log_records;
mod memtable;
mod merge_operators;
mod open_file_limit;
mod open_files;
mod open_tables;
mod read;
#[cfg(feature = "write")]
mod refilter;
mod regular_file;
#[cfg(feature = "write")]
mod salvage;
mod stats;
mod table_order;
mod ttl;
mod unknown_order;
mod verify;
mod version;

pub use analysis::{
    Analysis, AnalysisOptions, Contents, DenseRange, EntryCounts, EntryUse, FileAnalysis,
    FileProperties, GroupBy, LargeValue, PrefixNode, PrefixTotals, PrefixTree, SizeBucket,
    SizeHistogram, SkippedRange, SpaceCounts, VersionedKey, analyze_table,
};
pub use backup::BackupFolder;
pub use bulk_manifest::{BulkManifest, MANIFEST_NAME, ManifestFile, ManifestOptions};
pub use caveat::{Caveat, CaveatKind};
pub use column_family::{ColumnFamily, Level, LevelFile, LevelTombstone};
pub use database::{
    DEFAULT_BLOCK_CACHE_SIZE, DEFAULT_MAX_LOG_EXPANSION, DEFAULT_MAX_LOG_MEMORY,
    DEFAULT_MAX_OPEN_FILES, Database, DatabaseOptions,
};
#[cfg(feature = "write")]
pub use database_writer::{
    ColumnFamilyDescriptor, DatabaseWriter, DatabaseWriterOptions, FileSource,
};
pub use diff::{Diff, DiffOptions, DiffSide, Difference, InternalDiff, InternalDifference};
pub use file_kind::FileKind;
pub use ingestion::{
    IngestedPlacement, IngestionOptions, IngestionOverlap, IngestionPlan, IngestionRefusal,
    PlannedTable,
};
pub use merge_operators::merge_operator;
pub use open_file_limit::raise_open_file_limit;
pub use read::{
    Answer, DatabaseCursor, DatabaseEntries, DatabaseEntry, DatabaseIter, DatabaseKeys,
    DatabaseRecords, DatabaseTrace, MemtableEntry, Step,
};
#[cfg(feature = "write")]
pub use refilter::{DEFAULT_REFILTER_MEMORY, Refilter, RefilterSummary, RefilteredFile};
#[cfg(feature = "write")]
pub use salvage::{
    DatabaseSalvage, DatabaseSalvageOptions, DatabaseSalvageReport, DatabaseUncertainty,
    FileOutcome, LogLoss, LostValue, SalvageSummary, SalvagedFamily, SalvagedFile, UnusedWrites,
};
pub use sstkit_table::{Column, KeySamples, RangeTombstone, Record, RecordValue};
pub use stats::{FileStats, LevelStats, Stats, TickerCounts};
#[cfg(any(unix, windows))]
pub use table_order::open_table;
pub use table_order::{OrderSource, detect_order};
pub use ttl::Ttl;
#[cfg(any(unix, windows))]
pub use verify::verify_table;
pub use verify::{
    DatabaseVerifier, FileContents, FileVerification, LogContents, LogFile, LogStep, VerifyProblem,
    VerifyStatus, verify_file,
};

mod error;
pub mod raw;

pub use error::{Error, ErrorKind, Result};

#[cfg(feature = "write")]
mod bulk;
#[cfg(feature = "write")]
mod compaction;
#[cfg(feature = "write")]
mod distributed;
#[cfg(feature = "write")]
mod output;

#[cfg(feature = "write")]
pub use bulk::{
    BulkBuilder, BulkOptions, BulkSummary, DEFAULT_EXTENSION, DEFAULT_MEMORY, Duplicates,
};
#[cfg(feature = "write")]
pub use compaction::{
    Compaction, CompactionCounts, CompactionDecision, CompactionFilter, CompactionOptions,
    CompactionOutput, CompactionSummary, LevelSummary, LevelsSummary, SequenceNumbers,
};
#[cfg(feature = "write")]
pub use distributed::{
    Commit, CommitOptions, CommitSummary, ObjectFolder, PLAN_FOLDER, PartOptions, PartSummary,
    PartWriter, Plan, PlanOptions, RemoteBuild,
};
#[cfg(feature = "write")]
pub use output::{Phase, Progress};
