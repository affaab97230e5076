//! Reads a column family: memtable and tables together.
//!
//! ```text
//! get       one key: source by source, the newest first, until the value is known
//!  |- get_many  several keys, all keys of a run at once
//!  |   '- rounds   in files of another machine: all that is needed next is read at once
//!  '- explain   the same, recorded
//! cursor    the visible keys in order
//!  |- source   memtable, runs of tables   <- run_cursor
//!  '- range_tombstone_aggregator   which entries range tombstones cover
//! entries   every version, with level and file
//! resolve   where values are: tables, blob files
//! ```
//!
//! [`sstkit_table::visibility`] decides what is visible, for lookups and scans.

mod cursor;
mod entries;
mod explain;
mod get;
mod get_many;
mod range_tombstone_aggregator;
mod recorder;
mod resolve;
mod rounds;
mod run_cursor;
mod source;

use std::sync::Arc;

pub use self::cursor::{DatabaseCursor, DatabaseIter, DatabaseKeys, DatabaseRecords};
pub use self::entries::{DatabaseEntries, DatabaseEntry};
pub use self::explain::{Answer, DatabaseTrace, MemtableEntry, Step};

pub(crate) use self::entries::{base_of, entry_of};
pub(crate) use self::explain::{explain, explain_readable};
pub(crate) use self::get::{get, get_with};
pub(crate) use self::get_many::{get_many, get_many_with};
pub(crate) use self::range_tombstone_aggregator::RangeTombstoneAggregator;
pub(crate) use self::run_cursor::{RunCursor, TableRun};
pub(crate) use self::source::{
    MemtableOrRun, SourceIterator, each as entries_of_each_source, entries_by_sequence,
    entries_of_runs, file as source_file,
};
use crate::version::TableFile;

/// The entries of one key that a lookup needs, and the tables that contain them.
pub(crate) type LookupVersions = sstkit_table::visibility::Versions<Option<Arc<TableFile>>>;
