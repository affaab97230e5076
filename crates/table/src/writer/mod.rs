//! Writing a table: what RocksDB or LevelDB would have written for the same entries and options.
//!
//! ```text
//! put, delete, … ---> EntryCheck ---> RocksDbWriter or LevelDbWriter ---> Output ---> OutputFile
//!                     order, shape    blocks, index, filter               checksums   rename
//! ```
//!
//! | file | what |
//! |---|---|
//! | `external_entries.rs`, `entry_check.rs` | the calls for each kind of entry; which entries may follow |
//! | `property_collector.rs` | user properties computed from the entries |
//! | `returned_sink.rs` | the sink of the caller, returned at the end |
//! | `rocksdb.rs`, `tail_builder.rs`, `property_block.rs` | RocksDB's table: data, tail, properties |
//! | `leveldb.rs` | LevelDB's table |
//! | `cut.rs` | when a block ends |
//! | `dictionary.rs`, `batch.rs`, `compression_pool.rs` | compression dictionary; several threads |
//! | `embedded_blobs.rs` | values between the data blocks |
//! | `rewrite_tail/` | a new tail for the data blocks of another table |
//! | `output.rs` | offsets and checksums |

mod batch;
mod compression_pool;
mod counters;
pub(crate) mod cut;
mod dictionary;
mod embedded_blobs;
mod entry_check;
mod external_entries;
mod leveldb;
mod output;
mod property_block;
mod property_collector;
mod returned_sink;
mod rewrite_tail;
mod rocksdb;
mod summary;
mod tail_builder;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use self::entry_check::EntryCheck;
use self::leveldb::LevelDbWriter;
use self::output::{Output, Sink, Written};
use self::property_collector::Collectors;
use self::returned_sink::{ReturnedSink, SinkSlot};
use self::rocksdb::RocksDbWriter;
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::output::{FinishedFile, OutputFile, OutputPath};
use crate::raw::{Engine, EntryKind, InternalKey, Properties};

pub use self::property_collector::{PropertyCollector, PropertyCollectorFactory};
pub use self::rewrite_tail::{rewrite_tail, rewrite_tail_to, rewrite_tail_to_output_file};
pub use self::summary::Summary;

/// Writes one table.
///
/// ```
/// use sstkit_table::{TableOptions, TableWriter};
///
/// # let folder = std::env::temp_dir().join(format!("sstkit-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("users.sst");
/// let options = TableOptions::rocksdb().filter("bloomfilter:10".parse()?);
/// let mut writer = TableWriter::create(&path, &options)?;
/// writer.put(b"alice", b"1")?;
/// writer.put(b"bob", b"2")?;
/// let summary = writer.finish()?;
/// assert_eq!(summary.num_entries, 2);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Keys are added in the order of the comparator. An entry that is refused is an error and leaves
/// the table unchanged, so another one can be added. After an error of the sink nothing more is
/// accepted.
///
/// The file appears under its name in [`finish`](Self::finish), complete and synced, and replaces a
/// file of that name. A writer that is dropped before leaves nothing behind.
///
/// Held in memory are the open block (several with [threads](TableOptions::threads)), the index,
/// the hashes of the keys for the filter (8 bytes each, or finished partitions; of a Bloom filter at
/// most 64 MiB if the table is a file: the others are in an unnamed file beside it) and the range
/// tombstones, but never the data, except for the samples of a
/// [dictionary](TableOptions::max_dict_buffer_bytes).
///
/// `W` is the sink of [`to_sink`](Self::to_sink).
pub struct TableWriter<'s, W = File> {
    check: EntryCheck,
    inner: Inner<'s>,
    collectors: Collectors,
    sink: Option<SinkSlot<W>>,
    /// The name as it was given, for messages, and where the file appears; `None` for a sink.
    target: Option<(PathBuf, OutputPath)>,
    /// A write has failed.
    failed: bool,
}

sstkit_coding::debug_opaque!(TableWriter<'_>);

enum Inner<'s> {
    RocksDb(Box<RocksDbWriter<'s>>),
    LevelDb(Box<LevelDbWriter<'s>>),
}

impl Inner<'_> {
    /// The user key of the last point entry; empty before the first.
    #[inline]
    fn last_key(&self) -> &[u8] {
        match self {
            Self::RocksDb(writer) => writer.last_key(),
            Self::LevelDb(writer) => writer.last_key(),
        }
    }

    fn output(&self) -> &Output<'_> {
        match self {
            Self::RocksDb(writer) => writer.output(),
            Self::LevelDb(writer) => writer.output(),
        }
    }
}

