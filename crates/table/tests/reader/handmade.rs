//! Tables made by hand: versions, sequence numbers, merges, kinds of values, orders.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use sstkit_coding::varint::put_varint64;
use sstkit_table::raw::{
    BlobIndex, BlockKind, ColumnValue, EntryKind, WideColumn, encode_wide_columns, property_names,
};
use sstkit_table::visibility::ReadView;
use sstkit_table::{
    Comparator, ErrorKind, KeyForm, KeyOrder, Result, Table, TableReadOptions, Ticker, Tickers,
    Value,
};
use sstkit_testkit::goldens::options;

use crate::table_maker::{Stored, TableMaker, internal};

fn value(key: &[u8], sequence: u64, kind: EntryKind, value: &[u8]) -> Stored {
    (internal(key, sequence, kind), value.to_vec())
}

fn put(key: &str, sequence: u64) -> Stored {
    value(key.as_bytes(), sequence, EntryKind::Value, format!("{key}@{sequence}").as_bytes())
}

fn open(maker: TableMaker) -> Table {
    let table = Table::from_source(maker.rocksdb(), &options()).unwrap();
    let found = table.verify();
    assert!(found.is_sound(), "{found}");
    table
}

fn keys(table: &Table) -> Vec<String> {
    table.iter().map(|entry| String::from_utf8(entry.unwrap().0).unwrap()).collect()
}

/// What a random table is made of: points by key and descending sequence number, ranges.
#[derive(Debug)]
struct Random {
    points: Vec<(Vec<u8>, u64, EntryKind)>,
    ranges: Vec<(Vec<u8>, Vec<u8>, u64)>,
    /// Where data blocks end.
    cuts: Vec<bool>,
}

/// Few enough that they come again and again.
fn short_key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(b"abc".to_vec()), 0..3)
}

fn random() -> impl Strategy<Value = Random> {
    let kind = prop::sample::select(vec![
        EntryKind::Value,
        EntryKind::Value,
        EntryKind::Deletion,
        EntryKind::SingleDeletion,
        EntryKind::Merge,
    ]);
    let points = prop::collection::vec((short_key(), 0u64..40, kind), 1..60);
    let ranges = prop::collection::vec((short_key(), short_key(), 0u64..40), 0..5);
    let cuts = prop::collection::vec(any::<bool>(), 60);
    (points, ranges, cuts).prop_map(|(mut points, ranges, cuts)| {
        points.sort_by(|a, b| (&a.0, b.1).cmp(&(&b.0, a.1)));
        points.dedup_by(|a, b| (&a.0, a.1) == (&b.0, b.1));
        Random { points, ranges, cuts }
    })
}

impl Random {
    fn table(&self) -> Table {
        let mut blocks = vec![Vec::new()];
        for ((key, sequence, kind), &cut) in self.points.iter().zip(&self.cuts) {
            let last: &mut Vec<Stored> = blocks.last_mut().unwrap();
            last.push(value(key, *sequence, *kind, &sequence.to_be_bytes()));
            if cut {
                blocks.push(Vec::new());
            }
        }
        blocks.retain(|block| !block.is_empty());
        let mut maker = TableMaker::new(blocks);
        for (start, end, sequence) in &self.ranges {
            let start = internal(start, *sequence, EntryKind::RangeDeletion);
            maker.range_deletions.push((start, end.clone()));
        }
        open(maker)
    }

    /// Key by key, as slowly as it can be done.
    fn visible(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut visible = BTreeMap::new();
        for versions in self.points.chunk_by(|a, b| a.0 == b.0) {
            let key = &versions[0].0;
            let (mut operands, mut base) = (Vec::new(), None);
            for (_, sequence, kind) in versions {
                let is_deleted = self
                    .ranges
                    .iter()
                    .any(|(start, end, deleted)| deleted > sequence && start <= key && key < end);
                if !is_deleted && *kind == EntryKind::Merge {
                    operands.push(sequence.to_be_bytes());
                    continue;
                }
                if !is_deleted && *kind == EntryKind::Value {
                    base = Some(sequence.to_be_bytes());
                }
                break;
            }
            if base.is_some() || !operands.is_empty() {
                operands.extend(base);
                operands.reverse();
                visible.insert(key.clone(), operands.concat());
            }
        }
        visible
    }
}

