//! The hashes of a filter in the making.
//!
//! They are kept in chunks, so that nothing is copied as they grow. Each is one longer than all
//! before it together, up to a length; after a number of those, chunks are long enough for large
//! pages of memory:
//!
//! ```text
//!   511   512   1024   2048   4096   8192   16384   16384 ...   1048576   1048576 ...
//! ```
//!
//! What is to be done now and then ([`ENTRIES_PER_CHARGE`](super::ENTRIES_PER_CHARGE)) needs no
//! counting of its own: with the 16,384th entry and every 16,384th after it there is no room before
//! it is made, even where it is only granted.
//!
//! The bits of a Bloom filter that no cache holds are set far faster if not every hash leads to
//! another end of it. So from a number of entries on, they are [dealt out](super::dealt): those
//! before at once, the others while they are still in the cache.

use sstkit_coding::huge_pages::advise_huge_pages;

use super::dealt::{Dealt, PARTS, PIECE_LENGTH};

/// The longest step by which room is made: 128 KiB.
pub(super) const MAX_STEP: usize = 1 << 14;

const FIRST_CHUNK_LENGTH: usize = (1 << 9) - 1;

/// The longest chunk: 8 MiB.
const MAX_CHUNK_LENGTH: usize = 1 << 20;

/// Entries that are not dealt out: a filter of so many is near enough for dealing to cost what it
/// saves.
const MAX_UNDEALT: usize = 3 << 22;

/// A list that only grows.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    dealt: Dealt,
    full: Vec<Vec<u64>>,
    open: Vec<u64>,
    /// Length of the open chunk up to which there is room.
    granted: usize,
    /// Entries of the full chunks, and of what is dealt out.
    full_length: usize,
}

impl Entries {
    /// Adds an entry, for which there must be room.
    #[inline]
    pub(super) fn push(&mut self, entry: u64) {
        self.open.push(entry);
    }

    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.open.len() < self.granted
    }

    /// Makes room, where there is none; `deal` says whether what is there may be dealt out.
    pub(super) fn make_room(&mut self, deal: bool) {
        if deal && self.len() >= MAX_UNDEALT && self.open.len() >= PIECE_LENGTH {
            self.deal_out();
        } else if self.open.len() == self.open.capacity() {
            self.open_chunk();
        }
        self.granted = self.open.capacity().min(self.open.len() + MAX_STEP);
    }

    fn open_chunk(&mut self) {
        self.full_length += self.open.len();
        let length = match self.full_length + 1 {
            before if before > MAX_CHUNK_LENGTH => MAX_CHUNK_LENGTH,
            before => before.clamp(FIRST_CHUNK_LENGTH, MAX_STEP),
        };
        let full = std::mem::replace(&mut self.open, Vec::with_capacity(length));
        advise_huge_pages(self.open.spare_capacity_mut());
        if !full.is_empty() {
            self.full.push(full);
        }
    }

    /// All that are not dealt out yet. The open chunk stays, for the next few.
    fn deal_out(&mut self) {
        self.full_length += self.open.len();
        for chunk in self.full.drain(..) {
            chunk.chunks(PIECE_LENGTH).for_each(|piece| self.dealt.add(piece));
        }
        self.open.chunks(PIECE_LENGTH).for_each(|piece| self.dealt.add(piece));
        self.open.clear();
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.full_length + self.open.len()
    }

    /// The first that came, if they are not dealt out.
    pub(crate) fn first(&self) -> Option<u64> {
        if !self.dealt.is_empty() {
            return None;
        }
        self.full.first().unwrap_or(&self.open).first().copied()
    }

    /// How many parts of a filter entries are brought together for: 1 if they are not dealt out.
    pub(crate) fn parts(&self) -> usize {
        if self.dealt.is_empty() { 1 } else { PARTS }
    }

    /// By slices of some length: in the order they came, but those dealt out by their parts.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &[u64]> + Clone {
        self.dealt.runs().chain(self.undealt())
    }

    /// The same by slices that are not short.
    pub(crate) fn for_each_slice(&self, mut take: impl FnMut(&[u64])) {
        if !self.dealt.is_empty() {
            self.dealt.for_each_batch(&mut take);
        }
        self.undealt().for_each(take);
    }

    fn undealt(&self) -> impl Iterator<Item = &[u64]> + Clone {
        self.full.iter().chain([&self.open]).map(Vec::as_slice)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        self.chunks().flatten().copied()
    }

    #[cfg(test)]
    pub(super) fn first_mut(&mut self) -> Option<&mut u64> {
        self.full.first_mut().unwrap_or(&mut self.open).first_mut()
    }
}

impl FromIterator<u64> for Entries {
    fn from_iter<I: IntoIterator<Item = u64>>(iter: I) -> Self {
        let mut entries = Self::default();
        for entry in iter {
            if !entries.has_room() {
                entries.make_room(true);
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
    fn all_are_kept_in_order() {
        let long = if cfg!(miri) { 100_000 } else { 3 << 20 };
        for count in [0, 1, 511, 512, 1023, 1024, 50_000, long] {
            let entries: Entries = (0..count).collect();
            assert_eq!(entries.len() as u64, count);
            assert_eq!(entries.first(), (count > 0).then_some(0));
            assert!(entries.iter().eq(0..count));
        }
    }

    #[test]
    fn chunks_grow() {
        let entries: Entries = (0..50_000).collect();
        let lengths: Vec<usize> = entries.chunks().map(<[u64]>::len).collect();
        assert_eq!(lengths, [511, 512, 1024, 2048, 4096, 8192, 16_384, 16_384, 849]);
    }

    /// In chunks of all lengths, and where they are dealt out.
    #[test]
    #[cfg_attr(miri, ignore = "millions of entries take hours there")]
    fn room_is_made_with_every_step() {
        for deal in [false, true] {
            let mut entries = Entries::default();
            for number in 1..=14 << 20 {
                if !entries.has_room() {
                    entries.make_room(deal);
                } else {
                    assert_ne!(number % MAX_STEP, 0);
                }
                entries.push(number as u64);
            }
            assert_eq!((entries.len(), entries.iter().count()), (14 << 20, 14 << 20));
            assert_eq!(entries.parts(), if deal { PARTS } else { 1 });
        }
    }
}
