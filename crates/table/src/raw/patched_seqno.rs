//! The one edit that engines make inside a finished table.
//!
//! Ingesting a table used to give it its sequence number by overwriting, in place, the eight bytes
//! of the property `rocksdb.external_sst_file.global_seqno` (the option `write_global_seqno`, on by
//! default before RocksDB 8.0) and to leave the checksum of the properties block as it was:
//!
//! ```text
//! as written    … global_seqno | 00 00 00 00 00 00 00 00 | …   checksum of this
//! as ingested   … global_seqno | 2A 00 00 00 00 00 00 00 | …   the same checksum
//! ```
//!
//! So a properties block whose checksum differs gets a second chance with these bytes zeroed.

use super::block::Block;
use super::block_decoder::StoredBlock;
use super::properties::names;

/// The contents as they were before the patch, if the block has the property. The bytes are not
/// verified yet, so nothing here may rely on them.
pub(super) fn before_patch(block: &StoredBlock<&[u8]>) -> Option<Vec<u8>> {
    if block.trailer.codec != 0 {
        // Properties are never compressed, or there would be no bytes to overwrite.
        return None;
    }
    let mut entries = Block::parse(block.contents).ok()?.into_entries();
    while entries.advance().ok()? {
        if entries.key() == names::GLOBAL_SEQNO.as_bytes() {
            let range = entries.value_range();
            if range.len() != size_of::<u64>() {
                return None;
            }
            let mut original = block.contents.to_vec();
            original[range].fill(0);
            return Some(original);
        }
    }
    None
}
