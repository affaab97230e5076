//! An object as the source of an asynchronous table.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
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
    async fn read_end(&self, length: u64) -> Result<(ObjectMeta, Bytes), StoreError> {
        let store = self.store.object_store();
        let options = GetOptions { range: Some(GetRange::Suffix(length)), ..GetOptions::default() };
        let found = match store.get_opts(&self.path, options).await {
            Ok(found) => found,
            Err(error @ (StoreError::NotFound { .. } | StoreError::PermissionDenied { .. })) => {
                return Err(error);
            }
            // Azure has no such ranges, and an empty object has no range at all.
            Err(_) => {
                let meta = store.head(&self.path).await?;
                if meta.size == 0 {
                    return Ok((meta, Bytes::new()));
                }
                let range = GetRange::Bounded(meta.size.saturating_sub(length)..meta.size);
                let options = GetOptions {
                    range: Some(range),
                    if_match: strong(&meta),
                    ..GetOptions::default()
                };
                store.get_opts(&self.path, options).await?
            }
        };
        let meta = found.meta.clone();
        Ok((meta, found.bytes().await?))
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
        if opened.is_some_and(|it| it.e_tag != found.meta.e_tag || it.size != found.meta.size) {
            return Err(changed());
        }
        let bytes = found.bytes().await.map_err(read_error)?;
        match bytes.len() as u64 == range.end - range.start {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// The ETag of an object for a conditional request, which a weak one cannot be.
fn strong(meta: &ObjectMeta) -> Option<String> {
    meta.e_tag.clone().filter(|tag| !tag.starts_with("W/"))
}

impl AsyncSource for AsyncObject {
    async fn read_tail(&self, length: u64) -> io::Result<(u64, Bytes)> {
        let (meta, bytes) = self.read_end(length).await.map_err(io_error)?;
        let size = meta.size;
        if bytes.len() as u64 != size.min(length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let opened = self.opened.get_or_init(|| meta.clone());
        match opened.e_tag == meta.e_tag && opened.size == size {
            true => Ok((size, bytes)),
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
