//! References from entries to blobs: in blob files, or between the data blocks of the same file.
//! Only the entries tell where embedded blobs are.

use crate::error::Result;
use crate::raw::{BlobIndex, BlockHandle, ColumnValue, EntryKind, decode_wide_columns};

/// The references of an entry: its value, or columns of it.
pub(crate) fn blob_references(kind: EntryKind, value: &[u8]) -> Result<Vec<BlobIndex<'_>>> {
    Ok(match kind {
        EntryKind::BlobIndex => vec![BlobIndex::decode_from(value)?],
        EntryKind::WideColumnEntity => decode_wide_columns(value)?
            .into_iter()
            .filter_map(|column| match column.value {
                ColumnValue::Blob(index) => Some(index),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    })
}

/// The handles of the embedded blobs of an entry.
pub(crate) fn embedded_blobs(kind: EntryKind, value: &[u8]) -> Result<Vec<BlockHandle>> {
    Ok(blob_references(kind, value)?.iter().filter_map(in_this_file).collect())
}

/// The handle of an embedded blob. Blob file 0 is the table itself; others are separate files.
pub(crate) fn in_this_file(index: &BlobIndex<'_>) -> Option<BlockHandle> {
    match *index {
        BlobIndex::Stored { file: 0, offset, size, .. } => Some(BlockHandle::new(offset, size)),
        _ => None,
    }
}
