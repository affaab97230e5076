//! Entities of named columns, plain and with columns kept between the data blocks.

use sstkit_table::raw::{ColumnValue, EntryKind, TableView, decode_wide_columns, property_names};
use sstkit_table::{TableOptions, TableWriter};

const COLUMNS: [(&[u8], &[u8]); 3] = [(b"zed", b"last"), (b"", b"default"), (b"a", &[7; 500])];

fn written(options: &TableOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, options).unwrap();
    writer.put_entity(b"entity", &COLUMNS).unwrap();
    writer.put(b"plain", &[8; 100]).unwrap();
    writer.finish().unwrap();
    bytes
}

/// Name and value of each column of the first entry, and whether the value lies elsewhere.
fn columns(bytes: &[u8]) -> Vec<(Vec<u8>, Vec<u8>, bool)> {
    let table = TableView::open(bytes).unwrap();
    let mut entries = table.entries().unwrap();
    assert!(entries.advance().unwrap());
    assert_eq!(entries.internal_key().unwrap().kind, EntryKind::WideColumnEntity);
    decode_wide_columns(entries.value())
        .unwrap()
        .into_iter()
        .map(|column| match &column.value {
            ColumnValue::Inline(value) => (column.name.to_vec(), value.to_vec(), false),
            ColumnValue::Blob(blob) => {
                (column.name.to_vec(), table.embedded_blob(blob).unwrap().to_vec(), true)
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn columns_are_stored_in_order() {
    let bytes = written(&TableOptions::rocksdb());
    let expected = [(&b""[..], &b"default"[..]), (b"a", &[7; 500]), (b"zed", b"last")];
    for (found, (name, value)) in columns(&bytes).into_iter().zip(expected) {
        assert_eq!(found, (name.to_vec(), value.to_vec(), false));
    }
}

#[test]
fn large_columns_lie_between_the_blocks() {
    let bytes = written(&TableOptions::rocksdb().embedded_blobs(100));
    let apart: Vec<bool> = columns(&bytes).into_iter().map(|(.., apart)| apart).collect();
    assert_eq!(apart, [false, true, false]);
    let table = TableView::open(&bytes).unwrap();
    assert_eq!(table.properties().embedded_blobs(), Some((2, 600)));
    assert!(table.properties().get(property_names::EMBEDDED_BLOB_STATS).is_some());
    // The minimum size is one byte larger than any value: nothing is stored separately or recorded.
    let bytes = written(&TableOptions::rocksdb().embedded_blobs(501));
    assert!(columns(&bytes).iter().all(|(.., apart)| !apart));
    assert_eq!(TableView::open(&bytes).unwrap().properties().embedded_blobs(), None);
}
