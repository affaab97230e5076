//! Merges sorted runs.
//!
//! The readers are in a binary heap, by their current key and sequence number; if both are equal,
//! the reader given first comes first.

use std::cmp::Ordering;

use super::arena::RawEntry;
use super::key_prefix::KeyPrefix;
use super::spill::RunReader;
use crate::error::Result;

/// Several sorted runs as one.
#[derive(Debug)]
pub(super) struct RunMerge<'o> {
    order: &'o KeyPrefix,
    readers: Vec<RunReader>,
    /// Indexes of the readers with an entry; the next one is on top.
    heap: Vec<usize>,
}

impl<'o> RunMerge<'o> {
    /// Starts at the first entry.
    pub(super) fn new(mut readers: Vec<RunReader>, order: &'o KeyPrefix) -> Result<Self> {
        for reader in &mut readers {
            reader.next(order)?;
        }
        let heap = (0..readers.len()).filter(|&i| readers[i].is_valid()).collect();
        let mut merge = Self { order, readers, heap };
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(at);
        }
        Ok(merge)
    }

    /// The current entry, if there is one.
    pub(super) fn entry(&self) -> Option<RawEntry<'_>> {
        self.readers[*self.heap.first()?].entry()
    }

    /// Moves to the next entry.
    pub(super) fn next(&mut self) -> Result<()> {
        let Some(&top) = self.heap.first() else { return Ok(()) };
        if !self.readers[top].next(self.order)? {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    fn precedes(&self, a: usize, b: usize) -> bool {
        let (reader_a, reader_b) = (&self.readers[a], &self.readers[b]);
        let by_key = self.order.compare(reader_a.key(), reader_b.key());
        let by_age = || reader_b.sequence().cmp(&reader_a.sequence());
        by_key.then_with(by_age).then_with(|| a.cmp(&b)) == Ordering::Less
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let Some(&child) = self.heap.get(left) else { return };
            let first = match self.heap.get(right) {
                Some(&other) if self.precedes(other, child) => right,
                _ => left,
            };
            if !self.precedes(self.heap[first], self.heap[at]) {
                return;
            }
            self.heap.swap(first, at);
            at = first;
        }
    }
}
