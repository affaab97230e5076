//! Annotated dumps: offset, hexadecimal bytes, meaning. Long runs of zeros are abbreviated.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::wording::hex;

/// The name of each set bit.
pub(crate) type BitNames = BTreeMap<usize, String>;

/// Writes a dump. All bytes must be covered.
pub(crate) struct Dump<'b> {
    bytes: &'b [u8],
    at: usize,
    text: String,
}

/// Longer runs of zero bytes are abbreviated.
const SHORT_RUN: usize = 8;

impl<'b> Dump<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, text: String::new() }
    }

    /// The offset of the next line.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Writes a line without bytes.
    pub(crate) fn note(&mut self, note: impl AsRef<str>) {
        let _ = writeln!(self.text, "{}", note.as_ref());
    }

    /// Writes the next bytes, eight per line, with their meaning in the first line.
    pub(crate) fn bytes(&mut self, length: usize, meaning: impl AsRef<str>) {
        let mut meaning = meaning.as_ref();
        for row in self.bytes[self.at..self.at + length].chunks(8) {
            let _ = writeln!(self.text, "{:04x}  {:<23}  {meaning}", self.at, hex(row));
            self.at += row.len();
            meaning = "";
        }
    }

    /// Writes the next bytes, which must be zero.
    fn zeros(&mut self, length: usize) {
        assert_eq!(self.bytes[self.at..self.at + length], vec![0; length]);
        if length <= SHORT_RUN {
            return self.bytes(length, "");
        }
        let _ = writeln!(self.text, "{:04x}  * {length} zero bytes", self.at);
        self.at += length;
    }

    /// Writes the next bytes as bits, one line per nonzero byte. Set bits and names must match.
    pub(crate) fn bits(&mut self, length: usize, names: &BitNames) {
        let end = self.at + length;
        let start = self.at;
        while self.at < end {
            let zeros = self.bytes[self.at..end].iter().take_while(|&&byte| byte == 0).count();
            if zeros > 0 {
                self.zeros(zeros);
                continue;
            }
            let first = 8 * (self.at - start);
            let mut explained = 0;
            let mut meanings = Vec::new();
            for (bit, name) in names.range(first..first + 8) {
                explained |= 1 << (bit - first);
                meanings.push(format!("bit {bit}: {name}"));
            }
            assert_eq!(self.bytes[self.at], explained, "byte at {:#x}", self.at);
            self.bytes(1, meanings.join("; "));
        }
        for bit in names.keys() {
            assert_ne!(self.bytes[start + bit / 8] & 1 << (bit % 8), 0, "bit {bit}");
        }
    }

    pub(crate) fn finish(self) -> String {
        assert_eq!(self.at, self.bytes.len(), "the dump must cover all bytes");
        self.text
    }
}
