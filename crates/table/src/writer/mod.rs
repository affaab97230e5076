//! Writing a table: what RocksDB or LevelDB would have written for the same entries and options.
//!
//! ```text
//! put, delete, … ---> EntryCheck ---> RocksDbWriter or LevelDbWriter ---> Output ---> OutputFile
//!                     order, shape    blocks, index, filter               checksums   rename
//! ```
//!
//! | file | what |
//! |---|---|
//! | `entry_check.rs` | which entries may follow |
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
mod leveldb;
mod output;
mod property_block;
mod rewrite_tail;
mod rocksdb;
mod summary;
mod tail_builder;

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

use self::entry_check::EntryCheck;
use self::leveldb::LevelDbWriter;
use self::output::{Output, Sink, Written};
use self::rocksdb::RocksDbWriter;
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::output::{FinishedFile, OutputFile, OutputPath};
use crate::raw::{
    ColumnValue, Engine, EntryKind, InternalKey, Properties, WideColumn, encode_wide_columns,
};

#[doc(hidden)]
pub use self::rewrite_tail::rewrite_tail_to_output_file;
pub use self::rewrite_tail::{rewrite_tail, rewrite_tail_to};
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
/// the hashes of the keys for the filter (8 bytes each, or finished partitions) and the range
/// tombstones, but never the data, except for the samples of a
/// [dictionary](TableOptions::max_dict_buffer_bytes).
pub struct TableWriter<'s> {
    check: EntryCheck,
    inner: Inner<'s>,
    /// The name as it was given, for messages, and where the file appears; `None` for a sink.
    target: Option<(PathBuf, OutputPath)>,
    /// A write has failed.
    failed: bool,
}

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

    /// Starts a table in a file that the caller renames.
    #[doc(hidden)]
    pub fn to_output_file(file: OutputFile, options: &TableOptions) -> Result<Self> {
        options.check()?;
        Self::with_sink(Sink::File(file), options)
    }

    /// [`finish`](Self::finish), and the file.
    #[doc(hidden)]
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

impl<'s> TableWriter<'s> {
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
    pub fn to_sink(sink: impl Write + Send + 's, options: &TableOptions) -> Result<Self> {
        options.check()?;
        Self::with_sink(Sink::Writer(Box::new(sink)), options)
    }

    fn with_sink(sink: Sink<'s>, options: &TableOptions) -> Result<Self> {
        let options = &options.of_one_table();
        let output = Output::new(sink, options.format.checksum, options.context_checksum());
        let inner = match options.engine {
            Engine::RocksDb => Inner::RocksDb(Box::new(RocksDbWriter::new(options, output)?)),
            Engine::LevelDb => Inner::LevelDb(Box::new(LevelDbWriter::new(options, output)?)),
        };
        Ok(Self { check: EntryCheck::new(options), inner, target: None, failed: false })
    }

    /// Bytes that the file or the sink has received so far. Blocks that are still compressed, and a
    /// buffer of less than 256 KiB, are not among them.
    pub fn bytes_written(&self) -> u64 {
        self.inner.output().bytes_in_sink()
    }

    /// Sets a key to a value.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.external(key, &[], EntryKind::Value, value)
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.external(key, &[], EntryKind::Deletion, &[])
    }

    /// Deletes a key that was set at most once.
    pub fn single_delete(&mut self, key: &[u8]) -> Result<()> {
        self.external(key, &[], EntryKind::SingleDeletion, &[])
    }

    /// Adds an operand for the merge operator.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.external(key, &[], EntryKind::Merge, operand)
    }

    /// Sets a key to named columns, given in any order. The column with the empty name is the one that
    /// a plain lookup returns.
    pub fn put_entity(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        let mut columns: Vec<_> = columns
            .iter()
            .map(|&(name, value)| WideColumn { name, value: ColumnValue::Inline(value) })
            .collect();
        columns.sort_by_key(|column| column.name);
        let mut entity = Vec::new();
        encode_wide_columns(&columns, &mut entity).map_err(|error| self.named(error))?;
        self.external(key, &[], EntryKind::WideColumnEntity, &entity)
    }

    /// Deletes the keys from `begin` up to, but not including, `end`. Ranges may overlap and come in
    /// any order, before, between and after other entries. An empty range is ignored.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.range(begin, end, &[])
    }

    /// Sets a key to a value as of a timestamp, whose length is that of the comparator's.
    pub fn put_at(&mut self, key: &[u8], timestamp: &[u8], value: &[u8]) -> Result<()> {
        self.external(key, timestamp, EntryKind::Value, value)
    }

    /// Deletes a key as of a timestamp.
    pub fn delete_at(&mut self, key: &[u8], timestamp: &[u8]) -> Result<()> {
        self.external(key, timestamp, EntryKind::DeletionWithTimestamp, &[])
    }

    /// Adds an operand for the merge operator as of a timestamp.
    pub fn merge_at(&mut self, key: &[u8], timestamp: &[u8], operand: &[u8]) -> Result<()> {
        self.external(key, timestamp, EntryKind::Merge, operand)
    }

    /// Deletes a range of keys as of a timestamp.
    pub fn delete_range_at(&mut self, begin: &[u8], end: &[u8], timestamp: &[u8]) -> Result<()> {
        self.range(begin, end, timestamp)
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

    #[inline]
    fn external(
        &mut self,
        key: &[u8],
        timestamp: &[u8],
        kind: EntryKind,
        value: &[u8],
    ) -> Result<()> {
        self.check_failed()?;
        self.check.timestamp(timestamp).map_err(|error| self.named(error))?;
        let user_key = &*stamped(key, timestamp);
        let key = InternalKey { user_key, sequence: 0, kind };
        self.check
            .external(self.inner.last_key(), &key, value)
            .map_err(|error| self.named(error))?;
        self.push(&key, value)
    }

    fn range(&mut self, begin: &[u8], end: &[u8], timestamp: &[u8]) -> Result<()> {
        self.check_failed()?;
        self.check.timestamp(timestamp).map_err(|error| self.named(error))?;
        let (begin, end) = (stamped(begin, timestamp), stamped(end, timestamp));
        let kind = EntryKind::RangeDeletion;
        let key = InternalKey { user_key: &begin, sequence: 0, kind };
        self.check.entry(self.inner.last_key(), &key, &end).map_err(|error| self.named(error))?;
        if self.check.is_empty_range(&begin, &end) {
            return Ok(());
        }
        self.push(&key, &end)
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
    fn finish_unnamed(self) -> Result<(Summary, Option<FinishedFile>)> {
        self.check_failed()?;
        self.check.finish()?;
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

/// A key with its timestamp; a key without one is not copied.
fn stamped<'k>(key: &'k [u8], timestamp: &[u8]) -> Cow<'k, [u8]> {
    if timestamp.is_empty() { Cow::Borrowed(key) } else { Cow::Owned([key, timestamp].concat()) }
}
