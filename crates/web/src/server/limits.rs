//! A limited number of things at once.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A limited number of slots.
pub(super) struct Slots {
    free: Mutex<usize>,
    total: usize,
    freed: Condvar,
}

/// A slot that is taken; dropping it frees it.
pub(super) struct Slot<'s>(&'s Slots);

impl Slots {
    pub(super) fn new(total: usize) -> Self {
        Self { free: Mutex::new(total), total, freed: Condvar::new() }
    }

    /// A slot, if one is free.
    pub(super) fn try_take(&self) -> Option<Slot<'_>> {
        self.take_within(Duration::ZERO)
    }

    /// A slot, if one becomes free in this time.
    pub(super) fn take_within(&self, time: Duration) -> Option<Slot<'_>> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(free, time, |free| *free == 0);
        let (mut free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *free = free.checked_sub(1)?;
        Some(Slot(self))
    }

    /// Waits until all are free; false if that takes longer.
    pub(super) fn are_free_within(&self, time: Duration) -> bool {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(free, time, |free| *free < self.total);
        let (free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *free == self.total
    }

    /// Whether more than three quarters are taken.
    pub(super) fn is_crowded(&self) -> bool {
        let free = *self.free.lock().unwrap_or_else(PoisonError::into_inner);
        4 * free < self.total
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        // Some wait for one slot, others for all.
        self.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_limited_and_come_back() {
        let slots = Slots::new(4);
        let taken: Vec<_> = (0..4).map(|_| slots.try_take().unwrap()).collect();
        assert!(slots.try_take().is_none() && slots.is_crowded());
        assert!(slots.take_within(Duration::from_millis(1)).is_none());
        assert!(!slots.are_free_within(Duration::from_millis(1)));
        drop(taken);
        assert!(slots.are_free_within(Duration::ZERO));
        assert!(slots.try_take().is_some() && !slots.is_crowded());
    }
}
