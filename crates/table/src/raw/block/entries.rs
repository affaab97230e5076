//! The entries of data, meta and properties blocks: key and value, in order.

use std::ops::Range;

use super::Block;
use super::position::{Position, decode_varint};
use crate::error::Result;

/// Walks through the entries of a block.
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

impl<B: AsRef<[u8]>> BlockEntries<B> {
    pub(super) fn new(block: Block<B>) -> Self {
        // Where the first value of a separated block would follow a value before it.
        let start = block.layout.keys_end;
        Self { block, position: Position::default(), value: start..start }
    }

    /// Goes to the next entry; false at the end. After an error there is no going on: the same
    /// error comes again.
    pub fn advance(&mut self) -> Result<bool> {
        let Some(start) = self.position.begin(&self.block)? else { return Ok(false) };
        let mut input = start.input;
        let shared = decode_varint(&mut input, &self.position)?;
        let non_shared = decode_varint(&mut input, &self.position)? as usize;
        let value_length = decode_varint(&mut input, &self.position)? as usize;

        let layout = &self.block.layout;
        let separated_start = match (layout.separated, start.is_restart) {
            (false, _) => None,
            (true, false) => Some(self.value.end),
            (true, true) => {
                let offset = decode_varint(&mut input, &self.position)? as usize;
                Some(layout.keys_end.saturating_add(offset))
            }
        };
        let suffix = input
            .split_off(..non_shared)
            .ok_or_else(|| self.position.malformed("has a key beyond the end"))?;
        let (value_start, section_end) = match separated_start {
            Some(value_start) => (value_start, layout.restarts),
            None => (layout.keys_end - input.len(), layout.keys_end),
        };
        let value_end = value_start
            .checked_add(value_length)
            .filter(|&end| end <= section_end)
            .ok_or_else(|| self.position.malformed("has a value beyond the end"))?;
        if separated_start.is_none() {
            input = &input[value_length..];
        }
        self.position.accept(&start, shared, suffix, input)?;
        self.value = value_start..value_end;
        Ok(true)
    }

    /// Goes to just before restart point `restart`: the next [`advance`](Self::advance) reaches its
    /// entry.
    ///
    /// # Panics
    ///
    /// If there is no such restart point.
    pub fn seek_to_restart(&mut self, restart: usize) {
        self.position.go_to_restart(restart, self.block.restart(restart));
    }

    /// Where in the block the next entry starts.
    pub fn next_offset(&self) -> usize {
        self.position.offset()
    }

    /// The key of the current entry; empty before the first.
    pub fn key(&self) -> &[u8] {
        self.position.key()
    }

    /// The value of the current entry; empty before the first.
    pub fn value(&self) -> &[u8] {
        &self.block.bytes()[self.value.clone()]
    }

    /// Where in the block the value lies.
    pub fn value_range(&self) -> Range<usize> {
        self.value.clone()
    }

    /// Index of the restart point at or before the current entry.
    pub fn restart_index(&self) -> usize {
        self.position.restarts_passed().saturating_sub(1)
    }

    /// The block walked through.
    pub fn block(&self) -> &Block<B> {
        &self.block
    }
}
