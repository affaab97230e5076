//! A record of a write-ahead log: a write batch, and where it is in the file.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use sstkit_db::raw::{LogFragment, LogRecord, WriteBatch, WriteRecord};

use crate::encoding::Encoding;
use crate::record::JsonRecord;

/// How the records of a log are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LogSettings {
    /// Whether records are compressed.
    pub compressed: bool,
    /// Whether each record has the number of the log, so that the file can be used again.
    pub recycled: bool,
    /// The sizes of user timestamps, by id of the column family.
    pub timestamp_sizes: BTreeMap<u32, u16>,
    /// The number of the log before this one, if it is recorded.
    pub predecessor: Option<u64>,
    /// The size of that log.
    pub predecessor_size: Option<u64>,
    /// The last sequence number in that log.
    pub predecessor_last_seq: Option<u64>,
}

/// A record of a log.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct BatchRecord<'a> {
    /// The offset of its first physical record.
    pub offset: u64,
    /// The bytes that it takes in the file, with the headers of its physical records.
    pub length: u64,
    /// The number of physical records that it consists of.
    pub fragment_count: u64,
    /// The offset and length of each; at most 64.
    #[serde(serialize_with = "fragments")]
    pub fragments: &'a [LogFragment],
    /// The size of the batch in bytes, decompressed.
    pub bytes: u64,
    /// The sequence number of the first write.
    pub seq: u64,
    /// The number of writes.
    pub count: u32,
    /// Its writes and markers, in order.
    pub operations: BatchOperations<'a>,
}

/// The writes and markers of a batch. They are decoded one by one.
#[derive(Clone, Debug)]
pub struct BatchOperations<'a> {
    batch: WriteBatch<'a>,
    timestamp_sizes: &'a BTreeMap<u32, u16>,
    encoding: Encoding,
}

/// A write or a marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum BatchOperation {
    /// A write.
    Write(Box<JsonRecord>),
    /// A marker.
    Marker(TransactionMarker),
}

/// A marker of a transaction, or a comment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TransactionMarker {
    /// `begin_prepare`, `begin_persisted_prepare` (write-prepared), `begin_unprepare`
    /// (write-unprepared), `end_prepare`, `commit`, `rollback`, `log_data` or `noop`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The id of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xid: Option<String>,
    /// The timestamp that a commit gives to the keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The bytes of a comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

impl<'a> BatchRecord<'a> {
    /// Describes a record that is this batch.
    pub(super) fn of(
        record: &LogRecord<'a>,
        batch: WriteBatch<'a>,
        timestamp_sizes: &'a BTreeMap<u32, u16>,
        encoding: Encoding,
    ) -> Self {
        Self {
            offset: record.offset,
            length: record.stored_length,
            fragment_count: record.fragment_count,
            fragments: record.fragments,
            bytes: record.payload.len() as u64,
            seq: batch.sequence(),
            count: batch.count(),
            operations: BatchOperations { batch, timestamp_sizes, encoding },
        }
    }
}

impl BatchOperations<'_> {
    /// The writes and markers, in order.
    pub fn iter(&self) -> impl Iterator<Item = BatchOperation> {
        let mut sequence = self.batch.sequence();
        self.batch.records().map(move |record| {
            if let WriteRecord::Write(write) = record {
                let size = self.timestamp_sizes.get(&write.column_family).copied().unwrap_or(0);
                let write =
                    JsonRecord::of_write(&write, sequence, usize::from(size), self.encoding);
                sequence += 1;
                return BatchOperation::Write(Box::new(write));
            }
            BatchOperation::Marker(marker(&record, self.encoding))
        })
    }
}

impl Serialize for BatchOperations<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

fn fragments<S: Serializer>(fragments: &[LogFragment], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(fragments.iter().map(|fragment| (fragment.offset, fragment.length)))
}

fn marker(record: &WriteRecord<'_>, encoding: Encoding) -> TransactionMarker {
    let text = |bytes: &[u8]| Some(encoding.encode(bytes));
    let named = |kind| TransactionMarker { kind, ..TransactionMarker::default() };
    let about = |kind, xid: &[u8]| TransactionMarker { xid: text(xid), ..named(kind) };
    match *record {
        WriteRecord::LogData(data) => TransactionMarker { data: text(data), ..named("log_data") },
        WriteRecord::BeginPrepare => named("begin_prepare"),
        WriteRecord::BeginPersistedPrepare => named("begin_persisted_prepare"),
        WriteRecord::BeginUnprepare => named("begin_unprepare"),
        WriteRecord::EndPrepare(xid) => about("end_prepare", xid),
        WriteRecord::Commit(xid) => about("commit", xid),
        WriteRecord::CommitWithTimestamp { timestamp, xid } => {
            TransactionMarker { timestamp: text(timestamp), ..about("commit", xid) }
        }
        WriteRecord::Rollback(xid) => about("rollback", xid),
        WriteRecord::Noop | WriteRecord::Write(_) => named("noop"),
        _ => named("other"),
    }
}
