//! Scans of the golden tables and databases against the lists of their contents.

use std::ops::Bound;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use sstkit_arrow::{Batches, BinaryLayout, Error, Scan, ScanColumn};
use sstkit_db::{Database, ErrorKind};
use sstkit_table::raw::{Codec, EntryKind, InternalKey};
use sstkit_table::{Table, TableOptions, TableWriter};
use sstkit_testkit::goldens::{
    Expected, Model, expected_entries, families_with_lists, golden_databases, golden_tables, open,
    options,
};

fn collect(batches: Batches) -> Vec<RecordBatch> {
    batches.map(|batch| batch.unwrap()).collect()
}

fn bytes(column: &ArrayRef, row: usize) -> &[u8] {
    assert!(!column.is_null(row));
    match column.data_type() {
        DataType::Binary => column.as_binary::<i32>().value(row),
        DataType::LargeBinary => column.as_binary::<i64>().value(row),
        _ => column.as_binary_view().value(row),
    }
}

/// The rows of the first two columns.
fn pairs(batches: &[RecordBatch]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
    rows.map(|(batch, row)| {
        (bytes(batch.column(0), row).to_vec(), bytes(batch.column(1), row).to_vec())
    })
    .collect()
}

#[test]
fn golden_tables_in_every_layout() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let table = open(&golden, &options());
        let model = Model::of(&golden);
        for layout in [BinaryLayout::Binary, BinaryLayout::LargeBinary, BinaryLayout::BinaryView] {
            let scan = Scan::new().binary_layout(layout).batch_rows(100);
            let batches = scan.table(&table).unwrap();
            assert!(batches.schema().fields().iter().all(|field| field.is_nullable()));
            assert_eq!(pairs(&collect(batches)), model.visible, "{name}, {layout:?}");
        }
        let mut reversed = pairs(&collect(Scan::new().reverse(true).table(&table).unwrap()));
        reversed.reverse();
        assert_eq!(reversed, model.visible, "{name}, reverse");
    }
}

#[test]
fn versions_of_golden_tables() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let table = open(&golden, &options());
        let columns =
            [ScanColumn::Key, ScanColumn::Kind, ScanColumn::Timestamp, ScanColumn::Sequence];
        let batches = collect(Scan::new().versions(true).columns(columns).table(&table).unwrap());
        let mut found = Vec::new();
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let timestamp = match batch.column(2).is_null(row) {
                    true => Vec::new(),
                    false => bytes(batch.column(2), row).to_vec(),
                };
                let kind = batch.column(1).as_string::<i32>().value(row).to_owned();
                assert!(batch.column(3).as_primitive::<UInt64Type>().is_valid(row));
                found.push((bytes(batch.column(0), row).to_vec(), timestamp, kind));
            }
        }
        let entries = expected_entries(&golden.path);
        let (ranges, points): (Vec<_>, Vec<_>) = entries.into_iter().partition(Expected::is_range);
        assert_eq!(found.len(), points.len() + ranges.len(), "{name}");
        for (found, expected) in found.iter().zip(&points) {
            assert_eq!((&found.0, &found.1), (&expected.key, &expected.timestamp), "{name}");
        }
        let tombstones = found.iter().filter(|(_, _, kind)| kind == "range_delete").count();
        assert_eq!(tombstones, ranges.len(), "{name}");
    }
}

#[test]
fn golden_databases_with_columns_and_timestamps() {
    for path in golden_databases() {
        let db = Database::open(&path).unwrap();
        for (family, shown) in families_with_lists(&path, &db) {
            let name = format!("{}, {}", path.display(), family.name());
            let columns = [
                ScanColumn::Key,
                ScanColumn::Value,
                ScanColumn::Timestamp,
                ScanColumn::Columns,
                ScanColumn::ColumnFamily,
            ];
            let batches = Scan::new().columns(columns).column_family(&family);
            let batches = collect(batches.unwrap());
            let expected: Vec<_> =
                shown.iter().map(|it| (it.key.clone(), it.value.clone())).collect();
            assert_eq!(pairs(&batches), expected, "{name}");
            let mut rows = shown.iter();
            for batch in &batches {
                for row in 0..batch.num_rows() {
                    let shown = rows.next().unwrap();
                    if !shown.timestamp.is_empty() {
                        assert_eq!(bytes(batch.column(2), row), shown.timestamp, "{name}");
                    }
                    if let Some(columns) = shown.columns.as_ref().filter(|it| it.len() > 1) {
                        let entries = batch.column(3).as_map().value(row);
                        let found: Vec<_> = (0..entries.len())
                            .map(|at| {
                                let part = |number| bytes(entries.column(number), at).to_vec();
                                (part(0), part(1))
                            })
                            .collect();
                        assert_eq!(&found, columns, "{name}");
                    }
                    assert_eq!(batch.column(4).as_string::<i32>().value(row), family.name());
                }
            }
        }
    }
}

