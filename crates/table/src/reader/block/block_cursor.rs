//! A cursor over one block, in both directions, for data and index blocks.
//!
//! ```text
//! restart points   0               1               2
//!                  |   |   |   |   |   |   |   |   |   |   |
//! entries          a   b   c   d   e   f   g   h   i   j   k
//!
//! seek g     binary search for the last restart point below g (e), then forward
//! prev of g  from the restart point before it (e) forward to the entry that ends where g starts
//! ```
//!
//! Keys share prefixes with previous keys, and index values may be differences from previous ones, so
//! entries can only be decoded forward: from a restart point, or in a long interval from a
//! [mark](crate::reader::block::marks).

use std::cmp::Ordering;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::raw::{Block, BlockEntries, BlockMark, IndexEntries, IndexMark};
use crate::reader::block::marks::Marks;

/// Entries of a data or index block, decoded forward.
pub(crate) trait Walk {
    type Bytes: AsRef<[u8]>;
    /// What is needed to resume after an entry.
    type Mark: std::fmt::Debug;

    fn advance(&mut self) -> Result<bool>;
    fn key(&self) -> &[u8];
    fn seek_to_restart(&mut self, restart: usize);
    fn restart_index(&self) -> usize;
    fn restart_key(&self, restart: usize) -> Option<&[u8]>;
    fn next_offset(&self) -> usize;
    fn block(&self) -> &Block<Self::Bytes>;
    /// A mark to resume after the current entry.
    fn mark(&self) -> Self::Mark;
    /// Moves to `offset` in the interval of `restart`, where the mark was made.
    fn resume(&mut self, restart: usize, offset: usize, mark: &Self::Mark);
}

macro_rules! walk {
    ($entries:ident, $mark:ident) => {
        impl<B: AsRef<[u8]>> Walk for $entries<B> {
            type Bytes = B;
            type Mark = $mark;

            #[inline(always)]
            fn advance(&mut self) -> Result<bool> {
                self.advance()
            }

            #[inline]
            fn key(&self) -> &[u8] {
                self.key()
            }

            fn seek_to_restart(&mut self, restart: usize) {
                self.seek_to_restart(restart);
            }

            fn restart_index(&self) -> usize {
                self.restart_index()
            }

            #[inline]
            fn restart_key(&self, restart: usize) -> Option<&[u8]> {
                self.restart_key(restart)
            }

            #[inline]
            fn next_offset(&self) -> usize {
                self.next_offset()
            }

            fn block(&self) -> &Block<B> {
                self.block()
            }

            fn mark(&self) -> $mark {
                self.mark()
            }

            fn resume(&mut self, restart: usize, offset: usize, mark: &$mark) {
                self.resume(restart, offset, mark);
            }
        }
    };
}

walk!(BlockEntries, BlockMark);
walk!(IndexEntries, IndexMark);

/// A cursor over a block. All moves return whether there is a current entry; after an error there is none.
#[derive(Debug)]
pub(crate) struct BlockCursor<W: Walk> {
    walk: W,
    /// Where the current entry starts.
    start: usize,
    valid: bool,
    marks: Marks<W::Mark>,
}

impl<W: Walk> BlockCursor<W> {
    /// Before the first entry.
    pub(crate) fn new(walk: W) -> Self {
        Self { walk, start: 0, valid: false, marks: Marks::default() }
    }

    #[inline]
    pub(crate) fn is_valid(&self) -> bool {
        self.valid
    }

    /// The entries, at the current one.
    #[inline]
    pub(crate) fn entry(&self) -> &W {
        &self.walk
    }

    /// Where the current entry starts in the block.
    pub(crate) fn offset(&self) -> usize {
        self.start
    }

    #[inline(always)] // see `Cursor::next`
    pub(crate) fn next(&mut self) -> Result<bool> {
        self.valid = false;
        self.start = self.walk.next_offset();
        self.valid = self.walk.advance()?;
        Ok(self.valid)
    }

    pub(crate) fn first(&mut self) -> Result<bool> {
        self.at_restart(0)
    }

    pub(crate) fn last(&mut self) -> Result<bool> {
        match self.last_interval() {
            Some((restart, end)) => self.walk_to(restart, end, |_| {}),
            None => self.invalidate(),
        }
    }

    pub(crate) fn prev(&mut self) -> Result<bool> {
        if !self.valid {
            return Ok(false);
        }
        match self.interval_before() {
            Some((restart, end)) => self.walk_to(restart, end, |_| {}),
            None => self.invalidate(),
        }
    }

    /// The last restart interval, and where its last entry ends.
    pub(crate) fn last_interval(&self) -> Option<(usize, usize)> {
        let block = self.walk.block();
        Some((block.restart_count().checked_sub(1)?, block.keys_end()))
    }

