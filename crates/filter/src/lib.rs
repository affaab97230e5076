//! The filters of LevelDB and RocksDB, byte for byte. No I/O.
//!
//! A filter tells whether a table file *may contain* a key. "No" is certain and saves reading the
//! file. "Maybe" is wrong at a small rate, the false-positive rate. More bits per key make it
//! smaller.
//!
//! ```
//! use sstkit_filter::{BuildContext, Filter, FilterPolicy};
//!
//! let policy: FilterPolicy = "ribbonfilter:9.9".parse()?;
//! let mut builder = policy.builder(&BuildContext::default())?;
//! for name in ["alice", "bob"] {
//!     builder.add(name.as_bytes());
//! }
//! let bytes = builder.finish()?; // the bytes that RocksDB writes
//!
//! let filter = Filter::from_bytes(&bytes); // the bytes determine the kind
//! assert!(filter.may_contain(b"alice"));
//!
//! let mut answers = [false; 3];
//! filter.may_contain_batch(&["alice", "bob", "carol"], &mut answers);
//! assert_eq!(answers[..2], [true, true]);
//! # Ok::<(), sstkit_filter::Error>(())
//! ```
//!
//! # Kinds of filters
//!
//! | filter | policy | written by | documentation |
//! |---|---|---|---|
//! | LevelDB's filter block | `leveldb.BuiltinBloomFilter2:10` | LevelDB | [`filter_block`] |
//! | block-based Bloom | `bloomfilter:10:true` | RocksDB before 7.0 | [`filter_block`] |
//! | legacy Bloom | `bloomfilter:10`, format version 0 to 4 | RocksDB | [`legacy_bloom`] |
//! | cache-local Bloom | `bloomfilter:10`, format version 5 and later | RocksDB 6.6 and later | [`fast_local_bloom`] |
//! | Ribbon | `ribbonfilter:10` | RocksDB 6.15 and later | [`ribbon`] |
//! | partitioned | any of the last three | RocksDB | [`partitioned`] |
//! | custom | any other name | sstkit | [`UserPolicy`] |
//!
//! [`math`] computes false-positive rates. [`allocation`] distributes memory over the levels of an
//! LSM tree. [`prefix`] decides whether keys, prefixes or both are
//! added. [`budget`] charges the memory of builders to a limit. [`sizing`] rounds sizes to what an
//! allocator provides.
//!
//! # Without `std`
//!
//! The feature `std` is a default. Without it, the crate needs only `alloc`, and uses the vector
//! instructions that it is compiled for instead of those that the processor has.
//!
//! # Guarantees
//!
//! * The bytes are identical to those of RocksDB 11.9 and LevelDB for the same keys in the same
//!   order.
//! * There are no false negatives: a key that was added always may be contained.
//! * Any bytes can be read. A filter that is damaged, reserved or from a newer version answers "may
//!   contain".

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
#![warn(missing_debug_implementations)]

extern crate alloc;

pub mod allocation;
pub mod budget;
pub mod fast_local_bloom;
pub mod filter_block;
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
mod constant_step;
mod error;
#[cfg(not(feature = "std"))]
mod float;
mod hashed_key;
mod policy;
mod reader;
mod stats;
mod trace;
mod trailer;

pub use aligned::AlignedBytes;
pub use allocation::{
    AllocatedKind, Allocation, AllocationOptions, FilterAllocator, FilterPartitions, FilteredLevel,
    LevelAllocation,
};
pub use budget::{FixedBudget, MemoryBudget};
pub use builder::{FilterBuilder, HashStorage, StorageError};
pub use error::{Error, ErrorKind, Result};
pub use filter_block::{BlockBloom, FilterBlock, FilterBlockBuilder};
pub use hashed_key::HashedKey;
pub use legacy_bloom::CacheLine;
pub use partitioned::{Partition, PartitionedFilterBuilder};
pub use policy::{
    BitsPerKey, BuildContext, DEFAULT_FORMAT_VERSION, Destination, FilterLayout, FilterPolicy,
    Registry, UserBuilder, UserFilter, UserPolicy,
};
pub use prefix::{KeyFiltering, PrefixExtractor, SliceTransform};
pub use reader::{Filter, FilterKind, FilterParameters};
pub use sizing::{GLIBC_MMAP_THRESHOLD, MemorySizing, UsableSize};
pub use stats::FilterStats;
pub use trace::{FilterBlockTrace, FilterTrace, Probe, ProbePlace, TracedHash};

/// Tests the example in README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
