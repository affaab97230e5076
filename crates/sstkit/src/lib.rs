//! SST files of LevelDB and RocksDB, natively in Rust: this crate gathers the parts and holds the
//! guide.
//!
//! | part | what | crate |
//! |---|---|---|
//! | [`table`] | one table file: reading, writing, taking apart | `sstkit-table` |
//! | [`filter`] | every filter of both engines, built and read | `sstkit-filter` |
//! | [`coding`] | integers, checksums and hashes of the formats | `sstkit-coding` |
//!
//! Whole databases and a command line come next; see the changelog for what is there.
//!
//! # Guide: a table in ten lines
//!
//! ```
//! use sstkit::{Table, TableOptions, TableWriter};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("users.sst");
//! // Write: keys in order, and the file appears when it is whole.
//! let mut writer = TableWriter::create(&path, &TableOptions::rocksdb().filter("bloomfilter:10".parse()?))?;
//! writer.put(b"alice", b"1")?;
//! writer.put(b"bob", b"2")?; // also delete, single_delete, merge, delete_range, put_entity
//! let summary = writer.finish()?;
//!
//! // Read: opening reads only the end of the file.
//! let table = Table::open(&path)?;
//! let value = table.get(b"alice")?; // a handle into the cached block, no copy
//! assert_eq!(value.as_deref(), Some(&b"1"[..]));
//! for entry in table.range(b"a".as_slice()..b"c".as_slice()) {
//!     let (key, value) = entry?;
//!     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
//! }
//! assert!(table.verify().is_sound()); // reads everything
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The file is what RocksDB's `SstFileWriter` would have written, and `IngestExternalFile` takes it. For
//! LevelDB there is [`TableOptions::leveldb`].
//!
//! # Guide: looking into a file
//!
//! ```no_run
//! # use sstkit::Table;
//! # let table = Table::open("000011.sst")?;
//! table.entries(); // every entry as it is stored: key, sequence number, kind, value
//! table.properties(); // what the writer noted down
//! table.filter(); // which kind, and what it says of a key
//! table.layout()?; // every block: kind, offset, length, codec, checksum
//! # Ok::<(), sstkit::table::Error>(())
//! ```
//!
//! For what is below that there is [`table::raw`].
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
pub use sstkit_table as table;

pub use sstkit_filter::{
    BuildContext, Filter, FilterBlock, FilterPolicy, HashedKey, PrefixExtractor, Registry,
};
pub use sstkit_table::{
    BlockCache, Comparator, Table, TableOptions, TableReadOptions, TableWriter,
};

/// The examples of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