    /// The restart interval of the previous entry, and where that entry ends. `None` at the first entry.
    pub(crate) fn interval_before(&self) -> Option<(usize, usize)> {
        let (restart, end) = (self.walk.restart_index(), self.start);
        match self.walk.block().restart(restart) == end {
            true => Some((restart.checked_sub(1)?, end)),
            false => Some((restart, end)),
        }
    }

    /// Moves to the entry that ends at `end`, starting at restart point `restart` or at a mark in its
    /// interval. Calls `pass` for each entry up to that one, inclusive.
    pub(crate) fn walk_to(
        &mut self,
        restart: usize,
        end: usize,
        mut pass: impl FnMut(&Self),
    ) -> Result<bool> {
        let more = match self.marks.last_before(restart, end) {
            Some((offset, mark)) => {
                self.walk.resume(restart, offset, mark);
                self.next()?
            }
            None => self.at_restart(restart)?,
        };
        if !more {
            return Ok(false);
        }
        pass(self);
        let mut next_mark = Marks::<W::Mark>::next_after(self.start, end);
        while self.walk.next_offset() < end {
            let offset = self.walk.next_offset();
            if offset >= next_mark {
                self.marks.push(restart, offset, self.walk.mark());
                next_mark = Marks::<W::Mark>::next_after(offset, end);
            }
            if !self.next()? {
                return Err(Error::corrupt("the entries end too early"));
            }
            pass(self);
        }
        if self.walk.next_offset() != end {
            self.valid = false;
            return Err(Error::corrupt("the entries are not contiguous"));
        }
        Ok(true)
    }

    /// Moves to the first entry for which `compare` does not return `Less`.
    pub(crate) fn seek(&mut self, compare: impl Fn(&[u8]) -> Ordering) -> Result<bool> {
        let intervals = self.all_intervals();
        self.seek_between(intervals, compare)
    }

    /// The same, if the search is known to start in one of the given restart intervals (inclusive).
    pub(crate) fn seek_between(
        &mut self,
        intervals: (usize, usize),
        compare: impl Fn(&[u8]) -> Ordering,
    ) -> Result<bool> {
        let interval = self.interval_between(intervals, &compare)?;
        let mut more = self.at_restart(interval)?;
        while more && compare(self.walk.key()).is_lt() {
            more = self.next()?;
        }
        Ok(more)
    }

    /// The restart interval where the search starts: the last one whose first key is `Less`.
    pub(crate) fn interval_of(&mut self, compare: impl Fn(&[u8]) -> Ordering) -> Result<usize> {
        let intervals = self.all_intervals();
        self.interval_between(intervals, compare)
    }

    fn all_intervals(&self) -> (usize, usize) {
        (0, self.walk.block().restart_count().saturating_sub(1))
    }

    fn interval_between(
        &mut self,
        (mut low, mut high): (usize, usize),
        compare: impl Fn(&[u8]) -> Ordering,
    ) -> Result<usize> {
        // Entries before restart point `low` are less; those from restart point `high + 1` on are not.
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let is_less = match self.walk.restart_key(middle) {
                Some(key) => compare(key).is_lt(),
                // Corrupt: decoding the entry gives the error.
                None => self.at_restart(middle)? && compare(self.walk.key()).is_lt(),
            };
            if is_less {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Ok(low)
    }

    /// Moves to the first entry of one restart interval for which `compare` does not return `Less`.
    pub(crate) fn seek_in_interval(
        &mut self,
        restart: usize,
        compare: impl Fn(&[u8]) -> Ordering,
    ) -> Result<bool> {
        let mut more = self.at_restart(restart)?;
        while more && compare(self.walk.key()).is_lt() {
            more = self.next()? && self.walk.restart_index() == restart;
        }
        self.valid = more;
        Ok(more)
    }

    fn at_restart(&mut self, restart: usize) -> Result<bool> {
        if self.walk.block().is_empty() {
            return self.invalidate();
        }
        self.walk.seek_to_restart(restart);
        self.next()
    }

    /// Invalidates the cursor and returns the entries, to be set to another block.
    pub(crate) fn entries_anew(&mut self) -> &mut W {
        self.leave();
        self.marks.clear();
        &mut self.walk
    }

    /// Invalidates the cursor.
    pub(crate) fn leave(&mut self) {
        self.valid = false;
    }

    pub(crate) fn invalidate(&mut self) -> Result<bool> {
        self.valid = false;
        Ok(false)
    }
}

impl<B: AsRef<[u8]>> BlockCursor<BlockEntries<B>> {
    /// Moves back to an entry of the current restart interval, at `start`. The key is the given bytes up
    /// to the given length.
    #[inline]
    pub(crate) fn go_back(
        &mut self,
        key: (&[u8], usize),
        value: Range<usize>,
        start: usize,
        next: usize,
    ) {
        self.walk.go_back(key, value, next);
        self.start = start;
        self.valid = true;
    }
}
