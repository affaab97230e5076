//! The one change that RocksDB makes inside a finished table.
//!
//! When a table is ingested, the option `write_global_seqno` (on by default before RocksDB 8.0)
//! overwrites the eight bytes of the property `rocksdb.external_sst_file.global_seqno` in place and
//! leaves the checksum of the properties block unchanged:
//!
//! ```text
//! as written    … global_seqno | 00 00 00 00 00 00 00 00 | …   checksum of this
//! as ingested   … global_seqno | 2A 00 00 00 00 00 00 00 | …   the same checksum
//! ```
//!
//! If the checksum of a properties block does not match, it is verified again with these bytes zeroed.

use super::block::Block;
use super::block_decoder::StoredBlock;
use super::properties::names;

/// The contents as they were before the patch, if the block has the property. The bytes are not
/// verified yet, so nothing here may rely on them.
pub(super) fn before_patch(block: &StoredBlock<&[u8]>) -> Option<Vec<u8>> {
    if block.trailer.codec != 0 {
        // Properties are never compressed, so that the bytes can be overwritten.
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
