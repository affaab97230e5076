//! A sink that fails.

use std::io::{self, Write};

/// When a sink fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkFault {
    /// Full after this number of bytes: the write that exceeds it takes what fits, the next fails.
    Full(usize),
    /// This number of writes succeed, and no others.
    Write(usize),
    /// This number of writes succeed, and the others take 0 bytes without an error.
    Stuck(usize),
    /// Everything succeeds except the flush at the end.
    Flush,
    /// Every other write is interrupted, and the others take a few bytes. Nothing is lost.
    Slow,
}

/// Keeps what it takes, until it fails.
#[derive(Debug)]
pub struct FaultySink<'a> {
    fault: SinkFault,
    writes: usize,
    taken: &'a mut Vec<u8>,
}

impl<'a> FaultySink<'a> {
    /// What it takes is in `taken`.
    pub fn new(fault: SinkFault, taken: &'a mut Vec<u8>) -> Self {
        Self { fault, writes: 0, taken }
    }

    /// How many of these bytes are taken.
    fn room(&self, length: usize) -> io::Result<usize> {
        let planned = || io::Error::other("a fault that was planned");
        match self.fault {
            SinkFault::Full(room) if self.taken.len() >= room => Err(planned()),
            SinkFault::Full(room) => Ok(length.min(room - self.taken.len())),
            SinkFault::Write(writes) if self.writes > writes => Err(planned()),
            SinkFault::Stuck(writes) if self.writes > writes => Ok(0),
            SinkFault::Slow if self.writes % 2 == 1 => Err(io::ErrorKind::Interrupted.into()),
            SinkFault::Slow => Ok(length.min(7)),
            _ => Ok(length),
        }
    }
}

impl Write for FaultySink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes += 1;
        let length = self.room(bytes.len())?;
        self.taken.extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.fault {
            SinkFault::Flush => Err(io::Error::other("a fault that was planned")),
            _ => Ok(()),
        }
    }
}
