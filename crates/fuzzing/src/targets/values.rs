//! Values with a form of their own.

use sstkit_table::raw::{
    BlobIndex, decode_wide_columns, encode_wide_columns, split_preferred_seqno,
};

/// Named columns. What can be read can be written again, and is then the same.
pub fn wide_columns(data: &[u8]) {
    let Ok(columns) = decode_wide_columns(data) else { return };
    assert!(columns.len() <= data.len());
    let mut written = Vec::new();
    encode_wide_columns(&columns, &mut written).expect("columns that were read can be written");
    assert_eq!(decode_wide_columns(&written).expect("columns"), columns);
}

/// A reference to a blob. What can be read can be written again, and is then the same.
pub fn blob_index(data: &[u8]) {
    let _ = split_preferred_seqno(data);
    let Ok(index) = BlobIndex::decode_from(data) else { return };
    let mut written = Vec::new();
    index.encode_to(&mut written);
    assert_eq!(BlobIndex::decode_from(&written).expect("a reference"), index);
}