impl TableWriter<'static> {
    /// Starts a table that becomes the file `path`.
    ///
    /// # Errors
    ///
    /// Settings that contradict each other; a folder that cannot be written to; a path that is not
    /// that of a regular file.
    pub fn create(path: impl AsRef<Path>, options: &TableOptions) -> Result<Self> {
        let path = path.as_ref();
        options.check()?;
        let (target, file) = create_file(path)?;
        let mut writer = Self::with_sink(Sink::File(file), options)?;
        writer.target = Some((path.to_path_buf(), target));
        Ok(writer)
    }

    /// Starts a table in a file with a temporary name, which the caller renames: see
    /// [`output`](crate::output) for an example.
    ///
    /// # Errors
    ///
    /// Settings that contradict each other.
    pub fn to_output_file(file: OutputFile, options: &TableOptions) -> Result<Self> {
        options.check()?;
        Self::with_sink(Sink::File(file), options)
    }

    /// [`finish`](Self::finish), and the file, which is durable but still has its temporary name.
    ///
    /// # Errors
    ///
    /// Those of [`finish`](Self::finish), and if the table was not started by
    /// [`to_output_file`](Self::to_output_file).
    pub fn finish_output_file(self) -> Result<(Summary, FinishedFile)> {
        match self.finish_unnamed()? {
            (summary, Some(file)) => Ok((summary, file)),
            (_, None) => Err(Error::invalid_input("the table was not written to a file")),
        }
    }
}

fn create_file(path: &Path) -> Result<(OutputPath, OutputFile)> {
    let create = || {
        let target = OutputPath::new(path, true)?;
        let file = target.create()?;
        Ok((target, file))
    };
    create().map_err(|error: std::io::Error| Error::from(error).in_file(path))
}

impl<'s, W: Write + Send + 's> TableWriter<'s, W> {
    /// Starts a table that is written to a sink: a `&mut Vec<u8>`, a socket, a file of the caller's.
    ///
    /// ```
    /// use sstkit_table::{TableOptions, TableWriter};
    ///
    /// let mut bytes = Vec::new();
    /// let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb())?;
    /// writer.put(b"alice", b"1")?;
    /// writer.finish()?;
    /// assert_eq!(bytes[bytes.len() - 8..], [0xf7, 0xcf, 0xf4, 0x85, 0xb7, 0x41, 0xe2, 0x88]);
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Settings that contradict each other.
    pub fn to_sink(sink: W, options: &TableOptions) -> Result<Self> {
        options.check()?;
        let (sink, slot) = ReturnedSink::new(sink);
        let mut writer = Self::with_sink(Sink::Writer(Box::new(sink)), options)?;
        writer.sink = Some(slot);
        Ok(writer)
    }

    /// [`finish`](Self::finish), and the sink, which has all bytes of the table.
    ///
    /// ```
    /// use sstkit_table::{Table, TableOptions, TableWriter};
    ///
    /// let mut writer = TableWriter::to_sink(Vec::new(), &TableOptions::rocksdb())?;
    /// writer.put(b"alice", b"1")?;
    /// let (_, bytes) = writer.finish_sink()?;
    /// assert_eq!(Table::from_bytes(bytes)?.get(b"alice")?.unwrap(), b"1");
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn finish_sink(mut self) -> Result<(Summary, W)> {
        let slot = self.sink.take();
        let summary = self.finish()?;
        match slot.and_then(SinkSlot::take) {
            Some(sink) => Ok((summary, sink)),
            None => Err(Error::invalid_input("the table was not written to a sink")),
        }
    }
}

impl<'s, W> TableWriter<'s, W> {
    fn with_sink(sink: Sink<'s>, options: &TableOptions) -> Result<Self> {
        let options = &options.of_one_table();
        let output = Output::new(sink, options.format.checksum, options.context_checksum());
        let inner = match options.engine {
            Engine::RocksDb => Inner::RocksDb(Box::new(RocksDbWriter::new(options, output)?)),
            Engine::LevelDb => Inner::LevelDb(Box::new(LevelDbWriter::new(options, output)?)),
        };
        Ok(Self {
            check: EntryCheck::new(options),
            inner,
            collectors: Collectors::new(options),
            sink: None,
            target: None,
            failed: false,
        })
    }

    /// Entries so far: points, and range tombstones that are not empty.
    pub fn num_entries(&self) -> u64 {
        match &self.inner {
            Inner::RocksDb(writer) => writer.counters().entries,
            Inner::LevelDb(_) => self.check.points,
        }
    }

    /// Bytes of the table so far: all finished blocks, but not the open one and those that are still
    /// compressed, nor the tail.
    pub fn file_size(&self) -> u64 {
        self.inner.output().offset()
    }

