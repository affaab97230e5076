//! A shard of a pool: which blocks it has, in which slots, and which to evict.
//!
//! ```text
//! new ----------> small: 1 % ------- not used since ----> evicted, leaves a ghost entry
//!                  '---- used since ----.
//! ghost entry ---------------------------'-> main ---- not used since ----> evicted
//!                                             ^'-- used since, one use less --'
//! ```
//!
//! Both are queues; the policy is S3-FIFO. Blocks that are used once leave through the small queue and do
//! not evict blocks that are used often. Long scans read many such blocks: in a full cache they only
//! get a ghost entry, and are inserted when they are read again.
//!
//! Blocks are found by the hashes of their keys. The slot has the whole key, so a collision is noticed;
//! of two blocks with the same hash one is cached.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use super::hashing::BuildIdentityHasher;
use super::slots::{CacheEntry, MAX_USES, Slot, Slots};
use super::{BlockKey, CachedBlock};

/// Approximate memory per block besides its bytes: a slot, a map entry and a queue entry.
const OVERHEAD: u64 = size_of::<Slot>() as u64 + 96;

/// The default block size of both engines. There is a ghost entry per this many bytes of capacity.
const TYPICAL_BLOCK: u64 = 4096;

/// The small queue gets a hundredth of the capacity, so that the buffers that most misses reuse stay in
/// the processor's cache; in small caches more.
fn small_capacity(capacity: u64) -> u64 {
    (capacity / 100).max(64 << 10).min(capacity / 10)
}

/// Blocks by the hashes of their keys, in order of eviction.
pub(crate) struct Shard {
    capacity: u64,
    states: HashMap<u64, BlockState, BuildIdentityHasher>,
    small: Queue,
    main: Queue,
    /// Hashes of blocks that were evicted from the small queue; a direct-mapped table.
    ghosts: Vec<u32>,
    /// Free slots.
    free: Vec<u32>,
    /// Threads that wait for a block that another one loads.
    pub(crate) waiting: usize,
    /// Blocks inserted so far.
    pub(crate) insertions: u64,
    /// Blocks evicted so far to make room.
    pub(crate) evictions: u64,
}

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockState {
    Slot(u32),
    /// A thread is loading it.
    Loading,
}

/// Blocks, the oldest first.
#[derive(Default)]
struct Queue {
    blocks: VecDeque<Queued>,
    bytes: u64,
}

#[derive(Clone, Copy)]
struct Queued {
    hash: u64,
    slot: u32,
    bytes: u64,
}

impl Queue {
    fn push(&mut self, block: Queued) {
        self.blocks.push_back(block);
        self.bytes += block.bytes;
    }

    fn pop(&mut self) -> Option<Queued> {
        let block = self.blocks.pop_front()?;
        self.bytes -= block.bytes;
        Some(block)
    }
}

impl Shard {
    pub(crate) fn new(capacity: u64) -> Self {
        let ghosts = (capacity / TYPICAL_BLOCK).clamp(1, 1 << 20).next_power_of_two();
        Self {
            capacity,
            states: HashMap::default(),
            small: Queue::default(),
            main: Queue::default(),
            ghosts: vec![0; ghosts as usize],
            free: Vec::new(),
            waiting: 0,
            insertions: 0,
            evictions: 0,
        }
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.small.bytes + self.main.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.small.blocks.len() + self.main.blocks.len()
    }

    /// The state of the block with this hash.
    #[inline]
    pub(crate) fn state(&self, hash: u64) -> Option<BlockState> {
        self.states.get(&hash).copied()
    }

