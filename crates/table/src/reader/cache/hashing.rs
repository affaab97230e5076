//! The hash of cache keys: three numbers, one multiplication each.
//!
//! The standard library's hash resists keys that an attacker chooses, but takes many times as long. A
//! forged table can choose the offsets of blocks, but not make their hashes collide without the random
//! seed of the cache.

use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use super::BlockKey;

/// Hashes the keys of one cache.
#[derive(Clone, Debug)]
pub(crate) struct BlockHashing {
    seed: u64,
    factor: u64,
}

impl Default for BlockHashing {
    fn default() -> Self {
        let random = RandomState::new();
        Self::seeded(random.hash_one(0), random.hash_one(1))
    }
}

impl BlockHashing {
    pub(crate) fn seeded(seed: u64, factor: u64) -> Self {
        // Odd, so that a multiplication loses no bits.
        Self { seed, factor: factor | 1 }
    }

    /// Gives all keys the same hash.
    #[cfg(test)]
    pub(crate) fn same_for_all() -> Self {
        Self { seed: 0, factor: 0 }
    }

    #[inline]
    pub(crate) fn hash(&self, key: &BlockKey) -> u64 {
        let numbers = [key.handle.offset, key.handle.size << 8 | key.kind as u64, key.file];
        numbers.iter().fold(self.seed, |state, number| {
            // Both halves of the product: the upper half depends on all bits of both factors.
            let product = u128::from(state ^ number) * u128::from(self.factor);
            product as u64 ^ (product >> 64) as u64
        })
    }
}

/// For maps whose keys are hashes already.
pub(crate) type BuildIdentityHasher = BuildHasherDefault<IdentityHasher>;

#[derive(Default)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::raw::{BlockHandle, BlockKind};

    #[test]
    fn adjacent_blocks_have_distinct_hashes() {
        let hashing = BlockHashing::seeded(0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
        let mut seen = [HashSet::new(), HashSet::new()];
        for block in 0..1000u64 {
            for file in 0..10 {
                let handle = BlockHandle::new(block * 4096, 4091);
                let hash = hashing.hash(&BlockKey { file, kind: BlockKind::Data, handle });
                seen[0].insert(hash & 0xffff);
                seen[1].insert(hash >> 48);
            }
        }
        // 10,000 random 16-bit numbers have 9,273 distinct values on average.
        for values in seen {
            assert!((9000..9600).contains(&values.len()), "{}", values.len());
        }
    }

    #[test]
    fn kind_and_size_are_hashed() {
        let hashing = BlockHashing::default();
        let hash = |kind, size| {
            hashing.hash(&BlockKey { file: 0, kind, handle: BlockHandle::new(7, size) })
        };
        assert_ne!(hash(BlockKind::Data, 100), hash(BlockKind::Data, 50));
        assert_ne!(hash(BlockKind::Data, 100), hash(BlockKind::Filter, 100));
    }
}
