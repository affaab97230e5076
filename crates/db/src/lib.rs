//! One database directory of LevelDB or RocksDB, read only: no lock is taken and nothing is written.
//!
//! ```no_run
//! use sstkit_db::Database;
//!
//! let db = Database::open("path/to/db")?; // which engine it is of is found out
//! let value = db.get(b"alice")?;
//! for entry in db.column_family("meta")?.range(b"a".as_slice()..b"c".as_slice()) {
//!     let (key, value) = entry?;
//!     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
//! }
//! # Ok::<(), sstkit_db::Error>(())
//! ```
//!
//! | to | see |
//! |---|---|
//! | open a directory, or what is left of one | [`Database::open`], [`Database::open_tables`], [`DatabaseOptions`] |
//! | look keys up | [`get`](ColumnFamily::get), [`get_many`](ColumnFamily::get_many), [`get_entity`](ColumnFamily::get_entity), [`get_record`](ColumnFamily::get_record) |
//! | go through keys, both ways | [`iter`](ColumnFamily::iter), [`range`](ColumnFamily::range), [`prefix`](ColumnFamily::prefix), [`cursor`](ColumnFamily::cursor), [`records`](ColumnFamily::records) |
//! | look at an older state | [`at`](ColumnFamily::at), [`at_timestamp`](ColumnFamily::at_timestamp) |
//! | see what is really there | [`entries`](ColumnFamily::entries), [`range_deletions`](ColumnFamily::range_deletions), [`levels`](ColumnFamily::levels) |
//! | see why | [`explain`](ColumnFamily::explain), [`stats`](ColumnFamily::stats), [`Database::caveats`] |
//! | merge tables, or a database's levels, into new tables | [`Compaction`] |
//! | make tables of entries in any order | [`BulkBuilder`] |
//! | take the files of a directory apart | [`raw`] |
//!
//! # What is seen
//!
//! What the engine would see when it opened the directory now: the newest version of each key in the
//! write-ahead log and in the tables, level by level; deletions and range deletions applied; merge
//! operands combined, by RocksDB's own operators ([`merge_operator`]) or by those given; values of
//! blob files read, columns of entities found.
//!
//! # What a lookup touches
//!
//! The key is hashed once. In each level the key ranges of the files leave one of them, or those of
//! level 0 that overlap; of each the filter is asked before its index and data blocks are touched.
//! [`Stats`] counts that per file and level, and [`Explanation`] tells it of one key.
//!
//! # A directory in use
//!
//! Opening reads a state of the directory at one time; if it changes meanwhile, opening starts
//! again. Its tables and blob files are held open from then on, up to a third of the limit of open
//! files ([`raise_open_file_limit`]), so that the engine may delete them. One that is not held and
//! that the engine has deleted gives an error of the kind [`ErrorKind::Changed`]: open the directory
//! again.
//!
//! # What holds for any bytes
//!
//! No input panics, recurses without bound, or makes an allocation that the files do not justify:
//! the entries of the write-ahead logs are in memory, and else what the block cache may hold.

#![forbid(unsafe_code)]

mod caveat;
mod column_family;
mod column_family_data;
mod database;
mod directory;
mod files;
mod keys;
mod log_records;
mod memtable;
mod merge_operators;
mod merging_iterator;
mod open_file_limit;
mod open_files;
mod range_deletions;
mod read;
mod read_view;
mod recency;
mod regular_file;
mod stats;
mod unknown_order;
mod version;

pub use caveat::{Caveat, CaveatKind};
pub use column_family::{ColumnFamily, Level, LevelFile};
pub use database::{
    DEFAULT_BLOCK_CACHE_SIZE, DEFAULT_MAX_LOG_EXPANSION, DEFAULT_MAX_LOG_MEMORY,
    DEFAULT_MAX_OPEN_FILES, Database, DatabaseOptions,
};
pub use merge_operators::merge_operator;
pub use open_file_limit::raise_open_file_limit;
pub use range_deletions::RangeDeletion;
pub use read::{
    Answer, Column, Cursor, Entries, Entry, Explanation, Iter, MemtableEntry, Record, RecordValue,
    Records, Step,
};
pub use stats::{FileStats, LevelStats, Stats, TickerCounts};

mod error;
pub mod raw;

pub use error::{Error, ErrorKind, Result};

mod bulk;
mod compaction;
mod output;

pub use bulk::{
    BulkBuilder, BulkOptions, BulkSummary, DEFAULT_EXTENSION, DEFAULT_MEMORY, Duplicates,
};
pub use compaction::{
    Compaction, CompactionCounts, CompactionOptions, CompactionSummary, SequenceNumbers,
};
pub use output::{BulkManifest, MANIFEST_NAME, ManifestFile, ManifestOptions, Phase, Progress};
