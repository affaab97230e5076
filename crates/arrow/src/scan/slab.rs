//! Memory for the bytes of many columns.
//!
//! The first write to each page of new memory costs a page fault, which takes as long as copying
//! several values. A column alone is shorter than a few huge pages, so that several share a slab.
//!
//! ```text
//! slab        [ column 1 | column 2 | column 3 | room        ]    the next one is longer, up to 16 MiB
//! columns       each of them keeps the slab in memory
//! previous    [ column 4, dropped | room                     ]    written again from its start
//! ```
//!
//! A consumer that keeps the columns gets slab after slab, in huge pages. One that drops a column when it
//! has got the next one lets two slabs take turns, whose first bytes stay in the processor's cache.

use bytes::{Bytes, BytesMut};
use sstkit_coding::huge_pages::advise_huge_pages;

/// The length of slabs after some columns. It bounds the memory that a single column keeps.
const MAX_LENGTH: usize = 16 << 20;

/// How much longer than the one before a slab is.
const GROWTH: usize = 4;

/// The bytes of the column that is being filled, with room for more columns.
#[derive(Debug, Default)]
pub(super) struct Slab {
    current: Allocation,
    previous: Allocation,
    /// The length of the column before.
    expected: usize,
}

/// Memory that columns share.
#[derive(Debug, Default)]
struct Allocation {
    /// The column that is being filled; its capacity is the room that is left.
    bytes: BytesMut,
    /// The room there was at first; 0 if it was not made for several columns.
    length: usize,
}

impl Slab {
    /// The bytes of the column so far.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.current.bytes.len()
    }

    #[inline]
    pub(super) fn append(&mut self, value: &[u8]) {
        self.current.bytes.extend_from_slice(value);
    }

    /// The column.
    pub(super) fn finish_column(&mut self) -> Bytes {
        let column = self.current.bytes.split().freeze();
        self.expected = column.len();
        column
    }

    /// Makes room for a column as long as the one before. It is not done when that one is finished: by
    /// now the consumer may have dropped columns.
    pub(super) fn start_column(&mut self) {
        let expected = self.expected;
        if self.previous.reclaim(expected) {
            std::mem::swap(&mut self.current, &mut self.previous);
        } else if self.current.bytes.capacity() < expected {
            let length = (GROWTH * self.current.length.max(expected)).min(MAX_LENGTH).max(expected);
            self.previous = std::mem::replace(&mut self.current, Allocation::new(length));
        }
    }
}

impl Allocation {
    fn new(length: usize) -> Self {
        let mut bytes = BytesMut::with_capacity(length);
        advise_huge_pages(bytes.spare_capacity_mut());
        Self { bytes, length }
    }

    /// Makes all of it room again, if no column uses it any more and `expected` bytes fit.
    fn reclaim(&mut self, expected: usize) -> bool {
        self.length > 0 && self.length >= expected && self.bytes.try_reclaim(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a column of `length` bytes.
    fn column(slab: &mut Slab, byte: u8, length: usize) -> Bytes {
        slab.start_column();
        slab.append(&vec![byte; length]);
        slab.finish_column()
    }

    #[test]
    fn columns_that_are_kept_do_not_change() {
        let mut slab = Slab::default();
        let lengths = [5000, 0, 7000, 100_000, 3, 40_000, 40_000, 1, 900_000];
        let numbered = (0_u8..).zip(lengths.repeat(20));
        let kept: Vec<Bytes> =
            numbered.clone().map(|(byte, length)| column(&mut slab, byte, length)).collect();
        for ((byte, length), kept) in numbered.zip(&kept) {
            assert_eq!(kept.len(), length);
            assert!(kept.iter().all(|&it| it == byte), "{byte}");
        }
    }

    #[test]
    fn columns_follow_each_other_in_a_slab() {
        let mut slab = Slab::default();
        let kept: Vec<Bytes> = (0..100).map(|byte| column(&mut slab, byte, 100_000)).collect();
        let adjacent = kept
            .windows(2)
            .filter(|pair| pair[0].as_ptr_range().end == pair[1].as_ptr_range().start)
            .count();
        assert!(adjacent > 90, "{adjacent}");
        assert_eq!(slab.current.length, MAX_LENGTH);
    }

    #[test]
    fn two_slabs_take_turns_when_columns_are_dropped() {
        let mut slab = Slab::default();
        let mut last = column(&mut slab, 0, 100_000);
        let mut places = Vec::new();
        for byte in 1..100 {
            last = column(&mut slab, byte, 100_000);
            places.push(last.as_ptr());
        }
        assert!(last.iter().all(|&it| it == 99));
        let places = &places[20..];
        assert!(places.windows(3).all(|it| it[0] == it[2] && it[0] != it[1]), "{places:?}");
    }
}
