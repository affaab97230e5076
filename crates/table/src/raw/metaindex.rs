//! The metaindex: a block of names, each with the handle of a block.
//!
//! ```text
//! fullfilter.rocksdb.BuiltinBloomFilter   -> 381+69
//! rocksdb.index                           -> 455+19       (format version 6 and later)
//! rocksdb.properties                      -> 479+992
//! ```
//!
//! The names of filters include the policy, so that a reader with another policy ignores them.

use std::fmt;

use sstkit_coding::EscapedBytes;
use sstkit_filter::FilterLayout;

#[cfg(feature = "write")]
use super::block::{BlockBuilder, BlockFormat};
use super::handle::BlockHandle;
use super::named_entries;
use crate::error::{Error, Result};

pub(crate) mod names {
    pub(crate) const PROPERTIES: &[u8] = b"rocksdb.properties";
    /// The name of the properties in very old versions of RocksDB.
    pub(crate) const OLD_PROPERTIES: &[u8] = b"rocksdb.stats";
    pub(crate) const INDEX: &[u8] = b"rocksdb.index";
    pub(crate) const COMPRESSION_DICTIONARY: &[u8] = b"rocksdb.compression_dict";
    pub(crate) const RANGE_DELETION: &[u8] = b"rocksdb.range_del";
    pub(crate) const HASH_INDEX_PREFIXES: &[u8] = b"rocksdb.hashindex.prefixes";
    pub(crate) const HASH_INDEX_METADATA: &[u8] = b"rocksdb.hashindex.metadata";
    /// Followed by the plug-in's name.
    pub(crate) const USER_DEFINED_INDEX: &[u8] = b"rocksdb.user_defined_index.";
}

/// Names and handles of a table's meta blocks, in the order of their names.
#[derive(Clone, Default)]
pub struct MetaIndex {
    entries: Vec<(Vec<u8>, BlockHandle)>,
}

impl fmt::Debug for MetaIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.iter().map(|(name, handle)| (EscapedBytes(name), handle));
        f.debug_map().entries(entries).finish()
    }
}

impl MetaIndex {
    /// Decodes the contents of a metaindex block.
    pub fn decode_from(contents: &[u8]) -> Result<Self> {
        let entries = named_entries::decode(contents)?
            .into_iter()
            .map(|(name, value)| {
                // Bytes after the handle are ignored, as in LevelDB.
                BlockHandle::decode_from(&mut value.as_slice()).map(|handle| (name, handle))
            })
            .collect::<Option<_>>()
            .ok_or_else(|| Error::corrupt("the handle of a meta block is unreadable"))?;
        Ok(Self { entries })
    }

    /// Adds a block, or replaces its handle.
    pub fn insert(&mut self, name: impl Into<Vec<u8>>, handle: BlockHandle) {
        let name = name.into();
        match self.entries.binary_search_by(|(entry, _)| entry.cmp(&name)) {
            Ok(found) => self.entries[found].1 = handle,
            Err(place) => self.entries.insert(place, (name, handle)),
        }
    }

    /// The contents of the metaindex block. The restart interval is 1 in RocksDB, and that of data
    /// blocks in LevelDB.
    #[cfg(feature = "write")]
    pub fn encode(&self, restart_interval: usize) -> Result<Vec<u8>> {
        let mut block = BlockBuilder::new(BlockFormat::plain(restart_interval));
        let mut value = Vec::new();
        for (name, handle) in self.iter() {
            value.clear();
            handle.encode_to(&mut value);
            block.add(name, &value);
        }
        Ok(block.finish()?.contents)
    }

    /// The handle of the block called `name`.
    pub fn get(&self, name: &[u8]) -> Option<BlockHandle> {
        let found = self.entries.binary_search_by(|(entry, _)| entry.as_slice().cmp(name)).ok()?;
        Some(self.entries[found].1)
    }

