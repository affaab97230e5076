//! Blocks under one budget, in shards with a lock each.
//!
//! ```text
//! by number   slot ------------------------------> block      where it was the last time
//! by key      shard of its hash ---> slot -------> block
//! ```

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::hashing::BlockHashing;
use super::shard::{Place, Shard};
use super::slots::Slots;
use super::{BlockKey, CachedBlock, RecycledBuffer};
use crate::error::Result;
use crate::raw::{Block, BlockFences};

pub(crate) struct Pool {
    slots: Slots,
    hashing: BlockHashing,
    /// A power of two of them.
    parts: Box<[Part]>,
}

/// A shard, and what is done outside of its lock.
struct Part {
    shard: Mutex<Shard>,
    /// A block was loaded for which others wait, or it could not be.
    changed: Condvar,
    /// What the last block left that went.
    recycled: Mutex<Option<RecycledBuffer>>,
}

impl Part {
    fn new(bytes: u64) -> Self {
        let (shard, changed) = (Mutex::new(Shard::new(bytes)), Condvar::new());
        Self { shard, changed, recycled: Mutex::new(None) }
    }

    fn lock(&self) -> MutexGuard<'_, Shard> {
        lock(&self.shard)
    }
}

impl Pool {
    /// At most so many bytes, in so many shards: a power of two.
    pub(crate) fn new(bytes: u64, shards: u64) -> Self {
        Self::with_hashing(bytes, shards, BlockHashing::default())
    }

    pub(crate) fn with_hashing(bytes: u64, shards: u64, hashing: BlockHashing) -> Self {
        let parts = (0..shards).map(|_| Part::new(bytes / shards)).collect();
        Self { slots: Slots::default(), hashing, parts }
    }

    fn part(&self, hash: u64) -> &Part {
        // By bits that neither the table of a shard nor what it remembers goes by first.
        &self.parts[(hash >> 40) as usize & (self.parts.len() - 1)]
    }

    /// The sum of what all shards say.
    pub(crate) fn sum(&self, count: impl Fn(&Shard) -> u64) -> u64 {
        self.parts.iter().map(|part| count(&part.lock())).sum()
    }

    pub(crate) fn clear(&self) {
        for part in &self.parts {
            let mut gone = Vec::new();
            part.lock().clear(&self.slots, &mut gone);
            *lock(&part.recycled) = None;
        }
    }

    /// Evicts all blocks of a file.
    pub(crate) fn evict(&self, file: u64) {
        for part in &self.parts {
            // They go when the lock has been given back.
            let mut gone = Vec::new();
            part.lock().evict(&self.slots, file, &mut gone);
        }
    }

    /// The block under `key`, if it is here, without counting a use.
    pub(crate) fn peek(&self, key: &BlockKey) -> Option<CachedBlock> {
        self.slots.get(self.slot_of(key)?)?.peek(key)
    }

    /// The block under `key`, if it is here, and its slot. `slot` is where it may be.
    #[inline]
    pub(crate) fn get(&self, key: &BlockKey, slot: u32) -> Option<(CachedBlock, u32)> {
        if let Some(block) = self.get_at(key, slot) {
            return Some((block, slot));
        }
        let slot = self.slot_of(key)?;
        Some((self.get_at(key, slot)?, slot))
    }

    /// The block under `key`, if it is in `slot`.
    #[inline]
    pub(crate) fn get_at(&self, key: &BlockKey, slot: u32) -> Option<CachedBlock> {
        self.slots.get(slot)?.hit(key)
    }

    /// Looks into the data block under `key`, if it is in `slot` and has fences.
    #[inline]
    pub(crate) fn look<R>(
        &self,
        (key, slot): (&BlockKey, u32),
        tail: usize,
        look: impl FnOnce(&Block<Bytes>, &BlockFences) -> Option<R>,
    ) -> Option<R> {
        self.slots.get(slot)?.look(key, tail, look)
    }

