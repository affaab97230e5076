//! Readahead of a remote source: windows of the file, several of them in flight.
//!
//! ```text
//! blocks      | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | …
//! windows     '-----'-------------------'-------------------------- …
//!              ready   being decoded        in flight, in flight
//! ```
//!
//! The first window is short, for scans that end soon; each one is four times as long as the one before, up to the
//! preferred length. From the third sequential block on the next windows are read by threads of their own, so
//! that neither the wait for a window nor its transfer stops the scan. Blocks may cross from one window to the next.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::{io, mem};

use bytes::{Bytes, BytesMut};

use crate::error::Result;
use crate::reader::open::source::Source;

pub(super) const FIRST_LENGTH: u64 = 256 << 10;
pub(super) const GROWTH: u64 = 4;
/// Windows that are read while another one is decoded. With two, the wait for one is hidden by the transfer of
/// the other; one more evens out what differs between requests.
pub(super) const IN_FLIGHT: usize = 3;

/// The windows of one scan.
pub(crate) struct Windows {
    source: Arc<dyn Source>,
    /// In the order of the file, without gaps.
    windows: VecDeque<Window>,
    /// The length of the next window.
    length: u64,
    max_length: u64,
}

struct Window {
    range: Range<u64>,
    state: State,
}

enum State {
    Ready(Bytes),
    InFlight(JoinHandle<io::Result<Bytes>>),
}

/// The block that a scan has reached.
pub(crate) struct ScannedBlock {
    pub(crate) range: Range<u64>,
    pub(crate) is_backward: bool,
    /// Whether enough sequential blocks were read to expect a long scan.
    pub(crate) is_long: bool,
    /// The part of the file that has blocks ends here.
    pub(crate) limit: u64,
}

sstkit_coding::debug_opaque!(Windows);

impl Windows {
    /// `max_length` bytes from the first window on if they are `fixed`; otherwise up to these.
    pub(crate) fn new(source: &Arc<dyn Source>, max_length: u64, fixed: bool) -> Self {
        let max_length = max_length.max(1);
        let length = if fixed { max_length } else { FIRST_LENGTH.min(max_length) };
        Self { source: Arc::clone(source), windows: VecDeque::new(), length, max_length }
    }

    /// A seek: the next window is short again.
    pub(crate) fn restart(&mut self) {
        self.length = FIRST_LENGTH.min(self.max_length);
    }

    /// The bytes of a block.
    pub(crate) fn part(&mut self, block: &ScannedBlock) -> Result<Bytes> {
        let ScannedBlock { range, is_backward, is_long, limit } = block;
        let is_covered = self.windows.front().is_some_and(|it| it.range.start <= range.start)
            && self.windows.back().is_some_and(|it| range.end <= it.range.end);
        if !is_covered {
            self.windows.clear();
            let window = match is_backward {
                false => range.start..self.end_of_next(range.start).min(*limit).max(range.end),
                true => range.end.saturating_sub(self.length).min(range.start)..range.end,
            };
            let bytes = read(&*self.source, &window)?;
            self.windows.push_back(Window { range: window, state: State::Ready(bytes) });
            self.grow();
        }
        // Behind the scan.
        match is_backward {
            false => self.windows.retain(|it| it.range.end > range.start),
            true => self.windows.retain(|it| it.range.start < range.end),
        }
        while *is_long && self.windows.len() <= IN_FLIGHT && self.start_next(*is_backward, *limit) {
        }
        let part = self.assemble(range);
        if part.is_err() {
            self.windows.clear();
        }
        Ok(part?)
    }

    fn end_of_next(&self, start: u64) -> u64 {
        start.saturating_add(self.length)
    }

    fn grow(&mut self) {
        self.length = self.length.saturating_mul(GROWTH).min(self.max_length);
    }

    /// Starts to read the window after the last one. False if there is none.
    fn start_next(&mut self, is_backward: bool, limit: u64) -> bool {
        let range = match (is_backward, self.windows.front(), self.windows.back()) {
            (false, _, Some(last)) => last.range.end..self.end_of_next(last.range.end).min(limit),
            (true, Some(first), _) => {
                first.range.start.saturating_sub(self.length)..first.range.start
            }
            _ => return false,
        };
        if range.is_empty() {
            return false;
        }
        let (source, wanted) = (Arc::clone(&self.source), range.clone());
        let work = move || read(&*source, &wanted);
        let Ok(reader) = thread::Builder::new().name("sstkit-window".to_owned()).spawn(work) else {
            // It will be read when the scan reaches it.
            return false;
        };
        let window = Window { range, state: State::InFlight(reader) };
        match is_backward {
            false => self.windows.push_back(window),
            true => self.windows.push_front(window),
        }
        self.grow();
        true
    }

    /// The bytes of a range that the windows cover.
    fn assemble(&mut self, range: &Range<u64>) -> io::Result<Bytes> {
        let mut assembled = BytesMut::new();
        for window in &mut self.windows {
            let part = range.start.max(window.range.start)..range.end.min(window.range.end);
            if part.is_empty() {
                continue;
            }
            let start = window.range.start;
            let part =
                window.bytes()?.slice((part.start - start) as usize..(part.end - start) as usize);
            if part.len() as u64 == range.end - range.start {
                return Ok(part);
            }
            assembled.extend_from_slice(&part);
        }
        Ok(assembled.freeze())
    }
}

impl Window {
    /// Waits for the bytes, if they are in flight.
    fn bytes(&mut self) -> io::Result<Bytes> {
        // After an error all windows are dropped, so that nothing reads this one as empty.
        let bytes = match mem::replace(&mut self.state, State::Ready(Bytes::new())) {
            State::Ready(bytes) => bytes,
            State::InFlight(reader) => {
                reader.join().map_err(|_| io::Error::other("a read panicked"))??
            }
        };
        self.state = State::Ready(bytes.clone());
        Ok(bytes)
    }
}

/// All bytes of a range.
fn read(source: &dyn Source, range: &Range<u64>) -> io::Result<Bytes> {
    let length = (range.end - range.start) as usize;
    let bytes = source.read_at(range.start, length)?;
    match bytes.len() == length {
        true => Ok(bytes),
        false => Err(io::Error::other(format!("read {} bytes instead of {length}", bytes.len()))),
    }
}
