//! The entries of one index block.
//!
//! ```text
//! full values     | shared | non_shared | value_len | key | handle | first key |
//! delta values    | shared | non_shared |             key | handle or difference | first key |
//!
//! handle          varint64 offset, varint64 size       where shared is 0
//! difference      varsigned64 (size - previous size)   elsewhere; the block follows the previous
//!                                                      one and its trailer directly
//! first key       varint32 length, internal key        kind 3 only
//! ```
//!
//! The index block of a real table with one data block, key as user key, delta values:
//!
//! ```text
//! 00 06 | 6B 65 79 30 34 39 | 00 F8 02 | 00 00 00 00 | 01 00 00 00
//!         key049              0+376      restart 0     one restart
//! ```

use std::ops::Range;

use sstkit_coding::varint::{get_length_prefixed_slice, get_varsigned64};

use super::{IndexFormat, IndexKind};
use crate::error::{Error, Result};
use crate::raw::block::{Block, Position, decode_varint};
use crate::raw::handle::BlockHandle;

/// A cursor over the entries of an index block: an index, a partition or the top level of an index, or
/// the index of filter partitions.
///
/// Handles must follow the order of the file and must not overlap. All writers do that, and it bounds
/// the work that a forged index can cause: no block is visited twice.
#[derive(Clone, Debug)]
pub struct IndexEntries<B> {
    block: Block<B>,
    format: IndexFormat,
    position: Position,
    handle: BlockHandle,
    /// In the block.
    first_key: Option<Range<usize>>,
    /// The lowest offset the next block may have.
    floor: u64,
    /// The lowest offset any block may have.
    lowest: u64,
}

/// What is needed to resume after an entry.
#[derive(Clone, Debug)]
pub(crate) struct IndexMark {
    key: Vec<u8>,
    handle: BlockHandle,
    floor: u64,
}

impl<B: AsRef<[u8]>> IndexEntries<B> {
    /// The entries of `block`.
    pub fn new(block: Block<B>, format: IndexFormat) -> Result<Self> {
        if block.has_separated_values() {
            return Err(Error::corrupt("keys and values of an index are separated"));
        }
        let (position, handle) = (Position::default(), BlockHandle::default());
        Ok(Self { block, format, position, handle, first_key: None, floor: 0, lowest: 0 })
    }

    /// Requires all blocks to start at `floor` or later.
    #[must_use]
    pub fn after(mut self, floor: u64) -> Self {
        self.floor = floor;
        self.lowest = floor;
        self
    }

    /// Moves to the next entry; false at the end. After an error every further call returns the same
    /// error.
    pub fn advance(&mut self) -> Result<bool> {
        let Some(start) = self.position.begin(&self.block)? else { return Ok(false) };
        let mut input = start.input;
        let shared = decode_varint(&mut input, &self.position)?;
        let non_shared = decode_varint(&mut input, &self.position)? as usize;
        let value_length = match self.format.delta_values {
            true => None,
            false => Some(decode_varint(&mut input, &self.position)? as usize),
        };
        let suffix = input;
        input = suffix
            .get(non_shared..)
            .ok_or_else(|| self.position.malformed("has a key beyond the end of the block"))?;

        // A full value has a length, and may have more fields after handle and first key; a delta value
        // ends where its last field ends.
        let value_start = self.position.offset() + start.input.len() - input.len();
        let mut value = input
            .get(..value_length.unwrap_or(input.len()))
            .ok_or_else(|| self.position.malformed("has a value beyond the end of the block"))?;
        let available = value.len();
        let handle = if self.format.delta_values && shared != 0 {
            self.next_handle(&mut value)
        } else {
            BlockHandle::decode_from(&mut value)
        }
        .ok_or_else(|| self.position.malformed("has an unreadable handle"))?;
        let floor = handle.end().filter(|_| handle.offset >= self.floor).ok_or_else(|| {
            Error::mismatch(
                "the index is not in file order",
                format_args!("{} or more", self.floor),
                handle,
            )
        })?;
        let first_key_length = match self.format.kind {
            IndexKind::BinarySearchWithFirstKey => {
                let key = get_length_prefixed_slice(&mut value)
                    .ok_or_else(|| self.position.malformed("has an unreadable first key"))?;
                Some(key.len())
            }
            _ => None,
        };
        let used = available - value.len();
        let next = value_start + value_length.unwrap_or(used);
        let key = (shared as usize, suffix, non_shared);
        self.position.accept(&self.block, start.is_restart, key, next)?;

        // The first key is the last field.
        let read_to = value_start + used;
        self.first_key = first_key_length.map(|length| read_to - length..read_to);
        self.handle = handle;
        self.floor = floor;
        Ok(true)
    }

    /// Moves to just before restart point `restart`: the next [`advance`](Self::advance) decodes its
    /// entry. Handles are whole at restart points. The check for the order of the file starts over.
    ///
    /// # Panics
    ///
    /// If there is no such restart point.
    pub fn seek_to_restart(&mut self, restart: usize) {
        self.position.go_to_restart(restart, self.block.restart(restart));
        self.floor = self.lowest;
    }

    /// The key of restart point `restart`, borrowed from the block. `None` if the entry is corrupt:
    /// [`seek_to_restart`](Self::seek_to_restart) and [`advance`](Self::advance) give the error.
    ///
    /// # Panics
    ///
    /// If there is no such restart point.
    #[inline]
    pub fn restart_key(&self, restart: usize) -> Option<&[u8]> {
        self.format.restart_key(&self.block, restart)
    }

    /// The offset of the next entry in the block.
    pub fn next_offset(&self) -> usize {
        self.position.offset()
    }

