//! Where a walk through a block stands: what all kinds of entries have in common.

use sstkit_coding::varint::get_varint32;

use super::Block;
use crate::error::{Error, Result};

/// The key reached, and where the next entry starts.
#[derive(Clone, Debug, Default)]
pub(in crate::raw) struct Position {
    key: Vec<u8>,
    /// Offset of the next entry.
    next: usize,
    /// Restart points passed.
    restarts_passed: usize,
}

/// An entry about to be decoded.
pub(in crate::raw) struct EntryStart<'a> {
    /// From here to the end of keys.
    pub(in crate::raw) input: &'a [u8],
    pub(in crate::raw) is_restart: bool,
}

impl Position {
    /// The key reached; empty at the start.
    pub(in crate::raw) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Offset of the next entry.
    pub(in crate::raw) fn offset(&self) -> usize {
        self.next
    }

    /// Goes to the entry at `offset`, which is restart point number `restart`. No key is reached yet.
    pub(in crate::raw) fn go_to_restart(&mut self, restart: usize, offset: usize) {
        self.key.clear();
        self.next = offset;
        self.restarts_passed = restart;
    }

    /// Restart points passed: the interval of the current entry is one less.
    pub(in crate::raw) fn restarts_passed(&self) -> usize {
        self.restarts_passed
    }

    /// The next entry of `block`, or `None` at its end.
    pub(in crate::raw) fn begin<'a, B: AsRef<[u8]>>(
        &self,
        block: &'a Block<B>,
    ) -> Result<Option<EntryStart<'a>>> {
        let input = match block.keys().get(self.next..) {
            Some(input) if !block.is_empty() => input,
            _ => return Ok(None),
        };
        let mut is_restart = false;
        if self.restarts_passed < block.restart_count() {
            // Restart points ascend and lie before the end of keys, so each is either reached
            // exactly or seen to be stepped over.
            let restart = block.restart(self.restarts_passed);
            if self.next > restart {
                return Err(Error::mismatch("a restart point is no entry", self.next, restart));
            }
            is_restart = self.next == restart;
        }
        if input.is_empty() {
            return Ok(None);
        }
        Ok(Some(EntryStart { input, is_restart }))
    }

    /// Takes over the key of the entry begun, all of it decoded but `rest`.
    pub(in crate::raw) fn accept(
        &mut self,
        start: &EntryStart<'_>,
        shared: u32,
        suffix: &[u8],
        rest: &[u8],
    ) -> Result<()> {
        let shared = shared as usize;
        let most = if start.is_restart { 0 } else { self.key.len() };
        if shared > most {
            return Err(Error::mismatch(
                format!("the entry at byte {} shares too much", self.next),
                format_args!("{most} or less"),
                shared,
            ));
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(suffix);
        self.next += start.input.len() - rest.len();
        self.restarts_passed += usize::from(start.is_restart);
        Ok(())
    }

    /// The next entry is not one.
    pub(in crate::raw) fn malformed(&self, what: &str) -> Error {
        Error::corrupt(format!("the entry at byte {} of the block {what}", self.next))
    }
}

/// A varint32 of an entry.
#[inline]
pub(in crate::raw) fn decode_varint(input: &mut &[u8], position: &Position) -> Result<u32> {
    get_varint32(input).ok_or_else(|| position.malformed("has no readable lengths"))
}
