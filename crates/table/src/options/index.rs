//! Settings of the index.

use super::TableOptions;
use crate::raw::IndexKind;

/// How far the keys of the index are shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IndexShortening {
    /// The index has the last keys of the blocks as they are.
    None,
    /// It has the shortest keys that separate a block from the next: RocksDB's default.
    #[default]
    Separators,
    /// The last key is shortened, too: LevelDB's way. A seek behind the last key may then read the
    /// last block for nothing.
    SeparatorsAndSuccessor,
}

impl TableOptions {
    /// How the index is built. Default: one block for binary search. Two levels are for tables
    /// whose index should not be in memory as a whole.
    #[must_use]
    pub fn index_kind(mut self, kind: IndexKind) -> Self {
        self.index_kind = kind;
        self
    }

    /// How far the keys of the index are shortened. Default: [`IndexShortening::Separators`].
    #[must_use]
    pub fn index_shortening(mut self, shortening: IndexShortening) -> Self {
        self.index_shortening = shortening;
        self
    }

    /// Entries from one restart point of an index block to the next. Default:
    /// `DEFAULT_INDEX_BLOCK_RESTART_INTERVAL` of [`defaults`](super::defaults).
    #[must_use]
    pub fn index_block_restart_interval(mut self, entries: usize) -> Self {
        self.index_block_restart_interval = entries;
        self
    }

    /// About how many bytes a partition of index or filter holds. Default:
    /// [`DEFAULT_METADATA_BLOCK_SIZE`](super::defaults::DEFAULT_METADATA_BLOCK_SIZE).
    #[must_use]
    pub fn metadata_block_size(mut self, bytes: usize) -> Self {
        self.metadata_block_size = bytes;
        self
    }

    /// Below which coefficient of variation of their gaps the keys of an index block are marked as
    /// evenly spread, for RocksDB's interpolating search. Default: nothing is marked.
    #[must_use]
    pub fn uniform_cv_threshold(mut self, threshold: f64) -> Self {
        self.uniform_cv_threshold = (threshold >= 0.0).then_some(threshold);
        self
    }

    /// Whether index blocks are compressed like data blocks. Default: yes.
    #[must_use]
    pub fn enable_index_compression(mut self, on: bool) -> Self {
        self.enable_index_compression = on;
        self
    }
}
