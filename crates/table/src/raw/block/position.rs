//! The position of a cursor over a block: what all kinds of entries have in common.

use sstkit_coding::varint::get_varint32;

use super::Block;
use super::common_prefix::common_prefix;
use super::key_buffer::KeyBuffer;
use crate::error::{Error, Result};

/// The current key, and where the next entry starts.
#[derive(Clone, Debug, Default)]
pub(in crate::raw) struct Position {
    key: KeyBuffer,
    /// Offset of the next entry.
    next: usize,
    restarts_passed: usize,
    /// Offset of the next restart point; `usize::MAX` after the last. The first one is at 0.
    next_restart: usize,
    /// Length of the previous key, if it was decoded.
    length_before: usize,
    /// Bytes that the current key shares with it.
    common: usize,
}

/// An entry about to be decoded.
pub(in crate::raw) struct EntryStart<'a> {
    /// From its start to the end of keys.
    pub(in crate::raw) input: &'a [u8],
    pub(in crate::raw) is_restart: bool,
}

impl Position {
    /// The current key; empty before the first entry.
    #[inline]
    pub(in crate::raw) fn key(&self) -> &[u8] {
        self.key.bytes()
    }

    /// Offset of the next entry.
    #[inline]
    pub(in crate::raw) fn offset(&self) -> usize {
        self.next
    }

    /// Moves before the first entry, for another block.
    pub(in crate::raw) fn rewind(&mut self) {
        self.go_to_restart(0, 0);
    }

    /// Moves to just before the entry at `offset`, which is restart point number `restart`.
    pub(in crate::raw) fn go_to_restart(&mut self, restart: usize, offset: usize) {
        self.key.clear();
        self.next = offset;
        self.restarts_passed = restart;
        self.next_restart = offset;
    }

    /// Moves back to an entry of the current restart interval. Its key is the first `length` bytes of
    /// `key`; the entry after it starts at `next`.
    #[inline]
    pub(in crate::raw) fn go_back(&mut self, (key, length): (&[u8], usize), next: usize) {
        self.key.replace(0, key, length);
        self.next = next;
    }

    /// Copies the key to the start of `out`, which is long enough. May overwrite bytes after it.
    #[inline]
    pub(in crate::raw) fn copy_key_to(&self, out: &mut [u8]) {
        self.key.copy_to(out);
    }

    /// Restart points passed, one more than the interval of the current entry.
    pub(in crate::raw) fn restarts_passed(&self) -> usize {
        self.restarts_passed
    }

    /// The next entry of `block`, or `None` at its end.
    #[inline]
    pub(in crate::raw) fn begin<'a, B: AsRef<[u8]>>(
        &self,
        block: &'a Block<B>,
    ) -> Result<Option<EntryStart<'a>>> {
        // Restart points ascend and lie before the end of keys, so each is either reached exactly or
        // found to lie inside an entry.
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

    /// Sets the key to the first `shared` bytes of the previous one and the first `non_shared` bytes of
    /// `suffix`. The next entry starts at `next`.
    #[inline(always)] // a call for each entry takes a tenth of the instructions of a scan
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

    /// Length of the common prefix of the current key and one that shares `shared` bytes and continues
    /// with `suffix`.
    #[inline(always)] // a call would cost more than it does
    fn common_with(&self, shared: usize, suffix: &[u8]) -> usize {
        match (&self.key.bytes()[shared..], suffix) {
            // Almost always, except at restart points.
            ([byte, ..], [other, ..]) if byte != other => shared,
            (rest, suffix) => shared + common_prefix(rest, suffix),
        }
    }

    /// The number of last bytes in which the key differs from the previous one. The largest number if
    /// they differ in length, and for the first entry after a seek.
    #[inline]
    pub(in crate::raw) fn changed_bytes(&self) -> usize {
        match self.length_before == self.key.len() {
            true => self.length_before - self.common,
            false => usize::MAX,
        }
    }

    fn pass_restart<B: AsRef<[u8]>>(&mut self, block: &Block<B>) {
        self.restarts_passed += 1;
        self.next_restart = match self.restarts_passed < block.restart_count() {
            true => block.restart(self.restarts_passed),
            false => usize::MAX,
        };
    }

    /// Moves from just before a restart point to the entry at `offset` in its interval. `key` is the
    /// previous key, or at least the bytes of it that the entry shares.
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

    /// The next entry cannot be decoded.
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
