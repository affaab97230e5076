//! A table that is read asynchronously.
//!
//! ```text
//! AsyncTable ---> Table ---> StagedSource: what the rounds have read
//!     |                           | lacks a range
//!     '------ AsyncSource <-------'
//! ```
//!
//! Each operation is that of [`Table`], tried until nothing is missing, as in [`rounds`](super::rounds). So both kinds of table
//! have one implementation of everything, and a runtime is needed only by the source.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use super::async_scan::AsyncScan;
use super::blocking_work::run_blocking;
use super::rounds::{MAX_KEYS_IN_ROUND, ReadRound};
use super::{AsyncSource, PreferredRead, StagedSource};
use crate::error::Result;
use crate::raw::Properties;
use crate::reader::open::source::Source;
use crate::reader::open::source_identity::SourceIdentity;
use crate::reader::open::table_read_options::TableReadOptions;
use crate::reader::open::tail;
use crate::reader::read_options::ReadOptions;
use crate::reader::value::Value;
use crate::reader::verify::Verification;
use crate::reader::{KeyBounds, Table};

/// A table that is read asynchronously, from any [`AsyncSource`]. Needs the feature `async`.
///
/// ```
/// # use std::{io, ops::Range};
/// # use bytes::Bytes;
/// # use sstkit_table::{AsyncSource, TableOptions, TableWriter};
/// # struct Memory(Bytes);
/// # impl AsyncSource for Memory {
/// #     async fn read_tail(&self, length: u64) -> io::Result<(u64, Bytes)> {
/// #         let start = self.0.len().saturating_sub(length as usize);
/// #         Ok((self.0.len() as u64, self.0.slice(start..)))
/// #     }
/// #     async fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
/// #         Ok(ranges.iter().map(|it| self.0.slice(it.start as usize..it.end as usize)).collect())
/// #     }
/// # }
/// use sstkit_table::{AsyncTable, ReadOptions, TableReadOptions};
///
/// # async fn read() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut bytes = Vec::new();
/// # let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb())?;
/// # writer.put(b"alice", b"1")?;
/// # writer.finish()?;
/// # let source = Memory(bytes.into());
/// let table = AsyncTable::from_source(source, &TableReadOptions::default()).await?;
/// let value = table.get(b"alice").await?;
/// # assert_eq!(value.unwrap(), b"1");
/// let values = table.get_many(&[b"alice", b"bobby"]).await?; // the blocks of all keys at once
/// # assert_eq!(values.len(), 2);
/// let mut scan = table.range(b"a"..b"c"); // also a `Stream`
/// while let Some(entry) = scan.next().await {
///     let (key, value) = entry?;
///     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
/// }
/// # Ok(())
/// # }
/// # let mut read = std::pin::pin!(read());
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # assert!(matches!(read.as_mut().poll(&mut context), std::task::Poll::Ready(Ok(()))));
/// ```
///
/// Memory is that of the block cache, and of the blocks that the operations in progress need.
pub struct AsyncTable<S> {
    source: Arc<S>,
    staged: StagedSource,
    table: Table,
    options: TableReadOptions,
}

impl<S: AsyncSource> AsyncTable<S> {
    /// Opens a table: one read of its tail, and one more if the index or the filter do not fit.
    pub async fn from_source(source: S, options: &TableReadOptions) -> Result<Self> {
        Self::open(source, None, options).await
    }

    /// Like [`from_source`](Self::from_source), for a source with a name: errors call it `path`.
    pub async fn from_file(
        source: S,
        path: impl Into<PathBuf>,
        options: &TableReadOptions,
    ) -> Result<Self> {
        let path = path.into();
        let opened = Self::open(source, Some(path.clone()), options).await;
        opened.map_err(|error| error.in_file(path))
    }

    async fn open(source: S, path: Option<PathBuf>, options: &TableReadOptions) -> Result<Self> {
        let preferred = source.preferred_read();
        let tail_length = preferred.tail_length();
        let (size, last_bytes) = source.read_tail(tail_length).await?;
        let start = size.saturating_sub(tail_length);
        let identity = source.identity();
        let staged = StagedSource::new(Arc::new(TailSource { size, preferred, identity }));
        let mut round = ReadRound::default();
        let last_range = start..size;
        round.add(staged.number(), std::slice::from_ref(&last_range), vec![last_bytes])?;
        loop {
            let opened = round.run(|| tail::open_in_rounds(&staged, path.clone(), options));
            if !fetch(&source, &staged, &mut round).await? {
                let table = Table::from_core(opened?);
                let options = options.clone();
                return Ok(Self { source: Arc::new(source), staged, table, options });
            }
        }
    }

