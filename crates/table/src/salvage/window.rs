//! The bytes of a file, a window at a time. What cannot be read counts as zeros, and is noted.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use crate::error::Result;
use crate::reader::Source;

/// Bytes read at once.
const LENGTH: usize = 1 << 20;

/// Bytes read at once where reading failed: a page of most disks.
const PAGE: usize = 4096;

/// A moving view of a file.
pub(super) struct Window<'s> {
    source: &'s dyn Source,
    size: u64,
    start: u64,
    bytes: Bytes,
    /// What could not be read: start and end of each part.
    unreadable: BTreeMap<u64, u64>,
}

impl<'s> Window<'s> {
    pub(super) fn new(source: &'s dyn Source) -> Result<Self> {
        let size = source.size()?;
        Ok(Self { source, size, start: 0, bytes: Bytes::new(), unreadable: BTreeMap::new() })
    }

    /// Bytes of the file.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// What could not be read, in file order.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = Range<u64>> {
        self.unreadable.iter().map(|(&start, &end)| start..end)
    }

    /// The bytes from `at` on: at least `least` of them unless the file ends, and usually more.
    pub(super) fn from(&mut self, at: u64, least: usize) -> Bytes {
        let rest = usize::try_from(self.size.saturating_sub(at)).unwrap_or(usize::MAX);
        let least = least.min(rest);
        let held = at
            .checked_sub(self.start)
            .and_then(|skip| usize::try_from(skip).ok())
            .filter(|&skip| skip.checked_add(least).is_some_and(|end| end <= self.bytes.len()));
        if let Some(skip) = held {
            return self.bytes.slice(skip..);
        }
        self.bytes = self.read(at, least.max(LENGTH).min(rest));
        self.start = at;
        self.bytes.clone()
    }

    /// The bytes of a range; fewer at the end of the file.
    pub(super) fn range(&mut self, range: Range<u64>) -> Bytes {
        let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let bytes = self.from(range.start, length);
        let length = length.min(bytes.len());
        bytes.slice(..length)
    }

    fn read(&mut self, at: u64, length: usize) -> Bytes {
        match self.source.read_at(at, length) {
            Ok(bytes) if bytes.len() == length => bytes,
            _ => self.read_pages(at, length).into(),
        }
    }

    fn read_pages(&mut self, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        for (page, buffer) in bytes.chunks_mut(PAGE).enumerate() {
            let start = at + (page * PAGE) as u64;
            if self.source.read_into(start, buffer).is_err() {
                buffer.fill(0);
                self.note_unreadable(start, start + buffer.len() as u64);
            }
        }
        bytes
    }

    /// Parts that touch are one.
    fn note_unreadable(&mut self, start: u64, end: u64) {
        match self.unreadable.range_mut(..=start).next_back() {
            Some((_, known)) if start <= *known => *known = end.max(*known),
            _ => drop(self.unreadable.insert(start, end)),
        }
    }
}
