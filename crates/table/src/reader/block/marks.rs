//! Positions in a long restart interval from which decoding can resume, so that steps backward
//! need not start at the restart point each time.
//!
//! ```text
//! restart point                                                          the entry before `end`
//! |                                   *                  *        *    *  |
//! '------------- half ----------------'----- half -------'- half -'
//! ```
//!
//! Decoding up to `end` leaves a mark halfway, another halfway from there, and so on down to a short
//! rest. The next step backward resumes from the last mark before its own end and leaves marks in
//! the same way: an interval of n entries takes n log n steps instead of n², with log n marks at a time.

/// Shorter distances are decoded without marks: most intervals of sixteen entries are shorter.
const MIN_LENGTH: usize = 4096;

/// Marks in one restart interval, ascending.
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
    /// Drops all marks, for another block.
    pub(crate) fn clear(&mut self) {
        self.marks.clear();
    }

    /// The last mark before `end` in the interval of `restart`, and its offset. Drops the marks after
    /// it.
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

    /// Adds a mark after all others.
    pub(crate) fn push(&mut self, restart: usize, offset: usize, mark: M) {
        if self.restart != restart {
            self.marks.clear();
        }
        self.restart = restart;
        self.marks.push((offset, mark));
    }

    /// The offset of the next mark, when decoding has reached `offset`.
    #[inline]
    pub(crate) fn next_after(offset: usize, end: usize) -> usize {
        match end.saturating_sub(offset) {
            0..=MIN_LENGTH => usize::MAX,
            length => offset + length / 2,
        }
    }
}
