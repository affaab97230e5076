//! Several sorted runs as one: by key, then by sequence number, the larger first. Of equal entries
//! that of the first reader comes first.

use std::cmp::Ordering;

use sstkit_table::visibility::MergeHeap;

use super::arena::RawEntry;
use super::key_prefix::KeyPrefix;
use super::spill::RunReader;
use crate::error::Result;

/// Several sorted runs as one.
#[derive(Debug)]
pub(super) struct RunMerge<'o> {
    order: &'o KeyPrefix,
    readers: Vec<RunReader>,
    /// The readers that have a current entry.
    heap: MergeHeap,
}

impl<'o> RunMerge<'o> {
    /// Starts at the first entry of all.
    pub(super) fn new(mut readers: Vec<RunReader>, order: &'o KeyPrefix) -> Result<Self> {
        for reader in &mut readers {
            reader.next(order)?;
        }
        let mut heap = MergeHeap::default();
        let valid = (0..readers.len()).filter(|&reader| readers[reader].is_valid());
        heap.build(valid, |a, b| precedes(order, &readers, a, b));
        Ok(Self { order, readers, heap })
    }

    /// The current entry, if there is one.
    pub(super) fn entry(&self) -> Option<RawEntry<'_>> {
        self.readers[self.heap.top()?].entry()
    }

    /// Moves to the next entry.
    pub(super) fn next(&mut self) -> Result<()> {
        let Self { order, readers, heap } = self;
        let Some(top) = heap.top() else { return Ok(()) };
        let has_entry = readers[top].next(order)?;
        heap.settle_top(has_entry, |a, b| precedes(order, readers, a, b));
        Ok(())
    }
}

/// Whether the entry of reader `a` comes before that of `b`.
#[inline]
fn precedes(order: &KeyPrefix, readers: &[RunReader], a: usize, b: usize) -> bool {
    let (left, right) = (&readers[a], &readers[b]);
    let by_key = order.compare(left.key(), right.key());
    let by_sequence = || right.sequence().cmp(&left.sequence());
    by_key.then_with(by_sequence).then_with(|| a.cmp(&b)) == Ordering::Less
}
