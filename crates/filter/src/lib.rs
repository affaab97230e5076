//! The filters of LevelDB and RocksDB, byte for byte. No I/O.
//!
//! A filter answers one question about a table file: *may this key be in it?* "No" is certain and
//! saves reading the file; "maybe" is wrong at a small rate, the false-positive rate, which costs
//! bits.
//!
//! ```
//! use sstkit_filter::{BuildContext, Filter, FilterPolicy};
//!
//! let policy: FilterPolicy = "ribbonfilter:9.9".parse()?;
//! let mut builder = policy.builder(&BuildContext::default()).expect("builds filters");
//! for name in ["alice", "bob"] {
//!     builder.add(name.as_bytes());
//! }
//! let bytes = builder.finish()?; // exactly what RocksDB would have written
//!
//! let filter = Filter::from_bytes(&bytes); // the kind is found from the bytes
//! assert!(filter.may_contain(b"alice"));
//!
//! let mut answers = [false; 3];
//! filter.may_contain_batch(&["alice", "bob", "carol"], &mut answers);
//! assert_eq!(answers[..2], [true, true]);
//! # Ok::<(), sstkit_filter::Error>(())
//! ```
//!
//! # Which filter is which
//!
//! | filter | policy | written by | described in |
//! |---|---|---|---|
//! | LevelDB's filter block | `leveldb.BuiltinBloomFilter2:10` | LevelDB | [`block_filter`] |
//! | block-based Bloom | `rocksdb.internal.DeprecatedBlockBasedBloomFilter:10` | RocksDB before 7.0 | [`block_filter`] |
//! | legacy Bloom | `bloomfilter:10`, format version 0 to 4 | RocksDB | [`legacy_bloom`] |
//! | cache-local Bloom | `bloomfilter:10`, format version 5 and later | RocksDB 6.6 and later | [`fast_local_bloom`] |
//! | Ribbon | `ribbonfilter:10` | RocksDB 6.15 and later | [`ribbon`] |
//! | partitioned | any of the last three | RocksDB | [`partitioned`] |
//! | your own | a name of your own | sstkit | [`UserPolicy`] |
//!
//! What bits buy is computed in [`math`]; which part of a key goes into a filter is decided in
//! [`prefix`]; how much memory building takes, and of whom, is in [`budget`]; sizes that suit an
//! allocator are in [`sizing`].
//!
//! # Promises
//!
//! * The bytes are those of RocksDB 11.9 and LevelDB for the same keys, added in the same order.
//! * No key that was added is ever denied.
//! * Any bytes at all can be read: what is damaged, reserved or from the future answers "may
//!   contain".

#![deny(unsafe_code)]

pub mod block_filter;
pub mod budget;
pub mod fast_local_bloom;
pub mod legacy_bloom;
pub mod math;
pub mod partitioned;
pub mod prefix;
pub mod ribbon;
pub mod sizing;

mod aligned;
mod arch;
mod batch;
mod builder;
mod deal;
mod error;
mod hashed_key;
mod policy;
mod reader;
mod stats;
mod trace;
mod trailer;

pub use aligned::AlignedBytes;
pub use block_filter::{BlockBloom, FilterBlock, FilterBlockBuilder};
pub use budget::{FixedBudget, MemoryBudget};
pub use builder::FilterBuilder;
pub use error::{Error, ErrorKind, Result};
pub use hashed_key::HashedKey;
pub use legacy_bloom::CacheLine;
pub use partitioned::{Partition, PartitionedFilterBuilder};
pub use policy::{
    BitsPerKey, BuildContext, DEFAULT_FORMAT_VERSION, Destination, FilterLayout, FilterPolicy,
    Registry, UserBuilder, UserPolicy,
};
pub use prefix::{KeyFiltering, PrefixExtractor, SliceTransform};
pub use reader::{Filter, FilterKind, FilterParameters};
pub use sizing::{GLIBC_MMAP_THRESHOLD, MemorySizing, UsableSize};
pub use stats::FilterStats;
pub use trace::{FilterBlockTrace, FilterTrace, Probe, ProbePlace, TracedHash};

/// The example of this crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