proptest! {
    #[test]
    fn the_newest_version_is_what_counts(
        random in random(),
        probes in prop::collection::vec(short_key(), 8),
    ) {
        let table = random.table();
        let model = random.visible();
        let expected: Vec<_> = model.clone().into_iter().collect();
        let plain = |entry: Result<(Vec<u8>, Value)>| {
            entry.map(|(key, value)| (key, value.to_vec())).unwrap()
        };
        prop_assert_eq!(table.iter().map(plain).collect::<Vec<_>>(), expected.clone());
        let mut backward: Vec<_> = table.iter().rev().map(plain).collect();
        backward.reverse();
        prop_assert_eq!(backward, expected.clone());
        let keys = random.points.iter().map(|(key, ..)| key).chain(&probes);
        for key in keys.clone() {
            let found = table.get(key).unwrap();
            prop_assert_eq!(found.as_deref(), model.get(key).map(Vec::as_slice));
            let of_key = random.points.iter().filter(|(k, ..)| k == key);
            let sequences: Vec<u64> = of_key.map(|(_, sequence, _)| *sequence).collect();
            let entries = table.get_entries(key).unwrap();
            prop_assert_eq!(entries.iter().map(|e| e.sequence).collect::<Vec<_>>(), sequences);
        }
        let all: Vec<_> = keys.clone().collect();
        let many = table.get_many(&all).unwrap();
        for (key, found) in all.iter().zip(many) {
            prop_assert_eq!(found.as_deref(), model.get(*key).map(Vec::as_slice));
        }

        // A cursor that turns around all the time.
        let mut cursor = table.cursor();
        for (i, key) in keys.enumerate() {
            let (mut found, mut at) = match i % 2 {
                0 => (cursor.seek(key).unwrap(), model.range(key.clone()..).next()),
                _ => (cursor.seek_for_prev(key).unwrap(), model.range(..=key.clone()).next_back()),
            };
            for turn in 0..6 {
                prop_assert_eq!(found, at.is_some());
                let Some((key, value)) = at else { break };
                prop_assert_eq!(cursor.key(), key);
                let found_value = cursor.value().unwrap();
                prop_assert_eq!(&*found_value, value.as_slice());
                if (i + turn) % 3 == 0 {
                    found = cursor.prev().unwrap();
                    at = model.range(..key.clone()).next_back();
                } else {
                    found = cursor.next().unwrap();
                    at = model.range([key.as_slice(), &[0]].concat()..).next();
                }
            }
        }
    }
}

/// One key whose versions fill several blocks.
#[test]
fn versions_across_blocks() {
    let blocks = vec![
        vec![put("a", 1), put("k", 90)],
        vec![put("k", 80), put("k", 70)],
        vec![put("k", 60), put("k", 50), put("z", 3)],
    ];
    let table = open(TableMaker::new(blocks));
    assert_eq!(&*table.get(b"k").unwrap().unwrap(), b"k@90");
    let sequences: Vec<_> =
        table.get_entries(b"k").unwrap().iter().map(|entry| entry.sequence).collect();
    assert_eq!(sequences, [90, 80, 70, 60, 50]);
    assert_eq!(keys(&table), ["a", "k", "z"]);
    let mut entries = table.entry_cursor();
    assert!(entries.seek_for_prev(b"k").unwrap());
    assert_eq!(entries.key().sequence, 50);
    assert!(entries.seek(b"k").unwrap());
    assert_eq!(entries.key().sequence, 90);
}

