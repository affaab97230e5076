//! Moving about in one block, in both directions: the same for data and for index blocks.
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
//! Keys share prefixes with the ones before them, and index values may be differences from those
//! before them: the only way is forward, from a restart point.

use std::cmp::Ordering;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::raw::{Block, BlockEntries, IndexEntries};

/// What data and index entries have in common.
pub(super) trait Walk {
    fn advance(&mut self) -> Result<bool>;
    fn key(&self) -> &[u8];
    fn seek_to_restart(&mut self, restart: usize);
    fn restart_index(&self) -> usize;
    fn next_offset(&self) -> usize;
    fn block(&self) -> &Block<Bytes>;
}

macro_rules! walk {
    ($entries:ident) => {
        impl Walk for $entries<Bytes> {
            fn advance(&mut self) -> Result<bool> {
                self.advance()
            }

            fn key(&self) -> &[u8] {
                self.key()
            }

            fn seek_to_restart(&mut self, restart: usize) {
                self.seek_to_restart(restart);
            }

            fn restart_index(&self) -> usize {
                self.restart_index()
            }

            fn next_offset(&self) -> usize {
                self.next_offset()
            }

            fn block(&self) -> &Block<Bytes> {
                self.block()
            }
        }
    };
}

walk!(BlockEntries);
walk!(IndexEntries);

/// Moves about in a block. All moves say whether there is an entry where they lead; after an error
/// there is none.
#[derive(Debug)]
pub(super) struct BlockCursor<W> {
    walk: W,
    /// Where the current entry starts.
    start: usize,
    valid: bool,
}

impl<W: Walk> BlockCursor<W> {
    /// Before the first entry.
    pub(super) fn new(walk: W) -> Self {
        Self { walk, start: 0, valid: false }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.valid
    }

    /// The entries, at the current one.
    pub(super) fn entry(&self) -> &W {
        &self.walk
    }

    /// Where the current entry starts in the block.
    pub(super) fn offset(&self) -> usize {
        self.start
    }

    pub(super) fn next(&mut self) -> Result<bool> {
        self.valid = false;
        self.start = self.walk.next_offset();
        self.valid = self.walk.advance()?;
        Ok(self.valid)
    }

    pub(super) fn first(&mut self) -> Result<bool> {
        self.at_restart(0)
    }

    pub(super) fn last(&mut self) -> Result<bool> {
        let Some(restart) = self.walk.block().restart_count().checked_sub(1) else {
            return self.nowhere();
        };
        if !self.at_restart(restart)? {
            return Ok(false);
        }
        let end = self.walk.block().keys_end();
        self.forward_to(end)
    }

    pub(super) fn prev(&mut self) -> Result<bool> {
        if !self.valid {
            return Ok(false);
        }
        let end = self.start;
        let mut restart = self.walk.restart_index();
        if self.walk.block().restart(restart) == end {
            match restart.checked_sub(1) {
                Some(before) => restart = before,
                None => return self.nowhere(),
            }
        }
        self.at_restart(restart)?;
        self.forward_to(end)
    }

    /// The first entry that is not `Less` than what is sought; `compare` says how a key stands to
    /// it.
    pub(super) fn seek(&mut self, compare: impl Fn(&[u8]) -> Ordering) -> Result<bool> {
        let interval = self.interval_of(&compare)?;
        let mut more = self.at_restart(interval)?;
        while more && compare(self.walk.key()).is_lt() {
            more = self.next()?;
        }
        Ok(more)
    }

    /// The restart interval where a search for the first entry that is not `Less` starts: the last
    /// one whose first entry is.
    pub(super) fn interval_of(&mut self, compare: impl Fn(&[u8]) -> Ordering) -> Result<usize> {
        let (mut low, mut high) = (0, self.walk.block().restart_count().saturating_sub(1));
        // Entries before restart point `low` are less; from the one after `high` on, none is.
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.at_restart(middle)? && compare(self.walk.key()).is_lt() {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Ok(low)
    }

    /// The first entry of one restart interval that is not `Less` than what is sought.
    pub(super) fn seek_in_interval(
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
            return self.nowhere();
        }
        self.walk.seek_to_restart(restart);
        self.next()
    }

    /// From the current entry to the one that ends at `end`.
    fn forward_to(&mut self, end: usize) -> Result<bool> {
        while self.walk.next_offset() < end {
            if !self.next()? {
                return Err(Error::corrupt("the entries of the block end too soon"));
            }
        }
        if self.walk.next_offset() != end {
            self.valid = false;
            return Err(Error::corrupt("the entries of the block do not follow each other"));
        }
        Ok(self.valid)
    }

    fn nowhere(&mut self) -> Result<bool> {
        self.valid = false;
        Ok(false)
    }
}
