//! A source whose reads fail or return wrong bytes.
//!
//! ```text
//! reads    0   1   2   3   4   5   6 …
//!          |   |   |   '---'           the faulty ones: 3..5
//! ```

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use sstkit_table::Source;

use crate::Random;

/// The fault of a read.
#[derive(Clone, PartialEq, Eq)]
pub enum Fault {
    /// It fails.
    Error,
    /// It returns the first half of the bytes.
    Short,
    /// It returns an additional byte.
    Long,
    /// It returns zeros: a part of the file that was never written to disk.
    Zeros,
    /// It returns a flipped bit.
    Flip,
    /// It returns random bytes.
    Garbage,
    /// It returns bytes of another file that has replaced this one.
    Replaced(Bytes),
}

impl Fault {
    /// Whether the reader can detect it: by an error, or by the number of bytes.
    pub fn is_told(&self) -> bool {
        matches!(self, Self::Error | Self::Short | Self::Long)
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "Error",
            Self::Short => "Short",
            Self::Long => "Long",
            Self::Zeros => "Zeros",
            Self::Flip => "Flip",
            Self::Garbage => "Garbage",
            Self::Replaced(_) => "Replaced",
        })
    }
}

/// Bytes in memory that are treated as a file: a scan reads ahead.
#[derive(Debug)]
pub struct FaultySource {
    bytes: Bytes,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    reads: u64,
    faults: u64,
    plan: Option<(Fault, Range<u64>)>,
}

impl FaultySource {
    /// Without faults.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes, state: Mutex::new(State { reads: 0, faults: 0, plan: None }) }
    }

    /// From now on, reads are counted from 0 and those in the range are faulty.
    pub fn plan(&self, fault: Fault, reads: Range<u64>) {
        *self.state() = State { reads: 0, faults: 0, plan: Some((fault, reads)) };
    }

    /// From now on, reads are counted from 0, without faults.
    pub fn heal(&self) {
        *self.state() = State { reads: 0, faults: 0, plan: None };
    }

    /// Reads since the last plan.
    pub fn reads(&self) -> u64 {
        self.state().reads
    }

    /// Faulty reads since the last plan.
    pub fn faults(&self) -> u64 {
        self.state().faults
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a read: its number, and its fault if it has one.
    fn count(&self) -> (u64, Option<Fault>) {
        let mut state = self.state();
        let number = state.reads;
        state.reads += 1;
        let fault = match &state.plan {
            Some((fault, reads)) if reads.contains(&number) => Some(fault.clone()),
            _ => None,
        };
        state.faults += u64::from(fault.is_some());
        (number, fault)
    }
}

impl Source for FaultySource {
    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let (number, fault) = self.count();
        let sound = || self.bytes.read_at(offset, length);
        let mut random = Random::new(number ^ offset << 20);
        match fault {
            None => sound(),
            Some(Fault::Error) => Err(io::Error::other("a fault that was planned")),
            Some(Fault::Short) => Ok(sound()?.slice(..length / 2)),
            Some(Fault::Long) => Ok([&sound()?[..], &[0]].concat().into()),
            Some(Fault::Zeros) => Ok(vec![0; length].into()),
            Some(Fault::Garbage) => Ok((0..length).map(|_| random.next_u64() as u8).collect()),
            Some(Fault::Replaced(other)) => other.read_at(offset, length),
            Some(Fault::Flip) => {
                let mut bytes = sound()?.to_vec();
                let bit = random.index(length.max(1) * 8);
                if let Some(byte) = bytes.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
                Ok(bytes.into())
            }
        }
    }
}
