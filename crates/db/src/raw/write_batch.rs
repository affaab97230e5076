//! Write batches: the records of a write-ahead log.
//!
//! ```text
//!     0       1       2       3       4       5       6       7       8
//!     +-------+-------+-------+-------+-------+-------+-------+-------+
//!     | sequence number of the first write                            |
//!     +-------+-------+-------+-------+-------+-------+-------+-------+
//!     | how many writes               | records …
//!     +-------+-------+-------+-------+---
//!
//! tag       record
//! 01 / 05   put                 [family] key, value
//! 00 / 04   delete              [family] key
//! 07 / 08   single delete       [family] key
//! 0F / 0E   delete range        [family] begin, end
//! 02 / 06   merge               [family] key, operand
//! 11 / 10   blob index          [family] key, blob index
//! 16 / 17   put entity          [family] key, wide columns
//! 18 / 19   timed put           [family] key, value and fixed64 time
//! 03        log data            bytes                                not counted, nor what follows
//! 0D        noop
//! 09        begin prepare                       12, 13: of write-prepared, write-unprepared kind
//! 0A        end prepare         transaction id
//! 0B        commit              transaction id
//! 0C        rollback            transaction id
//! 15        commit              timestamp, transaction id
//!
//! 05 00 00 00 00 00 00 00 | 01 00 00 00 | 05 02 01 6B 01 76       sequence 5, one write:
//!                                                                 put, family 2, "k" = "v"
//! ```
//!
//! The first tag of a pair is about the column family `default`; with the second the family's number
//! follows as a varint. Keys and values have their lengths as varints before them. LevelDB knows
//! 00 and 01 only.

use sstkit_coding::fixed::{get_fixed32, get_fixed64};
use sstkit_coding::varint::{get_length_prefixed_slice, get_varint32};
use sstkit_table::raw::{Engine, EntryKind, MAX_SEQUENCE_NUMBER};

use crate::error::{Error, Result};

/// Sequence number and count.
const HEADER_SIZE: usize = 8 + 4;

/// One record of a write-ahead log: writes that are applied together or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBatch<'a> {
    sequence: u64,
    count: u32,
    records: &'a [u8],
}

/// One record of a [`WriteBatch`].
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteRecord<'a> {
    /// A write; it takes one sequence number.
    Write(WriteOperation<'a>),
    /// A comment for readers of the log; not part of the data.
    LogData(&'a [u8]),
    /// Nothing.
    Noop,
    /// What follows belongs to a transaction that is being prepared, up to the next `EndPrepare`.
    BeginPrepare,
    /// The same for a transaction of the write-prepared kind.
    BeginPersistedPrepare,
    /// The same for a transaction of the write-unprepared kind.
    BeginUnprepare,
    /// The transaction with this id is prepared.
    EndPrepare(&'a [u8]),
    /// The transaction with this id is committed: its writes are visible from here on.
    Commit(&'a [u8]),
    /// The transaction is committed, and its keys get this timestamp.
    CommitWithTimestamp {
        /// For every key of the transaction.
        timestamp: &'a [u8],
        /// Of the transaction.
        xid: &'a [u8],
    },
    /// The transaction with this id is rolled back.
    Rollback(&'a [u8]),
}

sstkit_coding::debug_enum!(WriteRecord<'_> {
    Write(operation), LogData(data: bytes), Noop, BeginPrepare, BeginPersistedPrepare, BeginUnprepare,
    EndPrepare(xid: bytes), Commit(xid: bytes), CommitWithTimestamp { timestamp: bytes, xid: bytes },
    Rollback(xid: bytes),
});

/// A write to one key, or to a range of them.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteOperation<'a> {
    /// The column family's number.
    pub column_family: u32,
    /// What is done. `ValuePreferredSeqno` is RocksDB's TimedPut: the value ends in eight bytes with
    /// the time it was written, in seconds since 1970.
    pub kind: EntryKind,
    /// The user key, with its timestamp if the column family has them; or the begin of a range.
    pub key: &'a [u8],
    /// The value, operand, entity or blob index; the end of a range; empty for deletions.
    pub value: &'a [u8],
}

sstkit_coding::debug_struct!(WriteOperation<'_> { column_family, kind, key: bytes, value: bytes });

/// The records of a [`WriteBatch`], in order.
#[derive(Clone, Debug)]
pub struct WriteRecords<'a> {
    rest: &'a [u8],
}

impl<'a> WriteBatch<'a> {
    /// Decodes a whole batch, and checks that its records are readable and that the count is right.
    pub fn decode_from(bytes: &'a [u8], dialect: Engine) -> Result<Self> {
        let mut input = bytes;
        let header = get_fixed64(&mut input).zip(get_fixed32(&mut input));
        let Some((sequence, count)) = header else {
            let expected = format!("{HEADER_SIZE} bytes or more");
            return Err(Error::mismatch("the write batch is too short", expected, bytes.len()));
        };
        if sequence.saturating_add(u64::from(count)) > MAX_SEQUENCE_NUMBER {
            return Err(Error::corrupt(format!(
                "the write batch has the invalid sequence number {sequence}"
            )));
        }
        let batch = Self { sequence, count, records: input };
        batch.check(bytes.len(), dialect)?;
        Ok(batch)
    }

    fn check(&self, size: usize, dialect: Engine) -> Result<()> {
        let mut rest = self.records;
        let mut writes = 0u64;
        while let Some(&tag) = rest.first() {
            let at = size - rest.len();
            if dialect == Engine::LevelDb && tag > EntryKind::Value as u8 {
                return Err(unreadable(tag, at));
            }
            let record = WriteRecord::decode(&mut rest).ok_or_else(|| unreadable(tag, at))?;
            writes += u64::from(matches!(record, WriteRecord::Write(_)));
        }
        if writes != u64::from(self.count) {
            let what = "the write batch's count does not match its records";
            return Err(Error::mismatch(what, self.count, writes));
        }
        Ok(())
    }

    /// The sequence number of the first write; each further one has the next.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The number of writes, which is the number of sequence numbers that the batch takes.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The records, in order.
    pub fn records(&self) -> WriteRecords<'a> {
        WriteRecords { rest: self.records }
    }
}

fn unreadable(tag: u8, at: usize) -> Error {
    Error::corrupt(format!(
        "the write batch has an unreadable record with tag {tag:#04x} at byte {at}"
    ))
}

impl WriteRecords<'_> {
    /// Bytes of the batch that are left.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for WriteRecords<'a> {
    type Item = WriteRecord<'a>;

    fn next(&mut self) -> Option<WriteRecord<'a>> {
        // Every record was decoded once when the batch was, so that only the end gives `None`.
        WriteRecord::decode(&mut self.rest)
    }
}

