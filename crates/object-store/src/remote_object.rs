//! An object as the source of a blocking table.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use object_store::path::Path;
use sstkit_table::{AsyncSource, PreferredRead, Source, SourceIdentity};

use crate::async_object::AsyncObject;
use crate::runtime;
use crate::store::Store;

/// An object in a store: a [`Source`] of tables for programs without a runtime, and for threads of those that have one.
///
/// Requests are made by a thread of this crate. The calling thread waits for them: in asynchronous code, use
/// [`AsyncTable`](sstkit_table::AsyncTable).
#[derive(Debug)]
pub struct RemoteObject {
    object: Arc<AsyncObject>,
    size: u64,
    /// What the first request has read besides the size, and where it starts, until a table has read it.
    tail: Mutex<Option<(u64, Bytes)>>,
}

impl RemoteObject {
    /// Makes the first request, for the end of the object.
    pub fn open(store: &Store, path: impl Into<Path>) -> io::Result<Self> {
        Self::from_object(AsyncObject::new(store, path))
    }

    /// Like [`open`](Self::open), for an object that has not been read yet.
    pub fn from_object(object: AsyncObject) -> io::Result<Self> {
        runtime::run(Self::read_first(object))
    }

    /// Makes the first request.
    pub(crate) async fn read_first(object: AsyncObject) -> io::Result<Self> {
        let object = Arc::new(object);
        let (size, bytes) = object.read_tail(object.preferred_read().tail).await?;
        let tail = Mutex::new(Some((size - bytes.len() as u64, bytes)));
        Ok(Self { object, size, tail })
    }

    /// A part of the tail. It is not kept when all of it has been read at once, as a table does.
    fn in_tail(&self, range: &Range<u64>) -> Option<Bytes> {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, bytes) = tail.as_ref()?;
        let at = range.start.checked_sub(*start)? as usize..(range.end - start) as usize;
        let part = (at.end <= bytes.len()).then(|| bytes.slice(at))?;
        if part.len() == bytes.len() {
            *tail = None;
        }
        Some(part)
    }
}

impl Source for RemoteObject {
    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let range = offset..offset.saturating_add(length as u64);
        if range.end > self.size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if length == 0 {
            return Ok(Bytes::new());
        }
        if let Some(bytes) = self.in_tail(&range) {
            return Ok(bytes);
        }
        let mut bytes = self.read_many(std::slice::from_ref(&range))?;
        bytes.pop().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let (object, ranges) = (Arc::clone(&self.object), ranges.to_vec());
        runtime::run(async move { object.read_many(&ranges).await })
    }

    fn preferred_read(&self) -> Option<PreferredRead> {
        Some(self.object.preferred_read())
    }

    fn identity(&self) -> Option<SourceIdentity> {
        self.object.identity()
    }
}
