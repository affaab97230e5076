//! SST files of LevelDB and RocksDB, natively in Rust: this crate gathers the parts and holds the
//! guide.
//!
//! | part | what | crate |
//! |---|---|---|
//! | [`filter`] | every filter of both engines, built and read | `sstkit-filter` |
//! | [`coding`] | integers, checksums and hashes of the formats | `sstkit-coding` |
//!
//! Tables and whole databases come next; see the changelog for what is there.
//!
//! # Guide: a filter in five lines
//!
//! A *policy* says which filter, a *builder* takes keys, the bytes go into a table or wherever you
//! like, and a *filter* over those bytes answers whether a key may be among them.
//!
//! ```
//! use sstkit::{BuildContext, Filter, FilterPolicy};
//!
//! let policy: FilterPolicy = "ribbonfilter:9.9".parse()?;
//! let mut builder = policy.builder(&BuildContext::default()).expect("builds filters");
//! builder.add(b"alice");
//! let bytes = builder.finish()?;
//! assert!(Filter::from_bytes(&bytes).may_contain(b"alice"));
//! # Ok::<(), sstkit::filter::Error>(())
//! ```
//!
//! # Guide: choosing one
//!
//! * **Nothing special**: `bloomfilter:10`. One cache line per query, 0.95 % false positives.
//! * **Space matters more than build time**: `ribbonfilter:10` has the same rate in 7.1 bits per
//!   key and takes a few times as long to build.
//! * **Old readers**: set [`format_version`](BuildContext::format_version) below 5 for RocksDB
//!   before 6.6, or use `leveldb.BuiltinBloomFilter2:10` for LevelDB.
//! * **A wanted rate**: [`filter::math`] has the formulas and their inverse, and a table.
//! * **Something else entirely**: [`filter::UserPolicy`].
//!
//! # Guide: many keys, many filters
//!
//! Hash a key once for all filters ([`HashedKey`]), and ask about many keys at once
//! ([`Filter::may_contain_batch`]): the memory of the later ones is fetched while the earlier ones
//! are answered.
//!
//! ```
//! # use sstkit::{BuildContext, Filter, FilterPolicy};
//! # let mut builder = "bloomfilter:10".parse::<FilterPolicy>()?.builder(&BuildContext::default()).unwrap();
//! # ["alice", "bob"].iter().for_each(|key| builder.add(key.as_bytes()));
//! # let filter = Filter::from_bytes(builder.finish()?);
//! let keys = ["alice", "bob", "carol"];
//! let mut answers = [false; 3];
//! filter.may_contain_batch(&keys, &mut answers);
//! assert_eq!(answers, [true, true, false]);
//! # Ok::<(), sstkit::filter::Error>(())
//! ```

#![forbid(unsafe_code)]

pub use sstkit_coding as coding;
pub use sstkit_filter as filter;

pub use sstkit_filter::{
    BuildContext, Filter, FilterBlock, FilterPolicy, HashedKey, PrefixExtractor, Registry,
};

/// The examples of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
