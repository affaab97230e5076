//! Standard input that Ctrl-C can interrupt: a separate thread waits for it.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::interrupt;

const CHUNK: usize = 64 << 10;
/// Number of chunks to read ahead.
const AHEAD: usize = 4;
/// Interval for checking for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) struct StandardInput {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    used: usize,
}

impl StandardInput {
    pub(super) fn new() -> Self {
        let (sender, chunks) = sync_channel(AHEAD);
        // The thread ends with the input, with its reader or with the process.
        thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut chunk = vec![0; CHUNK];
                let read = stdin.read(&mut chunk).map(|length| {
                    chunk.truncate(length);
                    chunk
                });
                let is_end = !matches!(&read, Ok(chunk) if !chunk.is_empty());
                if sender.send(read).is_err() || is_end {
                    return;
                }
            }
        });
        Self { chunks, chunk: Vec::new(), used: 0 }
    }

    /// The next chunk; an empty one at the end.
    fn receive(&self) -> io::Result<Vec<u8>> {
        loop {
            match self.chunks.recv_timeout(POLL_INTERVAL) {
                Ok(chunk) => return chunk,
                Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
                Err(RecvTimeoutError::Timeout) if interrupt::is_interrupted() => {
                    return Err(io::Error::other("interrupted"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.used == self.chunk.len() {
            self.chunk = self.receive()?;
            self.used = 0;
        }
        let read = (&self.chunk[self.used..]).read(buffer)?;
        self.used += read;
        Ok(read)
    }
}
