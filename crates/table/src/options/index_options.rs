//! Settings of the index.

use sstkit_coding::{setters, with_defaults};

use super::TableOptions;
use super::check::refuse;
use super::defaults::{DEFAULT_INDEX_BLOCK_RESTART_INTERVAL, DEFAULT_METADATA_BLOCK_SIZE};
use crate::error::Result;
use crate::raw::IndexKind;

/// How far the keys of the index are shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexShortening {
    /// Index keys are the last keys of the blocks.
    None,
    /// Index keys are the shortest keys between two blocks: RocksDB's default.
    #[default]
    Separators,
    /// The last key is shortened, too, as in LevelDB. A seek past the last key may then read the last
    /// block needlessly.
    SeparatorsAndSuccessor,
}

with_defaults! {
    #[derive(Clone, Debug)]
    pub(crate) struct IndexOptions {
        pub(crate) kind: IndexKind = IndexKind::BinarySearch,
        pub(crate) shortening: IndexShortening = IndexShortening::Separators,
        /// If data blocks of another table are taken over, so are the keys of its index.
        pub(crate) keeps_separators: bool,
        pub(crate) restart_interval: usize = DEFAULT_INDEX_BLOCK_RESTART_INTERVAL,
        pub(crate) metadata_block_size: usize = DEFAULT_METADATA_BLOCK_SIZE,
        pub(crate) uniform_cv_threshold: Option<f64>,
        pub(crate) compression: bool = true,
    }
}

impl IndexOptions {
    pub(super) fn check(&self) -> Result<()> {
        refuse(self.restart_interval == 0, || "index_block_restart_interval = 0".into())?;
        refuse(self.metadata_block_size == 0, || "metadata_block_size = 0".into())
    }
}

setters! {
    impl TableOptions:

    /// The kind of index. Default: one block for binary search. Two levels are for tables whose index
    /// should not be in memory as a whole.
    pub fn index_kind(mut self, kind: IndexKind) { self.index.kind = kind; }

    /// How far the keys of the index are shortened. Default: [`IndexShortening::Separators`].
    pub fn index_shortening(mut self, shortening: IndexShortening) {
        self.index.shortening = shortening;
        self.index.keeps_separators = false;
    }

    /// Entries between two restart points of an index block. Default:
    /// `DEFAULT_INDEX_BLOCK_RESTART_INTERVAL` of [`defaults`](super::defaults).
    pub fn index_block_restart_interval(mut self, entries: usize) {
        self.index.restart_interval = entries;
    }

    /// Approximate size of a partition of index or filter, in bytes. Default:
    /// [`DEFAULT_METADATA_BLOCK_SIZE`].
    pub fn metadata_block_size(mut self, bytes: usize) { self.index.metadata_block_size = bytes; }

    /// An index block whose keys have gaps with a coefficient of variation below this is marked as
    /// uniform, for RocksDB's interpolation search. Default: no block is marked.
    pub fn uniform_cv_threshold(mut self, threshold: f64) {
        self.index.uniform_cv_threshold = (threshold >= 0.0).then_some(threshold);
    }

    /// Whether index blocks are compressed like data blocks. Default: yes.
    pub fn enable_index_compression(mut self, on: bool) { self.index.compression = on; }
}
