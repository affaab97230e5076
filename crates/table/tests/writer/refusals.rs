//! Entries that are refused: a clear error, and the writer continues without them.

use sstkit_table::raw::{EntryKind, InternalKey, MAX_SEQUENCE_NUMBER, TableView};
use sstkit_table::{Comparator, ErrorKind, Result, TableOptions, TableWriter};

fn message(result: Result<()>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    error.to_string()
}

#[test]
fn a_refused_entry_leaves_no_trace() {
    let options = TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap());
    let mut with_refusals = Vec::new();
    let mut writer = TableWriter::to_sink(&mut with_refusals, &options).unwrap();
    writer.put(b"b", b"1").unwrap();
    let text = message(writer.put(b"a", b"2"));
    assert!(text.contains("\"a\" does not sort after \"b\""), "{text}");
    assert!(message(writer.delete(b"b")).contains("out of order"));
    assert!(message(writer.put_at(b"c", &[0; 8], b"")).contains("timestamp has 8 bytes"));
    assert!(message(writer.delete_range(b"d", b"c")).contains("before its begin"));
    let twice: [(&[u8], &[u8]); 2] = [(b"x", b"1"), (b"x", b"2")];
    assert!(message(writer.put_entity(b"c", &twice)).contains("\"x\""));
    let key = InternalKey { user_key: b"c", sequence: 7, kind: EntryKind::Value };
    assert!(message(writer.add(&key, b"")).contains("external_file"));
    let key = InternalKey { sequence: MAX_SEQUENCE_NUMBER + 1, ..key };
    assert!(message(writer.add(&key, b"")).contains("sequence number"));
    writer.delete_range(b"e", b"e").unwrap();
    writer.put(b"c", b"3").unwrap();
    writer.finish().unwrap();

    let mut without = Vec::new();
    let mut writer = TableWriter::to_sink(&mut without, &options).unwrap();
    writer.put(b"b", b"1").unwrap();
    writer.put(b"c", b"3").unwrap();
    writer.finish().unwrap();
    assert!(with_refusals == without);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn what_32_bits_cannot_count_is_too_large() {
    // Zeros that are never looked at: the system does not even provide them.
    let large = vec![0u8; (1 << 32) + 8];
    let mut writer = TableWriter::to_sink(std::io::sink(), &TableOptions::rocksdb()).unwrap();
    let key = &large[..(1 << 32) - 8];
    assert!(message(writer.put(key, b"")).contains("key is too large (4294967288 bytes)"));
    assert!(message(writer.put(b"k", &large)).contains("is too large"));
    assert!(message(writer.delete_range(key, b"z")).contains("is too large"));
    // Each could be counted, but they are in one block.
    let half = &large[..1 << 31];
    assert!(message(writer.put(half, half)).contains("entry is too large (4294967324 bytes)"));
    writer.put(b"k", b"v").unwrap();
    writer.finish().unwrap();

    let mut writer = TableWriter::to_sink(std::io::sink(), &TableOptions::leveldb()).unwrap();
    assert!(message(writer.put(half, half)).contains("is too large"));
    writer.put(b"k", b"v").unwrap();
    writer.finish().unwrap();
}

/// All entries of an external table get one sequence number when a database takes it in.
#[test]
fn an_external_table_has_each_user_key_once() {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb()).unwrap();
    let key = |kind| InternalKey { user_key: b"k", sequence: 0, kind };
    writer.add(&key(EntryKind::Merge), b"1").unwrap();
    for kind in [EntryKind::Value, EntryKind::Deletion] {
        let text = message(writer.add(&key(kind), b""));
        assert!(text.contains("\"k\" does not sort after \"k\""), "{text}");
    }
    // Range tombstones are in a separate block.
    writer.add(&key(EntryKind::RangeDeletion), b"l").unwrap();
    writer.add(&key(EntryKind::RangeDeletion), b"m").unwrap();
    writer.add(&InternalKey { user_key: b"l", ..key(EntryKind::Value) }, b"2").unwrap();
    assert_eq!(writer.finish().unwrap().num_entries, 4);
}

