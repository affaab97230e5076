//! Reading from sources where each read costs a round trip: object stores, networks.
//!
//! ```text
//! open       one read of a tail that usually has everything; one more if it does not
//! get        one read of a data block, if the index is in memory
//! get_many   rounds: what all keys need next is read at once                       rounds.rs
//! scan       windows of growing size, several in flight while one is decoded       windows.rs
//!            partitions of the index in windows of their own, if the tail lacks some  remote_reads.rs
//! ```
//!
//! An asynchronous table does the same, with an [`AsyncSource`] in place of threads: async_table.rs.
//!
//! A source is read like this if it [prefers](crate::Source::preferred_read) reads of a certain size. All others,
//! such as files, are read as if this module did not exist. `docs/decisions/0014-remote-reads.md` has the reasons.

#[cfg(feature = "async")]
mod async_scan;
#[cfg(feature = "async")]
mod async_source;
#[cfg(feature = "async")]
mod async_table;
#[cfg(feature = "async")]
mod blocking_work;
mod preferred_read;
mod remote_reads;
pub(crate) mod rounds;
mod staged_source;
pub(crate) mod windows;

#[cfg(feature = "async")]
pub use self::async_scan::AsyncScan;
#[cfg(feature = "async")]
pub use self::async_source::AsyncSource;
#[cfg(feature = "async")]
pub use self::async_table::AsyncTable;
pub use self::preferred_read::PreferredRead;
pub(crate) use self::remote_reads::RemoteReads;
pub(crate) use self::staged_source::StagedSource;
pub use self::staged_source::staged_source;
