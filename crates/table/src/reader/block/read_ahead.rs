//! Readahead for scans in either direction.
//!
//! ```text
//! blocks    | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 …
//! reads     '---'---'--------'----------------'---      8 KiB, 16 KiB, … 256 KiB
//! ```
//!
//! As in RocksDB, readahead starts with the third sequential block and doubles with each read. A seek
//! resets it. A size that the caller gives is used from the first block on, and stays the same. Two buffers alternate: while a block in one of them is in use, the other can be filled
//! again, unless a value still borrows it.
//!
//! Remote sources are read in [windows](Windows) instead.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use sstkit_coding::with_defaults;

use crate::error::Result;
use crate::raw::{BlockHandle, Trailer};
use crate::reader::open::source::Source;
use crate::reader::remote::windows::{ScannedBlock, Windows};

const FIRST_LENGTH: u64 = 8 << 10;
/// The longest readahead.
const MAX_LENGTH: u64 = 256 << 10;
/// Sequential blocks before readahead starts.
const MIN_RUN: u32 = 2;
/// Padding between two blocks that still count as sequential.
const MAX_GAP: u64 = 4096;

with_defaults! {
    /// The readahead state of a scan.
    #[derive(Debug)]
    pub(crate) struct ReadAhead {
        /// The last block.
        last: Range<u64> = u64::MAX..u64::MAX,
        direction: Direction = Direction::Forward,
        /// Sequential blocks before the last one.
        run: u32,
        /// The length of the next readahead.
        length: u64 = FIRST_LENGTH,
        /// Whether the caller gave the length.
        is_fixed: bool,
        /// The offset and bytes of the last readahead.
        buffer: (u64, Bytes) = (0, Bytes::new()),
        /// The previous buffer, to be reused.
        recycled: Bytes = Bytes::new(),
        /// Of a remote source.
        windows: Option<Box<Windows>>,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl ReadAhead {
    /// Reads of this size from the first block on; 0 for reads that grow.
    pub(crate) fn with_size(size: u64) -> Self {
        match size {
            0 => Self::default(),
            length => Self { length, is_fixed: true, ..Self::default() },
        }
    }

    /// Reads windows instead, if there are any.
    pub(crate) fn over(mut self, windows: Option<Windows>) -> Self {
        self.windows = windows.map(Box::new);
        self
    }

    /// The bytes of the block that was passed to [`follow`](Self::follow), from the buffer or a new
    /// readahead; `None` if it should be read on its own. Blocks end at `limit` or before.
    pub(crate) fn part(
        &mut self,
        source: &dyn Source,
        offset: u64,
        length: usize,
        limit: u64,
    ) -> Result<Option<Bytes>> {
        if let Some(windows) = &mut self.windows {
            let block = ScannedBlock {
                range: offset..offset.saturating_add(length as u64),
                is_backward: self.direction == Direction::Backward,
                is_long: self.run >= MIN_RUN,
                limit,
            };
            return windows.part(&block).map(Some);
        }
        let (start, buffer) = &self.buffer;
        if let Some(at) = offset.checked_sub(*start)
            && let Ok(bytes) = buffer.read_at(at, length)
        {
            return Ok(Some(bytes));
        }
        if !(self.is_long() || self.is_fixed) || length as u64 >= self.length {
            return Ok(None);
        }
        let long = match self.direction {
            Direction::Forward => offset..offset.saturating_add(self.length).min(limit),
            Direction::Backward => {
                let end = offset.saturating_add(length as u64);
                end.saturating_sub(self.length)..end
            }
        };
        self.fill(source, &long)?;
        if !self.is_fixed {
            self.length = (self.length * 2).min(MAX_LENGTH);
        }
        Ok(Some(self.buffer.1.slice((offset - long.start) as usize..).slice(..length)))
    }

    /// Whether enough sequential blocks were read to expect a long scan.
    pub(crate) fn is_long(&self) -> bool {
        self.run >= MIN_RUN
    }

    /// Records that the scan has reached a block, cached or not.
    pub(crate) fn follow(&mut self, handle: BlockHandle) {
        let end = handle.offset.saturating_add(handle.size).saturating_add(Trailer::LENGTH as u64);
        let block = handle.offset..end;
        let is_next = |end: u64, start: u64| start.checked_sub(end).is_some_and(|it| it <= MAX_GAP);
        let direction = match &self.last {
            last if is_next(last.end, block.start) => Some(Direction::Forward),
            last if is_next(block.end, last.start) => Some(Direction::Backward),
            _ => None,
        };
        if direction == Some(self.direction) {
            self.run = self.run.saturating_add(1);
        } else {
            self.run = u32::from(direction.is_some());
            self.direction = direction.unwrap_or(Direction::Forward);
            if !self.is_fixed {
                self.length = FIRST_LENGTH;
                if let Some(windows) = &mut self.windows {
                    windows.restart();
                }
            }
        }
        self.last = block;
    }

    /// Reads `range`, a part of the file, into the free buffer.
    fn fill(&mut self, source: &dyn Source, range: &Range<u64>) -> Result<()> {
        let recycled = std::mem::take(&mut self.recycled);
        let mut buffer = recycled.try_into_mut().unwrap_or_else(|_| BytesMut::new());
        // Old bytes are overwritten, so only growth is zeroed.
        buffer.resize((range.end - range.start) as usize, 0);
        source.read_into(range.start, &mut buffer)?;
        let before = std::mem::replace(&mut self.buffer, (range.start, buffer.freeze()));
        self.recycled = before.1;
        Ok(())
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

    /// The bytes of a block, from the readahead or read on its own.
    fn read(ahead: &mut ReadAhead, log: &Log, offset: u64, length: usize) -> Bytes {
        ahead.follow(BlockHandle::new(offset, (length - Trailer::LENGTH) as u64));
        let part = ahead.part(log, offset, length, 1_000_000).unwrap();
        part.unwrap_or_else(|| log.read_at(offset, length).unwrap())
    }

    #[test]
    fn reads_grow_during_a_scan() {
        let (log, mut ahead) = (Log::default(), ReadAhead::default());
        for block in 0..1000 {
            let offset = block * 1000;
            let bytes = read(&mut ahead, &log, offset, 1000);
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
    fn reads_grow_during_a_reverse_scan() {
        let (log, mut ahead) = (Log::default(), ReadAhead::default());
        for block in (0..1000).rev() {
            let offset = block * 1000;
            let bytes = read(&mut ahead, &log, offset, 1000);
            assert_eq!(bytes.len(), 1000);
            assert!((offset..).zip(&bytes).all(|(at, &byte)| at as u8 == byte));
        }
        let reads = log.0.lock().unwrap().clone();
        assert_eq!(reads[..3], [(999_000, 1000), (998_000, 1000), (998_000 - 8192, 8192)]);
        assert!(reads.len() < 14, "{reads:?}");
    }

    #[test]
    fn reads_of_a_given_size() {
        let (log, mut ahead) = (Log::default(), ReadAhead::with_size(100_000));
        for block in 0..1000 {
            let bytes = read(&mut ahead, &log, block * 1000, 1000);
            assert!((block * 1000..).zip(&bytes).all(|(at, &byte)| at as u8 == byte));
        }
        let expected: Vec<_> = (0..10).map(|at| (at * 100_000, 100_000)).collect();
        assert_eq!(*log.0.lock().unwrap(), expected);
    }

    #[test]
    fn random_reads_have_no_readahead() {
        let (log, mut ahead) = (Log::default(), ReadAhead::default());
        for block in (0..100).map(|i| i * 37 % 100) {
            read(&mut ahead, &log, block * 10_000, 1000);
        }
        assert!(log.0.lock().unwrap().iter().all(|&(_, length)| length == 1000));
    }

    #[test]
    fn bytes_in_use_are_not_overwritten() {
        let (log, mut ahead) = (Log::default(), ReadAhead::default());
        let kept: Vec<_> =
            (0..1000).map(|block| read(&mut ahead, &log, block * 1000, 1000)).collect();
        for (block, bytes) in kept.iter().enumerate() {
            assert!((block * 1000..).zip(bytes).all(|(at, &byte)| at as u8 == byte));
        }
    }
}
