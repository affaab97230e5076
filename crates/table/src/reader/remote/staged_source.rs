//! A remote source that can be read in rounds.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::PreferredRead;
use super::rounds::{self, RoundRead};
use crate::reader::open::source::Source;
use crate::reader::open::source_identity::SourceIdentity;

/// A source that is read in [rounds](rounds::read_in_rounds); the same one if it is not
/// [remote](Source::preferred_read). Tables have theirs already.
pub fn staged_source(source: Arc<dyn Source>) -> Arc<dyn Source> {
    match source.preferred_read() {
        Some(_) => Arc::new(StagedSource::new(source)),
        None => source,
    }
}

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// A remote source. In a [round](rounds) it has only what was read for it before.
#[derive(Clone)]
pub(crate) struct StagedSource {
    source: Arc<dyn Source>,
    /// No other source of the process has it.
    number: u64,
}

impl StagedSource {
    pub(crate) fn new(source: Arc<dyn Source>) -> Self {
        Self { source, number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed) }
    }

    /// In [rounds].
    #[cfg(feature = "async")]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Source for StagedSource {
    fn size(&self) -> io::Result<u64> {
        self.source.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let range = offset..offset.saturating_add(length as u64);
        if range.is_empty() {
            // No round would ever find it.
            return Ok(Bytes::new());
        }
        match rounds::read(self.number, &self.source, range) {
            RoundRead::Found(bytes) => Ok(bytes),
            RoundRead::Direct => self.source.read_at(offset, length),
            RoundRead::Missing => Err(io::Error::other("will be read in the next round")),
        }
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
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