impl<'a> WriteRecord<'a> {
    /// Takes a record off the front of `input`.
    pub(crate) fn decode(input: &mut &'a [u8]) -> Option<Self> {
        let tag = *input.split_off_first()?;
        if let Some((kind, has_family)) = write_of(tag) {
            let column_family = if has_family { get_varint32(input)? } else { 0 };
            let key = get_length_prefixed_slice(input)?;
            let value = match kind {
                EntryKind::Deletion | EntryKind::SingleDeletion => &[],
                _ => get_length_prefixed_slice(input)?,
            };
            // A timed put without its time.
            if kind == EntryKind::ValuePreferredSeqno && value.len() < size_of::<u64>() {
                return None;
            }
            return Some(Self::Write(WriteOperation { column_family, kind, key, value }));
        }
        Some(match tag {
            0x03 => Self::LogData(get_length_prefixed_slice(input)?),
            0x09 => Self::BeginPrepare,
            0x0a => Self::EndPrepare(get_length_prefixed_slice(input)?),
            0x0b => Self::Commit(get_length_prefixed_slice(input)?),
            0x0c => Self::Rollback(get_length_prefixed_slice(input)?),
            0x0d => Self::Noop,
            0x12 => Self::BeginPersistedPrepare,
            0x13 => Self::BeginUnprepare,
            0x15 => Self::CommitWithTimestamp {
                timestamp: get_length_prefixed_slice(input)?,
                xid: get_length_prefixed_slice(input)?,
            },
            _ => return None,
        })
    }
}

