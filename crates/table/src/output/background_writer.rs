//! Writing in a thread: to a file, to standard output.
//!
//! ```text
//! caller   | fill a | fill b | fill c | fill a |
//! thread            | write a | write b | write c |
//!                   a, empty again, goes back to the caller
//! ```
//!
//! Instead of a buffer the thread can also get a step to take, such as copying a part of another file.
//!
//! Copying bytes to the system takes about as long as making them. Buffers are handed over, not
//! copied, and there are few of them: a caller that is too fast waits. Small outputs are written
//! without a thread.

use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};

/// Bytes that are written before a thread is started.
const SMALL: usize = 1 << 20;

/// Buffers on their way to the thread and back, besides the one that the caller fills.
const BUFFERS: usize = 3;

/// Writes buffers in order, after the first megabyte in a thread. An error is returned by one of the
/// following calls, by [`finish`](Self::finish) at the latest. Nothing is written after it, as it is
/// not known how much of the last buffer was.
///
/// ```
/// use sstkit_table::output::BackgroundWriter;
///
/// let mut writer = BackgroundWriter::new(Vec::new());
/// let mut buffer = b"some of many megabytes".to_vec();
/// writer.write(&mut buffer)?;
/// assert!(buffer.is_empty());
/// assert_eq!(*writer.finish()?, b"some of many megabytes");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct BackgroundWriter<W: Write + Send + 'static> {
    state: State<W>,
}

#[derive(Debug)]
enum State<W> {
    /// Without a thread yet; bytes written so far.
    Inline(W, usize),
    Threaded(Thread<W>),
    /// An error was returned.
    Failed,
}

/// A step that is taken in order, between two buffers.
type Step<W> = Box<dyn FnOnce(&mut W) -> io::Result<()> + Send>;

/// What the thread gets.
enum Work<W> {
    Write(Vec<u8>),
    Take(Step<W>),
}

#[derive(Debug)]
struct Thread<W> {
    full: SyncSender<Work<W>>,
    empty: Receiver<Vec<u8>>,
    /// Buffers that can still be allocated.
    unallocated: usize,
    handle: JoinHandle<io::Result<W>>,
}

impl<W: Write + Send + 'static> BackgroundWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { state: State::Inline(out, 0) }
    }

    /// Writes what is in the buffer, and leaves an empty one.
    pub fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.state {
            State::Inline(out, written) => {
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
            State::Threaded(thread) => {
                if thread.exchange(buffer) {
                    return Ok(());
                }
                // The thread has stopped early, and knows why.
                self.end().and(Err(failed_before()))
            }
            State::Failed => Err(failed_before()),
        }
    }

    /// Takes a step after everything that was written before.
    pub(super) fn step(
        &mut self,
        step: impl FnOnce(&mut W) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        if let State::Inline(..) = &self.state {
            self.start()?;
        }
        match &mut self.state {
            State::Threaded(thread) if thread.full.send(Work::Take(Box::new(step))).is_ok() => {
                Ok(())
            }
            State::Threaded(_) => self.end().and(Err(failed_before())),
            _ => Err(failed_before()),
        }
    }

    /// Waits until everything is written, and lends what it was written to.
    pub fn finish(&mut self) -> io::Result<&mut W> {
        let out = self.end()?;
        self.state = State::Inline(out, 0);
        match &mut self.state {
            State::Inline(out, _) => Ok(out),
            _ => Err(failed_before()),
        }
    }

    fn start(&mut self) -> io::Result<()> {
        let out = self.end()?;
        self.state = State::Threaded(Thread::start(out)?);
        Ok(())
    }

    /// Waits until everything is written.
    fn end(&mut self) -> io::Result<W> {
        match mem::replace(&mut self.state, State::Failed) {
            State::Inline(out, _) => Ok(out),
            State::Threaded(thread) => thread.end(),
            State::Failed => Err(failed_before()),
        }
    }
}

impl<W: Write + Send + 'static> Drop for BackgroundWriter<W> {
    fn drop(&mut self) {
        // A failure can no longer be reported, but no thread is left running.
        let _ = self.end();
    }
}

