//! A part of a pool: which blocks it has, where, and which of them goes when room is needed.
//!
//! ```text
//! new ----------> small: a tenth ---- not used since ----> out, its hash remembered
//!                  '---- used since ----.
//! remembered ----------------------------'-> main ---- not used since ----> out
//!                                             ^'-- used since, one use less --'
//! ```
//!
//! Both are queues (the policy is called S3-FIFO). What is used once leaves by the small queue and
//! drives out nothing that is used again and again. Long scans bring much of that: where there is no
//! room for them, their blocks are only remembered, and taken in if they come by once more.
//!
//! Blocks are found by the hashes of their keys: whether a slot has the block of a key and not
//! another of the same hash, which will hardly ever be, the slot says. Of two such blocks one is kept.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use super::hashing::BuildIdentityHasher;
use super::slots::{CacheEntry, MAX_USES, Slot, Slots};
use super::{BlockKey, CachedBlock};

/// What a block takes beside its bytes, roughly: a slot, and places in a table and a queue.
const OVERHEAD: u64 = size_of::<Slot>() as u64 + 96;

/// For how many blocks hashes are remembered: the block size that both engines use by default.
const TYPICAL_BLOCK: u64 = 4096;

/// Of which part of the bytes the small queue is.
const SMALL_PART: u64 = 10;

/// Blocks by their keys' hashes, in the order in which they may go.
pub(crate) struct Shard {
    capacity: u64,
    places: HashMap<u64, Place, BuildIdentityHasher>,
    small: Queue,
    main: Queue,
    /// Of blocks that left the small queue unused, until another one falls on the same place.
    remembered: Vec<u32>,
    /// Numbers of slots that are free again.
    free: Vec<u32>,
    /// Threads that wait for a block that another one loads.
    pub(crate) waiting: usize,
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
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
        let remembered = (capacity / TYPICAL_BLOCK).clamp(1, 1 << 20).next_power_of_two();
        Self {
            capacity,
            places: HashMap::default(),
            small: Queue::default(),
            main: Queue::default(),
            remembered: vec![0; remembered as usize],
            free: Vec::new(),
            waiting: 0,
        }
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.small.bytes + self.main.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.small.blocks.len() + self.main.blocks.len()
    }

    /// Where the block of this hash is.
    #[inline]
    pub(crate) fn place(&self, hash: u64) -> Option<Place> {
        self.places.get(&hash).copied()
    }

    /// The same. If it is not here, a thread loads it from now on.
    pub(crate) fn place_or_begin(&mut self, hash: u64) -> Option<Place> {
        match self.places.entry(hash) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(entry) => {
                entry.insert(Place::Loading);
                None
            }
        }
    }

    /// Says that loading it has come to nothing.
    pub(crate) fn give_up(&mut self, hash: u64) {
        self.places.remove(&hash);
    }

    /// Whether a block that comes by on a long scan is to be taken in: if there is room for one more,
    /// or if it is remembered. If it is not, it is from now on.
    pub(crate) fn admits_scanned(&mut self, hash: u64) -> bool {
        // How long it will be when it is decompressed is not known yet: as the last one is.
        let bytes = self.small.blocks.back().map_or(TYPICAL_BLOCK + OVERHEAD, |last| last.bytes);
        let has_room = self.used_bytes() + bytes <= self.capacity;
        let (at, mark) = self.mark(hash);
        has_room || std::mem::replace(&mut self.remembered[at], mark) == mark
    }

    /// Takes in the block that a thread has loaded, if there can be room for it. Says where it is.
    pub(crate) fn take_in(
        &mut self,
        slots: &Slots,
        (key, hash): (BlockKey, u64),
        block: CachedBlock,
        gone: &mut Vec<CachedBlock>,
    ) -> Option<u32> {
        let bytes = block.len() + OVERHEAD;
        let number = match bytes <= self.capacity {
            true => self.make_room(slots, bytes, gone).or_else(|| slots.add()),
            false => None,
        };
        let Some((number, slot)) = number.and_then(|number| Some((number, slots.get(number)?)))
        else {
            self.give_up(hash);
            return None;
        };
        *slot.write() = Some(CacheEntry::new(key, block));
        self.places.insert(hash, Place::Slot(number));
        let (at, mark) = self.mark(hash);
        let queue = if self.remembered[at] == mark { &mut self.main } else { &mut self.small };
        queue.push(Queued { hash, slot: number, bytes });
        Some(number)
    }

    /// Lets blocks go until there is room. Gives a slot that is free, if there is one.
    fn make_room(&mut self, slots: &Slots, bytes: u64, gone: &mut Vec<CachedBlock>) -> Option<u32> {
        // Blocks are used while room is sought: none is asked more often than it can have uses.
        let mut patience = self.len() * (usize::from(MAX_USES) + 1);
        while self.used_bytes() + bytes > self.capacity
            && self.let_one_go(slots, patience > 0, gone)
        {
            patience = patience.saturating_sub(1);
        }
        self.free.pop()
    }

    /// Lets one block go, or moves one on; false if there is none.
    fn let_one_go(&mut self, slots: &Slots, keep_used: bool, gone: &mut Vec<CachedBlock>) -> bool {
        let from_small =
            self.small.bytes > self.capacity / SMALL_PART || self.main.blocks.is_empty();
        let queue = if from_small { &mut self.small } else { &mut self.main };
        let Some(queued) = queue.pop() else { return false };
        if let Some(slot) = slots.get(queued.slot) {
            let mut held = slot.write();
            if let Some(held) = &mut *held
                && let uses @ 1.. = held.uses.get_mut()
                && keep_used
            {
                // In the main queue each round takes one use; coming there takes all.
                *uses = if from_small { 0 } else { *uses - 1 };
                self.main.push(queued);
                return true;
            }
            gone.extend(held.take().map(|held| held.block));
        }
        self.free.push(queued.slot);
        self.places.remove(&queued.hash);
        if from_small {
            let (at, mark) = self.mark(queued.hash);
            self.remembered[at] = mark;
        }
        true
    }

    /// Where a hash is remembered, and as what.
    fn mark(&self, hash: u64) -> (usize, u32) {
        (hash as usize & (self.remembered.len() - 1), (hash >> 32) as u32)
    }

    /// Evicts all blocks of a file.
    pub(crate) fn evict(&mut self, slots: &Slots, file: u64, gone: &mut Vec<CachedBlock>) {
        for queue in [&mut self.small, &mut self.main] {
            queue.blocks.retain(|queued| {
                let slot = slots.get(queued.slot);
                let Some(block) = slot.and_then(|slot| slot.take_of(file)) else { return true };
                gone.push(block);
                queue.bytes -= queued.bytes;
                self.free.push(queued.slot);
                self.places.remove(&queued.hash);
                false
            });
        }
    }

    /// Lets all blocks go.
    pub(crate) fn clear(&mut self, slots: &Slots, gone: &mut Vec<CachedBlock>) {
        self.places.retain(|_, place| *place == Place::Loading);
        for queue in [&mut self.small, &mut self.main] {
            while let Some(queued) = queue.pop() {
                if let Some(slot) = slots.get(queued.slot) {
                    gone.extend(slot.write().take().map(|held| held.block));
                }
                self.free.push(queued.slot);
            }
        }
    }
}