/// What a tag writes, and whether the number of a column family follows.
fn write_of(tag: u8) -> Option<(EntryKind, bool)> {
    use EntryKind as Kind;
    Some(match tag {
        0x00 => (Kind::Deletion, false),
        0x01 => (Kind::Value, false),
        0x02 => (Kind::Merge, false),
        0x04 => (Kind::Deletion, true),
        0x05 => (Kind::Value, true),
        0x06 => (Kind::Merge, true),
        0x07 => (Kind::SingleDeletion, false),
        0x08 => (Kind::SingleDeletion, true),
        0x0e => (Kind::RangeDeletion, true),
        0x0f => (Kind::RangeDeletion, false),
        0x10 => (Kind::BlobIndex, true),
        0x11 => (Kind::BlobIndex, false),
        0x16 => (Kind::WideColumnEntity, false),
        0x17 => (Kind::WideColumnEntity, true),
        0x18 => (Kind::ValuePreferredSeqno, false),
        0x19 => (Kind::ValuePreferredSeqno, true),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use sstkit_coding::varint::put_length_prefixed_slice;

    use super::*;

    fn batch(count: u8, records: &[u8]) -> Vec<u8> {
        let mut bytes = vec![5, 0, 0, 0, 0, 0, 0, 0, count, 0, 0, 0];
        bytes.extend_from_slice(records);
        bytes
    }

    #[test]
    fn the_drawn_example() {
        let bytes = batch(1, &[0x05, 0x02, 0x01, b'k', 0x01, b'v']);
        let batch = WriteBatch::decode_from(&bytes, Engine::RocksDb).unwrap();
        assert_eq!((batch.sequence(), batch.count()), (5, 1));
        let put =
            WriteOperation { column_family: 2, kind: EntryKind::Value, key: b"k", value: b"v" };
        assert_eq!(batch.records().collect::<Vec<_>>(), [WriteRecord::Write(put)]);
    }

    #[test]
    fn every_tag_of_the_table() {
        let mut records = Vec::new();
        let pairs = [
            (0x01, 0x05, EntryKind::Value),
            (0x00, 0x04, EntryKind::Deletion),
            (0x07, 0x08, EntryKind::SingleDeletion),
            (0x0f, 0x0e, EntryKind::RangeDeletion),
            (0x02, 0x06, EntryKind::Merge),
            (0x11, 0x10, EntryKind::BlobIndex),
            (0x16, 0x17, EntryKind::WideColumnEntity),
            (0x18, 0x19, EntryKind::ValuePreferredSeqno),
        ];
        let mut expected = Vec::new();
        for (default, family, kind) in pairs {
            let has_value = !matches!(kind, EntryKind::Deletion | EntryKind::SingleDeletion);
            let value: &[u8] = if has_value { b"12345678" } else { b"" };
            for (tag, column_family) in [(default, 0), (family, 300)] {
                records.push(tag);
                if column_family != 0 {
                    records.extend([0xac, 0x02]);
                }
                put_length_prefixed_slice(&mut records, b"key");
                if has_value {
                    put_length_prefixed_slice(&mut records, value);
                }
                let write = WriteOperation { column_family, kind, key: b"key", value };
                expected.push(WriteRecord::Write(write));
            }
        }
        let markers = [
            (&[0x03, 1, b'!'][..], WriteRecord::LogData(b"!")),
            (&[0x0d], WriteRecord::Noop),
            (&[0x09], WriteRecord::BeginPrepare),
            (&[0x12], WriteRecord::BeginPersistedPrepare),
            (&[0x13], WriteRecord::BeginUnprepare),
            (&[0x0a, 1, b'x'], WriteRecord::EndPrepare(b"x")),
            (&[0x0b, 1, b'x'], WriteRecord::Commit(b"x")),
            (&[0x0c, 1, b'x'], WriteRecord::Rollback(b"x")),
            (
                &[0x15, 2, b't', b's', 1, b'x'],
                WriteRecord::CommitWithTimestamp { timestamp: b"ts", xid: b"x" },
            ),
        ];
        for (bytes, record) in markers {
            records.extend_from_slice(bytes);
            expected.push(record);
        }
        let bytes = batch(16, &records);
        let batch = WriteBatch::decode_from(&bytes, Engine::RocksDb).unwrap();
        assert_eq!(batch.records().collect::<Vec<_>>(), expected);
        assert!(WriteBatch::decode_from(&bytes, Engine::LevelDb).is_err());
    }

    #[test]
    fn leveldb_puts_and_deletes() {
        let bytes = batch(2, &[1, 1, b'k', 1, b'v', 0, 1, b'k']);
        assert!(WriteBatch::decode_from(&bytes, Engine::LevelDb).is_ok());
        let bytes = batch(1, &[7, 1, b'k']);
        assert!(WriteBatch::decode_from(&bytes, Engine::LevelDb).is_err());
    }

    #[test]
    fn damage_is_refused() {
        let refused: [(u8, &[u8]); 8] = [
            (0, &[1, 1, b'k', 1, b'v']),          // one write, none counted
            (2, &[1, 1, b'k', 1, b'v']),          // one write, two counted
            (1, &[1, 1, b'k', 9, b'v']),          // a value longer than the batch
            (1, &[1, 0xff, 0xff, 0xff, 0xff, 7]), // a key longer still
            (1, &[0x14, 1, b'k']),                // of tables only
            (1, &[0x1a, 1, b'k']),                // unknown
            (1, &[5]),                            // no column family
            (1, &[0x18, 1, b'k', 1, b'v']),       // timed put without time
        ];
        for (count, records) in refused {
            let bytes = batch(count, records);
            assert!(WriteBatch::decode_from(&bytes, Engine::RocksDb).is_err(), "{records:?}");
        }
        assert!(WriteBatch::decode_from(&[0; 11], Engine::RocksDb).is_err());
        let mut overflow = batch(0, &[]);
        overflow[7] = 1;
        assert!(WriteBatch::decode_from(&overflow, Engine::RocksDb).is_err());
    }
}
