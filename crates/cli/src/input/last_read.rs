//! A reader that remembers what it gave last, so that one can look back a byte at what a parser
//! has just taken in.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

/// The bytes that were read last, and where they end.
#[derive(Clone, Default)]
pub(super) struct LastRead(Rc<RefCell<Chunk>>);

#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    end: u64,
}

impl LastRead {
    /// Ties a reader to it.
    pub(super) fn watch<R>(&self, inner: R) -> Watched<R> {
        Watched { inner, last: self.clone() }
    }

    /// The byte before `offset`, if it is among those read last.
    pub(super) fn before(&self, offset: u64) -> Option<u8> {
        let chunk = self.0.borrow();
        let back = usize::try_from(chunk.end.checked_sub(offset)?).ok()?;
        let place = chunk.bytes.len().checked_sub(back)?.checked_sub(1)?;
        chunk.bytes.get(place).copied()
    }
}

/// A reader tied to a [`LastRead`].
pub(super) struct Watched<R> {
    inner: R,
    last: LastRead,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        // At the end of the file the last bytes stay the last.
        if length > 0 {
            let mut chunk = self.last.0.borrow_mut();
            chunk.bytes.clear();
            chunk.bytes.extend_from_slice(&buffer[..length]);
            chunk.end += length as u64;
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_back() {
        let last = LastRead::default();
        let mut reader = last.watch(&b"abcde"[..]);
        reader.read_exact(&mut [0; 2]).unwrap();
        reader.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(reader.read(&mut [0; 3]).unwrap(), 0);
        let found = [0, 2, 3, 5, 6].map(|offset| last.before(offset));
        assert_eq!(found, [None, None, Some(b'c'), Some(b'e'), None]);
    }
}
