//! The hashes of a filter in the making.
//!
//! They are kept in chunks, so that nothing is copied as they grow. Each is one longer than all
//! before it together, up to a length:
//!
//! ```text
//!   511   512   1024   2048   4096   8192   16384   16384   16384 ...
//! ```
//!
//! So the 16,384th entry and every 16,384th after it open a chunk, and what is to be done now and
//! then ([`ENTRIES_PER_CHARGE`](super::ENTRIES_PER_CHARGE)) needs no counting of its own.
//!
//! The bits of a large Bloom filter are set far faster if not every hash leads to another end of it.
//! The high bits of the half that chooses the block say where, so from a number of entries on each
//! full chunk, still in the cache, is dealt out into [`PARTS`] lists by them.

use sstkit_coding::prefetch::prefetch;

/// The longest chunk: 128 KiB.
pub(super) const MAX_CHUNK_LENGTH: usize = 1 << 14;

const FIRST_CHUNK_LENGTH: usize = (1 << 9) - 1;

/// Entries that are not dealt out: a filter of so many is near enough for dealing to cost what it
/// saves.
const MAX_UNDEALT: usize = 1 << 20;

/// Lists to deal out into. Each is written at a place of its own, and more of those than pages that
/// are at hand cost more than they save.
const PARTS: usize = 1 << 6;

/// Entries of a chunk of a part. All parts together have room for 2 MiB that may stay unused.
const PART_CHUNK_LENGTH: usize = 1 << 12;

/// How far ahead of the end of a part its memory is asked for.
const PART_LOOK_AHEAD: usize = 16;

/// A list that only grows.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// Those that are dealt out, after the first [`MAX_UNDEALT`].
    parts: Vec<Part>,
    full: Vec<Vec<u64>>,
    open: Vec<u64>,
    /// Entries of the full chunks and of the parts.
    full_length: usize,
}

/// Entries that lead to one part of a filter.
#[derive(Clone, Debug, Default)]
struct Part {
    full: Vec<Vec<u64>>,
    open: Vec<u64>,
}

impl Part {
    #[inline]
    fn push(&mut self, entry: u64) {
        if self.open.len() == self.open.capacity() {
            self.open_chunk();
        }
        // So many lists are more than a processor looks ahead in by itself: 0.6 times the time.
        if let Some(ahead) = self.open.spare_capacity_mut().get(PART_LOOK_AHEAD) {
            prefetch(ahead);
        }
        self.open.push(entry);
    }

    #[cold]
    fn open_chunk(&mut self) {
        let full = std::mem::replace(&mut self.open, Vec::with_capacity(PART_CHUNK_LENGTH));
        if !full.is_empty() {
            self.full.push(full);
        }
    }
}

impl Entries {
    /// Adds an entry, for which there must be room: a chunk was opened, and is not full.
    #[inline]
    pub(super) fn push(&mut self, entry: u64) {
        self.open.push(entry);
    }

    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.open.len() < self.open.capacity()
    }

    /// Makes room; `deal` says whether what is full may be dealt out.
    pub(super) fn open_chunk(&mut self, deal: bool) {
        self.full_length += self.open.len();
        if deal && self.full_length > MAX_UNDEALT {
            self.deal_out();
            return;
        }
        let length = (self.full_length + 1).clamp(FIRST_CHUNK_LENGTH, MAX_CHUNK_LENGTH);
        let full = std::mem::replace(&mut self.open, Vec::with_capacity(length));
        if !full.is_empty() {
            self.full.push(full);
        }
    }

    /// Empties the open chunk.
    fn deal_out(&mut self) {
        self.parts.resize(PARTS, Part::default());
        for entry in self.open.drain(..) {
            // The low half of a hash chooses the block.
            self.parts[(entry as u32 >> (u32::BITS - PARTS.ilog2())) as usize].push(entry);
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.full_length + self.open.len()
    }

    /// The first that came.
    pub(crate) fn first(&self) -> Option<u64> {
        self.full.first().unwrap_or(&self.open).first().copied()
    }

    /// By slices of some length: in the order they came, but those dealt out by their parts.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &[u64]> + Clone {
        let dealt = self.parts.iter().flat_map(|part| part.full.iter().chain([&part.open]));
        self.full.iter().chain(dealt).chain([&self.open]).map(Vec::as_slice)
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
                entries.open_chunk(true);
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
        for count in [0, 1, 511, 512, 1023, 1024, 50_000] {
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

    /// Three times as many as are not dealt out: every chunk of the rest leads to one part of a
    /// filter, in the order of the parts and then of the entries.
    #[test]
    #[cfg_attr(miri, ignore = "a million entries take hours there")]
    fn the_rest_is_dealt_out() {
        let hash = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let count = 3 << 20;
        let entries: Entries = (0..count).map(hash).collect();
        assert_eq!((entries.len() as u64, entries.first()), (count, Some(hash(0))));

        let undealt = entries.full.iter().map(Vec::len).sum::<usize>();
        assert!(undealt.abs_diff(MAX_UNDEALT) <= MAX_CHUNK_LENGTH);
        let mut expected: Vec<u64> = (0..count).map(hash).collect();
        let dealt = entries.len() - entries.open.len();
        expected[undealt..dealt].sort_by_key(|&entry| entry as u32 >> 26);
        assert!(entries.iter().eq(expected));
    }

    #[test]
    #[cfg_attr(miri, ignore = "a million entries take hours there")]
    fn where_it_does_not_help_nothing_is_dealt_out() {
        let mut entries = Entries::default();
        for entry in 0..2 << 20 {
            if !entries.has_room() {
                entries.open_chunk(false);
            }
            entries.push(entry);
        }
        assert!(entries.iter().eq(0..2 << 20));
    }
}
