//! Hashes in an order in which they set the bits of a large Bloom filter part by part.
//!
//! The high bits of the half of a hash that chooses the block say which of [`PARTS`] parts of the
//! filter it leads to. A piece at a time, hashes are brought into runs that have them in common:
//! counted, then each put where its run has got to. A part of the filter is then made from its runs
//! of all pieces, of which there are some in each slab:
//!
//! ```text
//!              piece                              piece
//!   slab 0   | run 0 | run 1  |  ...  | run 127 | run 0  | run 1 |  ...  | run 127 | ...
//!   slab 1   | run 0  | run 1 |  ...  | run 127 | run 0 | run 1  |  ...  | run 127 | ...
//! ```

use sstkit_coding::huge_pages::advise_huge_pages;
use sstkit_coding::prefetch::{CACHE_LINE, prefetch};

/// Parts of a filter, of a hundred million keys about as large as a second-level cache.
pub(super) const PARTS: usize = 1 << 7;

/// Entries of a piece: as many as a second-level cache holds twice.
pub(super) const PIECE_LENGTH: usize = 1 << 16;

/// Entries of a slab: 8 MiB, for the sake of large pages.
const SLAB_LENGTH: usize = 1 << 20;

/// Entries that are handed out at a time. Runs are too short for that.
const BATCH_LENGTH: usize = 1 << 11;

/// Runs that are asked for ahead of their use: too short for a processor to do so by itself.
const RUNS_AHEAD: usize = 4;

const ENTRIES_PER_LINE: usize = CACHE_LINE / size_of::<u64>();

/// A list that only grows, in the order of its parts.
#[derive(Debug, Default)]
pub(super) struct Dealt {
    slabs: Vec<Slab>,
}

#[derive(Debug)]
struct Slab {
    entries: Vec<u64>,
    /// Where each run ends, and the next begins.
    ends: Vec<u32>,
}

impl Dealt {
    pub(super) fn is_empty(&self) -> bool {
        self.slabs.is_empty()
    }

    /// Adds a piece, which must be much shorter than a slab.
    pub(super) fn add(&mut self, piece: &[u64]) {
        match self.slabs.last_mut() {
            Some(slab) if slab.has_room_for(piece) => slab.add(piece),
            _ => {
                let mut slab = Slab::new();
                slab.add(piece);
                self.slabs.push(slab);
            }
        }
    }

    /// The runs of each part after those of the part before.
    pub(super) fn runs(&self) -> impl Iterator<Item = &[u64]> + Clone {
        (0..PARTS).flat_map(|part| self.slabs.iter().flat_map(move |slab| slab.runs(part)))
    }

    /// Hands out all, in that order.
    pub(super) fn for_each_batch(&self, mut take: impl FnMut(&[u64])) {
        let mut batch = Vec::with_capacity(BATCH_LENGTH);
        let mut ahead = self.runs().skip(RUNS_AHEAD);
        for run in self.runs() {
            let lines = ahead.next().unwrap_or_default().iter().step_by(ENTRIES_PER_LINE);
            lines.for_each(prefetch);
            if batch.len() + run.len() > BATCH_LENGTH {
                take(&batch);
                batch.clear();
            }
            batch.extend_from_slice(run);
        }
        take(&batch);
    }
}

impl Slab {
    fn new() -> Self {
        let mut entries = Vec::with_capacity(SLAB_LENGTH);
        advise_huge_pages(entries.spare_capacity_mut());
        Self { entries, ends: Vec::new() }
    }

    fn has_room_for(&self, piece: &[u64]) -> bool {
        piece.len() <= self.entries.capacity() - self.entries.len()
    }

    fn add(&mut self, piece: &[u64]) {
        // The low half of a hash chooses the block.
        let part = |entry: u64| (entry as u32 >> (u32::BITS - PARTS.ilog2())) as usize;
        let mut ends = [0; PARTS];
        for &entry in piece {
            ends[part(entry)] += 1;
        }
        let mut start = self.entries.len() as u32;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        self.entries.resize(start as usize, 0);
        for &entry in piece {
            let end = &mut ends[part(entry)];
            self.entries[*end as usize] = entry;
            *end += 1;
        }
        self.ends.extend(ends);
    }

    /// The runs of a part, one of each piece.
    fn runs(&self, part: usize) -> impl Iterator<Item = &[u64]> + Clone {
        (part..self.ends.len()).step_by(PARTS).map(|run| {
            let start = if run == 0 { 0 } else { self.ends[run - 1] };
            &self.entries[start as usize..self.ends[run] as usize]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than a slab holds: in the order of the parts, and in each of them as they came.
    #[test]
    #[cfg_attr(miri, ignore = "a million entries take hours there")]
    fn all_are_kept_in_the_order_of_parts() {
        let hashes: Vec<u64> =
            (1..=5 << 18).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut dealt = Dealt::default();
        hashes.chunks(9999).for_each(|piece| dealt.add(piece));
        assert_eq!(dealt.slabs.len(), 2);

        let mut expected = hashes;
        expected.sort_by_key(|&hash| hash as u32 >> (u32::BITS - PARTS.ilog2()));
        assert!(dealt.runs().flatten().eq(&expected));
        let mut handed_out = Vec::new();
        dealt.for_each_batch(|batch| handed_out.extend_from_slice(batch));
        assert!(handed_out == expected);
    }
}
