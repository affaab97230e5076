//! The two meta blocks of a hash index: they map a prefix to the data blocks that contain it.
//!
//! ```text
//! rocksdb.hashindex.prefixes    prefix | prefix | …                   one after the other
//! rocksdb.hashindex.metadata    length | first block | blocks | …     varint32 each, per prefix
//! ```

use sstkit_coding::varint::put_varint32;
use sstkit_filter::PrefixExtractor;

/// Builds both blocks.
#[derive(Debug)]
pub(crate) struct HashPrefixes {
    extractor: PrefixExtractor,
    pub(crate) prefixes: Vec<u8>,
    pub(crate) metadata: Vec<u8>,
    /// The prefix of the last key, its first data block, and the number of blocks.
    pending: Option<(Vec<u8>, u32, u32)>,
    /// The current data block.
    block: u32,
}

impl HashPrefixes {
    pub(crate) fn new(extractor: PrefixExtractor) -> Self {
        Self { extractor, prefixes: Vec::new(), metadata: Vec::new(), pending: None, block: 0 }
    }

    /// Adds the next key. A key outside the extractor's domain is its own prefix; no lookup uses it.
    pub(crate) fn add(&mut self, user_key: &[u8]) {
        let prefix = self.extractor.prefix(user_key).unwrap_or(user_key);
        match &mut self.pending {
            Some((pending, first, blocks)) if pending == prefix => {
                *blocks = self.block - *first + 1;
            }
            _ => {
                let prefix = prefix.to_vec();
                self.flush();
                self.pending = Some((prefix, self.block, 1));
            }
        }
    }

    pub(crate) fn next_block(&mut self) {
        self.block += 1;
    }

    /// Writes out the last prefix.
    pub(crate) fn flush(&mut self) {
        if let Some((prefix, first, blocks)) = self.pending.take() {
            put_varint32(&mut self.metadata, prefix.len() as u32);
            put_varint32(&mut self.metadata, first);
            put_varint32(&mut self.metadata, blocks);
            self.prefixes.extend_from_slice(&prefix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_span_blocks() {
        let mut prefixes = HashPrefixes::new(PrefixExtractor::Fixed(1));
        prefixes.add(b"a1");
        prefixes.add(b"a2");
        prefixes.next_block();
        prefixes.add(b"a3");
        prefixes.add(b"b1");
        prefixes.next_block();
        prefixes.next_block();
        prefixes.add(b"c1");
        prefixes.flush();
        assert_eq!(prefixes.prefixes, b"abc");
        assert_eq!(prefixes.metadata, [1, 0, 2, 1, 1, 1, 1, 3, 1]);
    }
}
