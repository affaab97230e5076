//! Large values between the data blocks: RocksDB's embedded blobs.
//!
//! ```text
//! file   … | data block | value | codec | checksum | value … | data block | …
//!                          ^ a record is written when its value is added, before the data block
//!                            that refers to it by offset and size
//! ```

use std::borrow::Cow;

use super::counters::Counters;
use super::output::Output;
use crate::error::Result;
use crate::raw::{
    BlobIndex, Codec, ColumnValue, EntryKind, InternalKey, decode_wide_columns, encode_wide_columns,
};

/// Writes the large values of an entry, and returns the kind and value to be stored in its place. The
/// caller has checked entities, so only the sink can fail.
pub(crate) fn extract<'v>(
    key: &InternalKey<'_>,
    value: &'v [u8],
    min_size: usize,
    output: &mut Output<'_>,
    counters: &mut Counters,
) -> Result<(EntryKind, Cow<'v, [u8]>)> {
    match key.kind {
        EntryKind::Value if value.len() >= min_size => {
            let mut reference = Vec::new();
            write_record(value, output, counters)?.encode_to(&mut reference);
            Ok((EntryKind::BlobIndex, Cow::Owned(reference)))
        }
        EntryKind::WideColumnEntity => {
            let mut columns = decode_wide_columns(value)?;
            let mut rewritten = false;
            for column in &mut columns {
                if let ColumnValue::Inline(inline) = column.value
                    && inline.len() >= min_size
                {
                    column.value = ColumnValue::Blob(write_record(inline, output, counters)?);
                    rewritten = true;
                }
            }
            if !rewritten {
                return Ok((key.kind, Cow::Borrowed(value)));
            }
            let mut entity = Vec::new();
            encode_wide_columns(&columns, &mut entity)?;
            Ok((key.kind, Cow::Owned(entity)))
        }
        kind => Ok((kind, Cow::Borrowed(value))),
    }
}

fn write_record(
    value: &[u8],
    output: &mut Output<'_>,
    counters: &mut Counters,
) -> Result<BlobIndex<'static>> {
    let codec = Codec::None as u8;
    let handle = output.write_block(value, codec)?;
    let (count, bytes) = counters.embedded_blobs.get_or_insert((0, 0));
    *count += 1;
    *bytes += handle.size;
    // File 0 is this one.
    let (offset, size) = (handle.offset, handle.size);
    Ok(BlobIndex::Stored { expiration: None, file: 0, offset, size, codec })
}
