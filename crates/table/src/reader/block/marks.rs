//! Places in a long restart interval from which a walk can go on, so that steps backwards need not
//! start from its restart point each time.
//!
//! ```text
//! restart point                                                          the entry before `end`
//! |                                   *                  *        *    *  |
//! '------------- half ----------------'----- half -------'- half -'
//! ```
//!
//! A walk leaves a mark halfway to its end, and another halfway from there, down to a length that
//! is walked in no time. The next walk, to an entry before that, starts from the last mark before its own
//! end and leaves marks in the same way: each entry is passed once for each halving, n log n steps
//! for all of an interval. There are as many marks at a time as halvings, each with one key.

/// Shorter parts of a block are walked without marks: intervals of sixteen entries mostly are.
const MIN_LENGTH: usize = 4096;

/// Marks in one restart interval, the first one first.
#[derive(Debug)]
pub(crate) struct Marks<M> {
    restart: usize,
    marks: Vec<(usize, M)>,
}

impl<M> Default for Marks<M> {
    fn default() -> Self {
        Self { restart: 0, marks: Vec::new() }
    }
}

impl<M> Marks<M> {
    /// For another block.
    pub(crate) fn clear(&mut self) {
        self.marks.clear();
    }

    /// The last mark before `end` in the interval of `restart`, and where it is. Those behind it are
    /// dropped.
    #[inline]
    pub(crate) fn last_before(&mut self, restart: usize, end: usize) -> Option<(usize, &M)> {
        if self.marks.is_empty() {
            return None;
        }
        if self.restart != restart {
            self.marks.clear();
        }
        let behind = self.marks.partition_point(|(offset, _)| *offset < end);
        self.marks.truncate(behind);
        self.marks.last().map(|(offset, mark)| (*offset, mark))
    }

    /// Adds a mark behind all others.
    pub(crate) fn push(&mut self, restart: usize, offset: usize, mark: M) {
        if self.restart != restart {
            self.marks.clear();
        }
        self.restart = restart;
        self.marks.push((offset, mark));
    }

    /// From where on the next mark is to be left, on a walk that has come to `offset`.
    #[inline]
    pub(crate) fn next_after(offset: usize, end: usize) -> usize {
        match end.saturating_sub(offset) {
            0..=MIN_LENGTH => usize::MAX,
            length => offset + length / 2,
        }
    }
}