    /// All names with their handles.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], BlockHandle)> {
        self.entries.iter().map(|(name, handle)| (name.as_slice(), *handle))
    }

    /// All filters: layout, policy (such as `rocksdb.BuiltinBloomFilter`) and handle. Engines write one
    /// at most, but the format allows more.
    pub fn filters(&self) -> impl Iterator<Item = (FilterLayout, &str, BlockHandle)> {
        self.iter().filter_map(|(name, handle)| {
            let (layout, policy) = filter_name(name)?;
            Some((layout, policy, handle))
        })
    }

    /// The handle of the properties, under the current or the old name. LevelDB's tables have none,
    /// which distinguishes them from RocksDB's.
    pub fn properties(&self) -> Option<BlockHandle> {
        self.get(names::PROPERTIES).or_else(|| self.get(names::OLD_PROPERTIES))
    }

    /// The handle of the index, from format version 6 on; before that it is in the footer.
    pub fn index(&self) -> Option<BlockHandle> {
        self.get(names::INDEX)
    }

    /// The handle of the compression dictionary, if the table has one.
    pub fn compression_dictionary(&self) -> Option<BlockHandle> {
        self.get(names::COMPRESSION_DICTIONARY)
    }

    /// The handle of the range deletions, if the table has any.
    pub fn range_deletions(&self) -> Option<BlockHandle> {
        self.get(names::RANGE_DELETION)
    }
}

/// Layout and policy of the filter called `name`, if it is a filter. The names of policies are text.
pub(super) fn filter_name(name: &[u8]) -> Option<(FilterLayout, &str)> {
    FilterLayout::of(std::str::from_utf8(name).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::BlockKind;

    #[test]
    fn a_real_metaindex() {
        let names: [(&[u8], &[u8]); 3] = [
            (b"fullfilter.rocksdb.BuiltinBloomFilter", &[0xfd, 0x02, 0x45]),
            (b"rocksdb.index", &[0xc7, 0x03, 0x13]),
            (b"rocksdb.properties", &[0xdf, 0x03, 0xe0, 0x07]),
        ];
        let (mut block, mut restarts) = (Vec::new(), Vec::new());
        for (name, handle) in names {
            restarts.extend_from_slice(&(block.len() as u32).to_le_bytes());
            block.extend_from_slice(&[0, name.len() as u8, handle.len() as u8]);
            block.extend_from_slice(name);
            block.extend_from_slice(handle);
        }
        block.extend_from_slice(&restarts);
        block.extend_from_slice(&[3, 0, 0, 0]);
        assert_eq!(block.len(), 103);

        let metaindex = MetaIndex::decode_from(&block).unwrap();
        assert_eq!(metaindex.iter().len(), 3);
        let mut again = MetaIndex::default();
        metaindex.iter().for_each(|(name, handle)| again.insert(name, handle));
        assert_eq!(again.encode(1).unwrap(), block);
        assert_eq!(metaindex.get(b"rocksdb.index"), Some(BlockHandle::new(455, 19)));
        assert_eq!(metaindex.get(b"rocksdb.inde"), None);
        assert_eq!(metaindex.properties(), Some(BlockHandle::new(479, 992)));
        let filters: Vec<_> = metaindex.filters().collect();
        let policy = "rocksdb.BuiltinBloomFilter";
        assert_eq!(filters, [(FilterLayout::Full, policy, BlockHandle::new(381, 69))]);
    }

    #[test]
    fn names_determine_the_block_kind() {
        for (name, kind) in [
            (&b"rocksdb.stats"[..], BlockKind::Properties),
            (b"rocksdb.hashindex.metadata", BlockKind::HashIndex),
            (b"rocksdb.user_defined_index.trie", BlockKind::UserDefinedIndex),
            (b"filter.leveldb.BuiltinBloomFilter2", BlockKind::Filter),
            (b"partitionedfilter.mine", BlockKind::Filter),
            (b"something.else", BlockKind::OtherMeta),
        ] {
            assert_eq!(BlockKind::of_metaindex_name(name), kind);
        }
    }
}
