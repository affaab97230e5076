//! A block handle: the position of a block in its file.
//!
//! ```text
//! +-----------------+-----------------+
//! | offset varint64 | size varint64   |      at most 20 bytes; C7 03 13 = (455, 19)
//! +-----------------+-----------------+
//!
//! file   … | contents[size] | codec | checksum | …
//!          ^ offset         '-- 5 bytes, not counted in size --'
//! ```

use std::fmt;
use std::ops::Range;

use sstkit_coding::varint::{get_varint64, put_varint64};

use super::trailer::Trailer;
use crate::error::{Error, Result};

/// The position of a block: the offset of its first byte and its size without the trailer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockHandle {
    /// File offset of the first byte.
    pub offset: u64,
    /// Stored (perhaps compressed) bytes, not counting the trailer.
    pub size: u64,
}

impl BlockHandle {
    /// The most bytes an encoded handle takes.
    pub const MAX_ENCODED_LENGTH: usize = 20;

    /// A handle.
    pub const fn new(offset: u64, size: u64) -> Self {
        Self { offset, size }
    }

    /// Appends the encoded handle.
    pub fn encode_to(self, out: &mut Vec<u8>) {
        put_varint64(out, self.offset);
        put_varint64(out, self.size);
    }

    /// Splits a handle off the front of `input`; on `None`, `input` is unchanged.
    pub fn decode_from(input: &mut &[u8]) -> Option<Self> {
        let mut rest = *input;
        let offset = get_varint64(&mut rest)?;
        let size = get_varint64(&mut rest)?;
        *input = rest;
        Some(Self { offset, size })
    }

    /// The offset after the trailer; `None` if it overflows.
    pub fn end(self) -> Option<u64> {
        self.offset.checked_add(self.size)?.checked_add(Trailer::LENGTH as u64)
    }

    /// The range of block and trailer in a file whose footer starts at `limit`. Every handle is checked
    /// here before it is read or memory is allocated for it.
    pub fn stored_range(self, limit: u64) -> Result<Range<usize>> {
        let range = self
            .end()
            .filter(|&end| end <= limit)
            .and_then(|end| Some(usize::try_from(self.offset).ok()?..usize::try_from(end).ok()?));
        range.ok_or_else(|| {
            Error::mismatch(
                "the block handle points outside the file",
                format_args!("an end of {limit} or less"),
                self,
            )
        })
    }
}

/// `offset+size`.
impl fmt::Display for BlockHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.offset, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_example() {
        let mut input: &[u8] = &[0xc7, 0x03, 0x13];
        let handle = BlockHandle::decode_from(&mut input).unwrap();
        assert_eq!(handle, BlockHandle::new(455, 19));
        assert!(input.is_empty());

        let mut out = Vec::new();
        handle.encode_to(&mut out);
        assert_eq!(out, [0xc7, 0x03, 0x13]);
    }

    #[test]
    fn a_truncated_handle_is_none() {
        let mut input: &[u8] = &[0xc7, 0x03, 0x93];
        assert_eq!(BlockHandle::decode_from(&mut input), None);
        assert_eq!(input, [0xc7, 0x03, 0x93]);
    }

    #[test]
    fn bounds_include_the_trailer_and_do_not_overflow() {
        assert_eq!(BlockHandle::new(10, 5).stored_range(20).unwrap(), 10..20);
        assert!(BlockHandle::new(10, 5).stored_range(19).is_err());
        assert!(BlockHandle::new(u64::MAX, 5).stored_range(u64::MAX).is_err());
        assert!(BlockHandle::new(5, u64::MAX - 5).stored_range(u64::MAX).is_err());
        assert!(BlockHandle::new(u64::MAX - 5, 0).stored_range(1 << 40).is_err());
    }
}