/// A table of a thousand keys.
fn numbers() -> Table {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb()).unwrap();
    for number in 0..1000 {
        writer.put(format!("k{number:04}").as_bytes(), &vec![b'v'; 1 + number * 3]).unwrap();
    }
    writer.finish().unwrap();
    Table::from_bytes(bytes).unwrap()
}

#[test]
fn ranges_prefixes_limits_and_the_ends_of_batches() {
    let table = numbers();
    let keys = |scan: Scan| {
        let batches = collect(scan.columns([ScanColumn::Key]).table(&table).unwrap());
        let sizes: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
        let first = batches.first().map(|batch| bytes(batch.column(0), 0).to_vec());
        (sizes, first.map(|key| String::from_utf8(key).unwrap()))
    };
    let key = |text: &str| Some(text.to_owned());
    assert_eq!(keys(Scan::new().batch_rows(400)), (vec![400, 400, 200], key("k0000")));
    assert_eq!(keys(Scan::new().range(b"k0100".as_slice()..b"k0150")), (vec![50], key("k0100")));
    let after = (Bound::Excluded(b"k0997".to_vec()), Bound::Unbounded);
    assert_eq!(keys(Scan::new().range(after)), (vec![2], key("k0998")));
    assert_eq!(keys(Scan::new().prefix(b"k09")), (vec![100], key("k0900")));
    assert_eq!(keys(Scan::new().prefix(b"x")), (vec![], None));
    let limited = Scan::new().limit(Some(500)).batch_rows(300);
    assert_eq!(keys(limited), (vec![300, 200], key("k0000")));
    assert_eq!(keys(Scan::new().reverse(true).limit(Some(1))), (vec![1], key("k0999")));
    assert_eq!(keys(Scan::new().limit(Some(0))), (vec![], None));
    // Values of up to 3 KB: a batch ends soon after 10 KB.
    let batches = collect(Scan::new().batch_bytes(10_000).table(&table).unwrap());
    assert!(batches.len() > 100);
    let largest = batches.iter().map(|batch| batch.column(1).get_array_memory_size()).max();
    assert!(largest.unwrap() < 32_000, "{largest:?}");
    // No columns at all: rows are counted.
    let counted = collect(Scan::new().columns([]).table(&table).unwrap());
    assert_eq!(counted.iter().map(RecordBatch::num_rows).sum::<usize>(), 1000);
}

/// A view refers to the block of a large value instead of copying it.
#[test]
fn large_values_are_not_copied() {
    let mut file = Vec::new();
    let options = TableOptions::rocksdb().compression(Codec::None);
    let mut writer = TableWriter::to_sink(&mut file, &options).unwrap();
    writer.put(b"large", &[7; 100_000]).unwrap();
    writer.finish().unwrap();
    let file = bytes_of(file);
    let range = file.as_ptr_range();
    let table = Table::from_bytes(file.clone()).unwrap();
    let scan = Scan::new().binary_layout(BinaryLayout::BinaryView);
    let batches = collect(scan.table(&table).unwrap());
    let value = batches[0].column(1).as_binary_view().value(0);
    assert_eq!(value, [7; 100_000]);
    assert!(range.contains(&value.as_ptr()), "the value was copied");
}

fn bytes_of(file: Vec<u8>) -> bytes::Bytes {
    file.into()
}

#[test]
fn keys_alone_need_no_blob_files() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/databases");
    let golden = golden.join("rocksdb-blobs");
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(golden).unwrap() {
        let entry = entry.unwrap();
        if !entry.file_name().to_string_lossy().ends_with(".blob") {
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    let db = Database::open(folder.path()).unwrap();
    let family = db.default_column_family();
    let keys = Scan::new().columns([ScanColumn::Key]).column_family(&family).unwrap();
    assert!(collect(keys).iter().map(RecordBatch::num_rows).sum::<usize>() > 0);
    let values = Scan::new().column_family(&family).unwrap();
    assert!(values.into_iter().any(|batch| batch.is_err()));
}

#[test]
fn operands_without_an_operator_are_shown_or_refused() {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb()).unwrap();
    writer.put(b"a", b"1").unwrap();
    writer.merge(b"b", b"+2").unwrap();
    writer.finish().unwrap();
    let table = Table::from_bytes(bytes).unwrap();
    let error = Scan::new().table(&table).unwrap().next_batch().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("\"b\""), "{error}");
    let columns = [ScanColumn::Value, ScanColumn::Merge];
    let batches = collect(Scan::new().columns(columns).table(&table).unwrap());
    assert!(batches[0].column(0).is_null(1) && batches[0].column(1).is_null(0));
    let operands = batches[0].column(1).as_list::<i32>().value(1);
    assert_eq!(operands.as_binary::<i32>().value(0), b"+2");
}

