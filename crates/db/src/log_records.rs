//! The records of the write-ahead logs in memory, and positions in them.
//!
//! ```text
//! chunk 0   | batch | batch | batch ...          about a megabyte, or one larger batch
//! chunk 1   | batch: tag 01, key, value | ...
//!                    ^
//!                    a position: chunk 1, offset of the tag
//! ```
//!
//! Memtables hold positions, which take 8 bytes each.

use bytes::Bytes;
use sstkit_coding::varint::put_length_prefixed_slice;
use sstkit_table::raw::EntryKind;

use crate::error::{Error, Result};
use crate::raw::{WriteOperation, WriteRecord};

/// The size at which a chunk ends.
const CHUNK_SIZE: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct LogRecords {
    chunks: Vec<Bytes>,
    /// The last chunk, while it grows.
    last: Vec<u8>,
    size: u64,
}

/// The position of the tag of a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WritePosition {
    chunk: u32,
    offset: u32,
}

impl WritePosition {
    /// The position of something that starts this many bytes later.
    pub(crate) fn plus(self, bytes: usize) -> Self {
        // Chunks are not longer than `u32::MAX`.
        Self { offset: self.offset.saturating_add(bytes as u32), ..self }
    }
}

impl LogRecords {
    /// Appends a record of a log. Returns its position.
    pub(crate) fn append(&mut self, record: &[u8]) -> Result<WritePosition> {
        if self.last.len() + record.len() > CHUNK_SIZE {
            self.end_chunk();
        }
        let (Ok(chunk), Ok(offset), true) = (
            u32::try_from(self.chunks.len()),
            u32::try_from(self.last.len()),
            u32::try_from(self.last.len() + record.len()).is_ok(),
        ) else {
            let what = format!("a write-ahead log record of {} bytes", record.len());
            return Err(Error::unsupported(what));
        };
        self.last.extend_from_slice(record);
        self.size += record.len() as u64;
        Ok(WritePosition { chunk, offset })
    }

    pub(crate) fn append_write(
        &mut self,
        kind: EntryKind,
        key: &[u8],
        value: &[u8],
    ) -> Result<WritePosition> {
        let mut record = Vec::with_capacity(key.len() + value.len() + 11);
        record.push(match kind {
            EntryKind::DeletionWithTimestamp => EntryKind::Deletion as u8,
            // The tags of batches, for the default column family, are those of tables.
            _ => kind as u8,
        });
        put_length_prefixed_slice(&mut record, key);
        if !matches!(
            kind,
            EntryKind::Deletion | EntryKind::SingleDeletion | EntryKind::DeletionWithTimestamp
        ) {
            put_length_prefixed_slice(&mut record, value);
        }
        self.append(&record)
    }

    fn end_chunk(&mut self) {
        if !self.last.is_empty() {
            let chunk = Bytes::from(std::mem::take(&mut self.last).into_boxed_slice());
            self.chunks.push(chunk);
        }
    }

    /// Ends the last chunk. From now on, values are slices of chunks.
    pub(crate) fn finish(mut self) -> Self {
        self.end_chunk();
        self
    }

    /// The size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Key and value of the write at a position.
    pub(crate) fn key_and_value(&self, position: WritePosition) -> (&[u8], &[u8]) {
        let chunk = self.chunks.get(position.chunk as usize).map_or(&self.last[..], |it| it);
        let mut input = chunk.get(position.offset as usize..).unwrap_or(&[]);
        match WriteRecord::decode(&mut input) {
            Some(WriteRecord::Write(WriteOperation { key, value, .. })) => (key, value),
            // Positions are those of writes that were decoded when their batch was.
            _ => (&[], &[]),
        }
    }

    pub(crate) fn value(&self, position: WritePosition) -> Bytes {
        let (_, value) = self.key_and_value(position);
        match self.chunks.get(position.chunk as usize) {
            Some(chunk) if !value.is_empty() => chunk.slice_ref(value),
            _ => Bytes::copy_from_slice(value),
        }
    }
}