    /// Asks for the memory of a slot.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        if let Some(slot) = self.slots.get(slot) {
            slot.prefetch();
        }
    }

    fn slot_of(&self, key: &BlockKey) -> Option<u32> {
        let hash = self.hashing.hash(key);
        match self.part(hash).lock().place(hash)? {
            Place::Slot(slot) => Some(slot),
            Place::Loading => None,
        }
    }

    /// Whether the block under `key`, which is not here and comes by on a long scan, is to be taken in.
    pub(crate) fn admits_scanned(&self, key: &BlockKey) -> bool {
        let hash = self.hashing.hash(key);
        self.part(hash).lock().admits_scanned(hash)
    }

    /// The block under `key`; if it is not here, it is loaded and taken in. While one thread loads a
    /// block, others that want it wait; if it comes to nothing, the next one tries. Gives the block,
    /// its slot if it has one, and whether it was found rather than loaded.
    pub(crate) fn load(
        &self,
        key: BlockKey,
        load: impl FnOnce(RecycledBuffer) -> Result<CachedBlock>,
    ) -> Result<(CachedBlock, Option<u32>, bool)> {
        let hash = self.hashing.hash(&key);
        let part = self.part(hash);
        let mut locked = part.lock();
        loop {
            match locked.place_or_begin(hash) {
                None => break,
                Some(Place::Slot(slot)) => {
                    if let Some(block) = self.get_at(&key, slot) {
                        return Ok((block, Some(slot), true));
                    }
                    // Nothing leaves its slot while the shard is locked: another block of this hash.
                    drop(locked);
                    return Ok((load(RecycledBuffer::default())?, None, false));
                }
                Some(Place::Loading) => {
                    locked.waiting += 1;
                    locked = part.changed.wait(locked).unwrap_or_else(PoisonError::into_inner);
                    locked.waiting -= 1;
                }
            }
        }
        drop(locked);

        let mut slot = None;
        let mut loading = Loading { pool: self, key, hash, block: None, slot: &mut slot };
        let recycled = lock(&part.recycled).take();
        let block = load(recycled.unwrap_or_default())?;
        loading.block = Some(block.clone());
        drop(loading);
        Ok((block, slot, false))
    }
}

/// A block that this thread loads. Dropped, also after an error or a panic, it says how that ended
/// to those who wait.
struct Loading<'p> {
    pool: &'p Pool,
    key: BlockKey,
    hash: u64,
    block: Option<CachedBlock>,
    /// Where it is afterwards.
    slot: &'p mut Option<u32>,
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        let part = self.pool.part(self.hash);
        // Blocks go when the lock has been given back: what their bytes belong to may be anything.
        let mut gone = Vec::new();
        let mut locked = part.lock();
        match self.block.take() {
            Some(block) => {
                let key = (self.key, self.hash);
                *self.slot = locked.take_in(&self.pool.slots, key, block, &mut gone);
            }
            None => locked.give_up(self.hash),
        }
        if locked.waiting > 0 {
            part.changed.notify_all();
        }
        drop(locked);
        if let Some(recycled) = gone.pop().and_then(RecycledBuffer::of) {
            *lock(&part.recycled) = Some(recycled);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use sstkit_filter::Filter;

    use super::*;
    use crate::raw::{BlockHandle, BlockKind};

    /// Of blocks with the same hash one is kept, and nobody gets the one of another.
    #[test]
    fn one_hash_for_all() {
        let pool = Pool { hashing: BlockHashing::same_for_all(), ..Pool::new(1 << 20, 1) };
        let key = |at| BlockKey { file: 0, kind: BlockKind::Data, handle: BlockHandle::new(at, 1) };
        for round in 0..3 {
            for at in 1..5u64 {
                let block = || CachedBlock::Filter(Filter::from_bytes(vec![0; at as usize].into()));
                let (got, slot, found) = pool.load(key(at), |_| Ok(block())).unwrap();
                assert_eq!(got.len(), at);
                assert_eq!(slot.is_some(), at == 1);
                assert_eq!(found, at == 1 && round > 0);
                assert_eq!(pool.get(&key(at), 0).is_some(), at == 1);
            }
        }
        assert_eq!(pool.sum(|shard| shard.len() as u64), 1);
    }
}
