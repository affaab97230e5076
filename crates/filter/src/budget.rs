//! Charging the memory of builders to a budget.
//!
//! Building a filter with ten million keys takes 80 MB for their hashes. A Ribbon filter takes another
//! 290 MB while it is solved. RocksDB can charge this memory to its block cache. Here it is charged to
//! any [`MemoryBudget`].
//!
//! | what | when | bytes |
//! |---|---|---|
//! | hash entries | with the 16,384th entry and every 32,768 after it | 262,144 each time |
//! | Ribbon's banding | before it is allocated | 20 per slot |
//! | Ribbon's keys, partitioned by slot | before they are allocated | 8 per key |
//! | filter | before it is allocated | its size |
//!
//! Only the banding can be refused. A Ribbon builder then falls back to a Bloom filter, as RocksDB does
//! with a full cache and a strict limit. The other reservations always succeed, because no filter can
//! be built without them. Everything is released when `finish` returns. From then on the bytes of the
//! filter belong to the caller. Not charged are the spare capacity of the list of entries, up to 8 MiB
//! beyond a million entries, and the memory of custom policies.

use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A memory budget, which may refuse a reservation.
pub trait MemoryBudget: fmt::Debug + Send + Sync {
    /// Reserves `bytes` and returns `true`, or returns `false` and reserves nothing.
    fn try_reserve(&self, bytes: usize) -> bool;

    /// Reserves `bytes` even above the limit, because they are allocated in any case.
    fn reserve(&self, bytes: usize);

    /// Releases `bytes`.
    fn release(&self, bytes: usize);
}

/// A budget with a fixed limit.
///
/// ```
/// use sstkit_filter::{FixedBudget, MemoryBudget};
///
/// let budget = FixedBudget::new(1000);
/// assert!(budget.try_reserve(600));
/// assert!(!budget.try_reserve(600));
/// budget.release(600);
/// assert_eq!((budget.used(), budget.peak()), (0, 600));
/// ```
#[derive(Debug)]
pub struct FixedBudget {
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl FixedBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// Bytes currently reserved.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The highest number of bytes reserved at any time.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

impl FixedBudget {
    /// Updates the number of used bytes and returns the new value.
    fn update(&self, change: impl Fn(usize) -> usize) -> usize {
        let before = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(change(used)))
            .unwrap_or_else(|used| used);
        change(before)
    }
}

impl MemoryBudget for FixedBudget {
    fn try_reserve(&self, bytes: usize) -> bool {
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&sum| sum <= self.limit)
        });
        match taken {
            Ok(before) => {
                self.peak.fetch_max(before + bytes, Ordering::Relaxed);
                true
            }
            Err(_) => false,
        }
    }

    fn reserve(&self, bytes: usize) {
        let used = self.update(|used| used.saturating_add(bytes));
        self.peak.fetch_max(used, Ordering::Relaxed);
    }

    fn release(&self, bytes: usize) {
        self.update(|used| used.saturating_sub(bytes));
    }
}

/// The reservation of one builder. Released on drop.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Option<Arc<dyn MemoryBudget>>,
    bytes: usize,
}

impl Charge {
    pub(crate) fn new(budget: Option<Arc<dyn MemoryBudget>>) -> Self {
        Self { budget, bytes: 0 }
    }

    pub(crate) fn reserve(&mut self, bytes: usize) {
        if let Some(budget) = &self.budget {
            budget.reserve(bytes);
            self.bytes += bytes;
        }
    }

    /// A separate charge for `bytes`, if the budget allows it.
    pub(crate) fn try_split(&self, bytes: usize) -> Option<Self> {
        let Some(budget) = &self.budget else {
            return Some(Self { budget: None, bytes: 0 });
        };
        budget.try_reserve(bytes).then(|| Self { budget: Some(Arc::clone(budget)), bytes })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.release(self.bytes);
        }
    }
}
