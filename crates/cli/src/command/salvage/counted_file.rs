//! A file, and how much of it was read.

use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;
use sstkit_table::{Source, SourceIdentity};

use crate::output::ProgressBar;

/// A file that shows how much of it was read. It is read more than once, so the total is not known.
pub(super) struct CountedFile {
    file: File,
    progress: ProgressBar,
}

impl CountedFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, progress: ProgressBar::bytes("reading", None) })
    }
}

impl Source for CountedFile {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        self.progress.add(length as u64);
        self.file.read_at(offset, length)
    }

    fn read_into(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.progress.add(buffer.len() as u64);
        self.file.read_into(offset, buffer)
    }

    fn identity(&self) -> Option<SourceIdentity> {
        self.file.identity()
    }
}
