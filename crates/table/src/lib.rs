//! One table file (SST) of LevelDB or RocksDB: every format from LevelDB's own and RocksDB's
//! version 0 up to version 7.
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
//! # What holds for any bytes
//!
//! No input panics, overflows, recurses without bound, or makes an allocation that the size of the
//! file (or a configured limit) does not justify. Checksums are verified unless told otherwise.
//! Errors name the kind of block and its offset.

#![forbid(unsafe_code)]

mod comparator;
mod error;
pub mod raw;

pub use comparator::{Comparator, KeyOrder};
pub use error::{Error, ErrorKind, Result};
