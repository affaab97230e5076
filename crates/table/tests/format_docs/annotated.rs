//! Bytes with their meaning beside them: offset, hexadecimal, meaning. What is long is cut short,
//! but every byte is accounted for.

use std::fmt::Write;

use sstkit_coding::fixed::{get_fixed32, get_fixed64};
use sstkit_coding::varint::{get_varint64, get_varsigned64};

use crate::wording::hex;

/// A dump under way: it ends when every byte is in it.
pub(crate) struct Dump<'b> {
    bytes: &'b [u8],
    at: usize,
    text: String,
    /// Where bytes began to be counted instead of shown.
    hidden_from: Option<usize>,
}

/// Bytes on a line.
const ROW: usize = 8;

impl<'b> Dump<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, text: String::new(), hidden_from: None }
    }

    /// The same, starting at an offset.
    pub(crate) fn starting_at(bytes: &'b [u8], at: usize) -> Self {
        Self { at, ..Self::new(bytes) }
    }

    /// The offset of the next line.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The next bytes, before they are shown.
    pub(crate) fn peek(&self, length: usize) -> &'b [u8] {
        &self.rest()[..length]
    }

    fn rest(&self) -> &'b [u8] {
        &self.bytes[self.at..]
    }

    /// A line without bytes.
    pub(crate) fn note(&mut self, note: impl AsRef<str>) {
        if self.hidden_from.is_none() {
            let _ = writeln!(self.text, "{}", note.as_ref());
        }
    }

    fn row(&mut self, length: usize, hex: &str, meaning: &str) {
        if self.hidden_from.is_none() {
            let _ = writeln!(self.text, "{:04x}  {hex:<23}  {meaning}", self.at);
        }
        self.at += length;
    }

    /// The next bytes, eight a line, with their meaning beside the first of them.
    pub(crate) fn bytes(&mut self, length: usize, meaning: impl AsRef<str>) -> &'b [u8] {
        let bytes = &self.rest()[..length];
        let mut meaning = meaning.as_ref();
        for row in bytes.chunks(ROW) {
            self.row(row.len(), &hex(row), meaning);
            meaning = "";
        }
        bytes
    }

    /// The next bytes on one line, cut short if they are more than eight.
    pub(crate) fn short(&mut self, length: usize, meaning: impl AsRef<str>) -> &'b [u8] {
        let bytes = &self.rest()[..length];
        match length {
            0 => {}
            1..=ROW => self.row(length, &hex(bytes), meaning.as_ref()),
            _ => {
                let start = hex(&bytes[..ROW - 1]);
                self.row(length, &format!("{start} …"), meaning.as_ref());
            }
        }
        bytes
    }

    /// The next bytes, counted.
    pub(crate) fn skip(&mut self, length: usize, what: impl AsRef<str>) -> &'b [u8] {
        self.hide();
        let bytes = self.bytes(length, "");
        self.show(what);
        bytes
    }

    /// From here on bytes are counted instead of shown.
    pub(crate) fn hide(&mut self) {
        self.hidden_from = self.hidden_from.or(Some(self.at));
    }

    /// From here on bytes are shown again; `what` were the hidden ones, if there were any.
    pub(crate) fn show(&mut self, what: impl AsRef<str>) {
        if let Some(start) = self.hidden_from.take()
            && start < self.at
        {
            let length = self.at - start;
            let _ = writeln!(self.text, "{start:04x}  * {length} bytes: {}", what.as_ref());
        }
    }

    /// The next varints, on one line.
    pub(crate) fn varints<const N: usize>(
        &mut self,
        meaning: impl FnOnce([u64; N]) -> String,
    ) -> [u64; N] {
        let mut rest = self.rest();
        let values = [(); N].map(|()| get_varint64(&mut rest).expect("a varint"));
        self.bytes(self.rest().len() - rest.len(), meaning(values));
        values
    }

    /// The next varsigned64.
    pub(crate) fn varsigned64(&mut self, meaning: impl FnOnce(i64) -> String) -> i64 {
        let mut rest = self.rest();
        let value = get_varsigned64(&mut rest).expect("a varint");
        self.bytes(self.rest().len() - rest.len(), meaning(value));
        value
    }

    /// The next fixed32.
    pub(crate) fn fixed32(&mut self, meaning: impl FnOnce(u32) -> String) -> u32 {
        let value = get_fixed32(&mut self.rest()).expect("a fixed32");
        self.bytes(4, meaning(value));
        value
    }

    /// The next fixed64.
    pub(crate) fn fixed64(&mut self, meaning: impl FnOnce(u64) -> String) -> u64 {
        let value = get_fixed64(&mut self.rest()).expect("a fixed64");
        self.bytes(8, meaning(value));
        value
    }

    /// The dump, if every byte is in it.
    pub(crate) fn finish(self) -> String {
        assert_eq!(self.at, self.bytes.len(), "every byte is in the dump");
        self.text
    }
}
