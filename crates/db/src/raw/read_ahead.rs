//! Reads ahead in a remote file, where each read costs a round trip.
//!
//! ```text
//! wanted  |--|--|--|--|--|--|--|--------|-----
//! read    |-----|-----------|-----------------------|
//! ```
//!
//! Records are read one after the other by verification, and by scans where the values were written in the order of
//! the keys. Then each read is longer than the one before. Reads anywhere else read only what is wanted, and so do
//! rounds of reads, which know what they need.

use std::io;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use sstkit_table::Source;
use sstkit_table::rounds::is_in_round;

/// The first read ahead.
const FIRST: u64 = 64 << 10;

/// A source, and the window of it that was read last.
pub(super) struct ReadAhead<S> {
    source: S,
    window: Mutex<Window>,
}

#[derive(Default)]
struct Window {
    start: u64,
    bytes: Bytes,
    /// Where the last read of a caller ended.
    end: u64,
    /// The length of the last read ahead.
    length: u64,
}

impl<S: Source> ReadAhead<S> {
    pub(super) fn new(source: S) -> Self {
        Self { source, window: Mutex::default() }
    }

    /// The bytes at `offset` of a file of `size` bytes.
    pub(super) fn read_at(&self, offset: u64, length: usize, size: u64) -> io::Result<Bytes> {
        let preferred = self.source.preferred_read().filter(|_| !is_in_round());
        let Some(preferred) = preferred else { return self.source.read_at(offset, length) };
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = window.get(offset, length) {
            window.end = offset + length as u64;
            return Ok(found);
        }
        // Between two values there is a header with a key.
        let is_next = offset.checked_sub(window.end).is_some_and(|gap| gap <= FIRST);
        let longest = preferred.read_ahead.min(size.saturating_sub(offset));
        let ahead = if is_next { (window.length * 2).max(FIRST).min(longest) } else { 0 };
        let end = offset.saturating_add(length as u64);
        if ahead <= length as u64 {
            window.end = end;
            drop(window);
            return self.source.read_at(offset, length);
        }
        let bytes = self.source.read_at(offset, ahead as usize)?;
        *window = Window { start: offset, bytes, end, length: ahead };
        window.get(offset, length).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Window {
    /// A copy, since a slice would keep the whole window.
    fn get(&self, offset: u64, length: usize) -> Option<Bytes> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        Some(Bytes::copy_from_slice(self.bytes.get(at..at.checked_add(length)?)?))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use sstkit_table::PreferredRead;

    use super::*;

    /// Remembers what was read.
    struct Remote(Vec<u8>, Mutex<Vec<Range<u64>>>);

    impl Source for &Remote {
        fn size(&self) -> io::Result<u64> {
            self.0.size()
        }

        fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
            self.1.lock().unwrap().push(offset..offset + length as u64);
            self.0.read_at(offset, length)
        }

        fn preferred_read(&self) -> Option<PreferredRead> {
            Some(PreferredRead::default().read_ahead(200 << 10))
        }
    }

    #[test]
    fn sequences_are_read_in_windows() {
        let size = 1_000_000;
        let bytes: Vec<u8> = (0..size).map(|at: u64| (at % 251) as u8).collect();
        let remote = Remote(bytes, Mutex::default());
        let source = ReadAhead::new(&remote);
        let check = |offset: u64, length: usize| {
            let found = source.read_at(offset, length, size).unwrap();
            assert_eq!(found, remote.0[offset as usize..][..length], "{offset}");
        };
        let lengths = || {
            let reads = std::mem::take(&mut *remote.1.lock().unwrap());
            reads.iter().map(|read| read.end - read.start).collect::<Vec<_>>()
        };
        for offset in (0..size).step_by(100) {
            check(offset, 90);
        }
        let read = lengths();
        let (first, second, third) = (64 << 10, 128 << 10, 200 << 10);
        assert_eq!(read[..4], [first, second, third, third]);
        assert_eq!(read.len(), 6, "to the end: {read:?}");

        for offset in [900_000, 100_000, 500_000, 300_000] {
            check(offset, 1000);
        }
        assert_eq!(lengths(), [1000; 3], "and the first one was in the window");
        check(301_000, 300 << 10);
        check(100, 10);
        assert_eq!(lengths(), [300 << 10, 10], "no more than wanted");
        source.read_at(size, 1, size).unwrap_err();
    }

    #[test]
    fn files_of_this_machine_are_read_as_they_are() {
        let source = ReadAhead::new(b"0123456789".to_vec());
        assert_eq!(source.read_at(0, 3, 10).unwrap(), &b"012"[..]);
        assert_eq!(source.window.lock().unwrap().length, 0);
    }
}
