//! Visibility: computes the state of each key at a sequence number and a timestamp, from internal
//! entries and range tombstones. One engine for tables, several tables and databases.
//!
//! ```text
//! InternalIterator     sorted entries: of a table, a run of tables, a memtable
//!  |- MergingIterator  several of them as one, newer entries first by the rule of Recency
//!  '- BoundedEntries   those that a scan selects, as stored
//!
//! VisibleSource        entries, and the range tombstones (Fragments) that cover some of them
//!  '- VisibleIterator  the visible keys in order, both ways, as of a ReadView
//!      |- Versions     the entries of one key, from the newest on, until they decide
//!      '- Resolver     their value: blobs read, columns decoded, operands merged
//! ```
//!
//! Point lookups use the same [`Versions`] and [`Resolver`].

mod bounded_entries;
mod fragments;
mod internal_iterator;
mod merge_heap;
mod merging_iterator;
pub(crate) mod range_tombstones;
mod read_view;
mod recency;
mod record;
mod resolve;
mod user_keys;
mod versions;
mod visible_items;
mod visible_iterator;
mod visible_source;

pub use self::bounded_entries::BoundedEntries;
pub use self::fragments::{Fragment, FragmentGap, Fragments};
pub use self::internal_iterator::InternalIterator;
pub use self::merge_heap::MergeHeap;
pub use self::merging_iterator::MergingIterator;
pub use self::range_tombstones::{RangeTombstone, SeenTombstones};
pub use self::read_view::ReadView;
pub use self::recency::Recency;
pub use self::record::{Column, Record, RecordValue};
pub use self::resolve::Resolver;
pub use self::user_keys::UserKeys;
pub use self::versions::{Base, SeenEntry, Versions};
pub use self::visible_items::VisibleItems;
pub use self::visible_iterator::VisibleIterator;
pub use self::visible_source::{Direction, VisibleSource};