#[test]
fn a_merge_needs_its_operator() {
    let entries = vec![
        value(b"a", 3, EntryKind::Merge, b"2"),
        value(b"a", 2, EntryKind::Merge, b"1"),
        value(b"a", 1, EntryKind::Value, b"0"),
        put("b", 1),
    ];
    let mut maker = TableMaker::new(vec![entries]);
    maker.properties.push((property_names::MERGE_OPERATOR, b"uint64add".to_vec()));
    let bytes = maker.rocksdb();
    let table = Table::from_source(bytes.clone(), &options()).unwrap();
    assert_eq!(&*table.get(b"a").unwrap().unwrap(), b"012");

    let table = Table::from_bytes(bytes).unwrap();
    let error = table.get(b"a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("uint64add"), "{error}");
    assert_eq!(&*table.get(b"b").unwrap().unwrap(), b"b@1");
    // A cursor can pass by what it cannot show.
    let mut cursor = table.cursor();
    assert!(cursor.seek_to_first().unwrap());
    assert!(cursor.value().is_err());
    assert!(cursor.next().unwrap());
    assert_eq!(cursor.key(), b"b");
}

#[test]
fn kinds_of_values() {
    let entity = [1, 2, 0, 3, 1, b'a', 2, b'x', b'y', b'z', b'v', b'w'];
    let no_default = [1, 1, 1, b'a', 2, b'v', b'w'];
    let entries = vec![
        value(b"elsewhere", 9, EntryKind::BlobIndex, &[1, 77, 100, 3, 0]),
        value(b"entity", 9, EntryKind::WideColumnEntity, &entity),
        value(b"inlined", 9, EntryKind::BlobIndex, &[0, 5, b'v']),
        value(b"no default", 9, EntryKind::WideColumnEntity, &no_default),
        value(b"preferred", 9, EntryKind::ValuePreferredSeqno, b"v\x07\0\0\0\0\0\0\0"),
    ];
    let table = open(TableMaker::new(vec![entries]));
    let get = |key: &str| table.get(key.as_bytes()).map(|value| value.unwrap().to_vec());
    assert_eq!(get("entity").unwrap(), b"xyz");
    assert_eq!(get("no default").unwrap(), b"");
    assert_eq!(get("preferred").unwrap(), b"v");
    assert_eq!(get("inlined").unwrap(), b"v");
    let error = get("elsewhere").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("blob file 77"), "{error}");
    let entry = &table.get_entries(b"elsewhere").unwrap()[0];
    assert_eq!((entry.kind, &*entry.value), (EntryKind::BlobIndex, &[1, 77, 100, 3, 0][..]));
}

#[test]
fn ingested_tables_have_one_sequence_number() {
    let maker = |stored: u64| {
        let mut maker = TableMaker::new(vec![vec![put("a", 0), put("b", 0)]]);
        maker.range_deletions = vec![value(b"a", 0, EntryKind::RangeDeletion, b"z")];
        maker.properties.push((property_names::EXTERNAL_SST_FILE_VERSION, vec![2, 0, 0, 0]));
        maker.properties.push((property_names::GLOBAL_SEQNO, stored.to_le_bytes().to_vec()));
        maker.rocksdb()
    };
    let sequences = |bytes: Vec<u8>, options: &TableReadOptions| -> Result<Vec<u64>> {
        let table = Table::from_source(bytes, options)?;
        assert_eq!(keys(&table), ["a", "b"], "a deletion of the same time deletes nothing");
        let mut sequences: Vec<_> = table.entries().map(|entry| entry.unwrap().sequence).collect();
        sequences.extend(table.range_deletions().iter().map(|range| range.sequence));
        Ok(sequences)
    };
    let known = options().global_sequence_number(42);
    assert_eq!(sequences(maker(0), &options()).unwrap(), [0, 0, 0]);
    assert_eq!(sequences(maker(0), &known).unwrap(), [42, 42, 42]);
    assert_eq!(sequences(maker(42), &known).unwrap(), [42, 42, 42]);
    assert_eq!(sequences(maker(7), &options()).unwrap(), [7, 7, 7]);
    let error = sequences(maker(7), &known).unwrap_err();
    assert_eq!((error.kind(), error.expected()), (ErrorKind::Corrupt, Some("42")));
}

/// Longer keys first, then by bytes.
#[derive(Debug)]
struct ByLength;

impl KeyOrder for ByLength {
    fn name(&self) -> &str {
        "example.ByLength"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.len().cmp(&a.len()).then_with(|| a.cmp(b))
    }
}

