//! Reading more than was asked for, while a scan goes forward through a file.
//!
//! ```text
//! blocks    | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 …
//! reads     '---'---'--------'----------------'---      8 KiB, 16 KiB, … 256 KiB
//! ```
//!
//! As in RocksDB, the third block in a row starts it, and each read is twice as long as the one
//! before. A jump starts anew.

use bytes::Bytes;

use super::block_reader::read_exact;
use super::source::Source;
use crate::error::Result;

/// The first read that is longer than it needs to be.
const FIRST_LENGTH: usize = 8 << 10;
/// The longest.
const MAX_LENGTH: usize = 256 << 10;
/// Blocks in a row before it starts.
const MIN_RUN: u32 = 2;
/// Padding between two blocks that still count as one after the other.
const MAX_GAP: u64 = 4096;

/// Where a scan has been reading.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// Where the last block ended.
    end: u64,
    /// Blocks in a row before that one.
    run: u32,
    /// The length of the next long read.
    length: usize,
    /// What was read too much, and where it starts.
    buffer: (u64, Bytes),
}

impl Default for ReadAhead {
    fn default() -> Self {
        Self { end: u64::MAX, run: 0, length: FIRST_LENGTH, buffer: (0, Bytes::new()) }
    }
}

impl ReadAhead {
    /// The bytes of a block in a source whose blocks end at `limit`.
    pub(super) fn read(
        &mut self,
        source: &dyn Source,
        offset: u64,
        length: usize,
        limit: u64,
    ) -> Result<Bytes> {
        let is_next = offset.checked_sub(self.end).is_some_and(|gap| gap <= MAX_GAP);
        if is_next {
            self.run = self.run.saturating_add(1);
        } else {
            *self = Self::default();
        }
        self.end = offset.saturating_add(length as u64);

        let (start, buffer) = &self.buffer;
        if let Some(at) = offset.checked_sub(*start)
            && let Ok(bytes) = buffer.read_at(at, length)
        {
            // A copy, or a cached block would hold on to the whole buffer.
            return Ok(Bytes::copy_from_slice(&bytes));
        }
        if self.run < MIN_RUN || length >= self.length {
            return read_exact(source, offset, length);
        }
        // The block lies before `limit`, so at least all of it is read.
        let left = usize::try_from(limit.saturating_sub(offset)).unwrap_or(usize::MAX);
        let buffer = read_exact(source, offset, self.length.min(left).max(length))?;
        let bytes = Bytes::copy_from_slice(&buffer[..length]);
        self.buffer = (offset, buffer);
        self.length = (self.length * 2).min(MAX_LENGTH);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Log(Mutex<Vec<(u64, usize)>>);

    impl Source for Log {
        fn size(&self) -> io::Result<u64> {
            Ok(1 << 30)
        }

        fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
            self.0.lock().unwrap().push((offset, length));
            Ok((offset..).take(length).map(|at| at as u8).collect())
        }
    }

    #[test]
    fn reads_grow_while_it_goes_on() {
        let (log, mut ahead) = (Log::default(), ReadAhead::default());
        for block in 0..1000 {
            let offset = block * 1000;
            let bytes = ahead.read(&log, offset, 1000, 1_000_000).unwrap();
            assert_eq!(bytes.len(), 1000);
            assert!((offset..).zip(&bytes).all(|(at, &byte)| at as u8 == byte));
        }
        let reads = log.0.lock().unwrap().clone();
        assert_eq!(reads[..4], [(0, 1000), (1000, 1000), (2000, 8192), (10_000, 16384)]);
        assert!(reads.len() < 14, "{reads:?}");
        let &(last, length) = reads.last().unwrap();
        assert!(last + length as u64 <= 1_000_000, "not beyond the limit");
    }

    #[test]
    fn jumps_read_no_more_than_they_need() {
        let (log, mut ahead) = (Log::default(), ReadAhead::default());
        for block in (0..100).rev() {
            ahead.read(&log, block * 1000, 1000, 1_000_000).unwrap();
        }
        assert!(log.0.lock().unwrap().iter().all(|&(_, length)| length == 1000));
    }
}