impl<W: Write + Send + 'static> Thread<W> {
    fn start(mut out: W) -> io::Result<Self> {
        let (full, filled) = sync_channel::<Work<W>>(BUFFERS);
        let (emptied, empty) = channel();
        let handle = thread::Builder::new().name("sst write".into()).spawn(move || {
            for work in filled {
                match work {
                    Work::Write(mut buffer) => {
                        out.write_all(&buffer)?;
                        buffer.clear();
                        // The caller may not need it any more.
                        let _ = emptied.send(buffer);
                    }
                    Work::Take(step) => step(&mut out)?,
                }
            }
            Ok(out)
        })?;
        Ok(Self { full, empty, unallocated: BUFFERS, handle })
    }

    /// Hands over a buffer for an empty one; false if the thread has stopped.
    fn exchange(&mut self, buffer: &mut Vec<u8>) -> bool {
        let empty = match self.empty.try_recv() {
            Ok(empty) => empty,
            Err(TryRecvError::Empty) if self.unallocated > 0 => {
                self.unallocated -= 1;
                Vec::with_capacity(buffer.len())
            }
            Err(TryRecvError::Empty) => match self.empty.recv() {
                Ok(empty) => empty,
                Err(_) => return false,
            },
            Err(TryRecvError::Disconnected) => return false,
        };
        self.full.send(Work::Write(mem::replace(buffer, empty))).is_ok()
    }

    fn end(self) -> io::Result<W> {
        drop(self.full);
        self.handle.join().unwrap_or_else(|_| Err(failed_before()))
    }
}

fn failed_before() -> io::Error {
    io::Error::other("an earlier write failed")
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::{Read, Seek};

    use super::*;
    use crate::output::incremental_sync_file::IncrementalSyncFile;

    #[test]
    fn everything_is_written_in_order() {
        let file = tempfile::tempfile().unwrap();
        let mut writer = BackgroundWriter::new(IncrementalSyncFile::new(file.try_clone().unwrap()));
        let mut expected = Vec::new();
        for piece in 0..40_u8 {
            let mut buffer = vec![piece; 100_000 + usize::from(piece)];
            expected.extend_from_slice(&buffer);
            writer.write(&mut buffer).unwrap();
            assert!(buffer.is_empty());
        }
        assert!(matches!(writer.state, State::Threaded(_)), "the file is not small");
        writer.finish().unwrap().sync().unwrap();
        let mut found = Vec::new();
        (&file).rewind().unwrap();
        (&file).read_to_end(&mut found).unwrap();
        assert!(found == expected);
    }

    #[test]
    fn steps_are_taken_in_order() {
        let mut writer = BackgroundWriter::new(Vec::new());
        for piece in 0..40_u8 {
            writer.write(&mut vec![piece; 2]).unwrap();
            writer.step(move |out| out.write_all(&[piece + 100])).unwrap();
        }
        let expected: Vec<u8> = (0..40).flat_map(|piece| [piece, piece, piece + 100]).collect();
        assert_eq!(*writer.finish().unwrap(), expected);
        let failed = writer.step(|_| Err(io::ErrorKind::BrokenPipe.into())).and_then(|()| {
            writer
                .step(|_| panic!("nothing is written after an error"))
                .and_then(|()| writer.finish().map(drop))
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_failure_in_the_thread_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"").unwrap();
        // Opened for reading only: every write fails.
        let file = OpenOptions::new().read(true).open(&path).unwrap();
        let mut writer = BackgroundWriter::new(IncrementalSyncFile::new(file.try_clone().unwrap()));
        writer.state = State::Inline(IncrementalSyncFile::new(file), SMALL);
        writer.start().unwrap();
        let is_reported = (0..100).any(|_| writer.write(&mut vec![1; 1000]).is_err());
        assert!(is_reported);
        assert!(writer.write(&mut vec![1; 1000]).is_err(), "and stays so");
        assert!(writer.finish().is_err());
    }

    #[test]
    fn a_failure_of_the_last_buffer_is_reported_by_finish() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"").unwrap();
        let file = OpenOptions::new().read(true).open(&path).unwrap();
        let mut writer = BackgroundWriter::new(IncrementalSyncFile::new(file));
        writer.start().unwrap();
        let _ = writer.write(&mut vec![1; 1000]);
        assert!(writer.finish().is_err());
    }

    /// Fails after this many bytes.
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
    fn an_error_keeps_its_kind_and_nothing_is_written_after_it() {
        for room in [500_000, 2_000_000] {
            let mut writer = BackgroundWriter::new(Short(room));
            let error = (0..100).find_map(|_| writer.write(&mut vec![1; 100_000]).err()).unwrap();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
            assert!(writer.write(&mut vec![1]).is_err(), "there would be room");
        }
        let mut writer = BackgroundWriter::new(Short(SMALL));
        writer.write(&mut vec![1; SMALL]).unwrap();
        let _ = writer.write(&mut vec![1; 10]);
        assert_eq!(writer.finish().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
