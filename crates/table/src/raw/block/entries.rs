//! The entries of data, meta and properties blocks: key and value, in order.

use std::ops::Range;

use super::Block;
use super::lengths::Lengths;
use super::position::{Position, decode_varint};
use crate::error::Result;

/// A cursor over the entries of a block.
///
/// ```
/// use sstkit_table::raw::Block;
///
/// let block = Block::parse([0, 1, 1, b'k', b'v', 0, 0, 0, 0, 1, 0, 0, 0])?;
/// let mut entries = block.entries();
/// while entries.advance()? {
///     assert_eq!((entries.key(), entries.value()), (&b"k"[..], &b"v"[..]));
/// }
/// # Ok::<(), sstkit_table::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockEntries<B> {
    block: Block<B>,
    position: Position,
    value: Range<usize>,
}

/// What is needed to resume after an entry.
#[derive(Clone, Debug)]
pub(crate) struct BlockMark {
    key: Vec<u8>,
    value_end: usize,
}

impl<B: AsRef<[u8]>> BlockEntries<B> {
    pub(super) fn new(block: Block<B>) -> Self {
        // In a block with separated values the first value starts here.
        let start = block.layout.keys_end;
        Self { block, position: Position::default(), value: start..start }
    }

    /// Moves to the next entry; false at the end. After an error every further call returns the same
    /// error.
    #[inline(always)] // a call for each entry takes a twentieth of the instructions of a scan
    pub fn advance(&mut self) -> Result<bool> {
        let Some(start) = self.position.begin(&self.block)? else { return Ok(false) };
        let Some(lengths) = Lengths::decode(start.input) else {
            return Err(self.position.malformed("has unreadable lengths"));
        };
        let layout = &self.block.layout;
        let (key_start, separated_start) = match (layout.separated, start.is_restart) {
            (false, _) => (lengths.header, None),
            (true, false) => (lengths.header, Some(self.value.end)),
            (true, true) => {
                let mut input = &start.input[lengths.header..];
                let offset = decode_varint(&mut input, &self.position)? as usize;
                let value_start = layout.keys_end.saturating_add(offset);
                (start.input.len() - input.len(), Some(value_start))
            }
        };
        let suffix = &start.input[key_start..];
        let Some(after_key) = suffix.len().checked_sub(lengths.non_shared) else {
            return Err(self.position.malformed("has a key beyond the end of the block"));
        };
        let (value_start, section_end) = match separated_start {
            Some(value_start) => (value_start, layout.restarts),
            None => (layout.keys_end - after_key, layout.keys_end),
        };
        let value_end = value_start.saturating_add(lengths.value);
        if value_end > section_end {
            return Err(self.position.malformed("has a value beyond the end of the block"));
        }
        let next = match separated_start {
            Some(_) => layout.keys_end - after_key,
            None => value_end,
        };
        let key = (lengths.shared, suffix, lengths.non_shared);
        self.position.accept(&self.block, start.is_restart, key, next)?;
        self.value = value_start..value_end;
        Ok(true)
    }

    /// Moves to just before restart point `restart`: the next [`advance`](Self::advance) decodes its
    /// entry.
    ///
    /// # Panics
    ///
    /// If there is no such restart point.
    pub fn seek_to_restart(&mut self, restart: usize) {
        self.position.go_to_restart(restart, self.block.restart(restart));
    }

    /// The key of restart point `restart`, borrowed from the block. `None` if the entry is corrupt:
    /// [`seek_to_restart`](Self::seek_to_restart) and [`advance`](Self::advance) give the error.
    ///
    /// # Panics
    ///
    /// If there is no such restart point.
    #[inline]
    pub fn restart_key(&self, restart: usize) -> Option<&[u8]> {
        // Three lengths, and the offset of a separated value.
        let numbers = if self.block.layout.separated { 4 } else { 3 };
        self.block.restart_key(restart, numbers)
    }

    /// The offset of the next entry in the block.
    #[inline]
    pub fn next_offset(&self) -> usize {
        self.position.offset()
    }

    /// The key of the current entry; empty before the first.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.position.key()
    }

    /// Copies the key to the start of `out`, which is long enough. May overwrite bytes after it.
    #[inline]
    pub(crate) fn copy_key_to(&self, out: &mut [u8]) {
        self.position.copy_key_to(out);
    }

    /// The value of the current entry; empty before the first.
    #[inline]
    pub fn value(&self) -> &[u8] {
        &self.block.bytes()[self.value.clone()]
    }

    /// The range of the value in the block.
    pub fn value_range(&self) -> Range<usize> {
        self.value.clone()
    }

    /// The number of last bytes in which the key differs from the previous one. The largest number if
    /// they differ in length, and for the first entry after a seek.
    #[inline]
    pub(crate) fn changed_bytes(&self) -> usize {
        self.position.changed_bytes()
    }

    /// Whether the key equals the previous one except for the last `tail` bytes.
    #[inline]
    pub(crate) fn repeats(&self, tail: usize) -> bool {
        self.changed_bytes() <= tail && self.key().len() >= tail
    }

    /// Moves to just before the first entry of another block and reuses the key buffer.
    pub(crate) fn reopen(&mut self, block: Block<B>) {
        self.value = block.layout.keys_end..block.layout.keys_end;
        self.position.rewind();
        self.block = block;
    }

    /// Moves back to an entry of the current restart interval. The key is the given bytes up to the given
    /// length; the entry after it starts at `next`.
    #[inline]
    pub(crate) fn go_back(&mut self, key: (&[u8], usize), value: Range<usize>, next: usize) {
        self.position.go_back(key, next);
        self.value = value;
    }

    /// A mark to [resume](Self::resume) after the current entry.
    pub(crate) fn mark(&self) -> BlockMark {
        BlockMark { key: self.key().to_vec(), value_end: self.value.end }
    }

    /// Moves to just before the entry at `offset` in the interval of `restart`, where the mark was made.
    pub(crate) fn resume(&mut self, restart: usize, offset: usize, mark: &BlockMark) {
        self.seek_to_restart(restart);
        self.position.go_on(&self.block, offset, &mark.key);
        self.value = mark.value_end..mark.value_end;
    }

    /// The restart interval of the current entry.
    pub fn restart_index(&self) -> usize {
        self.position.restarts_passed().saturating_sub(1)
    }

    /// The block.
    pub fn block(&self) -> &Block<B> {
        &self.block
    }
}
