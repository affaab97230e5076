//! The output buffer of codecs.
//!
//! ```text
//! | size prefix | stream | leftovers of larger blocks, or zeros |
//! '---- length ---------'
//! ```
//!
//! Codecs need room for the worst case. Zeroing it for each block would take longer than writing the
//! output.

use crate::error::Result;

/// Bytes, with room after them.
#[derive(Debug, Default)]
pub(super) struct Room {
    bytes: Vec<u8>,
    length: usize,
}

impl Room {
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.make(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Appends what `write` writes into a buffer of `most` bytes; it returns the length.
    pub(super) fn append(
        &mut self,
        most: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> Result<()> {
        let written = write(&mut self.make(most)[..most])?;
        self.length += written.min(most);
        Ok(())
    }

    /// The room after the bytes, at least `length` bytes.
    fn make(&mut self, length: usize) -> &mut [u8] {
        if self.bytes.len() < self.length + length {
            self.bytes.resize(self.length + length, 0);
        }
        &mut self.bytes[self.length..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn leftovers_are_not_visible() {
        let mut room = Room::default();
        for (written, expected) in [(5, &b"ab55555"[..]), (2, b"ab22"), (9, b"ab999999999")] {
            room.clear();
            room.put(b"ab");
            room.append(9, |room| {
                assert_eq!(room.len(), 9);
                room[..written].fill(b'0' + written as u8);
                Ok(written)
            })
            .unwrap();
            assert_eq!((room.bytes(), room.len()), (expected, 2 + written));
            assert!(room.append(100, |_| Err(Error::corrupt("no"))).is_err());
            assert_eq!(room.bytes(), expected);
        }
    }
}