#[test]
fn an_unknown_order_can_be_scanned_but_not_searched() {
    let blocks =
        vec![vec![put("ccc", 1), put("aa", 5), put("aa", 4)], vec![put("bb", 1), put("a", 1)]];
    let bytes = TableMaker::new(blocks).comparator("example.ByLength").rocksdb();
    let table = Table::from_bytes(bytes.clone()).unwrap();
    let expected = ["ccc", "aa", "bb", "a"];
    assert_eq!(keys(&table), expected);
    let backward: Vec<_> = table.iter().rev().map(|entry| entry.unwrap().0).collect();
    assert!(backward.iter().rev().eq(expected.map(str::as_bytes)));
    assert_eq!(table.entries().count(), 5);
    assert_eq!(table.prefix("a").map(|entry| entry.unwrap().0).collect::<Vec<_>>().len(), 2);
    let mut cursor = table.cursor();
    assert!(cursor.seek_to_first().unwrap() && cursor.next().unwrap() && cursor.next().unwrap());
    assert!(cursor.prev().unwrap());
    assert_eq!(cursor.key(), b"aa");

    for error in [
        table.get(b"aa").unwrap_err(),
        table.get_many(&["aa"]).unwrap_err(),
        table.cursor().seek(b"aa").unwrap_err(),
        table.range("a".."b").next().unwrap().unwrap_err(),
        table.comparator().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("example.ByLength"), "{error}");
    }
    let found = table.verify();
    assert!(found.is_sound() && !found.order_checked(), "{found}");

    let known = TableReadOptions::default().comparator(Comparator::User(Arc::new(ByLength)));
    let table = Table::from_source(bytes, &known).unwrap();
    assert_eq!(&*table.get(b"aa").unwrap().unwrap(), b"aa@5");
    assert_eq!(table.get(b"cc").unwrap(), None);
    let range: Vec<_> = table.range("zz".."b").map(|entry| entry.unwrap().0).collect();
    assert_eq!(range, [b"a"]);
    assert_eq!(table.prefix("a").count(), 2);
    assert!(table.verify().is_sound() && table.verify().order_checked());
}

#[test]
fn leveldb_tables_of_databases_and_bare_ones() {
    let blocks = vec![vec![put("a", 7), put("a", 3)], vec![put("b", 2)]];
    let bytes = TableMaker::new(blocks).leveldb();
    let table = Table::from_bytes(bytes.clone()).unwrap();
    assert!(table.has_internal_keys());
    assert_eq!(&*table.get(b"a").unwrap().unwrap(), b"a@7");
    assert_eq!(keys(&table), ["a", "b"]);

    // The same bytes, if one insists that the keys are the user's.
    let bare = TableReadOptions::default().key_form(KeyForm::User);
    let table = Table::from_source(bytes, &bare).unwrap();
    assert_eq!(table.iter().count(), 3);
    assert_eq!(&*table.get(&internal(b"b", 2, EntryKind::Value)).unwrap().unwrap(), b"b@2");

    let blocks = vec![vec![(b"longer than eight".to_vec(), b"1".to_vec())]];
    let table = Table::from_bytes(TableMaker::new(blocks).leveldb()).unwrap();
    assert!(!table.has_internal_keys());
    assert_eq!(&*table.get(b"longer than eight").unwrap().unwrap(), b"1");
}

/// Checksums are right, but what they protect is not.
#[test]
fn verify_compares_what_checksums_cannot() {
    let problems = |maker: TableMaker| {
        let found = Table::from_bytes(maker.rocksdb()).unwrap().verify();
        found.problems().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let found = problems(TableMaker::new(vec![vec![put("b", 1), put("a", 1)]]));
    assert!(found.iter().any(|problem| problem.contains("not in order")), "{found:?}");

    let blocks = vec![vec![put("a", 1), put("m", 1)], vec![put("c", 1)], vec![put("x", 1)]];
    let found = problems(TableMaker::new(blocks));
    assert!(found.iter().any(|problem| problem.contains("index key")), "{found:?}");

    let mut maker = TableMaker::new(vec![vec![put("a", 1), put("b", 1)]]);
    let mut three = Vec::new();
    put_varint64(&mut three, 3);
    maker.properties.push((property_names::NUM_ENTRIES, three.clone()));
    maker.properties.push((property_names::DELETED_KEYS, three));
    let found = problems(maker);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("rocksdb.num.entries") && found[0].contains("expected 2, found 3"));

    let garbled = value(b"a", 1, EntryKind::WideColumnEntity, b"not columns");
    let found = problems(TableMaker::new(vec![vec![garbled]]));
    assert_eq!(found.len(), 1, "{found:?}");
}

/// RocksDB does not count blocks that it buffers for a dictionary, even if it then uses none.
#[test]
fn data_blocks_held_back_for_a_dictionary() {
    let is_sound = |max_dict_bytes: u32, stored: u8| {
        let mut maker = TableMaker::new(vec![vec![put("a", 1)], vec![put("b", 1)]]);
        let options =
            format!("window_bits=-14; level=3; strategy=0; max_dict_bytes={max_dict_bytes}; ");
        maker.properties.push((property_names::COMPRESSION_OPTIONS, options.into_bytes()));
        maker.properties.push((property_names::NUM_DATA_BLOCKS, vec![stored]));
        Table::from_bytes(maker.rocksdb()).unwrap().verify().is_sound()
    };
    assert!(is_sound(0, 2) && !is_sound(0, 1) && !is_sound(0, 3));
    assert!(is_sound(4096, 2) && is_sound(4096, 1) && is_sound(4096, 0) && !is_sound(4096, 3));
}