#[test]
fn values_are_what_their_kind_says() {
    let rocksdb = TableOptions::rocksdb;
    for options in [rocksdb(), rocksdb().embedded_blobs(0), rocksdb().threads(2)] {
        let table = |with_refusals: bool| {
            let mut bytes = Vec::new();
            let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
            writer.put(b"a", b"1").unwrap();
            let unordered = b"\x01\x02\x01b\x01\x01a\x01xy";
            for (kind, value, what) in [
                (EntryKind::WideColumnEntity, &b"no columns"[..], "is not supported: wide"),
                (EntryKind::WideColumnEntity, b"\x01\x05", "unreadable"),
                (EntryKind::WideColumnEntity, unordered, "not in order (expected more than \"b\""),
                (EntryKind::BlobIndex, b"\x07", "blob index"),
                (EntryKind::ValuePreferredSeqno, b"1234567", "8 bytes or more, found 7"),
            ] {
                if with_refusals {
                    let key = InternalKey { user_key: b"b", sequence: 0, kind };
                    let text = message(writer.add(&key, value));
                    assert!(text.contains(what) && text.contains("of \"b\""), "{text}");
                }
            }
            writer.put(b"b", b"2").unwrap();
            writer.finish().unwrap();
            bytes
        };
        assert!(table(true) == table(false));
    }
}

#[test]
fn sequence_numbers_descend_within_a_key() {
    let options = TableOptions::rocksdb().external_file(false);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    let key = |sequence, kind| InternalKey { user_key: b"k", sequence, kind };
    writer.add(&key(9, EntryKind::Value), b"new").unwrap();
    assert!(message(writer.add(&key(9, EntryKind::Value), b"")).contains("out of order"));
    assert!(message(writer.add(&key(10, EntryKind::Value), b"")).contains("out of order"));
    writer.add(&key(9, EntryKind::Deletion), b"").unwrap();
    writer.add(&key(3, EntryKind::Merge), b"old").unwrap();
    writer.finish().unwrap();
    let table = TableView::open(&bytes).unwrap();
    assert_eq!(table.properties().global_sequence_number().unwrap(), None);
    assert_eq!(table.entries().unwrap().advance().ok(), Some(true));
}

#[test]
fn timestamps_have_the_comparators_length() {
    let options = TableOptions::rocksdb().comparator(Comparator::BytewiseWithTimestamp);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    assert!(message(writer.put(b"key", b"")).contains("timestamp has 0 bytes"));
    assert!(message(writer.put_at(b"key", &[0; 7], b"")).contains("but leveldb.Bytewise"));
    let short = InternalKey { user_key: b"short", sequence: 0, kind: EntryKind::Value };
    assert!(message(writer.add(&short, b"")).contains("shorter than its timestamp"));
    writer.put_at(b"key", &9u64.to_le_bytes(), b"new").unwrap();
    writer.delete_at(b"key", &3u64.to_le_bytes()).unwrap();
    assert!(message(writer.merge_at(b"key", &5u64.to_le_bytes(), b"")).contains("out of order"));
    writer.delete_range_at(b"l", b"m", &300u64.to_le_bytes()).unwrap();
    let summary = writer.finish().unwrap();
    let properties = summary.properties;
    assert_eq!(properties.get("rocksdb.timestamp_min"), Some(&3u64.to_le_bytes()[..]));
    assert_eq!(properties.get("rocksdb.timestamp_max"), Some(&300u64.to_le_bytes()[..]));
}

#[test]
fn leveldb_knows_puts_and_deletes_only() {
    let mut writer = TableWriter::to_sink(std::io::sink(), &TableOptions::leveldb()).unwrap();
    writer.put(b"a", b"").unwrap();
    writer.delete(b"b").unwrap();
    assert!(message(writer.merge(b"c", b"")).contains("Merge"));
    assert!(message(writer.delete_range(b"c", b"d")).contains("RangeDeletion"));
    let bare = TableOptions::leveldb().bare_keys(true);
    let mut writer = TableWriter::to_sink(std::io::sink(), &bare).unwrap();
    writer.put(b"a", b"").unwrap();
    assert!(message(writer.delete(b"b")).contains("Deletion"));
    assert!(message(writer.put(b"a", b"")).contains("out of order"));
    writer.finish().unwrap();
}
