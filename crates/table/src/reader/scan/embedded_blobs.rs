//! Which values of an entry lie between the data blocks of the same file: only the entries know.

use crate::error::Result;
use crate::raw::{BlobIndex, BlockHandle, ColumnValue, EntryKind, decode_wide_columns};

/// Where the blobs of an entry are that lie in this file: its value, or columns of it.
pub(crate) fn embedded_blobs(kind: EntryKind, value: &[u8]) -> Result<Vec<BlockHandle>> {
    Ok(match kind {
        EntryKind::BlobIndex => in_this_file(&BlobIndex::decode_from(value)?).into_iter().collect(),
        EntryKind::WideColumnEntity => decode_wide_columns(value)?
            .iter()
            .filter_map(|column| match &column.value {
                ColumnValue::Blob(index) => in_this_file(index),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    })
}

/// Blob file 0 is the table itself; others are not ours.
fn in_this_file(index: &BlobIndex<'_>) -> Option<BlockHandle> {
    match *index {
        BlobIndex::Stored { file: 0, offset, size, .. } => Some(BlockHandle::new(offset, size)),
        _ => None,
    }
}
