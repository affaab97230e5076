//! Blocks with a common capacity, in shards with a lock each.
//!
//! ```text
//! by slot number   slot ------------------------------> block      a hint from the last time
//! by key           shard of its hash ---> slot -------> block
//! ```

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::hashing::BlockHashing;
use super::shard::{BlockState, Shard};
use super::slots::{NO_SLOT, Slots};
use super::{BlockKey, CachedBlock};
use crate::error::Result;
use crate::raw::{Block, BlockFences};

pub(crate) struct Pool {
    slots: Slots,
    hashing: BlockHashing,
    /// A power of two of them.
    parts: Box<[Part]>,
}

/// A shard and its lock.
struct Part {
    shard: Mutex<Shard>,
    /// Signals that loading a block has ended.
    changed: Condvar,
}

impl Part {
    fn new(bytes: u64) -> Self {
        Self { shard: Mutex::new(Shard::new(bytes)), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Shard> {
        self.shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// A pool of at most `bytes` in `shards` shards, a power of two.
    pub(crate) fn new(bytes: u64, shards: u64) -> Self {
        Self::with_hashing(bytes, shards, BlockHashing::default())
    }

    pub(crate) fn with_hashing(bytes: u64, shards: u64, hashing: BlockHashing) -> Self {
        let parts = (0..shards).map(|_| Part::new(bytes / shards)).collect();
        Self { slots: Slots::default(), hashing, parts }
    }

    fn part(&self, hash: u64) -> &Part {
        // Bits that neither the map of a shard nor its ghost entries use.
        &self.parts[(hash >> 40) as usize & (self.parts.len() - 1)]
    }

    pub(crate) fn sum(&self, count: impl Fn(&Shard) -> u64) -> u64 {
        self.parts.iter().map(|part| count(&part.lock())).sum()
    }

    /// Changes the capacity. The number of shards stays the same.
    pub(crate) fn set_capacity(&self, bytes: u64) {
        let bytes = bytes / self.parts.len() as u64;
        for part in &self.parts {
            // Dropped after the lock is released.
            let mut evicted = Vec::new();
            part.lock().set_capacity(&self.slots, bytes, &mut evicted);
        }
    }

    pub(crate) fn clear(&self) {
        for part in &self.parts {
            let mut evicted = Vec::new();
            part.lock().clear(&self.slots, &mut evicted);
        }
    }

    pub(crate) fn evict(&self, file: u64) {
        for part in &self.parts {
            // Dropped after the lock is released.
            let mut evicted = Vec::new();
            part.lock().evict(&self.slots, file, &mut evicted);
        }
    }

    /// The block of `key`, if it is cached. Does not count as a use.
    pub(crate) fn peek(&self, key: &BlockKey) -> Option<CachedBlock> {
        self.slots.get(self.slot_of(key)?)?.peek(key)
    }

    /// The block of `key` and its slot, if it is cached. `slot` is a hint.
    #[inline]
    pub(crate) fn get(&self, key: &BlockKey, slot: u32) -> Option<(CachedBlock, u32)> {
        if let Some(block) = self.get_at(key, slot) {
            return Some((block, slot));
        }
        let slot = self.slot_of(key)?;
        Some((self.get_at(key, slot)?, slot))
    }

    /// The block of `key`, if it is in `slot`.
    #[inline]
    pub(crate) fn get_at(&self, key: &BlockKey, slot: u32) -> Option<CachedBlock> {
        self.slots.get(slot)?.hit(key)
    }

    /// Calls `look` with the data block of `key`, if it is in `slot` and has fences.
    #[inline]
    pub(crate) fn look<R>(
        &self,
        (key, slot): (&BlockKey, u32),
        tail: usize,
        look: impl FnOnce(&Block<Bytes>, &BlockFences) -> Option<R>,
    ) -> Option<R> {
        self.slots.get(slot)?.look(key, tail, look)
    }

    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        if let Some(slot) = self.slots.get(slot) {
            slot.prefetch();
        }
    }

    pub(crate) fn prefetch_scan(&self, slot: u32, backward: bool) {
        if slot != NO_SLOT {
            self.slots.prefetch_scan(slot, backward);
        }
    }

    fn slot_of(&self, key: &BlockKey) -> Option<u32> {
        let hash = self.hashing.hash(key);
        match self.part(hash).lock().state(hash)? {
            BlockState::Slot(slot) => Some(slot),
            BlockState::Loading => None,
        }
    }

    /// Whether a block read by a long scan should be inserted.
    pub(crate) fn admits_scanned(&self, key: &BlockKey) -> bool {
        let hash = self.hashing.hash(key);
        self.part(hash).lock().admits_scanned(hash)
    }

    /// The block of `key`, loaded and inserted if it is not cached. While one thread loads a block, others
    /// wait for it; if loading fails, the next one tries. Returns the block, its slot if it is cached,
    /// and whether it was a hit.
    pub(crate) fn load(
        &self,
        key: BlockKey,
        load: impl FnOnce() -> Result<CachedBlock>,
    ) -> Result<(CachedBlock, Option<u32>, bool)> {
        let hash = self.hashing.hash(&key);
        let part = self.part(hash);
        let mut locked = part.lock();
        loop {
            match locked.state_or_begin(hash) {
                None => break,
                Some(BlockState::Slot(slot)) => {
                    if let Some(block) = self.get_at(&key, slot) {
                        return Ok((block, Some(slot), true));
                    }
                    // No block leaves its slot while the shard is locked, so this is another block with
                    // the same hash.
                    drop(locked);
                    return Ok((load()?, None, false));
                }
                Some(BlockState::Loading) => {
                    locked.waiting += 1;
                    locked = part.changed.wait(locked).unwrap_or_else(PoisonError::into_inner);
                    locked.waiting -= 1;
                }
            }
        }
        drop(locked);

        let mut slot = None;
        let mut loading = Loading { pool: self, key, hash, block: None, slot: &mut slot };
        let block = load()?;
        loading.block = Some(block.clone());
        drop(loading);
        Ok((block, slot, false))
    }
}

/// A block that this thread loads. Dropping it, also after an error or a panic, inserts the block if there
/// is one and wakes the threads that wait for it.
struct Loading<'p> {
    pool: &'p Pool,
    key: BlockKey,
    hash: u64,
    block: Option<CachedBlock>,
    /// The slot of the inserted block.
    slot: &'p mut Option<u32>,
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        let part = self.pool.part(self.hash);
        // Evicted blocks are dropped after the lock is released: dropping their bytes may run any code.
        let mut evicted = Vec::new();
        let mut locked = part.lock();
        match self.block.take() {
            Some(block) => {
                let key = (self.key, self.hash);
                *self.slot = locked.insert(&self.pool.slots, key, block, &mut evicted);
            }
            None => locked.abandon(self.hash),
        }
        if locked.waiting > 0 {
            part.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use sstkit_filter::Filter;

    use super::*;
    use crate::raw::{BlockHandle, BlockKind};

    /// Of blocks with the same hash one is cached, and none is returned for another key.
    #[test]
    fn colliding_hashes() {
        let pool = Pool { hashing: BlockHashing::same_for_all(), ..Pool::new(1 << 20, 1) };
        let key = |at| BlockKey { file: 0, kind: BlockKind::Data, handle: BlockHandle::new(at, 1) };
        for round in 0..3 {
            for at in 1..5u64 {
                let block = || CachedBlock::Filter(Filter::from_bytes(vec![0; at as usize].into()));
                let (got, slot, found) = pool.load(key(at), || Ok(block())).unwrap();
                assert_eq!(got.len(), at);
                assert_eq!(slot.is_some(), at == 1);
                assert_eq!(found, at == 1 && round > 0);
                assert_eq!(pool.get(&key(at), 0).is_some(), at == 1);
            }
        }
        assert_eq!(pool.sum(|shard| shard.len() as u64), 1);
    }
}
