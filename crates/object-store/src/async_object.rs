//! An object as the source of an asynchronous table.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{
    Error as StoreError, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStoreExt,
};
use sstkit_table::{AsyncSource, PreferredRead, SourceIdentity};

use crate::error::{changed, io_error, read_error};
use crate::store::Store;

/// The most requests in flight for one [`read_many`](AsyncSource::read_many).
const MAX_REQUESTS: usize = 64;

/// The most memory for a response before it has arrived: its length is what the server says.
const MAX_RESERVED: u64 = 8 << 20;

/// An object in a store: the source of an [`AsyncTable`](sstkit_table::AsyncTable).
#[derive(Debug)]
pub struct AsyncObject {
    store: Store,
    path: Path,
    preferred: PreferredRead,
    /// The version that was read first.
    opened: OnceLock<ObjectMeta>,
}

impl AsyncObject {
    /// The object at `path`. Nothing is read yet.
    pub fn new(store: &Store, path: impl Into<Path>) -> Self {
        let (store, path) = (store.clone(), path.into());
        Self { store, path, preferred: PreferredRead::default(), opened: OnceLock::new() }
    }

    /// With other sizes of reads.
    #[must_use]
    pub fn with_preferred_read(mut self, preferred: PreferredRead) -> Self {
        self.preferred = preferred;
        self
    }

    /// The last bytes of the object, by one request where the store has ranges that are relative to the end.
    async fn read_end(&self, length: u64) -> io::Result<(ObjectMeta, Bytes)> {
        let store = self.store.object_store();
        let options = GetOptions { range: Some(GetRange::Suffix(length)), ..GetOptions::default() };
        let found = match store.get_opts(&self.path, options).await {
            Ok(found) => found,
            Err(error @ (StoreError::NotFound { .. } | StoreError::PermissionDenied { .. })) => {
                return Err(io_error(error));
            }
            // Azure has no such ranges, and an empty object has no range at all.
            Err(_) => {
                let meta = store.head(&self.path).await.map_err(io_error)?;
                if meta.size == 0 {
                    return Ok((meta, Bytes::new()));
                }
                let range = GetRange::Bounded(meta.size.saturating_sub(length)..meta.size);
                let options = GetOptions {
                    range: Some(range),
                    if_match: strong(&meta),
                    ..GetOptions::default()
                };
                let found = store.get_opts(&self.path, options).await.map_err(read_error)?;
                if !is_same_version(&meta, &found.meta) {
                    return Err(changed());
                }
                found
            }
        };
        let meta = found.meta.clone();
        let length = meta.size.min(length);
        Ok((meta, body(found, length).await?))
    }

    async fn read_range(&self, range: Range<u64>) -> io::Result<Bytes> {
        let opened = self.opened.get();
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: opened.and_then(strong),
            version: opened.and_then(|meta| meta.version.clone()),
            ..GetOptions::default()
        };
        let store = self.store.object_store();
        let found: GetResult = store.get_opts(&self.path, options).await.map_err(read_error)?;
        // Also without conditional requests.
        if opened.is_some_and(|it| !is_same_version(it, &found.meta)) {
            return Err(changed());
        }
        body(found, range.end - range.start).await
    }
}

/// Whether two responses are of one version of an object. Some servers have no ETags: then the time counts.
fn is_same_version(a: &ObjectMeta, b: &ObjectMeta) -> bool {
    let is_same_time = || a.e_tag.is_some() || a.last_modified == b.last_modified;
    a.size == b.size && a.e_tag == b.e_tag && is_same_time()
}

/// The body of a response, which has to have this length. A server may send less than it has announced, or more
/// without an end.
async fn body(found: GetResult, length: u64) -> io::Result<Bytes> {
    let mut stream = found.into_stream();
    let mut bytes = Bytes::new();
    let mut joined = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(read_error)?;
        let so_far = (bytes.len() + joined.len()) as u64;
        if length - so_far < chunk.len() as u64 {
            let what = format!("the server sent more than the {length} bytes that were requested");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if so_far == 0 {
            bytes = chunk;
            continue;
        }
        if joined.is_empty() {
            joined.reserve(length.min(MAX_RESERVED) as usize);
            joined.extend_from_slice(&std::mem::take(&mut bytes));
        }
        joined.extend_from_slice(&chunk);
    }
    if !joined.is_empty() {
        bytes = joined.freeze();
    }
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => {
            let what = format!("the server sent {} bytes instead of {length}", bytes.len());
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, what))
        }
    }
}

/// The ETag of an object for a conditional request, which a weak one cannot be.
fn strong(meta: &ObjectMeta) -> Option<String> {
    meta.e_tag.clone().filter(|tag| !tag.starts_with("W/"))
}

impl AsyncSource for AsyncObject {
    async fn read_tail(&self, length: u64) -> io::Result<(u64, Bytes)> {
        let (meta, bytes) = self.read_end(length).await?;
        let opened = self.opened.get_or_init(|| meta.clone());
        match is_same_version(opened, &meta) {
            true => Ok((meta.size, bytes)),
            false => Err(changed()),
        }
    }

    async fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let reads: Vec<_> = ranges.iter().map(|range| self.read_range(range.clone())).collect();
        stream::iter(reads).buffered(MAX_REQUESTS).try_collect().await
    }

    fn preferred_read(&self) -> PreferredRead {
        self.preferred
    }

    fn identity(&self) -> Option<SourceIdentity> {
        let opened = self.opened.get()?;
        let version = opened.version.as_ref().or(opened.e_tag.as_ref())?;
        Some(SourceIdentity::new(self.store.identify(&self.path, version)))
    }
}
