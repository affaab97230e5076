//! One table file (SST) of LevelDB or RocksDB: every format from LevelDB's own and RocksDB's
//! version 0 up to version 7.
//!
//! [`Table`] reads one: lookups through its filter, ranges and prefixes in both directions, every
//! version of every key, all through a [`BlockCache`] that tables can share.
//!
//! ```no_run
//! use sstkit_table::Table;
//!
//! let table = Table::open("000011.sst")?; // reads only the end of the file
//! for entry in table.iter() {
//!     let (key, value) = entry?;
//!     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
//! }
//! # Ok::<(), sstkit_table::Error>(())
//! ```
//!
//! [`raw`] holds the nouns of the format documents as types (`Footer`, `BlockHandle`, `Block`,
//! `MetaIndex`, `Properties`) and [`raw::TableView`], which ties them together over the bytes of a
//! whole file in memory.
//!
//! ```no_run
//! use sstkit_table::raw::TableView;
//!
//! let bytes = std::fs::read("000011.sst")?;
//! let table = TableView::open(&bytes)?;
//! let mut entries = table.entries()?;
//! while entries.advance()? {
//!     println!("{} = {}", entries.key().escape_ascii(), entries.value().escape_ascii());
//! }
//! # Ok::<(), sstkit_table::Error>(())
//! ```
//!
//! [`TableWriter`] writes a table as RocksDB 11.9 or LevelDB would have, byte for byte where nothing
//! is compressed, with the settings of [`TableOptions`]; [`rewrite_tail`] gives the data blocks of a
//! table a new filter and index without decoding them.
//!
//! # Features
//!
//! `zstd`, `lz4`, `snappy`, `zlib` and `bzip2`, all defaults, are the codecs. Blocks of a codec that is
//! left out are an error that names the feature. Only `zstd` needs a C compiler; `ruzstd` reads zstd
//! blocks without it, where `zstd` is off. `write`, also a default, has [`TableWriter`] and everything else
//! that writes. `async` adds `AsyncTable`, for any runtime.
//!
//! # What holds for any bytes
//!
//! No input panics, overflows, recurses without bound, or makes an allocation that the size of the
//! file (or a configured limit) does not justify. Checksums are verified unless told otherwise.
//! Errors name the kind of block and its offset.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod comparator;
mod compatibility;
mod error;
mod filter;
mod index;
mod key_excerpt;
mod key_samples;
#[cfg(feature = "write")]
pub mod options;
#[cfg(feature = "write")]
pub mod output;
pub mod raw;
mod reader;
pub mod rounds {
    //! Reads of several remote files at once, for what reads more than one: a database.
    //!
    //! [`read_in_rounds`] runs an operation until it lacks nothing, and reads in between what it lacked.
    //! [`Table::plan_lookup`](crate::Table::plan_lookup) is a lookup for that.

    pub use crate::reader::{is_in_round, read_in_rounds, staged_source};
}
#[cfg(feature = "write")]
mod salvage;
mod unique_id;
pub mod visibility;
#[cfg(feature = "write")]
mod writer;

pub use comparator::{Comparator, KeyOrder};
pub use compatibility::{ReadableBy, RocksDbVersion, TableFeature};
pub use error::{Error, ErrorKind, Result};
pub use filter::{FilterPart, PrefixMode, TableFilter, TableFilterStats};
pub use key_excerpt::KeyExcerpt;
pub use key_samples::KeySamples;
#[cfg(feature = "write")]
pub use options::{Identity, IndexShortening, TableOptions};
pub use reader::explain;
#[cfg(feature = "async")]
pub use reader::{AsyncScan, AsyncSource, AsyncTable};
pub use reader::{
    BlockCache, BlockKey, CacheMetrics, Cursor, DEFAULT_CACHE_SIZE, EmbeddedBlobBudget, Entries,
    Entry, EntryCursor, EntryPosition, IndexIter, IndexedBlock, Iter, KeyBounds, KeyForm, KeyRange,
    KeySpan, Layout, LayoutBlock, MergeOperator, MergedCursor, MergedIter, MergedTables,
    PreferredRead, ReadOptions, Records, ReferenceVisitor, SecondaryCache, Source, SourceIdentity,
    Table, TableReadOptions, Ticker, Tickers, UnequalRanges, Value, Verification, VerifyOptions,
    VerifyProgress,
};
#[cfg(feature = "write")]
pub use salvage::{Loss, SalvageOptions, SalvageReport, TableSalvage, Uncertainty};
pub use unique_id::UniqueId;
pub use visibility::{Column, RangeTombstone, Record, RecordValue};
#[cfg(feature = "write")]
pub use writer::{
    PropertyCollector, PropertyCollectorFactory, Summary, TableWriter, rewrite_tail,
    rewrite_tail_to, rewrite_tail_to_output_file,
};

/// Tests the example in README.md.
#[cfg(all(doctest, feature = "write"))]
#[doc = include_str!("../README.md")]
struct Readme;
