//! Builds the index of a table, of any kind.
//!
//! ```text
//! data block written ---> separator ---> IndexBlockBuilder                      kinds 0, 1, 3
//!                                  '---> partitions: IndexBlockBuilder each     kind 2
//! each key ------------> HashPrefixes                                           kind 1
//! ```

mod hash_prefixes;
mod index_block;
mod partitions;

use std::cmp::Ordering;

use sstkit_coding::fixed::decode_fixed64;

use crate::comparator::Comparator;
use crate::index::separator::Separators;
use crate::options::{IndexShortening, TableOptions};
use crate::raw::{BlockHandle, FormatVersion, IndexKind, InternalKey};

pub(crate) use self::hash_prefixes::HashPrefixes;
pub(crate) use self::index_block::{IndexBlockBuilder, IndexValue};
pub(crate) use self::partitions::Partitions;

/// What the index needs to know of a data block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataBlockSpan<'a> {
    pub(crate) handle: BlockHandle,
    /// Internal keys.
    pub(crate) first_key: &'a [u8],
    pub(crate) last_key: &'a [u8],
    /// The first key of the next block, unless this is the last.
    pub(crate) next_key: Option<&'a [u8]>,
    /// The internal key to use in the index if it is at or after the last key and before the next.
    pub(crate) separator: Option<&'a [u8]>,
    /// The block is preceded by padding.
    pub(crate) after_gap: bool,
}

/// Builds the index of a table.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    comparator: Comparator,
    separators: Separators,
    shortening: IndexShortening,
    with_first_key: bool,
    /// Some adjacent blocks share a user key, or the format version requires sequence numbers.
    needs_sequence: bool,
    /// The key of the last entry.
    last_separator: Vec<u8>,
    pub(crate) levels: Levels,
}

#[derive(Debug)]
pub(crate) enum Levels {
    One(Box<IndexBlockBuilder>),
    Two(Box<Partitions>),
}

impl IndexBuilder {
    pub(crate) fn new(options: &TableOptions) -> Self {
        let needs_sequence = options.format.version < FormatVersion::V3;
        let levels = match options.index.kind {
            IndexKind::TwoLevel => Levels::Two(Box::new(Partitions::new(options, needs_sequence))),
            _ => Levels::One(Box::new(IndexBlockBuilder::new(options, needs_sequence))),
        };
        Self {
            comparator: options.comparator.clone(),
            separators: Separators::new(options),
            shortening: options.index.shortening,
            with_first_key: options.index.kind == IndexKind::BinarySearchWithFirstKey,
            needs_sequence,
            last_separator: Vec::new(),
            levels,
        }
    }

    /// Adds a data block. Blocks come in the order of the file.
    pub(crate) fn add(&mut self, block: &DataBlockSpan<'_>) {
        if let (Levels::Two(partitions), Some(_)) = (&mut self.levels, block.next_key) {
            // No new partition for the last block: it would have a single entry.
            partitions.cut_if_full(block.last_key.len(), block.handle);
        }
        self.last_separator = self.separator(block);
        if let Some(next) = block.next_key
            && self.share_user_key(block.last_key, next)
            && !self.needs_sequence
        {
            self.needs_sequence = true;
            match &mut self.levels {
                Levels::One(index) => index.need_sequence(),
                Levels::Two(partitions) => partitions.need_sequence(),
            }
        }
        let value = IndexValue {
            handle: block.handle,
            first_key: self.with_first_key.then_some(block.first_key),
            after_gap: block.after_gap,
        };
        match &mut self.levels {
            Levels::One(index) => index.add(&self.last_separator, value),
            Levels::Two(partitions) => partitions.add(&self.last_separator, value),
        }
    }

    fn separator(&self, block: &DataBlockSpan<'_>) -> Vec<u8> {
        if let Some(separator) = block.separator
            && self.is_separator(separator, block)
        {
            return separator.to_vec();
        }
        match (self.shortening, block.next_key) {
            (IndexShortening::None, _) | (IndexShortening::Separators, None) => {
                block.last_key.to_vec()
            }
            (_, Some(next)) => self.separators.between(block.last_key, next),
            (IndexShortening::SeparatorsAndSuccessor, None) => {
                self.separators.after(block.last_key)
            }
        }
    }

    fn is_separator(&self, key: &[u8], block: &DataBlockSpan<'_>) -> bool {
        key.len() >= InternalKey::TAIL_LENGTH
            && self.compare(block.last_key, key).is_le()
            && block.next_key.is_none_or(|next| self.compare(key, next).is_lt())
    }

    /// Compares internal keys, the newest entry of a user key first.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let split = |key: &[u8]| key.split_last_chunk().map(|(_, tail)| decode_fixed64(*tail));
        let user_key = |key: &[u8]| key.len() - InternalKey::TAIL_LENGTH;
        let order = self.comparator.compare(&a[..user_key(a)], &b[..user_key(b)]);
        order.then_with(|| split(b).cmp(&split(a)))
    }

    fn share_user_key(&self, last: &[u8], next: &[u8]) -> bool {
        let user_key = |key: &[u8]| key.len() - InternalKey::TAIL_LENGTH;
        self.comparator.compare(&last[..user_key(last)], &next[..user_key(next)]).is_eq()
    }

    /// Whether index keys are internal keys, according to the blocks so far.
    pub(crate) fn needs_sequence(&self) -> bool {
        self.needs_sequence
    }

    /// The key of the last entry; empty before the first.
    pub(crate) fn last_separator(&self) -> &[u8] {
        &self.last_separator
    }
}
