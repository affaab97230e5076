//! Bytes with their meaning beside them: offset, hexadecimal, meaning.

use std::fmt::Write;

use sstkit_coding::varint::get_varint64;

/// A dump under way.
pub(crate) struct Dump<'b> {
    bytes: &'b [u8],
    at: usize,
    text: String,
}

/// Bytes on a line.
const ROW: usize = 8;

impl<'b> Dump<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, text: String::new() }
    }

    /// The offset of the next line.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The next bytes, before they are shown.
    pub(crate) fn peek(&self, length: usize) -> &'b [u8] {
        &self.bytes[self.at..][..length]
    }

    /// The next bytes on one line, cut short if they are more than eight.
    pub(crate) fn bytes(&mut self, length: usize, meaning: impl AsRef<str>) -> &'b [u8] {
        let bytes = self.peek(length);
        let hex = |bytes: &[u8]| {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
        };
        let hex = match length {
            0..=ROW => hex(bytes),
            _ => format!("{} …", hex(&bytes[..ROW - 1])),
        };
        let _ = writeln!(self.text, "{:04x}  {hex:<23}  {}", self.at, meaning.as_ref());
        self.at += length;
        bytes
    }

    /// The next number of `length` bytes.
    pub(crate) fn fixed(&mut self, length: usize, meaning: impl FnOnce(u64) -> String) -> u64 {
        let mut number = [0; 8];
        number[..length].copy_from_slice(self.peek(length));
        let number = u64::from_le_bytes(number);
        self.bytes(length, meaning(number));
        number
    }

    /// The next varint.
    pub(crate) fn varint(&mut self, meaning: impl FnOnce(u64) -> String) -> u64 {
        let mut rest = &self.bytes[self.at..];
        let before = rest.len();
        let number = get_varint64(&mut rest).expect("a varint");
        self.bytes(before - rest.len(), meaning(number));
        number
    }

    /// A length and as many bytes, on two lines.
    pub(crate) fn slice(&mut self, what: &str) -> &'b [u8] {
        let length = self.varint(|length| format!("{what}: {length} bytes")) as usize;
        let text = self.peek(length).escape_ascii().to_string();
        self.bytes(length, text)
    }

    /// Bytes that are counted.
    pub(crate) fn skip_to(&mut self, end: usize, what: &str) {
        let length = end - self.at;
        let _ = writeln!(self.text, "{:04x}  * {length} bytes: {what}", self.at);
        self.at = end;
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// The header of a physical record of a log.
pub(crate) fn record_header(dump: &mut Dump<'_>) -> (u64, u64) {
    dump.fixed(4, |crc| format!("masked CRC-32C {crc:#010x}"));
    let length = dump.fixed(2, |length| format!("payload: {length} bytes"));
    let kind = dump.fixed(1, |kind| match kind {
        1 => "type 1: a full record".into(),
        _ => format!("type {kind}"),
    });
    (length, kind)
}
