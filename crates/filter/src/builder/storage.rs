//! Hashes of a large filter, outside of memory.
//!
//! The size of a filter depends on the number of its keys, so all hashes are kept until the last key:
//! 8 bytes each, 800 MB for a hundred million. They are written once and read once, in order.

use alloc::boxed::Box;
use alloc::vec;
use core::error::Error as StdError;
use core::fmt;

use super::entries::MAX_CHUNK_LENGTH;
use crate::error::{Error, Result};

/// An error of a storage.
pub type StorageError = Box<dyn StdError + Send + Sync>;

/// A place outside of memory for the hashes of a [`FilterBuilder`](super::FilterBuilder): a file
/// without a name, for example.
pub trait HashStorage: Send + Sync {
    /// Stores hashes after those that are stored already. After an error all further hashes stay in
    /// memory.
    fn append(&mut self, hashes: &[u64]) -> core::result::Result<(), StorageError>;

    /// Reads hashes, starting with the one at index `start`.
    fn read(&self, start: u64, hashes: &mut [u64]) -> core::result::Result<(), StorageError>;
}

/// A storage and what is in it.
pub(super) struct StoredHashes {
    storage: Box<dyn HashStorage>,
    length: u64,
    has_failed: bool,
}

impl StoredHashes {
    pub(super) fn new(storage: Box<dyn HashStorage>) -> Self {
        Self { storage, length: 0, has_failed: false }
    }

    /// Whether the hashes are stored now.
    pub(super) fn add(&mut self, hashes: &[u64]) -> bool {
        if self.has_failed || self.storage.append(hashes).is_err() {
            self.has_failed = true;
            return false;
        }
        self.length += hashes.len() as u64;
        true
    }

    pub(super) fn for_each_chunk(&self, each: &mut impl FnMut(&[u64])) -> Result<()> {
        let mut buffer = vec![0; self.length.min(MAX_CHUNK_LENGTH as u64) as usize];
        let mut start = 0;
        while start < self.length {
            let length = (self.length - start).min(MAX_CHUNK_LENGTH as u64);
            let chunk = &mut buffer[..length as usize];
            self.storage.read(start, chunk).map_err(Error::storage)?;
            each(chunk);
            start += length;
        }
        Ok(())
    }
}

impl fmt::Debug for StoredHashes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredHashes").field("length", &self.length).finish_non_exhaustive()
    }
}