/// Ranges, directions and sequence numbers select from all versions.
#[test]
fn parts_of_the_versions() {
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb().external_file(false);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for (key, sequence, kind) in [
        ("a", 9, EntryKind::Value),
        ("b", 8, EntryKind::Deletion),
        ("b", 3, EntryKind::Value),
        ("c", 5, EntryKind::Value),
        ("d", 1, EntryKind::RangeDeletion),
    ] {
        let value = if kind == EntryKind::RangeDeletion { "f" } else { "" };
        let key = InternalKey { user_key: key.as_bytes(), sequence, kind };
        writer.add(&key, value.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let table = Table::from_bytes(bytes).unwrap();
    let sequences = |scan: Scan| -> Vec<u64> {
        let batches = scan.versions(true).columns([ScanColumn::Sequence]).table(&table).unwrap();
        let columns = collect(batches).into_iter().map(|batch| batch.column(0).clone());
        columns.flat_map(|it| it.as_primitive::<UInt64Type>().values().to_vec()).collect()
    };
    let (from, to) = (Bound::Included(b"b".to_vec()), Bound::Excluded(b"c".to_vec()));
    assert_eq!(sequences(Scan::new()), [9, 8, 3, 5, 1]);
    assert_eq!(sequences(Scan::new().reverse(true)), [5, 3, 8, 9, 1]);
    assert_eq!(sequences(Scan::new().range((from.clone(), to))), [8, 3]);
    assert_eq!(sequences(Scan::new().range((from, Bound::Unbounded))), [8, 3, 5, 1]);
    assert_eq!(sequences(Scan::new().prefix(b"e")), [1]);
    assert_eq!(sequences(Scan::new().sequence(Some(5))), [3, 5, 1]);
    let excluded = (Bound::Excluded(b"b".to_vec()), Bound::Included(b"c".to_vec()));
    assert_eq!(sequences(Scan::new().range(excluded).reverse(true)), [5]);
    let visible =
        |sequence| pairs(&collect(Scan::new().sequence(Some(sequence)).table(&table).unwrap()));
    assert_eq!(visible(7), [(b"b".to_vec(), Vec::new()), (b"c".to_vec(), Vec::new())]);
}

#[test]
fn contradictions_are_refused() {
    let table = numbers();
    for scan in [
        Scan::new().columns([ScanColumn::Key, ScanColumn::Key]),
        Scan::new().columns([ScanColumn::Sequence]),
        Scan::new().timestamp(Some(vec![0; 8])),
        Scan::new().prefix(b"k").range(b"a".as_slice()..),
        Scan::new().batch_rows(0),
    ] {
        assert!(matches!(scan.table(&table), Err(Error::InvalidInput(_))), "{scan:?}");
    }
    assert!("val".parse::<ScanColumn>().is_err());
}

/// A table that is large enough for several ranges.
fn large_table() -> Vec<u8> {
    let options = TableOptions::rocksdb().compression(Codec::None);
    let mut file = Vec::new();
    let mut writer = TableWriter::to_sink(&mut file, &options).unwrap();
    for number in 0..30_000_u32 {
        writer.put(format!("{number:08}").as_bytes(), &[number as u8; 500]).unwrap();
    }
    writer.finish().unwrap();
    file
}

#[test]
fn several_threads_give_the_same_rows() {
    let table = Table::from_bytes(bytes_of(large_table())).unwrap();
    let range = (Bound::Excluded(b"00000100".to_vec()), Bound::Included(b"00029000".to_vec()));
    for scan in [Scan::new(), Scan::new().reverse(true), Scan::new().range(range)] {
        let scan = scan.batch_rows(1000);
        let alone = pairs(&collect(scan.table(&table).unwrap()));
        let several = scan.threads(3);
        let batches = collect(several.table(&table).unwrap());
        assert!(
            batches.iter().filter(|batch| batch.num_rows() < 1000).count() > 1,
            "there were several ranges"
        );
        assert!(pairs(&batches) == alone, "{several:?}");
    }
    // What nobody reads to its end ends by itself.
    let mut batches = Scan::new().threads(2).table(&table).unwrap();
    assert!(batches.next().unwrap().is_ok());
}

#[test]
fn an_error_in_a_thread_comes_in_its_place() {
    let mut file = large_table();
    let middle = file.len() / 2;
    file[middle] ^= 1;
    let table = Table::from_bytes(bytes_of(file)).unwrap();
    let count = |scan: Scan| {
        let mut batches = scan.batch_rows(100).table(&table).unwrap();
        let mut rows = 0;
        loop {
            match batches.next_batch() {
                Ok(Some(batch)) => rows += batch.num_rows(),
                Ok(None) => panic!("the damage was not found after {rows} rows"),
                Err(Error::Database(error)) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt);
                    assert!(batches.next_batch().unwrap().is_none(), "an error ends it");
                    return rows;
                }
                Err(error) => panic!("{error}"),
            }
        }
    };
    let (alone, several) = (count(Scan::new()), count(Scan::new().threads(3)));
    // Where a range ends, a batch ends.
    assert!(alone.abs_diff(several) < 200, "{alone} and {several}");
    assert!(alone > 10_000);
}