    /// A mark to [resume](Self::resume) after the current entry.
    pub(crate) fn mark(&self) -> IndexMark {
        IndexMark { key: self.key().to_vec(), handle: self.handle, floor: self.floor }
    }

    /// Moves to just before the entry at `offset` in the interval of `restart`, where the mark was made.
    pub(crate) fn resume(&mut self, restart: usize, offset: usize, mark: &IndexMark) {
        self.seek_to_restart(restart);
        self.position.go_on(&self.block, offset, &mark.key);
        self.handle = mark.handle;
        self.floor = mark.floor;
    }

    /// The restart interval of the current entry.
    pub fn restart_index(&self) -> usize {
        self.position.restarts_passed().saturating_sub(1)
    }

    /// The handle of the next block, whose size is stored as a difference.
    fn next_handle(&self, value: &mut &[u8]) -> Option<BlockHandle> {
        let difference = get_varsigned64(value)?;
        let offset = self.handle.end()?;
        Some(BlockHandle { offset, size: self.handle.size.checked_add_signed(difference)? })
    }

    /// The separator of the current entry as stored: an internal key, or a user key with
    /// [`IndexFormat::user_keys`].
    pub fn key(&self) -> &[u8] {
        self.position.key()
    }

    /// The handle of the current block.
    pub fn handle(&self) -> BlockHandle {
        self.handle
    }

    /// The first internal key of the current block, if the index has it.
    pub fn first_key(&self) -> Option<&[u8]> {
        Some(&self.block.bytes()[self.first_key.clone()?])
    }

    /// The lowest offset the next block may have.
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// The index block.
    pub fn block(&self) -> &Block<B> {
        &self.block
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TAIL: [u8; 8] = [0, 0, 0, 0, 1, 0, 0, 0];

    fn entries(bytes: &[u8], format: IndexFormat) -> IndexEntries<Vec<u8>> {
        IndexEntries::new(Block::parse([bytes, &TAIL].concat()).unwrap(), format).unwrap()
    }

    fn delta(kind: IndexKind) -> IndexFormat {
        IndexFormat { kind, user_keys: true, delta_values: true }
    }

    #[test]
    fn the_drawn_example() {
        let bytes = [0x00, 0x06, 0x6b, 0x65, 0x79, 0x30, 0x34, 0x39, 0x00, 0xf8, 0x02];
        let mut index = entries(&bytes, delta(IndexKind::BinarySearch));
        assert!(index.advance().unwrap());
        assert_eq!(index.key(), b"key049");
        assert_eq!(index.handle(), BlockHandle::new(0, 376));
        assert_eq!(index.first_key(), None);
        assert!(!index.advance().unwrap());
    }

    #[test]
    fn differences_and_first_keys() {
        let bytes = [
            &[0, 2, b'k', b'1', 0, 100, 3, b'a', b'b', b'c'][..],
            // Shares one byte: a difference of -3.
            &[1, 1, b'2', 5, 1, b'd'],
            // Shares none: a whole handle, with a gap before it.
            &[0, 1, b'l', 0xac, 0x02, 7, 0],
        ]
        .concat();
        let mut index = entries(&bytes, delta(IndexKind::BinarySearchWithFirstKey));
        for (key, handle, first) in [
            (&b"k1"[..], BlockHandle::new(0, 100), &b"abc"[..]),
            (b"k2", BlockHandle::new(105, 97), b"d"),
            (b"l", BlockHandle::new(300, 7), b""),
        ] {
            assert!(index.advance().unwrap());
            assert_eq!(index.key(), key);
            assert_eq!(index.handle(), handle);
            assert_eq!(index.first_key(), Some(first));
        }
        assert!(!index.advance().unwrap());
        assert_eq!(index.floor(), 312);
    }

    #[test]
    fn full_values_may_have_more_fields() {
        let kind = IndexKind::BinarySearchWithFirstKey;
        let format = IndexFormat { kind, user_keys: false, delta_values: false };
        let bytes = [0, 1, 6, b'k', 0, 100, 1, b'f', 0xee, 0xee, 0, 1, 3, b'l', 105, 9, 0];
        let mut index = entries(&bytes, format);
        assert!(index.advance().unwrap());
        assert_eq!((index.key(), index.first_key()), (&b"k"[..], Some(&b"f"[..])));
        assert!(index.advance().unwrap());
        assert_eq!((index.key(), index.first_key()), (&b"l"[..], Some(&b""[..])));
        assert_eq!(index.handle(), BlockHandle::new(105, 9));
        assert!(!index.advance().unwrap());
    }

    #[test]
    fn corruption_is_reported() {
        for (bytes, text) in [
            (&[0, 1, b'k', 0, 100, 1, 0, 5, 0, 1, b'l', 50, 9][..], "file order"),
            (&[0, 1, b'k', 0, 3, 1, 0, 7], "unreadable handle"),
            (&[0, 1, b'k', 0x80], "unreadable handle"),
            (&[0, 9, b'k'], "key beyond the end"),
            (&[0, 1, b'k', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0], "order"),
        ] {
            let mut index = entries(bytes, delta(IndexKind::BinarySearch));
            let error = loop {
                match index.advance() {
                    Ok(more) => assert!(more, "{bytes:?} has no error"),
                    Err(error) => break error,
                }
            };
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            bytes in prop::collection::vec(prop_oneof![0u8..6, any::<u8>()], 0..80),
            kind in 0u64..4,
            delta_values: bool,
        ) {
            let kind = IndexKind::from_number(kind).unwrap();
            let format = IndexFormat { kind, user_keys: true, delta_values };
            let mut index = entries(&bytes, format);
            while let Ok(true) = index.advance() {
                let _ = index.first_key();
            }
        }
    }
}
