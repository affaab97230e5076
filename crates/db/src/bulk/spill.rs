//! Sorted runs on disk.
//!
//! ```text
//! file    | run 0                          | run 1            | …
//! run     | kind, sequence number | varint32 key length | varint32 value length | key | value |  …
//! ```
//!
//! The file is unnamed, so it disappears with the process, however that ends. All runs of a pass
//! share one file, so there are never more than two.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use sstkit_coding::varint::{get_varint32, put_varint32};
use sstkit_table::Source;
use sstkit_table::raw::EntryKind;

use super::arena::{MAX_KIND, RawEntry, get_kind, put_kind};
use super::key_prefix::KeyPrefix;
use crate::error::{Error, Result};

const WRITE_BUFFER: usize = 1 << 20;

/// The maximum number of bytes before key and value.
const MAX_HEADER: usize = MAX_KIND + 5 + 5;

/// A file of sorted runs.
#[derive(Debug)]
pub(super) struct SpillFile {
    folder: PathBuf,
    file: Arc<File>,
    buffer: Vec<u8>,
    size: u64,
    start: u64,
    pub(super) runs: Vec<Range<u64>>,
}

impl SpillFile {
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let file =
            tempfile::tempfile_in(folder).map_err(|error| Error::from(error).in_file(folder))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            file: Arc::new(file),
            buffer: Vec::new(),
            size: 0,
            start: 0,
            runs: Vec::new(),
        })
    }

    #[inline]
    pub(super) fn add(&mut self, entry: &RawEntry<'_>) -> Result<()> {
        let RawEntry { key, sequence, kind, value } = *entry;
        if self.buffer.len() + MAX_HEADER + key.len() + value.len() > WRITE_BUFFER {
            self.flush()?;
        }
        put_kind(&mut self.buffer, kind, sequence);
        put_varint32(&mut self.buffer, key.len() as u32);
        put_varint32(&mut self.buffer, value.len() as u32);
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(value);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        (&*self.file)
            .write_all(&self.buffer)
            .map_err(|error| Error::from(error).in_file(&self.folder))?;
        self.size += self.buffer.len() as u64;
        self.buffer.clear();
        // Do not keep the memory of one large entry.
        self.buffer.shrink_to(WRITE_BUFFER);
        Ok(())
    }

    pub(super) fn end_run(&mut self) -> Result<()> {
        self.flush()?;
        self.runs.push(self.start..self.size);
        self.start = self.size;
        Ok(())
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn reader(&self, run: Range<u64>, buffer_size: usize) -> RunReader {
        RunReader {
            file: Arc::clone(&self.file),
            folder: self.folder.clone(),
            rest: run,
            buffer_size: buffer_size.max(MAX_HEADER),
            chunk: Bytes::new(),
            at: 0,
            current: None,
            number: 0,
        }
    }
}

#[derive(Debug)]
pub(super) struct RunReader {
    file: Arc<File>,
    folder: PathBuf,
    /// The part that is not in memory yet.
    rest: Range<u64>,
    buffer_size: usize,
    chunk: Bytes,
    /// The position of the next entry in the chunk.
    at: usize,
    current: Option<Place>,
    /// The prefix number of the current key.
    number: u64,
}

/// The position of an entry in the chunk.
#[derive(Clone, Copy, Debug)]
struct Place {
    sequence: u64,
    kind: EntryKind,
    key: usize,
    value: usize,
    end: usize,
}

impl RunReader {
    /// Moves to the next entry; false at the end.
    pub(super) fn next(&mut self, order: &KeyPrefix) -> Result<bool> {
        let place = loop {
            match self.parse() {
                Parsed::Entry(place) => break place,
                Parsed::Needs(length) => {
                    if !self.refill(length)? {
                        self.current = None;
                        return Ok(false);
                    }
                }
            }
        };
        self.at = place.end;
        self.number = order.of(&self.chunk[place.key..place.value]);
        self.current = Some(place);
        Ok(true)
    }

    pub(super) fn is_valid(&self) -> bool {
        self.current.is_some()
    }

    /// The current key, and its prefix number.
    #[inline]
    pub(super) fn key(&self) -> (u64, &[u8]) {
        (self.number, self.current.map_or(&[], |place| &self.chunk[place.key..place.value]))
    }

    /// The current sequence number.
    #[inline]
    pub(super) fn sequence(&self) -> u64 {
        self.current.map_or(0, |place| place.sequence)
    }

    /// The current entry, if there is one.
    pub(super) fn entry(&self) -> Option<RawEntry<'_>> {
        self.current.map(|Place { sequence, kind, key, value, end }| RawEntry {
            key: &self.chunk[key..value],
            sequence,
            kind,
            value: &self.chunk[value..end],
        })
    }

    fn parse(&self) -> Parsed {
        let rest = &self.chunk[self.at..];
        let mut input = rest;
        let Some(header) = header(&mut input) else { return Parsed::Needs(MAX_HEADER) };
        let ((kind, sequence), key_length, value_length) = header;
        let key = self.at + rest.len() - input.len();
        let value = key.saturating_add(key_length);
        let end = value.saturating_add(value_length);
        match end <= self.chunk.len() {
            true => Parsed::Entry(Place { sequence, kind, key, value, end }),
            false => Parsed::Needs(end - self.at),
        }
    }

    /// Refills the buffer from the next entry, which needs at least `length` bytes.
    fn refill(&mut self, length: usize) -> Result<bool> {
        let start = self.rest.start - (self.chunk.len() - self.at) as u64;
        let left = self.rest.end - start;
        if left == 0 {
            return Ok(false);
        }
        let wanted = length.max(self.buffer_size) as u64;
        if wanted.min(left) <= (self.chunk.len() - self.at) as u64 {
            let error = io::Error::new(io::ErrorKind::InvalidData, "a temporary file was modified");
            return Err(Error::from(error).in_file(&self.folder));
        }
        // Keeps only one chunk in memory.
        self.chunk = Bytes::new();
        self.chunk = Source::read_at(&*self.file, start, wanted.min(left) as usize)
            .map_err(|error| Error::from(error).in_file(&self.folder))?;
        self.rest.start = start + self.chunk.len() as u64;
        self.at = 0;
        Ok(true)
    }
}

enum Parsed {
    Entry(Place),
    /// More bytes than the buffer has, unless the run is at its end.
    Needs(usize),
}

fn header(input: &mut &[u8]) -> Option<((EntryKind, u64), usize, usize)> {
    Some((get_kind(input)?, get_varint32(input)? as usize, get_varint32(input)? as usize))
}
