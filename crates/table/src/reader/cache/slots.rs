//! Numbered slots for blocks. A slot never moves, so its number is a hint that finds a block without a
//! hash table: one look at the slot tells whether the block is still there.
//!
//! ```text
//! number   0 … 63 | 64 … 191 | 192 … 447 | …      each run is twice as long as the previous one
//!          run 0    run 1      run 2                and allocated when its first slot is needed
//! ```

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockWriteGuard};

use bytes::Bytes;
use sstkit_coding::prefetch::{CACHE_LINE, prefetch, prefetch_whole};

use super::{BlockKey, CachedBlock};
use crate::raw::{Block, BlockFences};

pub(crate) const NO_SLOT: u32 = u32::MAX;

const FIRST_RUN: u32 = 64;

/// Cache lines of the next block that a scan prefetches. The processor prefetches the others.
const SCANNED_LINES: usize = 8;

/// Enough for all numbers.
const RUNS: usize = 26;

/// Uses are counted up to this: an unused block stays for this many more rounds of the main queue.
pub(crate) const MAX_USES: u8 = 3;

/// The slot where a block was found the last time. It may be wrong.
pub(crate) struct SlotHint(AtomicU32);

impl Default for SlotHint {
    fn default() -> Self {
        Self(AtomicU32::new(NO_SLOT))
    }
}

impl SlotHint {
    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Avoids writing to a cache line that many threads read if the hint is right already.
    #[inline]
    pub(crate) fn set(&self, slot: u32) {
        if self.get() != slot {
            self.0.store(slot, Ordering::Relaxed);
        }
    }

    /// A guess for the next block: blocks that were read sequentially are usually in adjacent slots.
    pub(crate) fn step(&self, backward: bool) {
        self.set(neighbour(self.get(), backward));
    }
}

/// The slot where the next block of a scan may be.
fn neighbour(slot: u32, backward: bool) -> u32 {
    if backward { slot.wrapping_sub(1) } else { slot.wrapping_add(1) }
}

pub(crate) struct Slots {
    runs: [OnceLock<Box<[Slot]>>; RUNS],
    /// The number of slots in use or free.
    used: AtomicU32,
}

/// A slot. Aligned to cache lines, so that threads that use neighbours do not share one.
#[repr(align(64))]
#[derive(Default)]
pub(crate) struct Slot {
    entry: RwLock<Option<CacheEntry>>,
}

pub(crate) struct CacheEntry {
    pub(crate) key: BlockKey,
    pub(crate) block: CachedBlock,
    /// Uses since it was inserted or last considered for eviction, at most [`MAX_USES`].
    pub(crate) uses: AtomicU8,
    /// The fences of a data block, built on its second use; `None` inside if it cannot have any.
    fences: OnceLock<Option<BlockFences>>,
}

impl CacheEntry {
    pub(crate) fn new(key: BlockKey, block: CachedBlock) -> Self {
        Self { key, block, uses: AtomicU8::new(0), fences: OnceLock::new() }
    }

    /// Does not write to the entry if it has been used often.
    #[inline]
    fn count_use(&self) {
        let uses = self.uses.load(Ordering::Relaxed);
        if uses < MAX_USES {
            self.uses.store(uses + 1, Ordering::Relaxed);
        }
    }

    /// A data block and its fences, for keys with `tail` bytes after the user key.
    #[inline]
    fn fences(&self, tail: usize) -> Option<(&Block<Bytes>, &BlockFences)> {
        let CachedBlock::Block(block) = &self.block else { return None };
        if let Some(fences) = self.fences.get() {
            // Another table of the same file may interpret keys differently.
            return Some((block, fences.as_ref().filter(|it| it.tail() == tail)?));
        }
        // Many blocks are used only once before they are evicted.
        if self.uses.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let fences = self.fences.get_or_init(|| BlockFences::new(block, tail)).as_ref();
        Some((block, fences.filter(|it| it.tail() == tail)?))
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self { runs: std::array::from_fn(|_| OnceLock::new()), used: AtomicU32::new(0) }
    }
}

