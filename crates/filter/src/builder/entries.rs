//! The hashes of a filter under construction.
//!
//! They are stored in chunks, so that growing does not copy them. Each chunk is one longer than all
//! previous ones together, up to a limit. Later chunks are long enough for huge pages:
//!
//! ```text
//!   511   512   1024   2048   4096   8192   16384   16384 ...   1048576   1048576 ...
//! ```
//!
//! Charging memory ([`ENTRIES_PER_CHARGE`](super::ENTRIES_PER_CHARGE)) needs no counter of its own:
//! room is granted in steps such that the 16,384th entry and every 16,384th after it have to make
//! room.
//!
//! With a [storage](HashStorage), at most [`MAX_IN_MEMORY`] entries stay in memory. From then on one
//! chunk is filled, stored and filled again:
//!
//! ```text
//!   stored   full  full  full ...  |  memory   open
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::storage::{HashStorage, StoredHashes};
use crate::error::Result;
use sstkit_coding::huge_pages::advise_huge_pages;

/// The largest step in which room is granted: 128 KiB.
pub(super) const MAX_STEP: usize = 1 << 14;

const FIRST_CHUNK_LENGTH: usize = (1 << 9) - 1;

/// The largest chunk: 8 MiB.
pub(super) const MAX_CHUNK_LENGTH: usize = 1 << 20;

/// If there is a storage: 64 MiB.
const MAX_IN_MEMORY: usize = 8 * MAX_CHUNK_LENGTH;

/// An append-only list.
#[derive(Debug, Default)]
pub(crate) struct HashEntries {
    full: Vec<Vec<u64>>,
    open: Vec<u64>,
    /// The length of the open chunk up to which there is room.
    granted: usize,
    /// The number of entries in the full chunks, and of those that are stored.
    full_length: usize,
    /// Entries before those of the full chunks.
    stored: Option<StoredHashes>,
}

impl HashEntries {
    /// Adds an entry. There must be room for it.
    #[inline]
    pub(super) fn push(&mut self, entry: u64) {
        self.open.push(entry);
    }

    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.open.len() < self.granted
    }

    pub(super) fn make_room(&mut self) {
        if self.open.len() == self.open.capacity() {
            self.open_chunk();
        }
        self.granted = self.open.capacity().min(self.open.len() + MAX_STEP);
    }

    /// Keeps most entries in `storage`, if there are many.
    pub(super) fn store_in(&mut self, storage: Box<dyn HashStorage>) {
        self.stored = Some(StoredHashes::new(storage));
    }

    fn open_chunk(&mut self) {
        self.full_length += self.open.len();
        if self.full_length > MAX_IN_MEMORY && self.store_chunks() {
            return;
        }
        let length = match self.full_length + 1 {
            before if before > MAX_CHUNK_LENGTH => MAX_CHUNK_LENGTH,
            before => before.clamp(FIRST_CHUNK_LENGTH, MAX_STEP),
        };
        let full = core::mem::replace(&mut self.open, Vec::with_capacity(length));
        advise_huge_pages(self.open.spare_capacity_mut());
        if !full.is_empty() {
            self.full.push(full);
        }
    }

    /// Stores all chunks, and empties the open one. False if that is not possible.
    fn store_chunks(&mut self) -> bool {
        let Some(stored) = &mut self.stored else { return false };
        while let Some(chunk) = self.full.first() {
            if !stored.add(chunk) {
                return false;
            }
            self.full.remove(0);
        }
        let is_stored = stored.add(&self.open);
        if is_stored {
            self.open.clear();
        }
        is_stored
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.full_length + self.open.len()
    }

    pub(crate) fn first(&self) -> Option<u64> {
        self.full.first().unwrap_or(&self.open).first().copied()
    }

    /// Passes all entries in order to `each`, in slices.
    ///
    /// # Errors
    ///
    /// If stored entries cannot be read.
    pub(crate) fn for_each_chunk(&self, mut each: impl FnMut(&[u64])) -> Result<()> {
        if let Some(stored) = &self.stored {
            stored.for_each_chunk(&mut each)?;
        }
        self.chunks().for_each(each);
        Ok(())
    }

    /// All entries in order, as slices. Only if there is no storage.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &[u64]> + Clone {
        self.full.iter().chain([&self.open]).map(Vec::as_slice)
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        self.chunks().flatten().copied()
    }

    #[cfg(test)]
    pub(super) fn first_mut(&mut self) -> Option<&mut u64> {
        self.full.first_mut().unwrap_or(&mut self.open).first_mut()
    }
}

impl FromIterator<u64> for HashEntries {
    fn from_iter<I: IntoIterator<Item = u64>>(iter: I) -> Self {
        let mut entries = Self::default();
        for entry in iter {
            if !entries.has_room() {
                entries.make_room();
            }
            entries.push(entry);
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_all_entries_in_order() {
        let long = if cfg!(miri) { 100_000 } else { 3 << 20 };
        for count in [0, 1, 511, 512, 1023, 1024, 50_000, long] {
            let entries: HashEntries = (0..count).collect();
            assert_eq!(entries.len() as u64, count);
            assert_eq!(entries.first(), (count > 0).then_some(0));
            assert!(entries.iter().eq(0..count));
        }
    }

    #[test]
    fn chunks_grow() {
        let entries: HashEntries = (0..50_000).collect();
        let lengths: Vec<usize> = entries.chunks().map(<[u64]>::len).collect();
        assert_eq!(lengths, [511, 512, 1024, 2048, 4096, 8192, 16_384, 16_384, 849]);
    }

    /// In chunks of all lengths.
    #[test]
    #[cfg_attr(miri, ignore = "millions of entries take hours under Miri")]
    fn every_step_makes_room() {
        let mut entries = HashEntries::default();
        for number in 1..=4 << 20 {
            if !entries.has_room() {
                entries.make_room();
            } else {
                assert_ne!(number % MAX_STEP, 0);
            }
            entries.push(number as u64);
        }
        assert_eq!((entries.len(), entries.iter().count()), (4 << 20, 4 << 20));
    }
}
