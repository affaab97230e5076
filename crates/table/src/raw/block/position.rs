//! Where a walk through a block stands: what all kinds of entries have in common.

use sstkit_coding::varint::get_varint32;

use super::Block;
use super::builder::common_prefix;
use super::key_buffer::KeyBuffer;
use crate::error::{Error, Result};

/// The key reached, and where the next entry starts.
#[derive(Clone, Debug, Default)]
pub(in crate::raw) struct Position {
    key: KeyBuffer,
    /// Offset of the next entry.
    next: usize,
    /// Restart points passed.
    restarts_passed: usize,
    /// Offset of the restart point after those; `usize::MAX` if there is none. The first one of a
    /// block with entries is at 0.
    next_restart: usize,
    /// Bytes of the key before that one, if it was reached.
    length_before: usize,
    /// How many of them the key starts with.
    common: usize,
}

/// An entry about to be decoded.
pub(in crate::raw) struct EntryStart<'a> {
    /// From here to the end of keys.
    pub(in crate::raw) input: &'a [u8],
    pub(in crate::raw) is_restart: bool,
}

impl Position {
    /// The key reached; empty at the start.
    #[inline]
    pub(in crate::raw) fn key(&self) -> &[u8] {
        self.key.bytes()
    }

    /// Offset of the next entry.
    #[inline]
    pub(in crate::raw) fn offset(&self) -> usize {
        self.next
    }

    /// Back to the start, for another block.
    pub(in crate::raw) fn rewind(&mut self) {
        self.go_to_restart(0, 0);
    }

    /// Goes to the entry at `offset`, which is restart point number `restart`. No key is reached yet.
    pub(in crate::raw) fn go_to_restart(&mut self, restart: usize, offset: usize) {
        self.key.clear();
        self.next = offset;
        self.restarts_passed = restart;
        self.next_restart = offset;
    }

    /// Goes back to an entry of the restart interval where it stands: its key, the first so many of the
    /// bytes given, and where the entry after it starts.
    #[inline]
    pub(in crate::raw) fn go_back(&mut self, (key, length): (&[u8], usize), next: usize) {
        self.key.replace(0, key, length);
        self.next = next;
    }

    /// Copies the key to the start of `out`, which it fits into. What follows there may be lost.
    #[inline]
    pub(in crate::raw) fn copy_key_to(&self, out: &mut [u8]) {
        self.key.copy_to(out);
    }

    /// Restart points passed: the interval of the current entry is one less.
    pub(in crate::raw) fn restarts_passed(&self) -> usize {
        self.restarts_passed
    }

    /// The next entry of `block`, or `None` at its end.
    #[inline]
    pub(in crate::raw) fn begin<'a, B: AsRef<[u8]>>(
        &self,
        block: &'a Block<B>,
    ) -> Result<Option<EntryStart<'a>>> {
        // Restart points ascend and lie before the end of keys, so each is either reached exactly
        // or seen to be stepped over.
        if self.next > self.next_restart {
            return Err(self.stepped_over());
        }
        match block.keys().get(self.next..) {
            Some(input) if !input.is_empty() => {
                Ok(Some(EntryStart { input, is_restart: self.next == self.next_restart }))
            }
            _ => Ok(None),
        }
    }

    /// Takes over the key of the entry begun: so many bytes of the one before, and so many of those
    /// that follow, which there are. The entry ends at `next`.
    #[inline]
    pub(in crate::raw) fn accept<B: AsRef<[u8]>>(
        &mut self,
        block: &Block<B>,
        is_restart: bool,
        (shared, suffix, non_shared): (usize, &[u8], usize),
        next: usize,
    ) -> Result<()> {
        let most = if is_restart { 0 } else { self.key.len() };
        if shared > most {
            return Err(self.shares_too_much(most, shared));
        }
        self.length_before = self.key.len();
        self.common = self.common_with(shared, &suffix[..non_shared]);
        self.key.replace(shared, suffix, non_shared);
        self.next = next;
        if is_restart {
            self.pass_restart(block);
        }
        Ok(())
    }

    /// How many bytes the key has in common with one that shares so many with it, and goes on so.
    #[inline]
    fn common_with(&self, shared: usize, suffix: &[u8]) -> usize {
        match (&self.key.bytes()[shared..], suffix) {
            // Almost always, but for restart points.
            ([byte, ..], [other, ..]) if byte != other => shared,
            (rest, suffix) => shared + common_prefix(rest, suffix),
        }
    }

    /// Whether the key is the one before it, but for the last `tail` bytes. Not known (and not said)
    /// of the first entry after a jump.
    #[inline]
    pub(in crate::raw) fn repeats(&self, tail: usize) -> bool {
        let length = self.key.len();
        self.length_before == length && length >= tail && self.common >= length - tail
    }

    fn pass_restart<B: AsRef<[u8]>>(&mut self, block: &Block<B>) {
        self.restarts_passed += 1;
        self.next_restart = match self.restarts_passed < block.restart_count() {
            true => block.restart(self.restarts_passed),
            false => usize::MAX,
        };
    }

    /// From a restart point, before which it stands, to the entry at `offset` in its interval. Of
    /// the key before that one only the start is known, as much as the entry shares.
    pub(in crate::raw) fn go_on<B: AsRef<[u8]>>(
        &mut self,
        block: &Block<B>,
        offset: usize,
        key: &[u8],
    ) {
        self.key.replace(0, key, key.len());
        self.next = offset;
        self.pass_restart(block);
    }

    #[cold]
    fn stepped_over(&self) -> Error {
        Error::mismatch("a restart point is no entry", self.next, self.next_restart)
    }

    #[cold]
    fn shares_too_much(&self, most: usize, shared: usize) -> Error {
        Error::mismatch(
            format!("the entry at byte {} shares more than the previous key has", self.next),
            format_args!("{most} or less"),
            shared,
        )
    }

    /// The next entry is not one.
    #[cold]
    pub(in crate::raw) fn malformed(&self, what: &str) -> Error {
        Error::corrupt(format!("the entry at byte {} of the block {what}", self.next))
    }
}

/// A varint32 of an entry.
#[inline]
pub(in crate::raw) fn decode_varint(input: &mut &[u8], position: &Position) -> Result<u32> {
    get_varint32(input).ok_or_else(|| position.malformed("has unreadable lengths"))
}
