//! The heap of a merge: tells which of several sorted sources has the next entry.

/// The indices of sorted sources in a binary heap, the one with the next entry on top.
///
/// The sources themselves are kept elsewhere: `precedes(a, b)` returns whether the entry of source
/// `a` comes before that of `b`.
#[derive(Clone, Debug, Default)]
pub struct MergeHeap {
    heap: Vec<usize>,
}

impl MergeHeap {
    /// Replaces the contents with these sources.
    pub fn build(
        &mut self,
        sequences: impl Iterator<Item = usize>,
        precedes: impl Fn(usize, usize) -> bool,
    ) {
        self.heap.clear();
        self.heap.extend(sequences);
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at, &precedes);
        }
    }

    /// The source with the next entry.
    #[inline]
    pub fn top(&self) -> Option<usize> {
        self.heap.first().copied()
    }

    /// Whether no source has an entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Removes all sources.
    pub fn clear(&mut self) {
        self.heap.clear();
    }

    /// Restores the order after the source on top has moved to another entry, or to its end.
    #[inline]
    pub fn settle_top(&mut self, has_entry: bool, precedes: impl Fn(usize, usize) -> bool) {
        if !has_entry {
            self.heap.swap_remove(0);
        }
        self.sift_down(0, &precedes);
    }

    #[inline]
    fn sift_down(&mut self, mut at: usize, precedes: &impl Fn(usize, usize) -> bool) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let Some(&child) = self.heap.get(left) else { return };
            let first = match self.heap.get(right) {
                Some(&other) if precedes(other, child) => right,
                _ => left,
            };
            if !precedes(self.heap[first], self.heap[at]) {
                return;
            }
            self.heap.swap(first, at);
            at = first;
        }
    }
}
