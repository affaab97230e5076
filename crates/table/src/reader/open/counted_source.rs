//! Counts the bytes that are read from a source.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::source::Source;
use super::source_identity::SourceIdentity;
use crate::reader::remote::PreferredRead;

/// A source, and a counter that several may share.
pub(super) struct CountedSource {
    source: Box<dyn Source>,
    counter: Arc<AtomicU64>,
}

impl CountedSource {
    pub(super) fn new(source: Box<dyn Source>, counter: &Arc<AtomicU64>) -> Self {
        Self { source, counter: Arc::clone(counter) }
    }

    fn count(&self, length: usize) {
        self.counter.fetch_add(length as u64, Ordering::Relaxed);
    }
}

impl Source for CountedSource {
    fn size(&self) -> io::Result<u64> {
        self.source.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        self.count(length);
        self.source.read_at(offset, length)
    }

    fn read_into(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.count(buffer.len());
        self.source.read_into(offset, buffer)
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        ranges.iter().for_each(|range| self.count((range.end - range.start) as usize));
        self.source.read_many(ranges)
    }

    fn preferred_read(&self) -> Option<PreferredRead> {
        self.source.preferred_read()
    }

    fn identity(&self) -> Option<SourceIdentity> {
        self.source.identity()
    }

    fn as_file(&self) -> Option<&File> {
        self.source.as_file()
    }

    fn is_in_memory(&self) -> bool {
        self.source.is_in_memory()
    }
}
