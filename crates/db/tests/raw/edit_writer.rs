//! Writes version edits, and MANIFESTs of them.

use sstkit_coding::varint::{put_length_prefixed_slice, put_varint32, put_varint64};
use sstkit_table::raw::{EntryKind, InternalKey};

use crate::log_writer::LogWriter;

/// Builds a version edit.
#[derive(Clone, Default)]
pub(crate) struct EditWriter {
    pub(crate) bytes: Vec<u8>,
}

impl EditWriter {
    /// The tag alone.
    pub(crate) fn tag(mut self, tag: u32) -> Self {
        put_varint32(&mut self.bytes, tag);
        self
    }

    pub(crate) fn number(mut self, number: u64) -> Self {
        put_varint64(&mut self.bytes, number);
        self
    }

    pub(crate) fn slice(mut self, slice: &[u8]) -> Self {
        put_length_prefixed_slice(&mut self.bytes, slice);
        self
    }

    /// A tag with one number.
    pub(crate) fn scalar(self, tag: u32, number: u64) -> Self {
        self.tag(tag).number(number)
    }

    pub(crate) fn key(self, user_key: &[u8]) -> Self {
        let mut key = Vec::new();
        InternalKey { user_key, sequence: 1, kind: EntryKind::Value }.encode_to(&mut key);
        self.slice(&key)
    }

    /// A table in the oldest form.
    pub(crate) fn new_file(self, level: u64, number: u64) -> Self {
        self.tag(7).number(level).number(number).number(1000).key(b"a").key(b"z")
    }

    /// A table in the newest form; custom fields and the number 1 follow.
    pub(crate) fn new_file4(self, level: u64, number: u64) -> Self {
        let file = self.tag(103).number(level).number(number).number(1000);
        file.key(b"a").key(b"z").number(1).number(2)
    }

    pub(crate) fn deleted_file(self, level: u64, number: u64) -> Self {
        self.tag(6).number(level).number(number)
    }

    pub(crate) fn blob_file(self, number: u64, count: u64) -> Self {
        let file = self.tag(400).number(number).number(count).number(count * 100);
        file.slice(b"").slice(b"").number(0)
    }

    pub(crate) fn blob_garbage(self, number: u64, count: u64) -> Self {
        self.tag(401).number(number).number(count).number(count * 100).number(0)
    }
}

pub(crate) fn edit() -> EditWriter {
    EditWriter::default()
}

/// What every MANIFEST must say.
pub(crate) fn beginning() -> EditWriter {
    edit().scalar(2, 6).scalar(9, 0).scalar(3, 100).scalar(4, 5)
}

pub(crate) fn manifest(edits: &[EditWriter]) -> Vec<u8> {
    let mut log = LogWriter::default();
    edits.iter().for_each(|edit| log.record(&edit.bytes));
    log.bytes
}
