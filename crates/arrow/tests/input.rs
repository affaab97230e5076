//! Record batches into tables and back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, Int64Array,
    LargeBinaryArray, LargeStringArray, RecordBatch, StringArray, StringViewArray, UInt16Array,
};
use arrow_schema::DataType;
use sstkit_arrow::{BatchColumns, BatchWriter, KeyEncoding, Scan, ScanColumn};
use sstkit_db::{BulkBuilder, BulkOptions};
use sstkit_table::{Comparator, Table, TableOptions};
use sstkit_testkit::engines;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// Builds a table of batches.
fn build(
    batches: &[RecordBatch],
    columns: &BatchColumns,
    options: &BulkOptions,
) -> sstkit_arrow::Result<(tempfile::TempDir, Table)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.sst");
    let mut builder = BulkBuilder::create(&path, options).unwrap();
    let mut rows = BatchWriter::new(batches[0].schema(), columns)?;
    for batch in batches {
        rows.write(batch, &mut builder)?;
    }
    builder.finish()?;
    Ok((folder, Table::open(path)?))
}

fn options() -> BulkOptions {
    BulkOptions::new(TableOptions::rocksdb().readable_by("9.8".parse().unwrap()))
}

#[test]
fn typed_composite_keys_come_back_and_the_engine_agrees_on_the_order() {
    let (cities, ids) = (["b", "a\0", "a", "b", ""], [3_i64, -1, 2, -9, i64::MIN]);
    let rows = batch(vec![
        ("city", Arc::new(StringArray::from(cities.to_vec()))),
        ("id", Arc::new(Int64Array::from(ids.to_vec()))),
        ("value", Arc::new(UInt16Array::from(vec![0, 1, 2, 3, 4]))),
    ]);
    let columns = BatchColumns::new(["city", "id"], "value");
    let (folder, table) = build(&[rows], &columns, &options()).unwrap();
    let encoding = KeyEncoding::new([("city", DataType::Utf8), ("id", DataType::Int64)]).unwrap();
    let scan = Scan::new().key_encoding(Some(encoding));
    let batches: Vec<_> = scan.table(&table).unwrap().map(|batch| batch.unwrap()).collect();
    let read: Vec<(&str, i64, Vec<u8>)> = (0..5)
        .map(|row| {
            let city = batches[0].column(0).as_string::<i32>().value(row);
            let id = batches[0].column(1).as_any().downcast_ref::<Int64Array>().unwrap().value(row);
            (city, id, batches[0].column(2).as_binary::<i32>().value(row).to_vec())
        })
        .collect();
    let mut expected: Vec<_> = cities
        .iter()
        .zip(ids)
        .enumerate()
        .map(|(number, (city, id))| (*city, id, vec![0, number as u8]))
        .collect();
    expected.sort();
    assert_eq!(read, expected);
    // RocksDB ingests the table and reads the same.
    let arguments = serde_json::json!({
        "settings": {},
        "tables": [folder.path().join("out.sst")],
        "path": folder.path().join("db"),
        "gets": [],
    });
    let response = engines::call("rocksdb_ingest", &arguments);
    let ours: Vec<_> =
        table.iter().map(|pair| pair.map(|(key, value)| (key, value.to_vec())).unwrap()).collect();
    assert_eq!(engines::read_entries(&response, "entries"), ours);
}

#[test]
fn every_layout_of_bytes() {
    let keys = ["aa", "bb", "cc"];
    let columns: [ArrayRef; 7] = [
        Arc::new(BinaryArray::from_iter_values(keys)),
        Arc::new(LargeBinaryArray::from_iter_values(keys)),
        Arc::new(BinaryViewArray::from_iter_values(keys)),
        Arc::new(StringArray::from_iter_values(keys)),
        Arc::new(LargeStringArray::from_iter_values(keys)),
        Arc::new(StringViewArray::from_iter_values(keys)),
        Arc::new(FixedSizeBinaryArray::try_from_iter(keys.iter()).unwrap()),
    ];
    for column in columns {
        // A slice has an offset that has to be respected.
        let rows = batch(vec![("k", column.clone()), ("v", column)]).slice(1, 2);
        let (_folder, table) = build(&[rows], &BatchColumns::new(["k"], "v"), &options()).unwrap();
        let read: Vec<_> = table.iter().map(|pair| pair.unwrap().0).collect();
        assert_eq!(read, [b"bb", b"cc"]);
        assert_eq!(table.get(b"cc").unwrap().unwrap(), b"cc");
    }
}

