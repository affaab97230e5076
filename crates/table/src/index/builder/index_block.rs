//! Builds one index block: an index of one level, a partition, or a top level.
//!
//! Whether index keys need sequence numbers is known only after the last data block: two adjacent
//! blocks may share a user key. Until then the block is built in both forms.

use sstkit_coding::varint::{put_length_prefixed_slice, put_varsigned64};

use crate::error::Result;
use crate::options::TableOptions;
use crate::raw::{BlockBuilder, BlockFormat, BlockHandle, DeltaValue, FinishedBlock, InternalKey};

#[derive(Debug)]
pub(crate) struct IndexBlockBuilder {
    internal_keys: BlockBuilder,
    /// `None` once sequence numbers are known to be needed.
    user_keys: Option<BlockBuilder>,
    last_handle: Option<BlockHandle>,
    value: Vec<u8>,
    difference: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexValue<'a> {
    pub(crate) handle: BlockHandle,
    /// If the index has first keys.
    pub(crate) first_key: Option<&'a [u8]>,
    /// The block does not directly follow the previous one, so its whole handle is stored.
    pub(crate) after_gap: bool,
}

impl IndexBlockBuilder {
    /// A block of the table's index. `needs_sequence` if that is already known.
    pub(crate) fn new(options: &TableOptions, needs_sequence: bool) -> Self {
        Self::with_threshold(options, needs_sequence, options.index.uniform_cv_threshold)
    }

    /// A top level: like other index blocks, but without the check for uniform keys.
    pub(crate) fn top_level(options: &TableOptions, needs_sequence: bool) -> Self {
        Self::with_threshold(options, needs_sequence, None)
    }

    fn with_threshold(
        options: &TableOptions,
        needs_sequence: bool,
        uniform_cv_threshold: Option<f64>,
    ) -> Self {
        let format = BlockFormat {
            delta_values: options.delta_index_values(),
            uniform_cv_threshold,
            ..BlockFormat::plain(options.index.restart_interval)
        };
        let user_keys = BlockFormat { user_keys: true, ..format };
        Self {
            internal_keys: BlockBuilder::new(format),
            user_keys: (!needs_sequence).then(|| BlockBuilder::new(user_keys)),
            last_handle: None,
            value: Vec::new(),
            difference: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, key: &[u8], value: IndexValue<'_>) {
        self.value.clear();
        value.handle.encode_to(&mut self.value);
        self.difference.clear();
        if let Some(last) = self.last_handle {
            let difference = value.handle.size.wrapping_sub(last.size) as i64;
            put_varsigned64(&mut self.difference, difference);
        }
        if let Some(first_key) = value.first_key {
            put_length_prefixed_slice(&mut self.value, first_key);
            put_length_prefixed_slice(&mut self.difference, first_key);
        }
        self.last_handle = Some(value.handle);

        let stored = DeltaValue {
            whole: &self.value,
            difference: &self.difference,
            force_whole: value.after_gap,
        };
        self.internal_keys.add_delta(key, stored);
        if let Some(block) = &mut self.user_keys {
            block.add_delta(&key[..key.len() - InternalKey::TAIL_LENGTH], stored);
        }
    }

    /// Records that sequence numbers are needed.
    pub(crate) fn need_sequence(&mut self) {
        self.user_keys = None;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.internal_keys.is_empty()
    }

    /// The form that will be stored, according to the blocks so far.
    pub(crate) fn current(&self) -> &BlockBuilder {
        self.user_keys.as_ref().unwrap_or(&self.internal_keys)
    }

    /// The finished block, in the form used for the whole table.
    pub(crate) fn finish(self, needs_sequence: bool) -> Result<FinishedBlock> {
        match self.user_keys {
            Some(block) if !needs_sequence => block.finish(),
            _ => self.internal_keys.finish(),
        }
    }
}
