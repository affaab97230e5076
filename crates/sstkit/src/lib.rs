//! Reads and writes SST files of LevelDB and RocksDB in pure Rust. This crate re-exports the parts
//! and contains the guide.
//!
//! | module | contents | crate |
//! |---|---|---|
//! | `inspect` | descriptions of tables and databases as plain data; feature `inspect` | `sstkit-inspect` |
//! | [`db`] | database directories, read in place or written whole; bulk building and compaction of tables | `sstkit-db` |
//! | [`table`] | table files: reading, writing, parsing | `sstkit-table` |
//! | [`filter`] | the filters of both engines: building and probing | `sstkit-filter` |
//! | [`coding`] | integers, checksums and hashes of the formats | `sstkit-coding` |
//!
//! The command `sst` (`crates/cli`) offers the same on the command line; see `docs/guide.md`.
//!
//! # Features
//!
//! | feature | default | contents |
//! |---|---|---|
//! | `zstd`, `lz4`, `snappy`, `zlib`, `bzip2`, or all as `codecs` | yes | the codecs; only `zstd` needs a C compiler |
//! | `write` | yes | everything that writes; needs `tempfile` and `serde_json` |
//! | `json` | with `write` | directories of tables with a `manifest.json` |
//! | `ruzstd` | no | reads zstd without C, where `zstd` is off |
//! | `async` | no | `AsyncTable`, which needs no runtime of its own |
//! | `inspect` | no | the module `inspect`; turns `write` on |
//!
//! # Guide: a table in ten lines
//!
//! ```
//! use sstkit::{Table, TableOptions, TableWriter};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("users.sst");
//! // Write: keys in order. The file appears when it is complete.
//! let mut writer = TableWriter::create(&path, &TableOptions::rocksdb().filter("bloomfilter:10".parse()?))?;
//! writer.put(b"alice", b"1")?;
//! writer.put(b"bob", b"2")?; // also delete, single_delete, merge, delete_range, put_entity
//! let summary = writer.finish()?;
//!
//! // Read: opening reads only the end of the file.
//! let table = Table::open(&path)?;
//! let value = table.get(b"alice")?; // a handle into the cached block, no copy
//! assert_eq!(value.unwrap(), b"1");
//! for entry in table.range(b"a"..b"c") {
//!     let (key, value) = entry?;
//!     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
//! }
//! assert!(table.verify().is_sound()); // reads everything
//! # Ok::<(), sstkit::Error>(())
//! ```
//!
//! The file is identical to that of RocksDB 11's `SstFileWriter`; RocksDB 10.4 and later ingests it
//! with `IngestExternalFile`. Use [`TableOptions::readable_by`] for older versions, and
//! [`TableOptions::leveldb`] for LevelDB.
//!
//! # Guide: options and errors
//!
//! Every read has a form with [`ReadOptions`]: `get_with`, `get_many_with`, `iter_with`, `cursor_with`.
//! They are the same for [`Table`], [`ColumnFamily`] and [`Database`], under RocksDB's names. There is
//! one [`Error`] for everything, and its [kind](ErrorKind) tells what to do.
//!
//! ```
//! use sstkit::{Database, ErrorKind, PrefixMode, ReadOptions};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("db");
//! # let mut writer = sstkit::DatabaseWriter::create(&path, sstkit::DatabaseWriterOptions::rocksdb())?;
//! # writer.column_family(sstkit::ColumnFamilyDescriptor::new("meta"))?;
//! # writer.finish()?;
//! let db = Database::open(path)?;
//! let backup = ReadOptions::default()
//!     .sequence(db.last_sequence()) // a snapshot
//!     .range("user00001/".."user00002/")
//!     .prefix_mode(PrefixMode::TotalOrder)
//!     .fill_cache(false) // leaves the cache to others
//!     .readahead_size(2 << 20);
//! for entry in db.iter_with(&backup) {
//!     let (key, value) = entry?;
//! }
//! let known = ReadOptions::default().use_filters(false);
//! let value = db.get_with(b"user00001/post0001", &known)?;
//!
//! match db.column_family("mata") {
//!     Err(error) if error.kind() == ErrorKind::NotFound => println!("{error}"),
//!     other => println!("{:?}", other?),
//! }
//! # Ok::<(), sstkit::Error>(())
//! ```
//!
//! # Guide: tables elsewhere
//!
//! A table is read from any [`Source`]. One that says which reads it [prefers](PreferredRead) is read in few round
//! trips: one to open, one for a lookup, three for a batch of lookups, and scans read ahead. The crate
//! `sstkit-object-store` has sources for S3, Google Cloud Storage, Azure and HTTP, also for asynchronous programs
//! (`AsyncTable`, feature `async`), and makes databases in buckets readable by their address.
//!
//! # Guide: inspecting a file
//!
//! ```no_run
//! # use sstkit::Table;
//! # let table = Table::open("000011.sst")?;
//! table.entries(); // every entry as stored: key, sequence number, type, value
//! table.properties(); // metadata from the writer
//! table.filter(); // its kind, and probes for keys
//! table.layout()?; // every block: kind, offset, length, codec, checksum
//! # Ok::<(), sstkit::Error>(())
//! ```
//!
//! [`table::raw`] has the parsers for the parts of a file.
//!
//! # Guide: a database
//!
//! [`Database::open`] reads a directory of RocksDB or LevelDB in place, including the data in the
//! write-ahead logs. It takes no lock and writes nothing.
//!
//! ```
//! use sstkit::Database;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("db");
//! # let mut writer = sstkit::DatabaseWriter::create(&path, sstkit::DatabaseWriterOptions::rocksdb())?;
//! # writer.column_family(sstkit::ColumnFamilyDescriptor::new("meta"))?;
//! # writer.finish()?;
//! let db = Database::open(path)?;
//! for family in db.column_families() {
//!     println!("{}: {} levels with files", family.name(), family.levels().len());
//! }
//! let meta = db.column_family("meta")?;
//! for entry in meta.prefix(b"user00001/").rev() {
//!     let (key, value) = entry?;
//!     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
//! }
//! let earlier = meta.at(meta.sequence().saturating_sub(100)); // as it was a hundred writes ago
//! println!("{} keys now, {} then", meta.iter().count(), earlier.iter().count());
//! # Ok::<(), sstkit::Error>(())
//! ```
//!
//! Merge operands are combined by RocksDB's own operators or by custom ones ([`DatabaseOptions`]).
//! If the MANIFEST is lost, [`Database::open_tables`] opens the tables alone.
//!
//! # Guide: why was the key not found?
//!
//! ```
//! use sstkit::Database;
//! use sstkit::db::{Answer, Step};
//!
//! # use sstkit::{ColumnFamilyDescriptor, DatabaseWriter, DatabaseWriterOptions, EntryKind};
//! # use sstkit::{FileSource, InternalKey, TableOptions, TableWriter};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("db");
//! # let mut writer = DatabaseWriter::create(&path, DatabaseWriterOptions::rocksdb())?;
//! # let family = writer.column_family(ColumnFamilyDescriptor::new("default"))?;
//! # let base = TableOptions::rocksdb().external_file(false).filter("bloomfilter:10".parse()?);
//! # let table = writer.new_table_path();
//! # let mut entries = TableWriter::create(&table, &writer.table_options(family, &base)?)?;
//! # for user_key in [b"user00000/post0001", b"user00000/post0002", b"user00000/post0003"] {
//! #     entries.add(&InternalKey { user_key, sequence: 1, kind: EntryKind::Value }, b"a post")?;
//! # }
//! # entries.finish()?;
//! # writer.add_table(family, 6, &FileSource::Written(table), None)?;
//! # writer.finish()?;
//! let explanation = Database::open(path)?.default_column_family().explain(b"user00000/post0002?")?;
//! for step in &explanation.steps {
//!     // Also: the memtable, files out of range, files skipped since the key is resolved.
//!     if let Step::File { level, file, trace, .. } = step {
//!         let filter = trace.filter.as_ref().expect("this table has a filter");
//!         assert!(!filter.may_contain && trace.blocks.is_empty());
//!         println!("level {level}, file {file}: {:?}", filter.trace); // the probed bits
//!     }
//! }
//! assert_eq!(explanation.answer, Answer::NotFound);
//! # Ok::<(), sstkit::Error>(())
//! ```
//!
//! [`Database::stats`] counts the same for all lookups, per level and file, under RocksDB's names.
//! For one table, see [`Table::explain`] and the [statistics](table::TableFilter::stats) of its
//! filter.
//!
//! # Guide: many tables
//!
//! [`BulkBuilder`] takes entries in any order and sorts them within a memory limit; [`Compaction`]
//! merges tables, or the levels of a database, and builds new filters. Both write one file, or a
//! directory of non-overlapping files with a `manifest.json`, or the tables of a new database
//! ([`db::DatabaseWriter`]).
//!
//! ```
//! use sstkit::{BulkBuilder, BulkOptions, Compaction, CompactionOptions, Database, Table, TableOptions};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (bulk, merged) = (folder.path().join("bulk"), folder.path().join("merged.sst"));
//! # let path = folder.path().join("db");
//! # sstkit::DatabaseWriter::create(&path, sstkit::DatabaseWriterOptions::rocksdb())?.finish()?;
//! let tables = TableOptions::rocksdb().filter("ribbonfilter:10".parse()?);
//! let options = BulkOptions::new(tables.clone()).max_file_size(Some(64 << 20)).memory(256 << 20);
//! let mut builder = BulkBuilder::create(&bulk, &options)?;
//! builder.put(b"bob", b"2")?;
//! builder.put(b"alice", b"1")?;
//! let summary = builder.finish()?; // bulk/000001.sst, …, bulk/manifest.json
//! assert_eq!(summary.manifest.entries, 2);
//!
//! let mut compaction = Compaction::new(&CompactionOptions::new(tables).bottommost(true));
//! compaction.add_column_family(&Database::open(path)?.default_column_family(), ..)?; // all levels
//! compaction.add_table(&Table::open(bulk.join("000001.sst"))?)?; // added later: newer if sequence numbers are equal
//! compaction.run(&merged)?;
//! assert_eq!(Table::open(&merged)?.get(b"alice")?.unwrap(), b"1");
//! # Ok::<(), sstkit::Error>(())
//! ```
//!
//! # Guide: a filter in five lines
//!
//! A *policy* selects the filter, a *builder* collects keys and returns the bytes of the filter, and a
//! *filter* over those bytes tells whether it may contain a key.
//!
//! ```
//! use sstkit::{BuildContext, Filter, FilterPolicy};
//!
//! let policy: FilterPolicy = "ribbonfilter:9.9".parse()?;
//! let mut builder = policy.builder(&BuildContext::default())?;
//! builder.add(b"alice");
//! let bytes = builder.finish()?;
//! assert!(Filter::from_bytes(&bytes).may_contain(b"alice"));
//! # Ok::<(), sstkit::filter::Error>(())
//! ```
//!
//! # Guide: choosing a filter
//!
//! * **The default choice**: `bloomfilter:10`. One cache line per query, 0.95 % false positives.
//! * **Space matters more than build time**: `ribbonfilter:10` has the same rate with 7.1 bits
//!   per key and takes a few times as long to build.
//! * **Old readers**: set [`format_version`](BuildContext::format_version) below 5 for RocksDB
//!   before 6.6, or use `leveldb.BuiltinBloomFilter2:10` for LevelDB.
//! * **A target false-positive rate**: [`filter::math`] has the formulas and their inverse.
//! * **A custom filter**: [`filter::UserPolicy`].
//!
//! # Guide: many keys, many filters
//!
//! Hash a key once for all filters ([`HashedKey`]), and probe many keys at once
//! ([`Filter::may_contain_batch`]), which prefetches the memory for later keys.
//!
//! ```
//! # use sstkit::{BuildContext, Filter, FilterPolicy};
//! # let mut builder = "bloomfilter:10".parse::<FilterPolicy>()?.builder(&BuildContext::default())?;
//! # ["alice", "bob"].iter().for_each(|key| builder.add(key.as_bytes()));
//! # let filter = Filter::from_bytes(builder.finish()?);
//! let keys = ["alice", "bob", "carol"];
//! let mut answers = [false; 3];
//! filter.may_contain_batch(&keys, &mut answers);
//! assert_eq!(answers, [true, true, false]);
//! # Ok::<(), sstkit::filter::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub use sstkit_coding as coding;
pub use sstkit_db as db;
pub use sstkit_filter as filter;
#[cfg(feature = "inspect")]
pub use sstkit_inspect as inspect;
pub use sstkit_table as table;

