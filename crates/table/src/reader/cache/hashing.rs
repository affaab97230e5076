//! How the keys of the block cache are hashed: three numbers, a multiplication each.
//!
//! The standard library's hash is made for keys that an attacker chooses byte by byte, and takes
//! many times as long as a multiplication. Offsets of blocks can be chosen, too, by who forges a
//! table; but not so that they collide, without the seed that each cache draws for itself.

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
        // Odd, so that a multiplication loses nothing.
        Self { seed, factor: factor | 1 }
    }

    /// The worst there is.
    #[cfg(test)]
    pub(crate) fn same_for_all() -> Self {
        Self { seed: 0, factor: 0 }
    }

    /// All fields, as numbers.
    #[inline]
    pub(crate) fn hash(&self, key: &BlockKey) -> u64 {
        let numbers = [key.handle.offset, key.handle.size << 8 | key.kind as u64, key.file];
        numbers.iter().fold(self.seed, |state, number| {
            // Both halves of the product: the upper one depends on all bits of both factors.
            let product = u128::from(state ^ number) * u128::from(self.factor);
            product as u64 ^ (product >> 64) as u64
        })
    }
}

/// For a table of hashes: a hash is its own.
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
    fn neighbours_are_spread() {
        let hashing = BlockHashing::default();
        let mut seen = [HashSet::new(), HashSet::new()];
        for block in 0..1000u64 {
            for file in 0..10 {
                let handle = BlockHandle::new(block * 4096, 4091);
                let hash = hashing.hash(&BlockKey { file, kind: BlockKind::Data, handle });
                seen[0].insert(hash & 0xffff);
                seen[1].insert(hash >> 48);
            }
        }
        // Of 65,536 places 10,000 random numbers take 9,273.
        for places in seen {
            assert!((9000..9600).contains(&places.len()), "{}", places.len());
        }
    }

    #[test]
    fn kinds_and_sizes_count() {
        let hashing = BlockHashing::default();
        let hash = |kind, size| {
            hashing.hash(&BlockKey { file: 0, kind, handle: BlockHandle::new(7, size) })
        };
        assert_ne!(hash(BlockKind::Data, 100), hash(BlockKind::Data, 50));
        assert_ne!(hash(BlockKind::Data, 100), hash(BlockKind::Filter, 100));
    }
}
