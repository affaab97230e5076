//! A part of a pool: which blocks it has, where, and which of them goes when room is needed.
//!
//! ```text
//! new ----------> small: a tenth ---- not used since ----> out, its hash remembered
//!                  '---- used since ----.
//! remembered ----------------------------'-> main ---- not used since ----> out
//!                                             ^'-- used since, one use less --'
//! ```
//!
//! Both are queues (the policy is called S3-FIFO). What a long scan brings in leaves by the small
//! queue and drives out nothing that is used again and again.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

use super::hashing::BlockHashing;
use super::slots::{Held, Slots};
use super::{BlockKey, CachedBlock};

/// What a block takes beside its bytes, roughly.
const OVERHEAD: u64 = 256;

/// For how many blocks hashes are remembered: the block size that both engines use by default.
const TYPICAL_BLOCK: u64 = 4096;

/// Of which part of the bytes the small queue is.
const SMALL_PART: u64 = 10;

/// Blocks by their keys, in the order in which they may go.
pub(super) struct Shard {
    capacity: u64,
    hashing: BlockHashing,
    places: HashMap<BlockKey, Place, BlockHashing>,
    small: Queue,
    main: Queue,
    /// Of blocks that left the small queue unused, until another one falls on the same place.
    remembered: Vec<u32>,
    /// Numbers of slots that are free again.
    free: Vec<u32>,
    /// Threads that wait for a block that another one loads.
    pub(super) waiting: usize,
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Slot(u32),
    /// A thread is loading it.
    Loading,
}

/// Numbers of slots, the oldest first, with the bytes of their blocks.
#[derive(Default)]
struct Queue {
    slots: VecDeque<(u32, u64)>,
    bytes: u64,
}

impl Queue {
    fn push(&mut self, slot: u32, bytes: u64) {
        self.slots.push_back((slot, bytes));
        self.bytes += bytes;
    }

    fn pop(&mut self) -> Option<(u32, u64)> {
        let (slot, bytes) = self.slots.pop_front()?;
        self.bytes -= bytes;
        Some((slot, bytes))
    }
}

impl Shard {
    pub(super) fn new(capacity: u64, hashing: &BlockHashing) -> Self {
        let remembered = (capacity / TYPICAL_BLOCK).clamp(1, 1 << 24).next_power_of_two();
        Self {
            capacity,
            hashing: hashing.clone(),
            places: HashMap::with_hasher(hashing.clone()),
            small: Queue::default(),
            main: Queue::default(),
            remembered: vec![0; remembered as usize],
            free: Vec::new(),
            waiting: 0,
        }
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.small.bytes + self.main.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.small.slots.len() + self.main.slots.len()
    }

    #[inline]
    pub(super) fn place(&self, key: &BlockKey) -> Option<Place> {
        self.places.get(key).copied()
    }

    /// Where the block under `key` is. If it is not here, a thread loads it from now on.
    pub(super) fn place_or_begin(&mut self, key: BlockKey) -> Option<Place> {
        match self.places.entry(key) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(entry) => {
                entry.insert(Place::Loading);
                None
            }
        }
    }

    /// Says that loading it has come to nothing.
    pub(super) fn give_up(&mut self, key: &BlockKey) {
        self.places.remove(key);
    }

    /// Takes in the block that a thread has loaded, if there can be room for it. Says where it is.
    pub(super) fn take_in(
        &mut self,
        slots: &Slots,
        key: BlockKey,
        block: CachedBlock,
    ) -> Option<u32> {
        let bytes = block.len() + OVERHEAD;
        let number = match bytes <= self.capacity {
            true => self.make_room(slots, bytes).or_else(|| slots.add()),
            false => None,
        };
        let Some((number, slot)) = number.and_then(|number| Some((number, slots.get(number)?)))
        else {
            self.give_up(&key);
            return None;
        };
        *slot.write() = Some(Held::new(key, block));
        self.places.insert(key, Place::Slot(number));
        match self.is_remembered(&key) {
            true => self.main.push(number, bytes),
            false => self.small.push(number, bytes),
        }
        Some(number)
    }

    /// Lets blocks go until there is room. Gives a slot that is free, if there is one.
    fn make_room(&mut self, slots: &Slots, bytes: u64) -> Option<u32> {
        while self.used_bytes() + bytes > self.capacity && self.let_one_go(slots) {}
        self.free.pop()
    }

    /// Lets one block go, or moves one on; false if there is none.
    fn let_one_go(&mut self, slots: &Slots) -> bool {
        let from_small =
            self.small.bytes > self.capacity / SMALL_PART || self.main.slots.is_empty();
        let queue = if from_small { &mut self.small } else { &mut self.main };
        let Some((number, bytes)) = queue.pop() else { return false };
        let Some(slot) = slots.get(number) else { return true };
        let mut held = slot.write();
        if let Some(held) = &mut *held
            && let uses @ 1.. = held.uses.get_mut()
        {
            // In the main queue each round takes one use; coming there takes all.
            *uses = if from_small { 0 } else { *uses - 1 };
            self.main.push(number, bytes);
            return true;
        }
        let gone = held.take();
        drop(held);
        self.free.push(number);
        if let Some(gone) = gone {
            self.places.remove(&gone.key);
            if from_small {
                self.remember(&gone.key);
            }
        }
        true
    }

    fn remember(&mut self, key: &BlockKey) {
        let (at, mark) = self.mark(key);
        self.remembered[at] = mark;
    }

    fn is_remembered(&self, key: &BlockKey) -> bool {
        let (at, mark) = self.mark(key);
        self.remembered[at] == mark
    }

    /// Where the hash of a block is remembered, and as what.
    fn mark(&self, key: &BlockKey) -> (usize, u32) {
        let hash = self.hashing.hash_one(key);
        (hash as usize & (self.remembered.len() - 1), (hash >> 32) as u32)
    }

    /// Lets all blocks go.
    pub(super) fn clear(&mut self, slots: &Slots) {
        self.places.retain(|_, place| *place == Place::Loading);
        for queue in [&mut self.small, &mut self.main] {
            while let Some((number, _)) = queue.pop() {
                if let Some(slot) = slots.get(number) {
                    slot.write().take();
                }
                self.free.push(number);
            }
        }
    }
}