#[cfg(feature = "write")]
pub use sstkit_db::{
    BulkBuilder, BulkOptions, ColumnFamilyDescriptor, Compaction, CompactionDecision,
    CompactionFilter, CompactionOptions, CompactionOutput, DatabaseWriter, DatabaseWriterOptions,
    FileSource,
};
pub use sstkit_db::{Caveat, CaveatKind, ColumnFamily, Database, DatabaseOptions, merge_operator};
pub use sstkit_filter::{
    BuildContext, Filter, FilterBlock, FilterKind, FilterPolicy, HashedKey, PrefixExtractor,
    Registry, SliceTransform, UserBuilder, UserFilter, UserPolicy,
};
pub use sstkit_table::raw::{BlockKind, Codec, EntryKind, InternalKey};
pub use sstkit_table::visibility::Recency;
#[cfg(feature = "async")]
pub use sstkit_table::{AsyncScan, AsyncSource, AsyncTable};
pub use sstkit_table::{
    BlockCache, BlockKey, CacheMetrics, Column, Comparator, Entry, Error, ErrorKind, KeyBounds,
    KeyOrder, MergeOperator, MergedTables, PreferredRead, PrefixMode, RangeTombstone, ReadOptions,
    Record, RecordValue, Result, SecondaryCache, Source, SourceIdentity, Table, TableReadOptions,
    Value,
};
#[cfg(feature = "write")]
pub use sstkit_table::{TableOptions, TableWriter};

/// Tests the example in README.md.
#[cfg(all(doctest, feature = "write"))]
#[doc = include_str!("../README.md")]
struct Readme;
