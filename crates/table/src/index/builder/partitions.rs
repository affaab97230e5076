//! Builds an index of two levels.
//!
//! A partition ends before the entry that would make it too large, by the same rule as a data
//! block, or where the filter requests it (see `filter/builder.rs`).

use super::index_block::{IndexBlockBuilder, IndexValue};
use crate::options::TableOptions;
use crate::raw::BlockHandle;
use crate::writer::cut::CutRule;

/// The partitions so far; the last is open.
#[derive(Debug)]
pub(crate) struct Partitions {
    options: TableOptions,
    rule: CutRule,
    needs_sequence: bool,
    /// Finished partitions, each with the key of its last entry.
    finished: Vec<(Vec<u8>, IndexBlockBuilder)>,
    open: IndexBlockBuilder,
    last_key: Vec<u8>,
    /// The filter requests a new partition before the next entry.
    pub(crate) cut_requested: bool,
    /// A partition was started; the filter reads and clears this.
    pub(crate) was_cut: bool,
}

impl Partitions {
    pub(crate) fn new(options: &TableOptions, needs_sequence: bool) -> Self {
        Self {
            rule: CutRule::new(
                options.index.metadata_block_size,
                options.blocks.size_deviation,
                false,
            ),
            needs_sequence,
            finished: Vec::new(),
            open: IndexBlockBuilder::new(options, needs_sequence),
            last_key: Vec::new(),
            cut_requested: false,
            was_cut: false,
            options: options.clone(),
        }
    }

    /// Starts a new partition if the open one is full. As in RocksDB the estimate uses the last internal
    /// key of the data block and its whole handle, not the bytes that are stored.
    pub(crate) fn cut_if_full(&mut self, key_length: usize, handle: BlockHandle) {
        if self.open.is_empty() {
            return;
        }
        let mut encoded = Vec::with_capacity(BlockHandle::MAX_ENCODED_LENGTH);
        handle.encode_to(&mut encoded);
        if self.cut_requested || self.rule.cuts(self.open.current(), key_length, encoded.len()) {
            let next = IndexBlockBuilder::new(&self.options, self.needs_sequence);
            let full = std::mem::replace(&mut self.open, next);
            self.finished.push((std::mem::take(&mut self.last_key), full));
            self.was_cut = true;
            self.cut_requested = false;
        }
    }

    pub(crate) fn add(&mut self, key: &[u8], value: IndexValue<'_>) {
        self.open.add(key, value);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    pub(crate) fn need_sequence(&mut self) {
        self.needs_sequence = true;
        self.open.need_sequence();
    }

    /// All partitions in order, each with the key of its last entry.
    pub(crate) fn into_partitions(mut self) -> Vec<(Vec<u8>, IndexBlockBuilder)> {
        if !self.open.is_empty() {
            self.finished.push((self.last_key, self.open));
        }
        self.finished
    }
}
