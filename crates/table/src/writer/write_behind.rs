//! A file that a thread of its own writes.
//!
//! ```text
//! caller   | fill a | fill b | fill c | fill a |
//! thread            | write a | write b | write c |
//!                   a, empty again, goes back to the caller
//! ```
//!
//! Copying bytes into the system's memory takes as long as making them. Buffers change hands, so
//! nothing is copied for it, and there are few of them: a caller who is too fast waits. Small files
//! are written without a thread.

use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};

use super::eager_file::EagerFile;

/// How much of a file is written before a thread is worth it.
const SMALL: usize = 1 << 20;

/// Buffers on their way to the thread and back, besides the one that the caller fills.
const BUFFERS: usize = 3;

/// Takes buffers, and writes them in their order. A failure shows in one of the calls that follow,
/// in [`sync`](Self::sync) at the latest.
#[derive(Debug)]
pub(super) struct WriteBehind {
    state: State,
}

#[derive(Debug)]
enum State {
    /// So many bytes, all by the caller.
    Here(EagerFile, usize),
    Behind(Thread),
    /// A failure was told.
    Failed,
}

#[derive(Debug)]
struct Thread {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    /// Buffers that can still be made.
    unmade: usize,
    handle: JoinHandle<io::Result<EagerFile>>,
}

impl WriteBehind {
    pub(super) fn new(file: EagerFile) -> Self {
        Self { state: State::Here(file, 0) }
    }

    /// Writes what is in the buffer, and leaves an empty one.
    pub(super) fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.state {
            State::Here(file, written) => {
                file.write_all(buffer)?;
                *written += buffer.len();
                buffer.clear();
                if *written >= SMALL {
                    self.start()?;
                }
                Ok(())
            }
            State::Behind(thread) => {
                if thread.exchange(buffer) {
                    return Ok(());
                }
                // It has ended before its time, and knows why.
                self.end().and(Err(gone()))
            }
            State::Failed => Err(gone()),
        }
    }

    /// Waits for all of it to be written, and makes it last.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.end()?.sync()
    }

    fn start(&mut self) -> io::Result<()> {
        let file = self.end()?;
        self.state = State::Behind(Thread::start(file)?);
        Ok(())
    }

    /// The file, with all that was handed over in it.
    fn end(&mut self) -> io::Result<EagerFile> {
        match mem::replace(&mut self.state, State::Failed) {
            State::Here(file, _) => Ok(file),
            State::Behind(thread) => thread.end(),
            State::Failed => Err(gone()),
        }
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; but no thread stays behind.
        let _ = self.end();
    }
}

impl Thread {
    fn start(mut file: EagerFile) -> io::Result<Self> {
        let (full, filled) = sync_channel::<Vec<u8>>(BUFFERS);
        let (emptied, empty) = channel();
        let handle = thread::Builder::new().name("sst write".into()).spawn(move || {
            for mut buffer in filled {
                file.write_all(&buffer)?;
                buffer.clear();
                // The caller may have what it needs.
                let _ = emptied.send(buffer);
            }
            Ok(file)
        })?;
        Ok(Self { full, empty, unmade: BUFFERS, handle })
    }

    /// Whether the thread is there to write it.
    fn exchange(&mut self, buffer: &mut Vec<u8>) -> bool {
        let empty = match self.empty.try_recv() {
            Ok(empty) => empty,
            Err(TryRecvError::Empty) if self.unmade > 0 => {
                self.unmade -= 1;
                Vec::with_capacity(buffer.len())
            }
            Err(TryRecvError::Empty) => match self.empty.recv() {
                Ok(empty) => empty,
                Err(_) => return false,
            },
            Err(TryRecvError::Disconnected) => return false,
        };
        self.full.send(mem::replace(buffer, empty)).is_ok()
    }

    fn end(self) -> io::Result<EagerFile> {
        drop(self.full);
        self.handle.join().unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> io::Error {
    io::Error::other("the file could not be written before")
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    fn all_of_it_arrives_in_order() {
        let file = tempfile::tempfile().unwrap();
        let mut behind = WriteBehind::new(EagerFile::new(file.try_clone().unwrap()));
        let mut expected = Vec::new();
        for piece in 0..40_u8 {
            let mut buffer = vec![piece; 100_000 + usize::from(piece)];
            expected.extend_from_slice(&buffer);
            behind.write(&mut buffer).unwrap();
            assert!(buffer.is_empty());
        }
        assert!(matches!(behind.state, State::Behind(_)), "the file is not small");
        behind.sync().unwrap();
        let mut found = Vec::new();
        (&file).rewind().unwrap();
        (&file).read_to_end(&mut found).unwrap();
        assert!(found == expected);
    }

    #[test]
    fn a_failure_behind_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"").unwrap();
        // Opened for reading only: every write fails.
        let file = OpenOptions::new().read(true).open(&path).unwrap();
        let mut behind = WriteBehind::new(EagerFile::new(file.try_clone().unwrap()));
        behind.state = State::Here(EagerFile::new(file), SMALL);
        behind.start().unwrap();
        let told = (0..100).any(|_| behind.write(&mut vec![1; 1000]).is_err());
        assert!(told);
        assert!(behind.write(&mut vec![1; 1000]).is_err(), "and stays so");
        assert!(behind.sync().is_err());
    }

    #[test]
    fn a_failure_of_the_last_piece_is_told_by_sync() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"").unwrap();
        let file = OpenOptions::new().read(true).open(&path).unwrap();
        let mut behind = WriteBehind::new(EagerFile::new(file));
        behind.start().unwrap();
        let _ = behind.write(&mut vec![1; 1000]);
        assert!(behind.sync().is_err());
    }
}
