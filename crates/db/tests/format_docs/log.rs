//! The first record of a write-ahead log.

use sstkit_db::raw::{LogEvent, LogReader, WriteBatch, WriteRecord};
use sstkit_table::raw::{Engine, EntryKind};

use crate::dump::{Dump, record_header};
use crate::golden;

/// A batch of RocksDB's with its first write.
pub(crate) fn write_batch() -> String {
    let bytes = golden("rocksdb-wal-only/000004.log");
    let mut log = LogReader::new(bytes.as_slice(), Engine::RocksDb, 4);
    let Ok(Some(LogEvent::Record(record))) = log.next_record() else { panic!("a record") };
    let batch = WriteBatch::decode_from(record.payload, Engine::RocksDb).expect("a batch");
    let mut dump = Dump::new(&bytes);
    let (length, _) = record_header(&mut dump);
    let end = dump.position() + length as usize;
    let sequence = dump.fixed(8, |sequence| format!("sequence number {sequence}"));
    let count = dump.fixed(4, |count| format!("number of writes: {count}"));
    assert_eq!((sequence, count), (batch.sequence(), u64::from(batch.count())));
    dump.fixed(1, |tag| format!("tag {tag:02x}: put, family default"));
    let key = dump.slice("key");
    let value = dump.slice("value");
    let Some(WriteRecord::Write(write)) = batch.records().next() else { panic!("a write") };
    assert_eq!((write.kind, write.column_family), (EntryKind::Value, 0));
    assert_eq!((write.key, write.value), (key, value));
    if dump.position() < end {
        dump.skip_to(end, "more writes");
    }
    dump.finish()
}
