//! Reading a column family: its memtable and its tables as one.
//!
//! ```text
//! lookup    one key: source by source, the newest first, until the answer is known
//! cursor    the visible keys in order     <- versions, covering; history backwards
//!  '- source   memtable, runs of tables   <- run_cursor
//! entries   every version, with level and file
//! resolve   from what entries hold to the user's value: blobs, columns, merges
//! ```

mod cursor;
mod entries;
mod explain;
mod history;
mod iter;
mod lookup;
mod range_tombstone_aggregator;
mod record;
mod resolve;
mod run_cursor;
mod source;
mod versions;

pub use self::cursor::Cursor;
pub use self::entries::{Entries, Entry};
pub use self::explain::{Answer, Explanation, MemtableEntry, Step};
pub use self::iter::{Iter, Records};
pub use self::record::{Column, Record, RecordValue};

pub(crate) use self::entries::base_of;
pub(crate) use self::explain::explain;
pub(crate) use self::lookup::{get, get_many};
pub(crate) use self::versions::Versions;
