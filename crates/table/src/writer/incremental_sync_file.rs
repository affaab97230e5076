//! A file that goes to the disk while it is written.
//!
//! ```text
//! write   | 16 MiB | 16 MiB | 16 MiB | 16 MiB | rest |
//! disk             '-- sync_data ----'-- sync_data ---'- sync
//! ```
//!
//! What is written stays in the system's memory until there is much of it, or until it is synced. A
//! sync that comes only at the end waits for the whole file, and nothing else is done meanwhile. So
//! every now and then a thread asks for what is there to be written, and has nothing to do but to
//! wait for it.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// How much is written before the disk is asked to begin.
const STEP: u64 = 16 << 20;

/// A new file whose contents go to the disk while more of them is written.
///
/// ```
/// use std::io::Write;
/// use sstkit_table::IncrementalSyncFile;
///
/// let mut file = IncrementalSyncFile::new(tempfile::tempfile()?);
/// file.write_all(b"some of many megabytes")?;
/// file.sync()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct IncrementalSyncFile {
    file: Arc<File>,
    /// Bytes since the disk was last asked.
    pending: u64,
    /// Waits for the disk.
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl IncrementalSyncFile {
    /// Writes to a file from where it stands.
    pub fn new(file: File) -> Self {
        Self { file: Arc::new(file), pending: 0, thread: None }
    }

    /// Makes what was written last.
    pub fn sync(&mut self) -> io::Result<()> {
        self.join()?;
        self.file.sync_all()
    }

    /// Asks the disk to begin, unless it has not come to an end with the last piece.
    fn begin(&mut self) -> io::Result<()> {
        if self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Ok(());
        }
        self.join()?;
        self.pending = 0;
        let file = Arc::clone(&self.file);
        // Without a thread it all happens in the end.
        self.thread =
            thread::Builder::new().name("sst sync".into()).spawn(move || file.sync_data()).ok();
        Ok(())
    }

    /// A failure is told once, to whoever syncs first: it must not get lost here.
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
        self.pending += written as u64;
        if self.pending >= STEP {
            self.begin()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for IncrementalSyncFile {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; but no thread stays behind.
        let _ = self.join();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    fn all_of_it_arrives() {
        let file = tempfile::tempfile().unwrap();
        let mut eager = IncrementalSyncFile::new(file.try_clone().unwrap());
        let piece: Vec<u8> = (0..(STEP as usize / 4 + 1)).map(|i| (i % 251) as u8).collect();
        for _ in 0..9 {
            eager.write_all(&piece).unwrap();
        }
        assert!(eager.thread.is_some(), "the disk was asked");
        eager.sync().unwrap();
        assert!(eager.thread.is_none());
        let mut found = Vec::new();
        (&file).rewind().unwrap();
        (&file).read_to_end(&mut found).unwrap();
        assert!(found == piece.repeat(9));
    }

    #[test]
    fn a_failed_sync_is_not_lost() {
        let mut eager = IncrementalSyncFile::new(tempfile::tempfile().unwrap());
        let fails = || thread::spawn(|| Err(io::Error::other("the disk is on fire")));
        eager.thread = Some(fails());
        assert!(eager.sync().is_err());
        eager.thread = Some(fails());
        while eager.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            thread::yield_now();
        }
        assert!(eager.write_all(&vec![0; STEP as usize]).is_err());
    }
}
