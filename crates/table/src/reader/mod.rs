//! Reading a table: from any [`Source`], through a shared [`BlockCache`], with its filter.
//!
//! ```text
//! Table                     get, get_many, iter, range, prefix, entries, layout, verify
//!  |- lookup, batch          one key, many keys
//!  |- explain               a lookup, written down
//!  |- cursor, iter           visible keys       <- versions, range_deletions, merge
//!  |- entries                every version
//!  |   '- point_cursor        data blocks
//!  |       |- index_cursor     one level or two, index_search
//!  |       '- data_cursor      one data block
//!  |           '- block_cursor  one block, both directions
//!  |- filter                 which questions may be asked; full, partitioned, filter block
//!  '- block_reader           bounds, cache, checksum, codec
//!      '- source, cache, read_ahead
//! ```

mod batch;
mod blob_budget;
mod block_cursor;
mod block_marks;
mod block_reader;
mod cache;
mod core;
mod cursor;
mod data_cursor;
mod embedded_blobs;
mod entries;
pub mod explain;
mod filter;
mod index_cursor;
mod index_place;
mod index_search;
mod iter;
mod key_space;
mod large_blocks;
mod layout;
mod lookup;
mod merge;
mod open;
mod options;
mod point_cursor;
mod quick_get;
mod range_deletions;
mod read_ahead;
mod scan_options;
mod seek_filter;
mod seek_stats;
mod source;
mod source_identity;
mod stamped_ranges;
mod table;
mod tickers;
mod value;
mod verify;
mod versions;

pub use self::blob_budget::EmbeddedBlobBudget;
pub use self::cache::BlockCache;
pub use self::cursor::Cursor;
pub use self::entries::{Entries, Entry, EntryCursor, EntryPosition};
pub use self::filter::{FilterPart, PrefixMode, TableFilter, TableFilterAnatomy};
pub use self::iter::Iter;
pub use self::layout::{Layout, LayoutBlock};
pub use self::merge::MergeOperator;
pub use self::options::{DEFAULT_CACHE_SIZE, KeyForm, TableReadOptions};
pub use self::range_deletions::RangeTombstone;
pub use self::scan_options::ScanOptions;
pub use self::source::Source;
pub use self::source_identity::SourceIdentity;
pub use self::table::Table;
pub use self::tickers::{Ticker, Tickers};
pub use self::value::Value;
pub use self::verify::Verification;
