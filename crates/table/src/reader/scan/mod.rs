//! Scans: every entry of a table, and its visible keys.

pub(crate) mod cursor;
pub(crate) mod embedded_blob_budget;
pub(crate) mod embedded_blobs;
pub(crate) mod entries;
pub(crate) mod merge_operator;
pub(crate) mod merged;
pub(crate) mod point_cursor;
pub(crate) mod seek_stats;

pub use self::cursor::{Cursor, Iter, Records};
pub use self::embedded_blob_budget::EmbeddedBlobBudget;
pub use self::entries::{Entries, Entry, EntryCursor, EntryPosition};
pub use self::merge_operator::MergeOperator;
pub use self::merged::{MergedCursor, MergedIter, MergedTables};
