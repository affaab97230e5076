//! A reader that limits the bytes read for one record. Without it, a file without line ends, or
//! with a quote that is never closed, would fill the memory.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Larger than any reasonable record.
pub(super) const MAX_RECORD: u64 = 1 << 30;

/// The bytes that may still be read for the current record.
#[derive(Clone)]
pub(super) struct RecordLimit(Rc<Cell<u64>>);

impl RecordLimit {
    pub(super) fn new() -> Self {
        Self(Rc::new(Cell::new(MAX_RECORD)))
    }

    /// Resets the limit for the next record.
    pub(super) fn renew(&self) {
        self.0.set(MAX_RECORD);
    }

    /// Applies the limit to a reader.
    pub(super) fn limit<R>(&self, inner: R) -> Limited<R> {
        Limited { inner, left: self.clone() }
    }
}

/// A reader with a [`RecordLimit`].
pub(super) struct Limited<R> {
    inner: R,
    left: RecordLimit,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.0.get();
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        if length == 0 && !buffer.is_empty() {
            return Err(io::Error::other("a record of more than 1 GiB"));
        }
        let read = self.inner.read(&mut buffer[..length])?;
        self.left.0.set(left - read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_limited() {
        let record_limit = RecordLimit::new();
        let mut reader = record_limit.limit(io::repeat(b'x'));
        io::copy(&mut reader.by_ref().take(MAX_RECORD - 1), &mut io::sink()).unwrap();
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 1);
        assert!(reader.read(&mut [0; 8]).is_err());
        record_limit.renew();
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 8);
    }
}
