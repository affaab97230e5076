//! Encoding the fields of a version edit: the counterpart of `fields.rs`.

use sstkit_coding::varint::{put_length_prefixed_slice, put_varint32, put_varint64};

/// Appends fields to a record.
pub(super) struct Encoder<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> Encoder<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out }
    }

    pub(super) fn tag(&mut self, tag: u32) {
        put_varint32(self.out, tag);
    }

    pub(super) fn varint(&mut self, number: u64) {
        put_varint64(self.out, number);
    }

    pub(super) fn slice(&mut self, bytes: &[u8]) {
        put_length_prefixed_slice(self.out, bytes);
    }

    /// A tag and a number.
    pub(super) fn number(&mut self, tag: u32, number: u64) {
        self.tag(tag);
        self.varint(number);
    }

    /// A tag, a length and this number of bytes.
    pub(super) fn field(&mut self, tag: u32, bytes: &[u8]) {
        self.tag(tag);
        self.slice(bytes);
    }

    /// A tag, a length and a number.
    pub(super) fn number_field(&mut self, tag: u32, number: u64) {
        let mut bytes = Vec::with_capacity(10);
        put_varint64(&mut bytes, number);
        self.field(tag, &bytes);
    }
}
