//! A file that is synced while it is written.
//!
//! ```text
//! write   | 16 MiB | 16 MiB | 16 MiB | 16 MiB | rest |
//! disk             '-- sync_data ----'-- sync_data ---'- sync
//! ```
//!
//! The system keeps what is written in its page cache until that is full or the file is synced. A
//! single sync at the end would wait for the whole file. So a thread syncs what is there after each
//! step, while more is written.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::file_range::FileRange;

/// Bytes between two syncs.
const STEP: u64 = 16 << 20;

/// A new file that is synced while it is written.
#[derive(Debug)]
pub(super) struct IncrementalSyncFile {
    file: Arc<File>,
    /// Bytes since the last sync was started.
    pending: u64,
    /// Runs the last sync.
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl IncrementalSyncFile {
    /// Writes to a file from its current position.
    pub(super) fn new(file: File) -> Self {
        Self { file: Arc::new(file), pending: 0, thread: None }
    }

    /// Makes everything that was written durable.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.join()?;
        self.file.sync_all()
    }

    /// Writes a part of another file.
    pub(super) fn copy(&mut self, part: &FileRange) -> io::Result<()> {
        part.copy_to(&self.file)?;
        self.count(part.length)
    }

    /// Counts bytes that were written, and starts a sync if there are enough.
    fn count(&mut self, written: usize) -> io::Result<()> {
        self.pending += written as u64;
        if self.pending >= STEP { self.start_sync() } else { Ok(()) }
    }

    /// Starts a sync, unless the last one is still running.
    fn start_sync(&mut self) -> io::Result<()> {
        if self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Ok(());
        }
        self.join()?;
        self.pending = 0;
        let file = Arc::clone(&self.file);
        // If no thread can be started, the sync at the end does all of it.
        self.thread =
            thread::Builder::new().name("sst sync".into()).spawn(move || file.sync_data()).ok();
        Ok(())
    }

    /// Waits for the last sync. The system reports a failure only once, to the first who syncs, so it
    /// must not get lost here.
    fn join(&mut self) -> io::Result<()> {
        match self.thread.take() {
            Some(thread) => {
                thread.join().unwrap_or_else(|_| Err(io::Error::other("a sync thread panicked")))
            }
            None => Ok(()),
        }
    }
}

impl Write for IncrementalSyncFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = (&*self.file).write(bytes)?;
        self.count(written)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for IncrementalSyncFile {
    fn drop(&mut self) {
        // A failure can no longer be reported, but no thread is left running.
        let _ = self.join();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    fn everything_is_written() {
        let plain = tempfile::tempfile().unwrap();
        let mut file = IncrementalSyncFile::new(plain.try_clone().unwrap());
        let piece: Vec<u8> = (0..(STEP as usize / 4 + 1)).map(|i| (i % 251) as u8).collect();
        for _ in 0..9 {
            file.write_all(&piece).unwrap();
        }
        assert!(file.thread.is_some(), "a sync was started");
        file.sync().unwrap();
        assert!(file.thread.is_none());
        let mut found = Vec::new();
        (&plain).rewind().unwrap();
        (&plain).read_to_end(&mut found).unwrap();
        assert!(found == piece.repeat(9));
    }

    #[test]
    fn a_failed_sync_is_not_lost() {
        let mut file = IncrementalSyncFile::new(tempfile::tempfile().unwrap());
        let fails = || thread::spawn(|| Err(io::Error::other("the disk is on fire")));
        file.thread = Some(fails());
        assert!(file.sync().is_err());
        file.thread = Some(fails());
        while file.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            thread::yield_now();
        }
        assert!(file.write_all(&vec![0; STEP as usize]).is_err());
    }
}
