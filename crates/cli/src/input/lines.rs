//! Text line by line, with a limit for the length of a line.

use std::io::{BufRead as _, BufReader, Read};

use anyhow::{Context as _, Result};

use super::record_limit::{Limited, RecordLimit};

const BUFFER: usize = 1 << 16;

/// Reads lines and counts them.
pub(crate) struct Lines<R> {
    reader: BufReader<Limited<R>>,
    record_limit: RecordLimit,
    name: String,
    number: u64,
    line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(reader: R, name: String) -> Self {
        let record_limit = RecordLimit::new();
        let reader = BufReader::with_capacity(BUFFER, record_limit.limit(reader));
        Self { reader, record_limit, name, number: 0, line: Vec::new() }
    }

    /// Reads the next line that is not blank; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        while self.advance_to_any()? {
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the next line, even if it is blank; false at the end.
    pub(crate) fn advance_to_any(&mut self) -> Result<bool> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.read_until(b'\n', &mut self.line);
        let read = read.with_context(|| self.location())?;
        self.record_limit.renew();
        Ok(read > 0)
    }

    /// The current line with its end.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// The current line without its end.
    pub(crate) fn text(&self) -> &[u8] {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Where the current line is, for messages: `keys.txt: line 7`.
    pub(crate) fn location(&self) -> String {
        format!("{}: line {}", self.name, self.number)
    }
}