    /// The same. If there is none, marks the block as being loaded by the caller.
    pub(crate) fn state_or_begin(&mut self, hash: u64) -> Option<BlockState> {
        match self.states.entry(hash) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(entry) => {
                entry.insert(BlockState::Loading);
                None
            }
        }
    }

    /// Forgets a block whose loading failed.
    pub(crate) fn abandon(&mut self, hash: u64) {
        self.states.remove(&hash);
    }

    /// Whether a block read by a long scan should be inserted: if there is room or it has a ghost entry.
    /// Otherwise it gets a ghost entry.
    pub(crate) fn admits_scanned(&mut self, hash: u64) -> bool {
        // Its decompressed size is not known yet; assume that of the last block.
        let bytes = self.small.blocks.back().map_or(TYPICAL_BLOCK + OVERHEAD, |last| last.bytes);
        let has_room = self.used_bytes() + bytes <= self.capacity;
        let (at, ghost) = self.ghost(hash);
        has_room || std::mem::replace(&mut self.ghosts[at], ghost) == ghost
    }

    /// Inserts a loaded block, if it fits. Returns its slot.
    pub(crate) fn insert(
        &mut self,
        slots: &Slots,
        (key, hash): (BlockKey, u64),
        block: CachedBlock,
        evicted: &mut Vec<CachedBlock>,
    ) -> Option<u32> {
        let bytes = block.len() + OVERHEAD;
        let number = match bytes <= self.capacity {
            true => {
                self.make_room(slots, bytes, evicted);
                self.free.pop().or_else(|| slots.add())
            }
            false => None,
        };
        let Some((number, slot)) = number.and_then(|number| Some((number, slots.get(number)?)))
        else {
            self.abandon(hash);
            return None;
        };
        *slot.write() = Some(CacheEntry::new(key, block));
        self.states.insert(hash, BlockState::Slot(number));
        let (at, ghost) = self.ghost(hash);
        let queue = if self.ghosts[at] == ghost { &mut self.main } else { &mut self.small };
        queue.push(Queued { hash, slot: number, bytes });
        self.insertions += 1;
        Some(number)
    }

    /// Changes the capacity, and evicts blocks until the rest fits.
    pub(crate) fn set_capacity(
        &mut self,
        slots: &Slots,
        capacity: u64,
        evicted: &mut Vec<CachedBlock>,
    ) {
        self.capacity = capacity;
        self.make_room(slots, 0, evicted);
    }

    /// Evicts blocks until there is room.
    fn make_room(&mut self, slots: &Slots, bytes: u64, evicted: &mut Vec<CachedBlock>) {
        // Other threads use blocks at the same time: after this many steps, uses are ignored.
        let mut steps = self.len() * (usize::from(MAX_USES) + 1);
        while self.used_bytes() + bytes > self.capacity && self.evict_one(slots, steps > 0, evicted)
        {
            steps = steps.saturating_sub(1);
        }
    }

    /// Evicts one block or moves one to the end of the main queue; false if there is none.
    fn evict_one(
        &mut self,
        slots: &Slots,
        keep_used: bool,
        evicted: &mut Vec<CachedBlock>,
    ) -> bool {
        let from_small =
            self.small.bytes > small_capacity(self.capacity) || self.main.blocks.is_empty();
        let queue = if from_small { &mut self.small } else { &mut self.main };
        let Some(queued) = queue.pop() else { return false };
        if let Some(slot) = slots.get(queued.slot) {
            let mut entry = slot.write();
            if let Some(entry) = &mut *entry
                && let uses @ 1.. = entry.uses.get_mut()
                && keep_used
            {
                // Moving to the main queue resets the uses; each round in it takes one.
                *uses = if from_small { 0 } else { *uses - 1 };
                self.main.push(queued);
                return true;
            }
            evicted.extend(entry.take().map(|entry| entry.block));
        }
        self.free.push(queued.slot);
        self.evictions += 1;
        self.states.remove(&queued.hash);
        if from_small {
            let (at, ghost) = self.ghost(queued.hash);
            self.ghosts[at] = ghost;
        }
        true
    }

    /// Index and contents of the ghost entry of a hash.
    fn ghost(&self, hash: u64) -> (usize, u32) {
        (hash as usize & (self.ghosts.len() - 1), (hash >> 32) as u32)
    }

    pub(crate) fn evict(&mut self, slots: &Slots, file: u64, evicted: &mut Vec<CachedBlock>) {
        for queue in [&mut self.small, &mut self.main] {
            queue.blocks.retain(|queued| {
                let slot = slots.get(queued.slot);
                let Some(block) = slot.and_then(|slot| slot.take_of(file)) else { return true };
                evicted.push(block);
                queue.bytes -= queued.bytes;
                self.free.push(queued.slot);
                self.states.remove(&queued.hash);
                false
            });
        }
    }

    pub(crate) fn clear(&mut self, slots: &Slots, evicted: &mut Vec<CachedBlock>) {
        self.states.retain(|_, state| *state == BlockState::Loading);
        for queue in [&mut self.small, &mut self.main] {
            while let Some(queued) = queue.pop() {
                if let Some(slot) = slots.get(queued.slot) {
                    evicted.extend(slot.write().take().map(|entry| entry.block));
                }
                self.free.push(queued.slot);
            }
        }
    }
}