impl Slots {
    /// A new slot, if there is one left.
    pub(crate) fn add(&self) -> Option<u32> {
        let number = self.used.fetch_add(1, Ordering::Relaxed);
        let Some((run, _)) = place(number) else {
            self.used.fetch_sub(1, Ordering::Relaxed);
            return None;
        };
        self.runs[run].get_or_init(|| new_run((FIRST_RUN as usize) << run));
        Some(number)
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&Slot> {
        let (run, at) = place(number)?;
        self.runs[run].get()?.get(at)
    }

    /// Prefetches where a scan that is at `slot` continues: the next block, and the slot after its.
    pub(crate) fn prefetch_scan(&self, slot: u32, backward: bool) {
        let next = neighbour(slot, backward);
        if let Some(slot) = self.get(next) {
            slot.prefetch_block(backward);
        }
        if let Some(slot) = self.get(neighbour(next, backward)) {
            slot.prefetch();
        }
    }
}

fn new_run(length: usize) -> Box<[Slot]> {
    let mut slots = Vec::with_capacity(length);
    slots.resize_with(length, Slot::default);
    slots.into_boxed_slice()
}

/// The run of a slot, and its index in the run.
#[inline]
fn place(number: u32) -> Option<(usize, usize)> {
    let run = (number / FIRST_RUN + 1).ilog2() as usize;
    (run < RUNS).then(|| (run, number as usize - (FIRST_RUN as usize * ((1 << run) - 1))))
}

impl Slot {
    /// Locks the slot to insert or remove a block.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Option<CacheEntry>> {
        // A panic cannot leave the entry in an invalid state.
        self.entry.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the block, if it belongs to `file`.
    pub(crate) fn take_of(&self, file: u64) -> Option<CachedBlock> {
        let is_of_file =
            |entry: &Option<CacheEntry>| entry.as_ref().is_some_and(|it| it.key.file == file);
        // Most do not, and may be in use: do not lock them for writing.
        if !is_of_file(&self.entry.read().unwrap_or_else(PoisonError::into_inner)) {
            return None;
        }
        self.write().take_if(|entry| entry.key.file == file).map(|entry| entry.block)
    }

    /// Calls `look` with the entry, if it is the one of `key`.
    #[inline]
    fn read<R>(&self, key: &BlockKey, look: impl FnOnce(&CacheEntry) -> Option<R>) -> Option<R> {
        let entry = self.entry.read().unwrap_or_else(PoisonError::into_inner);
        look(entry.as_ref().filter(|entry| entry.key == *key)?)
    }

    /// The block, if it is the one of `key`. Counts a use.
    #[inline]
    pub(crate) fn hit(&self, key: &BlockKey) -> Option<CachedBlock> {
        self.read(key, |entry| {
            entry.count_use();
            Some(entry.block.clone())
        })
    }

    /// The same without counting.
    pub(crate) fn peek(&self, key: &BlockKey) -> Option<CachedBlock> {
        self.read(key, |entry| Some(entry.block.clone()))
    }

    /// Calls `look` with the block of `key`, without incrementing its reference count, if it is a data
    /// block with fences. Counts a use.
    #[inline]
    pub(crate) fn look<R>(
        &self,
        key: &BlockKey,
        tail: usize,
        look: impl FnOnce(&Block<Bytes>, &BlockFences) -> Option<R>,
    ) -> Option<R> {
        self.read(key, |entry| {
            let (block, fences) = entry.fences(tail)?;
            entry.count_use();
            look(block, fences)
        })
    }

    pub(crate) fn prefetch(&self) {
        prefetch_whole(self);
    }

    /// Prefetches the first or last entries of a block of entries, and its restart points. Does not
    /// wait for a slot that is being written to.
    fn prefetch_block(&self, backward: bool) {
        let Ok(entry) = self.entry.try_read() else { return };
        let Some(CacheEntry { block: CachedBlock::Block(block), .. }) = &*entry else { return };
        let lines = block.bytes().chunks(CACHE_LINE);
        match backward {
            true => lines.rev().take(SCANNED_LINES).for_each(prefetch),
            false => {
                lines.clone().last().iter().for_each(|line| prefetch(*line));
                lines.take(SCANNED_LINES).for_each(prefetch);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lookup in a large cache waits for each cache line of a slot.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_slot_is_four_cache_lines() {
        assert_eq!(size_of::<Slot>(), 256);
    }

    #[test]
    fn numbers_map_to_runs() {
        let (mut run, mut at) = (0, 0);
        for number in 0..10_000 {
            assert_eq!(place(number), Some((run, at)));
            at += 1;
            if at == 64 << run {
                (run, at) = (run + 1, 0);
            }
        }
        assert_eq!(place(NO_SLOT), None);
    }

    #[test]
    fn only_added_slots_exist() {
        let slots = Slots::default();
        assert!(slots.get(0).is_none());
        for number in 0..65 {
            assert_eq!(slots.add(), Some(number));
            assert!(slots.get(number).is_some());
        }
        assert!(slots.get(NO_SLOT).is_none());
    }
}
