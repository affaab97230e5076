//! Entries as stored, within the bounds of a scan.
//!
//! ```text
//! scan from "b" to "d", at sequence number 7
//!
//!   a@1   b@9   b@3   c@5   c@2   d@4      forward    b@3   c@5   c@2
//!   out   later                   out      backward   c@2   c@5   b@3
//! ```

use std::ops::Bound;

use super::{Direction, InternalIterator, UserKeys};
use crate::error::Result;
use crate::reader::ReadOptions;

/// The entries of an [`InternalIterator`] that a scan selects, in one direction: keys within the range
/// or with the prefix, and versions that its view sees. Nothing is merged or hidden.
pub struct BoundedEntries<I> {
    entries: I,
    keys: UserKeys,
    scan: ReadOptions,
    direction: Direction,
    state: State,
}

sstkit_coding::debug_opaque!([I] BoundedEntries<I>);

enum State {
    New,
    Moving,
    Ended,
}

impl<I: InternalIterator> BoundedEntries<I> {
    /// Unpositioned. The bounds of `scan` are in the order of `keys`; without any, the order is not
    /// used.
    pub fn new(entries: I, keys: &UserKeys, scan: &ReadOptions, direction: Direction) -> Self {
        let (keys, scan) = (keys.clone(), scan.clone());
        Self { entries, keys, scan, direction, state: State::New }
    }

    /// The current entry, after [`advance`](Self::advance) returned true.
    pub fn entries(&self) -> &I {
        &self.entries
    }

    /// Moves to the next selected entry; false at the end, where it stays. After an error it continues
    /// behind the entry that could not be read, if there is a position.
    pub fn advance(&mut self) -> Result<bool> {
        let mut more = match self.state {
            State::New => self.start()?,
            State::Moving => self.step()?,
            State::Ended => false,
        };
        self.state = State::Moving;
        while more && self.is_within() {
            if self.is_selected() {
                return Ok(true);
            }
            more = self.step()?;
        }
        self.state = State::Ended;
        Ok(false)
    }

    fn step(&mut self) -> Result<bool> {
        match self.direction {
            Direction::Forward => self.entries.next(),
            Direction::Backward => self.entries.prev(),
        }
    }

    /// Moves to the first entry within the bound at which the scan starts.
    fn start(&mut self) -> Result<bool> {
        let bound = match self.direction {
            Direction::Forward => self.scan.lower_bound(),
            Direction::Backward => self.scan.upper_bound(),
        };
        let excluded = match bound {
            Bound::Excluded(key) => Some(key.to_vec()),
            _ => None,
        };
        let mut more = match (bound, self.direction) {
            (Bound::Unbounded, Direction::Forward) => self.entries.seek_to_first()?,
            (Bound::Unbounded, Direction::Backward) => self.entries.seek_to_last()?,
            (Bound::Included(key) | Bound::Excluded(key), Direction::Forward) => {
                self.entries.seek(key)?
            }
            (Bound::Included(key) | Bound::Excluded(key), Direction::Backward) => {
                self.entries.seek_for_prev(key)?
            }
        };
        if let Some(excluded) = excluded {
            while more && self.keys.is_same(self.key(), &excluded) {
                more = self.step()?;
            }
        }
        Ok(more)
    }

    /// The current key without timestamp.
    fn key(&self) -> &[u8] {
        self.keys.bare(self.entries.user_key())
    }

    /// Whether the bound at which the scan ends is not passed.
    fn is_within(&self) -> bool {
        let (bound, is_forward) = match self.direction {
            Direction::Forward => (self.scan.upper_bound(), true),
            Direction::Backward => (self.scan.lower_bound(), false),
        };
        let compare = |bound: &[u8]| match is_forward {
            true => self.keys.compare(self.key(), bound),
            false => self.keys.compare(bound, self.key()),
        };
        match bound {
            Bound::Included(bound) => compare(bound).is_le(),
            Bound::Excluded(bound) => compare(bound).is_lt(),
            Bound::Unbounded => true,
        }
    }

    fn is_selected(&self) -> bool {
        let timestamp = self.keys.timestamp(self.entries.user_key());
        self.scan.has_start(self.key())
            && self.scan.view().sees(self.entries.sequence(), timestamp, &self.keys)
    }
}
