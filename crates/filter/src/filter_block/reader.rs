//! Reading a filter block.

use alloc::sync::Arc;
use alloc::vec::Vec;

use sstkit_coding::fixed::decode_fixed32;

use super::excess::Excess;
use crate::hashed_key::HashedKey;
use crate::policy::UserPolicy;
use crate::reader::FilterKind;
use crate::stats::FilterStats;
use crate::trace::{FilterBlockTrace, FilterTrace};

use super::{BlockBloom, TAIL_LENGTH};

/// A filter block over borrowed, owned or shared bytes.
#[derive(Clone, Debug)]
pub struct FilterBlock<B> {
    bytes: B,
    maker: Maker,
    /// Start of the offset array, which is the end of the filters.
    array_offset: usize,
    num_filters: usize,
    base_lg: u32,
}

/// The policy of the filters.
#[derive(Clone, Debug)]
enum Maker {
    Bloom(BlockBloom),
    User(Arc<dyn UserPolicy>),
}

impl<B: AsRef<[u8]>> FilterBlock<B> {
    /// A block named `filter.leveldb.BuiltinBloomFilter2` in the metaindex.
    pub fn leveldb(bytes: B) -> Self {
        Self::new(bytes, Maker::Bloom(BlockBloom::LevelDb))
    }

    /// A block named `filter.rocksdb.BuiltinBloomFilter` in the metaindex.
    pub fn rocksdb(bytes: B) -> Self {
        Self::new(bytes, Maker::Bloom(BlockBloom::RocksDb))
    }

    /// A block of a custom policy, named `filter.` and the name of the policy.
    pub fn user(bytes: B, policy: Arc<dyn UserPolicy>) -> Self {
        Self::new(bytes, Maker::User(policy))
    }

    fn new(bytes: B, maker: Maker) -> Self {
        let (array_offset, num_filters, base_lg) = tail(bytes.as_ref()).unwrap_or((0, 0, 0));
        Self { bytes, maker, array_offset, num_filters, base_lg }
    }

    /// Whether the data block at file offset `block_offset` may contain `key`.
    pub fn may_contain(&self, block_offset: u64, key: &[u8]) -> bool {
        self.may_contain_hashed(block_offset, &HashedKey::new(key))
    }

    /// [`may_contain`](Self::may_contain) for a key that is already hashed.
    pub fn may_contain_hashed(&self, block_offset: u64, key: &HashedKey<'_>) -> bool {
        let Some(filter) = self.filter_of(self.index_of(block_offset)) else { return true };
        match &self.maker {
            Maker::Bloom(bloom) => bloom.may_contain(filter, bloom.hash_of(key)),
            // The format, not the policy, defines that an empty filter contains nothing.
            Maker::User(_) if filter.is_empty() => false,
            Maker::User(policy) => {
                policy.open(filter).is_none_or(|opened| opened.may_contain(filter, key))
            }
        }
    }

    /// The kind of the filters. Single filters may be degenerate.
    pub fn kind(&self) -> FilterKind {
        match &self.maker {
            Maker::Bloom(BlockBloom::LevelDb) => FilterKind::LevelDbBloom,
            Maker::Bloom(BlockBloom::RocksDb) => FilterKind::BlockBasedBloom,
            Maker::User(_) => FilterKind::User,
        }
    }

    /// Traces a probe of the filter of the data block at `block_offset`.
    pub fn trace(&self, block_offset: u64, key: &HashedKey<'_>) -> FilterBlockTrace {
        let index = self.index_of(block_offset);
        let filter = self.filter_of(index);
        let may_contain = self.may_contain_hashed(block_offset, key);
        FilterBlockTrace {
            index,
            num_filters: self.num_filters,
            span: 1u64.checked_shl(self.base_lg),
            filter_length: filter.map(<[u8]>::len),
            filter: match (&self.maker, filter) {
                (Maker::Bloom(bloom), Some(filter)) => bloom.trace(filter, bloom.hash_of(key)),
                (Maker::User(_), Some([_, ..])) => {
                    FilterTrace::opaque(FilterKind::User, may_contain)
                }
                (Maker::User(_), Some([])) => {
                    FilterTrace::opaque(FilterKind::AlwaysFalse, may_contain)
                }
                (_, None) => FilterTrace::opaque(FilterKind::Unknown, may_contain),
            },
        }
    }

    /// Statistics of each filter, in order.
    pub fn stats(&self) -> Vec<FilterStats> {
        // Filters do not overlap. Forged offsets could make each of them span the whole block.
        let mut room = self.array_offset;
        let mut open = |index| {
            let filter = self.filter(index)?;
            room = room.checked_sub(filter.len())?;
            Some(filter)
        };
        let mut excess = Excess::new(self.num_filters);
        let filters = (0..self.num_filters).map(|index| match (&self.maker, open(index)) {
            (Maker::Bloom(bloom), Some(filter)) => {
                let stats = bloom.stats(filter);
                excess.add(*bloom, filter, &stats);
                stats
            }
            (Maker::User(_), Some([])) => FilterStats::opaque(FilterKind::AlwaysFalse, 0),
            (Maker::User(_), Some(filter)) => FilterStats::opaque(FilterKind::User, filter.len()),
            (_, None) => FilterStats::opaque(FilterKind::Unknown, 0),
        });
        let mut filters: Vec<FilterStats> = filters.collect();
        excess.correct(&mut filters);
        filters
    }

    /// The index of the filter for the data block at `block_offset`.
    fn index_of(&self, block_offset: u64) -> u64 {
        // With a span of 2^64 bytes or more, filter 0 covers every offset.
        block_offset.checked_shr(self.base_lg).unwrap_or(0)
    }

    fn filter_of(&self, index: u64) -> Option<&[u8]> {
        usize::try_from(index).ok().and_then(|index| self.filter(index))
    }

    /// Number of filters, empty ones included.
    pub fn num_filters(&self) -> usize {
        self.num_filters
    }

    /// The bytes of one filter, or `None` if it does not exist or its offsets are damaged.
    pub fn filter(&self, index: usize) -> Option<&[u8]> {
        if index >= self.num_filters {
            return None;
        }
        let bytes = self.bytes.as_ref();
        let entry = self.array_offset + 4 * index;
        // The word after the last offset is the offset of the array, where the last filter ends.
        let start = word(bytes, entry)?;
        let limit = word(bytes, entry + 4)?;
        if start == limit {
            // Empty, even if the offset itself is damaged: no data block starts here.
            return Some(&[]);
        }
        if limit > self.array_offset {
            return None;
        }
        bytes.get(start..limit)
    }

    /// The whole block.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

/// Array offset, number of filters and log2 of their span, if the tail of the block is valid.
fn tail(bytes: &[u8]) -> Option<(usize, usize, u32)> {
    let array_end = bytes.len().checked_sub(TAIL_LENGTH)?;
    let array_offset = word(bytes, array_end)?;
    let num_filters = array_end.checked_sub(array_offset)? / 4;
    Some((array_offset, num_filters, u32::from(*bytes.last()?)))
}

fn word(bytes: &[u8], offset: usize) -> Option<usize> {
    let word = bytes.get(offset..)?.first_chunk()?;
    usize::try_from(decode_fixed32(*word)).ok()
}
