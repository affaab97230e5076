//! Sources that are read asynchronously.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::PreferredRead;
use crate::reader::open::source_identity::SourceIdentity;

/// Bytes that can be read at any offset, asynchronously: a file in an object store, behind an API, on another
/// machine. Any runtime will do, or none.
///
/// ```
/// use std::io;
/// use std::ops::Range;
/// use bytes::Bytes;
/// use sstkit_table::AsyncSource;
///
/// /// A table in memory.
/// struct Memory(Bytes);
///
/// impl AsyncSource for Memory {
///     async fn read_tail(&self, length: u64) -> io::Result<(u64, Bytes)> {
///         let start = self.0.len().saturating_sub(length as usize);
///         Ok((self.0.len() as u64, self.0.slice(start..)))
///     }
///
///     async fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
///         Ok(ranges.iter().map(|it| self.0.slice(it.start as usize..it.end as usize)).collect())
///     }
/// }
/// ```
pub trait AsyncSource: Send + Sync + 'static {
    /// The size of the source, and its last `length` bytes, or all if there are fewer. The first call of a table;
    /// object stores answer it with one request.
    fn read_tail(&self, length: u64) -> impl Future<Output = io::Result<(u64, Bytes)>> + Send;

    /// The bytes of several ranges, which are sorted and do not overlap, read at the same time. Many ranges may be
    /// requested; a source should limit how many requests it has in flight.
    fn read_many(
        &self,
        ranges: &[Range<u64>],
    ) -> impl Future<Output = io::Result<Vec<Bytes>>> + Send;

    /// The sizes of reads that suit the source.
    fn preferred_read(&self) -> PreferredRead {
        PreferredRead::default()
    }

    /// The identity of the source in a shared block cache, after the first call of [`read_tail`](Self::read_tail):
    /// see [`Source::identity`](crate::Source::identity). Default: none.
    fn identity(&self) -> Option<SourceIdentity> {
        None
    }
}

impl<S: AsyncSource> AsyncSource for Arc<S> {
    fn read_tail(&self, length: u64) -> impl Future<Output = io::Result<(u64, Bytes)>> + Send {
        (**self).read_tail(length)
    }

    fn read_many(
        &self,
        ranges: &[Range<u64>],
    ) -> impl Future<Output = io::Result<Vec<Bytes>>> + Send {
        (**self).read_many(ranges)
    }

    fn preferred_read(&self) -> PreferredRead {
        (**self).preferred_read()
    }

    fn identity(&self) -> Option<SourceIdentity> {
        (**self).identity()
    }
}
