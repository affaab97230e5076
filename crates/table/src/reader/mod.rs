//! Reading a table: from any [`Source`], through a shared [`BlockCache`], with its filter.
//!
//! ```text
//! Table                   get, get_many, iter, range, prefix, entries, layout, verify
//!  |- get/                 point lookups: one key, many keys, the fast path, explain
//!  |- scan/                all entries, visible keys: see visibility
//!  |- open/                what opening reads: the tail of the file
//!  |- remote/              sources where each read costs a round trip
//!  |- view/                a table without a cache
//!  |- block/               from a handle to a block, and cursors over blocks
//!  |   '- cache/           blocks in memory, shared by tables
//!  |- unequal_ranges       where two tables differ, by the bytes of their blocks
//!  '- verify/              everything compared with everything else
//! ```
//!
//! The [index](crate::index) and the [filter](crate::filter) are beside their builders.

pub(crate) mod block;
pub(crate) mod cache;
pub(crate) mod get;
mod key_bounds;
pub(crate) mod open;
pub(crate) mod read_options;
pub(crate) mod remote;
pub(crate) mod scan;
mod table;
pub(crate) mod tickers;
mod unequal_ranges;
pub(crate) mod value;
mod verify;
mod view;

pub use self::cache::{BlockCache, BlockKey, CacheMetrics, SecondaryCache};
pub use self::get::explain;
pub use self::key_bounds::{KeyBounds, KeyRange};
pub use self::open::{
    DEFAULT_CACHE_SIZE, KeyForm, Layout, LayoutBlock, Source, SourceIdentity, TableReadOptions,
};
pub use self::read_options::ReadOptions;
pub use self::remote::PreferredRead;
pub use self::remote::rounds::{is_in_round, read_in_rounds};
pub use self::remote::staged_source;
#[cfg(feature = "async")]
pub use self::remote::{AsyncScan, AsyncSource, AsyncTable};
pub use self::scan::{
    Cursor, EmbeddedBlobBudget, Entries, Entry, EntryCursor, EntryPosition, Iter, MergeOperator,
    MergedCursor, MergedIter, MergedTables, Records,
};
pub use self::table::{IndexIter, IndexedBlock, Table};
pub use self::tickers::{Ticker, Tickers};
pub use self::unequal_ranges::UnequalRanges;
pub use self::value::Value;
pub use self::verify::{KeySpan, ReferenceVisitor, Verification, VerifyOptions, VerifyProgress};
pub use self::view::{DataBlock, DataBlocks, IndexWalk, PointEntries, RangeDeletions, TableView};