/// A few bytes each would stand for 16 KiB.
#[test]
fn range_deletions_that_share_too_much_are_refused() {
    let mut maker = TableMaker::new(vec![vec![put("a", 1)]]);
    maker.range_deletion_interval = usize::MAX;
    let start = |i: u32| [&[b'a'; 1 << 14][..], &i.to_be_bytes()].concat();
    maker.range_deletions =
        (0..4000).map(|i| value(&start(i), 1, EntryKind::RangeDeletion, b"b")).collect();
    let error = Table::from_bytes(maker.rocksdb()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("expand too far"), "{error}");
}

#[test]
fn the_newest_range_deletion_or_why_not() {
    let table = |comparator: &str, start: &[u8], end: &[u8]| {
        let mut maker = TableMaker::new(vec![vec![put("m-longer-than-8", 1)]]);
        maker.range_deletions = vec![value(start, 7, EntryKind::RangeDeletion, end)];
        Table::from_bytes(maker.comparator(comparator).rocksdb()).unwrap()
    };
    let plain = table("leveldb.BytewiseComparator", b"a", b"c");
    assert_eq!(plain.newest_range_deletion(b"b").unwrap(), Some(7));
    assert_eq!(plain.newest_range_deletion(b"c").unwrap(), None);
    // With timestamps, of those that a view sees.
    let (time, earlier) = (9u64.to_le_bytes(), 8u64.to_le_bytes());
    let stamped = |key: &[u8]| [key, &time].concat();
    let timed = table("leveldb.BytewiseComparator.u64ts", &stamped(b"a"), &stamped(b"c"));
    assert_eq!(timed.newest_range_deletion(b"b").unwrap(), Some(7));
    for (sequence, timestamp, newest) in [(7, time, Some(7)), (6, time, None), (7, earlier, None)] {
        let view = ReadView { sequence, timestamp: Some(timestamp.to_vec()) };
        assert_eq!(timed.newest_range_deletion_at(b"b", &view).unwrap(), newest);
    }
    let unknown = table("example.ByLength", b"a", b"c");
    let error = unknown.newest_range_deletion(b"b").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("example.ByLength"), "{error}");
}

#[test]
fn embedded_blobs_of_columns_are_listed() {
    let blob =
        |offset, size| BlobIndex::Stored { expiration: None, file: 0, offset, size, codec: 0 };
    let mut entity = Vec::new();
    let column = |name, value| WideColumn { name, value };
    let columns = [
        column(b"", ColumnValue::Inline(b"here")),
        column(b"one", ColumnValue::Blob(blob(0, 10))),
        column(b"two", ColumnValue::Blob(blob(15, 20))),
    ];
    encode_wide_columns(&columns, &mut entity).unwrap();
    let mut whole = Vec::new();
    blob(40, 30).encode_to(&mut whole);
    let entries = vec![
        value(b"entity", 1, EntryKind::WideColumnEntity, &entity),
        value(b"value", 1, EntryKind::BlobIndex, &whole),
    ];
    let mut maker = TableMaker::new(vec![entries]);
    maker.blobs = vec![vec![b'1'; 10], vec![b'2'; 20], vec![b'3'; 30]];
    maker.properties.push((property_names::EMBEDDED_BLOB_STATS, vec![3, 60]));
    let layout = open(maker).layout().unwrap();
    let blobs = layout.blocks.iter().filter(|block| block.kind == BlockKind::EmbeddedBlob);
    let handles: Vec<_> = blobs.map(|block| (block.handle.offset, block.handle.size)).collect();
    assert_eq!(handles, [(0, 10), (15, 20), (40, 30)]);
}

/// A block that cannot be loaded was not in the cache, either.
#[test]
fn a_failed_load_is_a_miss() {
    let mut bytes = TableMaker::new(vec![vec![put("a", 1)]]).rocksdb();
    bytes[3] ^= 1;
    let tickers = Arc::new(Tickers::default());
    let table = Table::from_source(bytes, &options().tickers(&tickers)).unwrap();
    table.get(b"a").unwrap_err();
    assert_eq!(tickers.get(Ticker::BlockCacheDataMiss), 1);
    assert_eq!(tickers.get(Ticker::BlockCacheDataAdd), 0);
}