    /// The value of `key`, or `None` if the key is not found. One round of reads if the index and the filter are in
    /// memory, none if the block is.
    pub async fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        self.get_with(key, &ReadOptions::default()).await
    }

    /// Like [`get`](Self::get), with options.
    pub async fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Value>> {
        let plan = || self.table.plan_get(key, options);
        self.read(plan, || self.table.get_with(key, options)).await
    }

    /// The values of several keys, in the order of the keys. What all of them need is read at the same time: see
    /// [`Table::get_many`].
    pub async fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        self.get_many_with(keys, &ReadOptions::default()).await
    }

    /// Like [`get_many`](Self::get_many), with options.
    pub async fn get_many_with<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        options: &ReadOptions,
    ) -> Result<Vec<Option<Value>>> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(MAX_KEYS_IN_ROUND) {
            let plan = || keys.iter().for_each(|key| self.table.plan_get(key.as_ref(), options));
            values.extend(self.read(plan, || self.table.get_many_with(keys, options)).await?);
        }
        Ok(values)
    }

    /// All keys and values, in order.
    pub fn iter(&self) -> AsyncScan<S> {
        self.iter_with(&ReadOptions::default())
    }

    /// The keys and values of a range.
    pub fn range(&self, range: impl KeyBounds) -> AsyncScan<S> {
        self.iter_with(&ReadOptions::default().range(range))
    }

    /// The keys that start with `start`, and their values: see [`Table::prefix`].
    pub fn prefix(&self, start: impl AsRef<[u8]>) -> AsyncScan<S> {
        self.iter_with(&ReadOptions::default().prefix(start))
    }

    /// The keys and values that `options` select.
    pub fn iter_with(&self, options: &ReadOptions) -> AsyncScan<S> {
        AsyncScan::new(&self.source, &self.staged, &self.table, options)
    }

    /// Reads the whole file and verifies it, as [`Table::verify`] does, on a thread of its own.
    pub async fn verify(&self) -> Result<Verification> {
        self.run_blocking(Table::verify).await
    }

    /// Runs `work` with a blocking table of the same source, on a thread of its own; its reads are made by this
    /// future. For what has no asynchronous form, such as [`Table::explain`] or [`Table::layout`].
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Table) -> T + Send + 'static,
    ) -> Result<T> {
        let options = self.options.clone();
        let path = self.table.path().map(PathBuf::from);
        let size = self.staged.size()?;
        run_blocking(Arc::clone(&self.source), size, move |source| {
            let table = match path {
                Some(path) => Table::from_file(source, path, &options),
                None => Table::from_source(source, &options),
            };
            table.map(|table| work(&table))
        })
        .await?
    }

    /// The properties; empty for tables of LevelDB.
    pub fn properties(&self) -> &Properties {
        self.table.properties()
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.table.view().size()
    }

    /// Runs `plan` in rounds until nothing is missing, and then `read`.
    async fn read<T>(
        &self,
        mut plan: impl FnMut(),
        mut read: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        let mut round = ReadRound::default();
        loop {
            round.run(&mut plan);
            if self.fetch(&mut round).await? {
                continue;
            }
            // A block that was in the cache may have been evicted.
            let result = round.run(&mut read);
            if !self.fetch(&mut round).await? {
                return result;
            }
        }
    }

    async fn fetch(&self, round: &mut ReadRound) -> Result<bool> {
        let fetched = fetch(&*self.source, &self.staged, round).await;
        fetched.map_err(|error| match self.table.path() {
            Some(path) => error.in_file(path),
            None => error,
        })
    }
}

/// Reads what a round lacked. False if that was nothing.
async fn fetch<S: AsyncSource>(
    source: &S,
    staged: &StagedSource,
    round: &mut ReadRound,
) -> Result<bool> {
    let Some(ranges) = round.take_missing_of(staged.number()) else { return Ok(false) };
    let bytes = source.read_many(&ranges).await?;
    round.add(staged.number(), &ranges, bytes)?;
    Ok(true)
}

/// What is known of an asynchronous source without reading it. Reads outside of rounds fail.
struct TailSource {
    size: u64,
    preferred: PreferredRead,
    identity: Option<SourceIdentity>,
}

impl Source for TailSource {
    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, _offset: u64, _length: usize) -> io::Result<Bytes> {
        Err(io::Error::other("an asynchronous source was read outside of a round"))
    }

    fn preferred_read(&self) -> Option<PreferredRead> {
        Some(self.preferred)
    }

    fn identity(&self) -> Option<SourceIdentity> {
        self.identity.clone()
    }

    /// Rounds read ahead, not cursors.
    fn is_in_memory(&self) -> bool {
        true
    }
}

impl<S> fmt::Debug for AsyncTable<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncTable").field(&self.table).finish()
    }
}

/// Another handle of the same table.
impl<S> Clone for AsyncTable<S> {
    fn clone(&self) -> Self {
        let Self { source, staged, table, options } = self;
        Self {
            source: Arc::clone(source),
            staged: staged.clone(),
            table: table.clone(),
            options: options.clone(),
        }
    }
}
