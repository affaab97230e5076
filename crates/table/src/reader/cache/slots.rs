//! The places where blocks are held, numbered. A place never moves, so who remembers its number
//! finds the block again without a search: one look says whether it is still there.
//!
//! ```text
//! number   0 … 63 | 64 … 191 | 192 … 447 | …      a run is twice as long as the one before it,
//!          run 0    run 1      run 2                and made when its first place is needed
//! ```

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockWriteGuard};

use bytes::Bytes;
use sstkit_coding::huge_pages::advise_huge_pages;
use sstkit_coding::prefetch::prefetch_whole;

use super::{BlockKey, CachedBlock};
use crate::raw::{Block, BlockFences};

/// The number of a place that there is not.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// Places of the first run.
const FIRST_RUN: u32 = 64;

/// Enough for all numbers.
const RUNS: usize = 26;

/// Uses beyond this are not counted: what has been used so often may not be used for as many rounds
/// before it goes.
pub(crate) const MAX_USES: u8 = 3;

/// Where a block was found the last time, or where it may be. Nothing depends on its being right.
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

    /// Mostly it is known already, and a line that many threads read is not written to.
    #[inline]
    pub(crate) fn set(&self, slot: u32) {
        if self.get() != slot {
            self.0.store(slot, Ordering::Relaxed);
        }
    }

    /// For the block after the one that was found: blocks that were read one after the other mostly
    /// lie one after the other.
    pub(crate) fn step(&self, backward: bool) {
        let slot = self.get();
        self.set(if backward { slot.wrapping_sub(1) } else { slot.wrapping_add(1) });
    }
}

/// All places of a pool.
pub(crate) struct Slots {
    runs: [OnceLock<Box<[Slot]>>; RUNS],
    /// How many have ever been used.
    used: AtomicU32,
}

/// A place. Of its own cache lines: those of neighbours are asked for by other threads.
#[repr(align(64))]
#[derive(Default)]
pub(crate) struct Slot {
    held: RwLock<Option<CacheEntry>>,
}

/// A block in its place.
pub(crate) struct CacheEntry {
    pub(crate) key: BlockKey,
    pub(crate) block: CachedBlock,
    /// Since it came, or since it was last asked whether it may go.
    pub(crate) uses: AtomicU8,
    /// Into a data block, once it has been looked into more than once; `None` inside if there can
    /// be none.
    fences: OnceLock<Option<BlockFences>>,
}

impl CacheEntry {
    pub(crate) fn new(key: BlockKey, block: CachedBlock) -> Self {
        Self { key, block, uses: AtomicU8::new(0), fences: OnceLock::new() }
    }

    /// Mostly it has been used often, and is not written to.
    #[inline]
    fn count_use(&self) {
        let uses = self.uses.load(Ordering::Relaxed);
        if uses < MAX_USES {
            self.uses.store(uses + 1, Ordering::Relaxed);
        }
    }

    /// Into a data block with keys of so many bytes behind the keys proper.
    #[inline]
    fn fences(&self, tail: usize) -> Option<(&Block<Bytes>, &BlockFences)> {
        let CachedBlock::Block(block) = &self.block else { return None };
        if let Some(fences) = self.fences.get() {
            // Another table over the same file may see other keys in it.
            return Some((block, fences.as_ref().filter(|it| it.tail() == tail)?));
        }
        // Many blocks are looked into once while they are here.
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
    /// A place that has not been used yet, if there is one left.
    pub(crate) fn add(&self) -> Option<u32> {
        let number = self.used.fetch_add(1, Ordering::Relaxed);
        let Some((run, _)) = place(number) else {
            self.used.fetch_sub(1, Ordering::Relaxed);
            return None;
        };
        self.runs[run].get_or_init(|| new_run((FIRST_RUN as usize) << run));
        Some(number)
    }

    /// The place of this number, if there is one.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&Slot> {
        let (run, at) = place(number)?;
        self.runs[run].get()?.get(at)
    }
}

/// So many places that hold nothing.
fn new_run(length: usize) -> Box<[Slot]> {
    let mut slots = Vec::with_capacity(length);
    advise_huge_pages(slots.spare_capacity_mut());
    slots.resize_with(length, Slot::default);
    slots.into_boxed_slice()
}

/// In which run, and where in it.
#[inline]
fn place(number: u32) -> Option<(usize, usize)> {
    let run = (number / FIRST_RUN + 1).ilog2() as usize;
    (run < RUNS).then(|| (run, number as usize - (FIRST_RUN as usize * ((1 << run) - 1))))
}

impl Slot {
    /// To put a block in or to take one out.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Option<CacheEntry>> {
        // A lock is only held for steps that do not panic halfway.
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the block out, if it is one of `file`.
    pub(crate) fn take_of(&self, file: u64) -> Option<CachedBlock> {
        let is_of_file =
            |held: &Option<CacheEntry>| held.as_ref().is_some_and(|it| it.key.file == file);
        // Most are not, and may be in use.
        if !is_of_file(&self.held.read().unwrap_or_else(PoisonError::into_inner)) {
            return None;
        }
        self.write().take_if(|held| held.key.file == file).map(|held| held.block)
    }

    /// Looks at the block where it is, if it is the one under `key`.
    #[inline]
    fn read<R>(&self, key: &BlockKey, look: impl FnOnce(&CacheEntry) -> Option<R>) -> Option<R> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        look(held.as_ref().filter(|held| held.key == *key)?)
    }

    /// The block, if it is the one under `key`. Counts a use.
    #[inline]
    pub(crate) fn hit(&self, key: &BlockKey) -> Option<CachedBlock> {
        self.read(key, |held| {
            held.count_use();
            Some(held.block.clone())
        })
    }

    /// The same without counting.
    pub(crate) fn peek(&self, key: &BlockKey) -> Option<CachedBlock> {
        self.read(key, |held| Some(held.block.clone()))
    }

    /// Looks into the block under `key`, without counting a reference to it, if it is a data block
    /// and has fences. Counts a use.
    #[inline]
    pub(crate) fn look<R>(
        &self,
        key: &BlockKey,
        tail: usize,
        look: impl FnOnce(&Block<Bytes>, &BlockFences) -> Option<R>,
    ) -> Option<R> {
        self.read(key, |held| {
            let (block, fences) = held.fences(tail)?;
            held.count_use();
            look(block, fences)
        })
    }

    /// Asks for its memory.
    pub(crate) fn prefetch(&self) {
        prefetch_whole(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four lines; a fifth would be as many waits again for whoever has a large cache.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_slot_is_small() {
        assert_eq!(size_of::<Slot>(), 256);
    }

    #[test]
    fn numbers_are_places_one_after_the_other() {
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
    fn only_places_that_were_added_are_there() {
        let slots = Slots::default();
        assert!(slots.get(0).is_none());
        for number in 0..65 {
            assert_eq!(slots.add(), Some(number));
            assert!(slots.get(number).is_some());
        }
        assert!(slots.get(NO_SLOT).is_none());
    }
}
