//! A source that counts what is read of it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use sstkit_table::Source;

/// Memory with counters.
pub(crate) struct CountingSource {
    bytes: Bytes,
    reads: AtomicU64,
    read_bytes: AtomicU64,
    lowest: AtomicU64,
}

impl CountingSource {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: Bytes::copy_from_slice(bytes),
            reads: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            lowest: AtomicU64::new(u64::MAX),
        }
    }

    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    pub(crate) fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// The lowest offset read from.
    pub(crate) fn lowest(&self) -> u64 {
        self.lowest.load(Ordering::Relaxed)
    }
}

impl Source for CountingSource {
    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.read_bytes.fetch_add(length as u64, Ordering::Relaxed);
        self.lowest.fetch_min(offset, Ordering::Relaxed);
        self.bytes.read_at(offset, length)
    }
}
