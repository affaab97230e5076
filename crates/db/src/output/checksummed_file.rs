//! A file that is counted and summed while it is written.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sstkit_table::IncrementalSyncFile;

/// A file in the making. The writer of the table has one handle; the other one tells its size
/// meanwhile, and its checksum in the end.
#[derive(Clone, Debug)]
pub(super) struct ChecksummedFile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The file, and the CRC-32C of what is in it. Nobody contends for it: the lock is there because
    /// the writer of a table may be sent to another thread.
    file: Mutex<(IncrementalSyncFile, u32)>,
    size: AtomicU64,
}

impl ChecksummedFile {
    pub(super) fn new(file: File) -> Self {
        let file = Mutex::new((IncrementalSyncFile::new(file), 0));
        Self { inner: Arc::new(Inner { file, size: AtomicU64::new(0) }) }
    }

    /// Bytes written so far.
    pub(super) fn size(&self) -> u64 {
        self.inner.size.load(Ordering::Relaxed)
    }

    /// Makes the contents last; their CRC-32C.
    pub(super) fn sync(&self) -> io::Result<u32> {
        let mut guard = self.inner.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, crc) = &mut *guard;
        file.sync()?;
        Ok(*crc)
    }
}

impl Write for ChecksummedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut guard = self.inner.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, crc) = &mut *guard;
        let written = file.write(bytes)?;
        *crc = crc32c::crc32c_append(*crc, &bytes[..written]);
        self.inner.size.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