    /// The user key of the last point entry, with its timestamp; empty before the first. Keys that are
    /// added must not be less.
    pub fn last_key(&self) -> &[u8] {
        self.inner.last_key()
    }

    /// Sets a property of the user's, as [`TableOptions::user_property`] does, at any time before
    /// [`finish`](Self::finish).
    ///
    /// # Errors
    ///
    /// If the name is RocksDB's, or the table is LevelDB's, which has no properties.
    pub fn set_property(
        &mut self,
        name: impl Into<Vec<u8>>,
        value: impl Into<Vec<u8>>,
    ) -> Result<()> {
        let result = match &mut self.inner {
            Inner::RocksDb(writer) => writer.set_property(name.into(), value.into()),
            Inner::LevelDb(_) => Err(Error::invalid_input("a LevelDB table has no properties")),
        };
        result.map_err(|error| self.named(error))
    }

    /// Bytes that the file or the sink has received so far. Blocks that are still compressed, and a
    /// buffer of less than 256 KiB, are not among them.
    pub fn bytes_written(&self) -> u64 {
        self.inner.output().bytes_in_sink()
    }

    /// Adds an internal entry, with sequence number and kind. `value` is as stored; for a range
    /// tombstone it is the end of the range. The user key ends in a timestamp if the comparator has
    /// them.
    ///
    /// Sequence numbers other than 0, and several entries of one user key, need a table that is
    /// [not external](TableOptions::external_file). In a table of [bare
    /// keys](TableOptions::bare_keys) only the user key is stored.
    ///
    /// # Errors
    ///
    /// Besides those of the order and the sink: a value that does not fit its kind (columns of an
    /// entity, a blob index, a preferred sequence number), an entry of 4 GiB or more.
    pub fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        self.check_failed()?;
        self.check.entry(self.inner.last_key(), key, value).map_err(|error| self.named(error))?;
        self.push(key, value)
    }

    /// Adds an entry that was checked, so that only the sink and a custom filter can fail.
    #[inline]
    fn push(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        let result = match &mut self.inner {
            Inner::RocksDb(writer) if key.kind == EntryKind::RangeDeletion => {
                writer.add_range_deletion(key, value);
                Ok(())
            }
            Inner::RocksDb(writer) => writer.add(key, value),
            Inner::LevelDb(writer) => writer.add(key, value),
        };
        match result {
            Ok(()) => {
                self.check.accept(key, value);
                self.collectors.add(key, value);
                Ok(())
            }
            Err(error) => {
                self.failed = true;
                Err(self.named(error))
            }
        }
    }

    /// Writes the rest of the table and makes it durable.
    ///
    /// # Errors
    ///
    /// Those of the sink; an external RocksDB table without entries, which no database would ingest;
    /// an index of more than 4 GiB, made of very long keys.
    ///
    /// The last step syncs the folder that the file was renamed in. If only that fails, the error
    /// says so: the new file is then **in place** and complete, but its name may not survive a
    /// crash of the system.
    pub fn finish(mut self) -> Result<Summary> {
        let target = self.target.take();
        let finish = || {
            let (summary, file) = self.finish_unnamed()?;
            if let (Some(file), Some((_, target))) = (file, &target) {
                target.commit(file)?;
            }
            Ok(summary)
        };
        finish().map_err(|error: Error| match &target {
            Some((path, _)) => error.in_file(path),
            None => error,
        })
    }

    /// The file, if there is one, still has its temporary name.
    fn finish_unnamed(mut self) -> Result<(Summary, Option<FinishedFile>)> {
        self.check_failed()?;
        self.check.finish()?;
        for (name, value) in self.collectors.finish() {
            self.set_property(name, value)?;
        }
        let Self { check, inner, .. } = self;
        let last_key = inner.last_key().to_vec();
        let (mut num_entries, mut num_range_deletions) = (check.points, 0);
        let (properties, Written { size: file_size, file }) = match inner {
            Inner::RocksDb(writer) => {
                num_entries = writer.counters().entries;
                num_range_deletions = writer.counters().range_deletions;
                writer.finish()?
            }
            Inner::LevelDb(writer) => (Properties::default(), writer.finish()?),
        };
        let first_key = check.first_key;
        let summary = Summary {
            file_size,
            num_entries,
            num_range_deletions,
            first_key,
            last_key,
            properties,
        };
        Ok((summary, file))
    }

    #[inline]
    fn check_failed(&self) -> Result<()> {
        if !self.failed {
            return Ok(());
        }
        let what = "an earlier write failed; the table cannot be finished";
        Err(self.named(Error::invalid_input(what)))
    }

    #[cold]
    fn named(&self, error: Error) -> Error {
        match &self.target {
            Some((path, _)) => error.in_file(path),
            None => error,
        }
    }
}
