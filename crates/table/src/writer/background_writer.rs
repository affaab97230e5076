//! What a thread of its own writes: a file, standard output.
//!
//! ```text
//! caller   | fill a | fill b | fill c | fill a |
//! thread            | write a | write b | write c |
//!                   a, empty again, goes back to the caller
//! ```
//!
//! Copying bytes into the system's memory takes as long as making them. Buffers change hands, so
//! nothing is copied for it, and there are few of them: a caller who is too fast waits. What is small
//! is written without a thread.

use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};

/// How much is written before a thread is worth it.
const SMALL: usize = 1 << 20;

/// Buffers on their way to the thread and back, besides the one that the caller fills.
const BUFFERS: usize = 3;

/// Takes buffers, and a thread writes them in their order, once there is more than a megabyte. A
/// failure shows in one of the calls that follow, in [`finish`](Self::finish) at the latest, and
/// nothing is written after it: nobody knows how much of the last buffer was.
///
/// ```
/// use sstkit_table::BackgroundWriter;
///
/// let mut behind = BackgroundWriter::new(Vec::new());
/// let mut buffer = b"some of many megabytes".to_vec();
/// behind.write(&mut buffer)?;
/// assert!(buffer.is_empty());
/// assert_eq!(*behind.finish()?, b"some of many megabytes");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct BackgroundWriter<W: Write + Send + 'static> {
    state: State<W>,
}

#[derive(Debug)]
enum State<W> {
    /// So many bytes, all by the caller.
    Here(W, usize),
    Behind(Thread<W>),
    /// A failure was told.
    Failed,
}

#[derive(Debug)]
struct Thread<W> {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    /// Buffers that can still be made.
    unmade: usize,
    handle: JoinHandle<io::Result<W>>,
}

impl<W: Write + Send + 'static> BackgroundWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { state: State::Here(out, 0) }
    }

    /// Writes what is in the buffer, and leaves an empty one.
    pub fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.state {
            State::Here(out, written) => {
                if let Err(error) = out.write_all(buffer) {
                    self.state = State::Failed;
                    return Err(error);
                }
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

    /// Waits for all of it to be written, and shows where to.
    pub fn finish(&mut self) -> io::Result<&mut W> {
        let out = self.end()?;
        self.state = State::Here(out, 0);
        match &mut self.state {
            State::Here(out, _) => Ok(out),
            _ => Err(gone()),
        }
    }

    fn start(&mut self) -> io::Result<()> {
        let out = self.end()?;
        self.state = State::Behind(Thread::start(out)?);
        Ok(())
    }

    /// What is written to, with all that was handed over in it.
    fn end(&mut self) -> io::Result<W> {
        match mem::replace(&mut self.state, State::Failed) {
            State::Here(out, _) => Ok(out),
            State::Behind(thread) => thread.end(),
            State::Failed => Err(gone()),
        }
    }
}

impl<W: Write + Send + 'static> Drop for BackgroundWriter<W> {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; but no thread stays behind.
        let _ = self.end();
    }
}

impl<W: Write + Send + 'static> Thread<W> {
    fn start(mut out: W) -> io::Result<Self> {
        let (full, filled) = sync_channel::<Vec<u8>>(BUFFERS);
        let (emptied, empty) = channel();
        let handle = thread::Builder::new().name("sst write".into()).spawn(move || {
            for mut buffer in filled {
                out.write_all(&buffer)?;
                buffer.clear();
                // The caller may have what it needs.
                let _ = emptied.send(buffer);
            }
            Ok(out)
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

    fn end(self) -> io::Result<W> {
        drop(self.full);
        self.handle.join().unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> io::Error {
    io::Error::other("an earlier write failed")
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::{Read, Seek};

    use super::*;
    use crate::IncrementalSyncFile;

    #[test]
    fn all_of_it_arrives_in_order() {
        let file = tempfile::tempfile().unwrap();
        let mut behind = BackgroundWriter::new(IncrementalSyncFile::new(file.try_clone().unwrap()));
        let mut expected = Vec::new();
        for piece in 0..40_u8 {
            let mut buffer = vec![piece; 100_000 + usize::from(piece)];
            expected.extend_from_slice(&buffer);
            behind.write(&mut buffer).unwrap();
            assert!(buffer.is_empty());
        }
        assert!(matches!(behind.state, State::Behind(_)), "the file is not small");
        behind.finish().unwrap().sync().unwrap();
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
        let mut behind = BackgroundWriter::new(IncrementalSyncFile::new(file.try_clone().unwrap()));
        behind.state = State::Here(IncrementalSyncFile::new(file), SMALL);
        behind.start().unwrap();
        let told = (0..100).any(|_| behind.write(&mut vec![1; 1000]).is_err());
        assert!(told);
        assert!(behind.write(&mut vec![1; 1000]).is_err(), "and stays so");
        assert!(behind.finish().is_err());
    }

    #[test]
    fn a_failure_of_the_last_piece_is_told_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"").unwrap();
        let file = OpenOptions::new().read(true).open(&path).unwrap();
        let mut behind = BackgroundWriter::new(IncrementalSyncFile::new(file));
        behind.start().unwrap();
        let _ = behind.write(&mut vec![1; 1000]);
        assert!(behind.finish().is_err());
    }

    /// Fails after so many bytes.
    #[derive(Debug)]
    struct Short(usize);

    impl Write for Short {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_failure_is_told_as_it_was_and_nothing_follows() {
        for room in [500_000, 2_000_000] {
            let mut behind = BackgroundWriter::new(Short(room));
            let error = (0..100).find_map(|_| behind.write(&mut vec![1; 100_000]).err()).unwrap();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
            assert!(behind.write(&mut vec![1]).is_err(), "there would be room");
        }
        let mut behind = BackgroundWriter::new(Short(SMALL));
        behind.write(&mut vec![1; SMALL]).unwrap();
        let _ = behind.write(&mut vec![1; 10]);
        assert_eq!(behind.finish().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
