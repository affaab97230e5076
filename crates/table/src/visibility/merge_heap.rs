//! The heap of a merge: tells which of several sorted sources has the next entry.

/// The indices of sorted sources in a binary heap, the one with the next entry on top.
///
/// The sources themselves are kept elsewhere: `precedes(a, b)` returns whether the entry of source
/// `a` comes before that of `b`.
#[derive(Clone, Debug, Default)]
pub struct MergeHeap {
    heap: Vec<usize>,
    /// The position of the source that follows the one on top, if it is known. It stays the same
    /// until another source is on top, so that a source with several entries in a row costs one
    /// comparison for each.
    runner_up: Option<usize>,
}

impl MergeHeap {
    /// Replaces the contents with these sources.
    pub fn build(
        &mut self,
        sequences: impl Iterator<Item = usize>,
        precedes: impl Fn(usize, usize) -> bool,
    ) {
        self.runner_up = None;
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
        self.runner_up = None;
        self.heap.clear();
    }

    /// The source that has the next entry after the one on top.
    #[inline]
    pub fn runner_up(&mut self, precedes: impl Fn(usize, usize) -> bool) -> Option<usize> {
        if self.runner_up.is_none() {
            self.runner_up = self.first_child(0, &precedes);
        }
        self.runner_up.map(|at| self.heap[at])
    }

    /// Restores the order after the source on top has moved to another entry, or to its end.
    #[inline]
    pub fn settle_top(&mut self, has_entry: bool, precedes: impl Fn(usize, usize) -> bool) {
        if !has_entry {
            self.heap.swap_remove(0);
            self.runner_up = None;
            return self.sift_down(0, &precedes);
        }
        if self.runner_up.is_none() {
            self.runner_up = self.first_child(0, &precedes);
        }
        if let Some(at) = self.runner_up
            && precedes(self.heap[at], self.heap[0])
        {
            self.heap.swap(at, 0);
            self.runner_up = None;
            self.sift_down(at, &precedes);
        }
    }

    /// The position of the first of both children of a position, if it has any.
    #[inline]
    fn first_child(&self, at: usize, precedes: &impl Fn(usize, usize) -> bool) -> Option<usize> {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        let &child = self.heap.get(left)?;
        match self.heap.get(right) {
            Some(&other) if precedes(other, child) => Some(right),
            _ => Some(left),
        }
    }

    fn sift_down(&mut self, mut at: usize, precedes: &impl Fn(usize, usize) -> bool) {
        while let Some(first) = self.first_child(at, precedes)
            && precedes(self.heap[first], self.heap[at])
        {
            self.heap.swap(first, at);
            at = first;
        }
    }
}