#[test]
fn kinds_entities_and_timestamps() {
    let rows = batch(vec![
        ("k", Arc::new(StringArray::from(vec!["a", "b", "c", "d"]))),
        ("v", Arc::new(StringArray::from(vec![Some("1"), None, Some("+2"), Some("e")]))),
        ("op", Arc::new(StringArray::from(vec!["put", "delete", "merge", "range_delete"]))),
    ]);
    let columns = BatchColumns::new(["k"], "v").kind("op");
    let (_folder, table) = build(&[rows], &columns, &options()).unwrap();
    let kinds: Vec<_> = table.entries().map(|it| format!("{:?}", it.unwrap().kind)).collect();
    assert_eq!(kinds, ["Value", "Deletion", "Merge"]);
    assert_eq!(table.range_deletions()[0].end, b"e");

    let entities = batch(vec![
        ("k", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("zip", Arc::new(Int64Array::from(vec![Some(1), None]))),
        ("city", Arc::new(StringArray::from(vec!["Rome", "Oslo"]))),
    ]);
    let columns = BatchColumns::new(["k"], "").entity(["zip", "city"]);
    let (_folder, table) = build(&[entities], &columns, &options()).unwrap();
    let scan = Scan::new().columns([ScanColumn::Columns]);
    let read: Vec<_> = scan.table(&table).unwrap().map(|batch| batch.unwrap()).collect();
    let map = read[0].column(0).as_map();
    assert_eq!((map.value(0).len(), map.value(1).len()), (2, 1));
    assert_eq!(map.value(0).column(0).as_binary::<i32>().value(0), b"city");

    let stamped = batch(vec![
        ("k", Arc::new(StringArray::from(vec!["a", "a"]))),
        ("v", Arc::new(StringArray::from(vec!["new", "old"]))),
        (
            "t",
            Arc::new(BinaryArray::from_iter_values([
                [2, 0, 0, 0, 0, 0, 0, 0],
                [1, 0, 0, 0, 0, 0, 0, 0],
            ])),
        ),
    ]);
    let columns = BatchColumns::new(["k"], "v").timestamp("t");
    let options = options().comparator(Comparator::BytewiseWithTimestamp);
    let (_folder, table) = build(&[stamped], &columns, &options).unwrap();
    assert_eq!(table.get(b"a").unwrap().unwrap(), b"new");
    assert_eq!(table.entries().count(), 2);
}

/// What a scan reads is written again: versions, entities, deletions.
#[test]
fn a_scan_is_written_again() {
    let rows = batch(vec![
        ("k", Arc::new(StringArray::from(vec!["a", "a", "b"]))),
        ("v", Arc::new(StringArray::from(vec![Some("2"), Some("1"), None]))),
        ("n", Arc::new(arrow_array::UInt64Array::from(vec![7, 3, 5]))),
        ("op", Arc::new(StringArray::from(vec!["put", "merge", "delete"]))),
    ]);
    let columns = BatchColumns::new(["k"], "v").kind("op").sequence("n");
    let (_folder, table) = build(&[rows], &columns, &options()).unwrap();
    let shown = |table: &sstkit_table::Table| -> Vec<(Vec<u8>, u64, String)> {
        let entries = table.entries().map(|entry| entry.unwrap());
        entries.map(|it| (it.user_key, it.sequence, format!("{:?}", it.kind))).collect()
    };
    assert_eq!(shown(&table)[0], (b"a".to_vec(), 7, "Value".to_owned()));
    let all = [
        ScanColumn::Key,
        ScanColumn::Value,
        ScanColumn::Columns,
        ScanColumn::Sequence,
        ScanColumn::Kind,
    ];
    let scan = Scan::new().versions(true).columns(all);
    let read: Vec<_> = scan.table(&table).unwrap().map(|batch| batch.unwrap()).collect();
    let columns = BatchColumns::of_scan(&read[0].schema());
    assert_eq!(columns.names(), ["key", "value", "kind", "sequence", "columns"]);
    let (_folder, copy) = build(&read, &columns, &options()).unwrap();
    assert_eq!(shown(&copy), shown(&table));
}

#[test]
fn several_columns_as_json() {
    let rows = batch(vec![
        ("k", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("n", Arc::new(Int64Array::from(vec![Some(-1), None]))),
        ("s", Arc::new(StringArray::from(vec!["x\"y", "é"]))),
    ]);
    let columns = BatchColumns::new(["k"], "").json(["n", "s"]);
    let (_folder, table) = build(&[rows], &columns, &options()).unwrap();
    let value = |key: &[u8]| String::from_utf8(table.get(key).unwrap().unwrap().to_vec()).unwrap();
    assert_eq!(value(b"a"), r#"{"n":-1,"s":"x\"y"}"#);
    assert_eq!(value(b"b"), r#"{"n":null,"s":"é"}"#);
    let wrong = batch(vec![
        ("k", Arc::new(StringArray::from(vec!["a"]))),
        ("f", Arc::new(arrow_array::Float64Array::from(vec![f64::NAN]))),
    ]);
    let error = build(&[wrong], &BatchColumns::new(["k"], "").json(["f"]), &options()).unwrap_err();
    assert!(error.to_string().contains("not a finite number"), "{error}");
}

#[test]
fn errors_name_the_row_and_the_column() {
    let keys: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let floats: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![1.0, 2.0]));
    let kinds: ArrayRef = Arc::new(StringArray::from(vec!["put", "upsert"]));
    let full: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let cases = [
        (
            vec![("k", keys.clone()), ("v", full.clone())],
            BatchColumns::new(["k"], "v"),
            "row 1: the key is null",
        ),
        (
            vec![("k", full.clone()), ("v", keys)],
            BatchColumns::new(["k"], "v"),
            "row 1: the value is null",
        ),
        (
            vec![("k", full.clone()), ("v", floats)],
            BatchColumns::new(["k"], "v"),
            "\"v\" of type Float64",
        ),
        (
            vec![("k", full.clone()), ("v", full.clone())],
            BatchColumns::new(["key"], "v"),
            "no column \"key\" (found k, v)",
        ),
        (
            vec![("k", full.clone()), ("v", full.clone()), ("op", kinds)],
            BatchColumns::new(["k"], "v").kind("op"),
            "row 1: \"upsert\" is not a kind",
        ),
    ];
    for (columns, names, what) in cases {
        let error = build(&[batch(columns)], &names, &options()).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let one = batch(vec![("k", full.clone()), ("v", full.clone())]);
    let other = batch(vec![("k", full.clone()), ("v", Arc::new(Int64Array::from(vec![1, 2])))]);
    let error = build(&[one, other], &BatchColumns::new(["k"], "v"), &options()).unwrap_err();
    assert!(error.to_string().contains("schema of the others"), "{error}");
}
