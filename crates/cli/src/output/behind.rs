//! Standard output, which a thread of its own writes once there is much of it.
//!
//! ```text
//! caller   | fill a | fill b | fill a | fill b |
//! thread            | write a | write b | write a |
//! ```
//!
//! Handing text to the system takes about as long as making it. Buffers change hands, and there are
//! few of them: a caller who is too fast waits.

use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// How much is written before a thread is worth it.
const SMALL: usize = 1 << 20;

/// Buffers on their way to the thread and back, besides the one that the caller fills.
const BUFFERS: usize = 2;

/// Takes buffers, and writes them in their order. A failure shows in one of the calls that follow,
/// in [`finish`](Self::finish) at the latest.
pub(super) struct Behind<W> {
    /// `None` while a thread has it, and after a failure.
    out: Option<W>,
    written: usize,
    thread: Option<Thread<W>>,
}

struct Thread<W> {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    handle: JoinHandle<io::Result<W>>,
}

impl<W: Write + Send + 'static> Behind<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out: Some(out), written: 0, thread: None }
    }

    /// Writes what is in the buffer, and leaves an empty one.
    pub(super) fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        if let Some(thread) = &self.thread {
            if let Ok(empty) = thread.empty.recv()
                && thread.full.send(mem::replace(buffer, empty)).is_ok()
            {
                return Ok(());
            }
            // It has ended before its time, and knows why.
            return self.join().and(Err(gone()));
        }
        // If it fails, nobody tries again: nobody knows how much of it was written.
        let mut out = self.out.take().ok_or_else(gone)?;
        out.write_all(buffer)?;
        self.out = Some(out);
        self.written += buffer.len();
        buffer.clear();
        if self.written >= SMALL {
            self.start();
        }
        Ok(())
    }

    /// Waits for all of it to be written.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.join()?;
        self.out.as_mut().ok_or_else(gone)?.flush()
    }

    fn start(&mut self) {
        let Some(mut out) = self.out.take() else { return };
        let (full, filled) = sync_channel::<Vec<u8>>(BUFFERS);
        let (emptied, empty) = sync_channel(BUFFERS);
        for _ in 0..BUFFERS {
            // There is room for all of them.
            let _ = emptied.send(Vec::new());
        }
        let handle = thread::spawn(move || {
            for mut buffer in filled {
                out.write_all(&buffer)?;
                buffer.clear();
                // The caller may have what it needs.
                let _ = emptied.send(buffer);
            }
            Ok(out)
        });
        self.thread = Some(Thread { full, empty, handle });
    }

    fn join(&mut self) -> io::Result<()> {
        if let Some(Thread { full, handle, .. }) = self.thread.take() {
            drop(full);
            self.out = Some(handle.join().unwrap_or_else(|_| Err(gone()))?);
        }
        Ok(())
    }
}

fn gone() -> io::Error {
    io::Error::other("it could not be written before")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_arrives_in_order() {
        let mut behind = Behind::new(Vec::new());
        let mut expected = Vec::new();
        for piece in 0..40_u8 {
            let mut buffer = vec![piece; 100_000 + usize::from(piece)];
            expected.extend_from_slice(&buffer);
            behind.write(&mut buffer).unwrap();
            assert!(buffer.is_empty());
        }
        assert!(behind.thread.is_some(), "there is much of it");
        behind.finish().unwrap();
        assert!(behind.out.unwrap() == expected);
    }

    /// Fails after so many bytes.
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
    fn a_failure_is_told_once_as_it_was() {
        for room in [500_000, 2_000_000] {
            let mut behind = Behind::new(Short(room));
            let error = (0..100).find_map(|_| behind.write(&mut vec![1; 100_000]).err()).unwrap();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
        let mut behind = Behind::new(Short(SMALL));
        behind.write(&mut vec![1; SMALL]).unwrap();
        let _ = behind.write(&mut vec![1; 10]);
        assert_eq!(behind.finish().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
